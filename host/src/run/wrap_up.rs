//! The end of a run: leftover processes are killed, and the adapter has its last chance to report something.
//!
//! The reader of the events is not waited for before the adapter is done: a caller that awaits a ticket does not read.

use super::control::{Command, Delivery, Request};
use super::event_loop::EventLoop;
use super::exchange::{Io, note_event};
use crate::record::Ended;
use std::time::Duration;
use tokio::sync::mpsc;
use wharf_core::model::{EventKind, LogLevel};
use wharf_core::turn::EventSink as _;

/// How long leftover processes may take to exit by themselves, before they are killed.
const CLEANUP_GRACE: Duration = Duration::from_millis(200);

/// How long the adapter may take at the end. It may request something from a server then.
const FINISH: Duration = Duration::from_mins(3);

impl EventLoop {
    /// The process has exited, and everything that it wrote was read.
    pub(super) async fn wrap_up(mut self) -> Ended {
        self.stdin.close();
        self.held.clear();
        let mut cleanup = match self.cleanup.take() {
            Some(cleanup) => cleanup,
            None => self.process.clean_up(CLEANUP_GRACE).await,
        };
        cleanup.killed.retain(|leftover| leftover.pid != self.process.id());
        let now = self.clock.now();
        if let Some(notice) = survivors_notice(cleanup.survivors.iter().map(|leftover| leftover.command.as_str())) {
            note_event(&notice, &mut self.journal, now);
            self.buffer.emit(notice.into(), now);
        }
        self.finish_adapter(now).await;
        self.exchange.check_session(&mut Io { now, journal: &mut self.journal, sink: &mut self.buffer });
        self.hand_over();
        self.commands.close();
        while self.commands.try_recv().is_ok() {}
        let truncation = self.journal.take_truncation();
        for text in [truncation, self.journal.take_problem()].into_iter().flatten() {
            self.buffer.emit(EventKind::notice(LogLevel::Warn, text).into(), now);
        }
        self.hand_over();
        for batch in std::mem::take(&mut self.outbox) {
            let _ = self.events.send(batch).await;
        }
        Ended {
            result: self.exchange.result(),
            journal: self.journal,
            killed: cleanup.killed.into_iter().map(|leftover| leftover.command).collect(),
            seq: self.buffer.seq(),
            now,
        }
    }

    /// The adapter's last calls. A caller who insists, or is gone, does not wait for them.
    async fn finish_adapter(&mut self, now: Duration) {
        let exit = self.exit.unwrap_or_default();
        let read = self.read;
        let EventLoop { exchange, journal, buffer, commands, events, .. } = self;
        let mut io = Io { now, journal, sink: buffer };
        exchange.end_of_output(exit, &mut io);
        let ended = tokio::select! {
            biased;
            actions = exchange.finish(exit, &mut io) => Ok(actions),
            () = insistence(commands) => Err("it was cancelled while it finished".to_owned()),
            () = events.closed(), if read => Err("nobody reads what it reports".to_owned()),
            () = tokio::time::sleep(FINISH) => Err(format!("it did not finish within {} s", FINISH.as_secs())),
        };
        match ended {
            Ok(actions) => self.carry_out(actions),
            Err(reason) => self.abandon_adapter(&reason),
        }
    }
}

/// Returns after the second cancel. The agent has exited, so the first one is carried out, and nothing else can be.
async fn insistence(commands: &mut mpsc::UnboundedReceiver<Command>) {
    let mut cancels = 0;
    while cancels < 2 {
        match commands.recv().await {
            Some(Command { request: Request::Cancel, reply }) => {
                cancels += 1;
                let _ = reply.send(Delivery::Done);
            }
            Some(_) => {}
            None => std::future::pending().await,
        }
    }
}

/// What is reported about processes that could not be killed: they belong to another user, or wait in the kernel.
fn survivors_notice<'a>(commands: impl Iterator<Item = &'a str>) -> Option<EventKind> {
    let commands: Vec<&str> = commands.collect();
    let text = format!("processes of the agent are still running and could not be killed: {}", commands.join(", "));
    (!commands.is_empty()).then(|| EventKind::notice(LogLevel::Warn, text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_that_survive_the_cleanup_are_reported() {
        assert_eq!(survivors_notice([].into_iter()), None);
        let Some(EventKind::Notice { level, text }) = survivors_notice(["su", "sleep 9"].into_iter()) else {
            panic!("a notice");
        };
        assert!(level == LogLevel::Warn && text.ends_with("could not be killed: su, sleep 9"), "{text}");
    }
}
