//! The harness of the integration tests.
//!
//! A test gets a [`Sandbox`]: the folders of a user in a temporary folder, and an environment with nothing else in it.
//! In it, the `wharf` binary or the library runs the fake agent, which follows a [`Script`]. [`LiveRun`] reads events
//! while a run goes on, [`Finished`] holds what a command printed, and [`Terminal`] is a person at a pseudo terminal.
//! Nothing here reads the user's own files, and nothing waits for a fixed time: [`wait_until`] looks until a condition
//! holds.

#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a harness may panic: the test fails")]

mod artifacts;
mod compile_bomb;
mod finished;
mod hostile_texts;
mod invalid_components;
mod live_run;
mod own_process;
mod processes;
mod sandbox;
mod script;
mod terminal;
mod wait;

pub use artifacts::{echo_agent, echo_component, fake_agent, faulty_guest, looping_guest, repository, target_folder};
pub use compile_bomb::CompileBomb;
pub use finished::{Finished, without_times};
pub use hostile_texts::with_hostile_texts;
pub use invalid_components::{
    InvalidComponent, echo_bytes, faulty_bytes, invalid_components, too_large_component, wat,
};
pub use live_run::{LiveRun, send_signal};
pub use own_process::in_own_process;
pub use processes::{bytes_written, processes_with, resident_memory};
pub use rustix::process::Signal;
pub use sandbox::{Sandbox, files_containing, files_in, shared_cache};
pub use script::{ANSWER, DONE, HELLO, SAY, Script};
pub use terminal::Terminal;
pub use wait::{PATIENCE, wait_until, wait_until_stable};
