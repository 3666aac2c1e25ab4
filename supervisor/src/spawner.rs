//! The one thread that starts all agents.
//!
//! On Linux an agent gets a signal when its parent dies, but the kernel means the *thread* that started it, not the
//! process: an agent started from a tokio worker or a blocking thread would be ended when that thread exits. So all
//! agents are started from one thread that lives as long as the process. Between spawns the same thread scans the live
//! runs once a second.

use std::any::Any;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

use crate::platform;

/// Short enough to see the parents of most daemons before they exit, long enough to cost nothing.
const SCAN_INTERVAL: Duration = Duration::from_secs(1);

type Job = Box<dyn FnOnce() + Send>;

static THREAD: Mutex<Option<Sender<Job>>> = Mutex::new(None);

/// Runs `work` on the thread, within the caller's runtime, and returns its result. If the caller is cancelled, the result
/// is dropped on the thread.
pub(crate) async fn on_thread<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> io::Result<T> {
    let runtime = tokio::runtime::Handle::try_current().map_err(io::Error::other)?;
    let (result_sender, result) = oneshot::channel();
    let job: Job = Box::new(move || {
        let _entered = runtime.enter();
        // If the caller was cancelled, dropping the result cleans up.
        drop(result_sender.send(work()));
    });
    sender()?.send(job).map_err(|_| io::Error::other("the thread that starts agents has exited"))?;
    result.await.map_err(|_| io::Error::other("starting the agent panicked"))
}

/// Runs `work` on the thread after the jobs that are already queued. It does not wait for the result.
pub(crate) fn run_later(work: impl FnOnce() + Send + 'static) {
    // Callers run on the thread or after it has started, so this does not fail.
    if let Ok(sender) = sender() {
        drop(sender.send(Box::new(work)));
    }
}

fn sender() -> io::Result<Sender<Job>> {
    let mut thread = THREAD.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(sender) = &*thread {
        return Ok(sender.clone());
    }
    let (sender, jobs) = channel();
    std::thread::Builder::new().name("wharf-spawner".into()).spawn(move || serve(&jobs))?;
    *thread = Some(sender.clone());
    Ok(sender)
}

/// Never returns while the process lives: the sender in [`THREAD`] is never dropped, and a panic in one job (a runtime
/// that is shutting down panics) must not end the agents of all the others.
fn serve(jobs: &Receiver<Job>) {
    let mut next_scan = Instant::now() + SCAN_INTERVAL;
    loop {
        match jobs.recv_timeout(next_scan.saturating_duration_since(Instant::now())) {
            Ok(job) => catch_panic(job),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
        if Instant::now() >= next_scan {
            catch_panic(platform::scan_live_runs);
            next_scan = Instant::now() + SCAN_INTERVAL;
        }
    }
}

fn catch_panic(work: impl FnOnce()) {
    let outcome: Result<(), Box<dyn Any + Send>> = catch_unwind(AssertUnwindSafe(work));
    // The panic hook has reported it, and a caller that waits for the result sees its channel close.
    drop(outcome);
}
