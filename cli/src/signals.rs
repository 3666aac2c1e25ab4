//! Signals: Ctrl-C and its relatives stop a run.

use tokio::sync::mpsc;
#[cfg(unix)]
use wharf::Error;
use wharf::{Controller, Result};

/// Signals that stop a run. They do so by themselves: the code that shows the events may be blocked because nobody reads
/// them.
pub(crate) struct StopSignals(mpsc::UnboundedReceiver<()>);

impl StopSignals {
    /// The next one, after it has stopped the run.
    pub(crate) async fn next(&mut self) {
        if self.0.recv().await.is_none() {
            std::future::pending::<()>().await;
        }
    }
}

/// The signals that ask this program to exit: Ctrl-C, and on Unix SIGTERM and SIGHUP. Received from when this is created,
/// so that none is lost between two waits.
#[cfg(unix)]
pub(crate) struct Signals(Vec<tokio::signal::unix::Signal>);

#[cfg(unix)]
impl Signals {
    pub(crate) fn listen() -> Result<Signals> {
        use tokio::signal::unix::{SignalKind, signal};
        let kinds = [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()];
        let signals = kinds.into_iter().map(signal).collect::<std::io::Result<_>>();
        signals.map(Signals).map_err(|error| Error::system("receiving signals", error))
    }

    /// The first of them.
    pub(crate) async fn any(&mut self) {
        std::future::poll_fn(|context| {
            let received = self.0.iter_mut().any(|signal| signal.poll_recv(context).is_ready());
            if received { std::task::Poll::Ready(()) } else { std::task::Poll::Pending }
        })
        .await;
    }

    /// From here on, they stop a run.
    pub(crate) fn stop(self, controller: &Controller) -> StopSignals {
        let (sender, receiver) = mpsc::unbounded_channel();
        for mut signal in self.0 {
            let (sender, controller) = (sender.clone(), controller.clone());
            tokio::spawn(async move {
                while signal.recv().await.is_some() {
                    drop(controller.cancel());
                    let _ = sender.send(());
                }
            });
        }
        StopSignals(receiver)
    }
}

/// The signal that asks this program to exit: Ctrl-C.
#[cfg(not(unix))]
pub(crate) struct Signals;

#[cfg(not(unix))]
impl Signals {
    #[expect(clippy::unnecessary_wraps, reason = "as on Unix")]
    pub(crate) fn listen() -> Result<Signals> {
        Ok(Signals)
    }

    /// The first of them.
    pub(crate) async fn any(&mut self) {
        let _ = tokio::signal::ctrl_c().await;
    }

    /// From here on, they stop a run.
    pub(crate) fn stop(self, controller: &Controller) -> StopSignals {
        let (sender, receiver) = mpsc::unbounded_channel();
        let controller = controller.clone();
        tokio::spawn(async move {
            while tokio::signal::ctrl_c().await.is_ok() {
                drop(controller.cancel());
                let _ = sender.send(());
            }
        });
        StopSignals(receiver)
    }
}

/// Makes a write beyond the limit of file sizes (`ulimit -f`) fail instead of killing this program. Handled and not
/// ignored, because agents would inherit the latter.
#[cfg(unix)]
pub(crate) fn survive_file_size_limit() {
    use tokio::signal::unix::{SignalKind, signal};
    // Without the handler such a limit is deadly, as it is for most programs.
    let _ = signal(SignalKind::from_raw(rustix::process::Signal::XFSZ.as_raw()));
}

/// There is no such limit.
#[cfg(not(unix))]
pub(crate) fn survive_file_size_limit() {}
