//! The probes of one call: what an adapter has run, how each ended, and how much time is left for them. Kept so that
//! the host can judge them itself, whatever the adapter makes of them.

use super::program::{self, ProbeError};
use super::types::{Command, HostError, Output, Result};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use wharf_core::model::{Probe, ProbeEnd};
use wharf_core::stream::Secrets;

/// How many probes are kept, and how much of each text.
const KEPT: usize = 64;
const TEXT: usize = 1 << 10;

/// What a preflight waits for at the moment. Clones show the same.
#[derive(Debug, Clone, Default)]
pub struct Waiting(Arc<Mutex<Option<String>>>);

impl Waiting {
    /// The command that is running: `claude --version`.
    pub fn now(&self) -> Option<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set(&self, what: Option<String>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = what;
    }
}

/// The probes of one call.
#[derive(Default)]
pub(super) struct Probes {
    /// Set if nothing may be started and no request sent: what would have been done instead.
    refused: Option<Vec<String>>,
    made: Vec<Probe>,
    /// The time that is left for all of them; none if each has only its own limit.
    left: Option<Duration>,
    waiting: Waiting,
}

impl Probes {
    /// No probe may be made.
    pub(super) fn refusing() -> Probes {
        Probes { refused: Some(vec![]), ..Probes::default() }
    }

    /// All probes together may take this long.
    pub(super) fn limited(limit: Duration, waiting: Waiting) -> Probes {
        Probes { left: Some(limit), waiting, ..Probes::default() }
    }

    /// What was not done: `run: claude --version`.
    pub(super) fn take_refused(&mut self) -> Vec<String> {
        self.refused.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// What was run.
    pub(super) fn take_made(&mut self) -> Vec<Probe> {
        std::mem::take(&mut self.made)
    }

    /// Refuses a probe if none may be made.
    pub(super) fn check(&mut self, what: impl FnOnce() -> String) -> Result<()> {
        let Some(refused) = &mut self.refused else { return Ok(()) };
        if refused.len() < KEPT {
            refused.push(shortened(&what()));
        }
        Err(HostError::Denied("nothing is started while a turn is explained".to_owned()))
    }

    /// Runs a program. One that has hung before in this call is not tried again, so that it is waited for only once.
    pub(super) async fn run(
        &mut self,
        command: &Command,
        environment: &BTreeMap<String, OsString>,
        registry: Option<&Path>,
        secrets: &Secrets,
    ) -> Result<Output> {
        let requested = Duration::from_millis(u64::from(command.timeout_ms)).min(program::LONGEST);
        let limit = self.left.map_or(requested, |left| left.min(requested)).max(Duration::from_millis(1));
        if self.left == Some(Duration::ZERO) || self.has_hung(&command.program) {
            return Ok(Output::timed_out());
        }
        self.waiting.set(Some(secrets.redact(&shown(command)).into_owned()));
        let started = Instant::now();
        let output = program::run(command, limit, environment, registry).await;
        self.waiting.set(None);
        self.left = self.left.map(|left| left.saturating_sub(started.elapsed()));
        if self.made.len() < KEPT {
            let args = command.args.iter().map(|arg| shortened(arg)).collect();
            self.made.push(Probe { program: command.program.clone(), args, end: end(&output, limit) });
        }
        output.map_err(HostError::from)
    }

    fn has_hung(&self, program: &str) -> bool {
        self.made.iter().any(|probe| probe.program == program && matches!(probe.end, ProbeEnd::TimedOut { .. }))
    }
}

fn end(output: &std::result::Result<Output, ProbeError>, limit: Duration) -> ProbeEnd {
    match output {
        Ok(output) if output.timed_out => ProbeEnd::TimedOut { limit },
        Ok(Output { code: Some(code), stdout, stderr, .. }) => {
            let said = if *code == 0 { first_line(stdout) } else { first_line(stderr).or_else(|| first_line(stdout)) };
            ProbeEnd::Exited { code: *code, said }
        }
        Ok(output) => ProbeEnd::Killed { signal: output.signal.unwrap_or_default() },
        Err(ProbeError::NotStarted(reason)) => ProbeEnd::NotStarted { reason: reason.clone() },
        Err(ProbeError::System(reason)) => ProbeEnd::SystemFailed { reason: reason.clone() },
        Err(error @ (ProbeError::TooLarge | ProbeError::Held)) => ProbeEnd::Unreadable { reason: error.to_string() },
    }
}

impl std::fmt::Display for ProbeError {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(match self {
            ProbeError::NotStarted(reason) | ProbeError::System(reason) => reason,
            ProbeError::TooLarge => "it wrote too much",
            ProbeError::Held => "something that it started holds its output open",
        })
    }
}

