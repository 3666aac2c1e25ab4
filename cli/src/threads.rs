//! The threads of this program. A system that gives none is an error in words: tokio would panic, or wait without end for
//! a thread that never starts.

use crate::args::Command;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc;
use std::thread;
use tokio::runtime::{Builder, Runtime};
use wharf::{Error, Result};

/// How many threads there are beside the runtime's: they interrupt adapters, start agents, watch them, and write files.
const OTHERS: usize = 6;

/// A limit of processes from which on there is no need to try.
const PLENTY: u64 = 1000;

/// Starts what carries out a command.
pub(crate) fn start(command: &Command) -> Result<Runtime> {
    // Lines of JSON are passed on by one thread: see `ui::output`. What is shown to a person may wait for the terminal.
    let single = matches!(command, Command::Run(args) if args.json);
    let workers = if single { 0 } else { thread::available_parallelism().map_or(1, usize::from) };
    if few_allowed() {
        try_threads(workers + OTHERS).map_err(failed)?;
    }
    let mut builder = if single { Builder::new_current_thread() } else { Builder::new_multi_thread() };
    // A thread can still be refused, by a limit of a container. The message of the panic is the error.
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let runtime = catch_unwind(AssertUnwindSafe(|| builder.enable_all().build()));
    std::panic::set_hook(hook);
    match runtime {
        Ok(runtime) => runtime.map_err(failed),
        Err(panic) => {
            let reason = panic.downcast_ref::<String>().cloned();
            Err(failed(std::io::Error::other(reason.unwrap_or_else(|| "tokio panicked".to_owned()))))
        }
    }
}

fn failed(error: std::io::Error) -> Error {
    Error::system("starting the threads of this program", error)
        .with_hint("raise the limit of processes of this user (`ulimit -u`), or of this container, or end some")
}

/// Whether this user may have so few processes that it is worth trying.
#[cfg(unix)]
fn few_allowed() -> bool {
    use rustix::process::{Resource, getrlimit};
    getrlimit(Resource::Nproc).current.is_some_and(|limit| limit < PLENTY)
}

/// There is no such limit.
#[cfg(not(unix))]
fn few_allowed() -> bool {
    let _ = PLENTY;
    false
}

/// Starts so many threads at once, and ends them.
fn try_threads(count: usize) -> std::io::Result<()> {
    let mut waiting = Vec::new();
    for _ in 0..count {
        let (release, released) = mpsc::channel::<()>();
        // It waits until the other end is dropped.
        let thread = thread::Builder::new().spawn(move || released.recv())?;
        waiting.push((release, thread));
    }
    for (release, thread) in waiting {
        drop(release);
        let _ = thread.join();
    }
    Ok(())
}
