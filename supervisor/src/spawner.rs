//! The one thread that starts agents.
//!
//! On Linux an agent asks to be signalled when its parent dies, but the kernel means the *thread* that started it, not
//! the process: an agent started from a tokio worker or a blocking thread would be ended when that thread retires. So
//! all agents are started from one thread that lives as long as the process. It also looks after the running trees
//! between two orders, because it is there anyway.

use std::any::Any;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

use super::platform;

/// Often enough to see the parents of daemons that take their time, seldom enough to cost nothing.
const BETWEEN_LOOKS: Duration = Duration::from_secs(1);

type Job = Box<dyn FnOnce() + Send>;

static THREAD: Mutex<Option<Sender<Job>>> = Mutex::new(None);

/// Runs `work` on the thread, within the caller's runtime, and gives its answer back. When the caller loses interest,
/// the answer is dropped where it is made.
pub(super) async fn on_thread<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> io::Result<T> {
    let runtime = tokio::runtime::Handle::try_current().map_err(io::Error::other)?;
    let (answer, answered) = oneshot::channel();
    let job: Job = Box::new(move || {
        let _entered = runtime.enter();
        // Whoever asked may be gone; the answer's own drop cleans up.
        drop(answer.send(work()));
    });
    sender()?.send(job).map_err(|_| io::Error::other("the thread that starts agents has ended"))?;
    answered.await.map_err(|_| io::Error::other("the start of the agent panicked"))
}

/// Runs `work` on the thread, once what it does now is done and answered.
pub(super) fn later(work: impl FnOnce() + Send + 'static) {
    // The thread that is asked is there, or nobody would be.
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

/// Never returns while the process lives: the sender in [`THREAD`] is never dropped, and a panic of one job (a runtime
/// that is shutting down panics) must not end the agents of all the others.
fn serve(jobs: &Receiver<Job>) {
    let mut next_look = Instant::now() + BETWEEN_LOOKS;
    loop {
        match jobs.recv_timeout(next_look.saturating_duration_since(Instant::now())) {
            Ok(job) => survive(job),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
        if Instant::now() >= next_look {
            survive(platform::look_after);
            next_look = Instant::now() + BETWEEN_LOOKS;
        }
    }
}

fn survive(work: impl FnOnce()) {
    let outcome: Result<(), Box<dyn Any + Send>> = catch_unwind(AssertUnwindSafe(work));
    // The panic hook has reported it, and the one who waits for the answer is told by its channel.
    drop(outcome);
}