impl From<ProbeError> for HostError {
    fn from(error: ProbeError) -> HostError {
        match error {
            ProbeError::TooLarge => HostError::TooLarge,
            other => HostError::Failed(other.to_string()),
        }
    }
}

fn first_line(bytes: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(bytes);
    text.lines().map(str::trim).find(|line| !line.is_empty()).map(shortened)
}

fn shortened(text: &str) -> String {
    text.chars().take(TEXT).collect()
}

/// The command for people, with the program's name only.
fn shown(command: &Command) -> String {
    let name = Path::new(&command.program).file_name().map(|name| name.to_string_lossy().into_owned());
    let mut text = name.unwrap_or_else(|| command.program.clone());
    command.args.iter().for_each(|arg| {
        text.push(' ');
        text.push_str(arg);
    });
    shortened(&text)
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    async fn run(probes: &mut Probes, script: &str, timeout_ms: u32) -> Output {
        let args = vec!["-c".to_owned(), script.to_owned()];
        let command = Command { program: "/bin/sh".to_owned(), args, stdin: vec![], timeout_ms };
        let path = BTreeMap::from([("PATH".to_owned(), std::env::var_os("PATH").unwrap_or_default())]);
        probes.run(&command, &path, None, &Secrets::default()).await.expect("it runs")
    }

    #[tokio::test]
    async fn how_each_probe_ended_is_kept() {
        let mut probes = Probes::default();
        for script in ["echo; echo hello; echo oh >&2", "echo no; echo why >&2; exit 3", "kill -SEGV $$"] {
            run(&mut probes, script, 20_000).await;
        }
        let ends: Vec<ProbeEnd> = probes.take_made().into_iter().map(|probe| probe.end).collect();
        let exited = |code, said: &str| ProbeEnd::Exited { code, said: Some(said.to_owned()) };
        assert_eq!(ends, [exited(0, "hello"), exited(3, "why"), ProbeEnd::Killed { signal: 11 }]);
    }

    #[tokio::test]
    async fn a_program_that_hung_is_not_waited_for_again() {
        let mut probes = Probes::default();
        assert!(run(&mut probes, "sleep 300", 50).await.timed_out);
        // It would exit at once, but the same program has hung.
        assert!(run(&mut probes, "true", 20_000).await.timed_out);
        let limit = Duration::from_millis(50);
        assert_eq!(
            probes.take_made().into_iter().map(|probe| probe.end).collect::<Vec<_>>(),
            [ProbeEnd::TimedOut { limit }]
        );
    }

    #[tokio::test]
    async fn all_probes_together_have_one_limit() {
        let waiting = Waiting::default();
        let mut probes = Probes::limited(Duration::from_millis(100), waiting.clone());
        assert!(run(&mut probes, "sleep 300", 60_000).await.timed_out, "the limit counts, not what was requested");
        let made = probes.take_made();
        assert!(matches!(made[0].end, ProbeEnd::TimedOut { limit } if limit <= Duration::from_millis(100)), "{made:?}");
        assert!(run(&mut probes, "true", 60_000).await.timed_out, "nothing is left");
        assert_eq!(waiting.now(), None);
    }
}
