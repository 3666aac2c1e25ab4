//! What uses the library only, as one test program. tests/support is the harness; it turns on the bundled adapters.

// The fake agent is for Unix only.
#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod busy;
mod components;
mod grants;
mod transcripts;

// These look at processes through /proc.
#[cfg(target_os = "linux")]
mod backpressure;
#[cfg(target_os = "linux")]
mod controls;
#[cfg(target_os = "linux")]
mod events;
#[cfg(target_os = "linux")]
mod memory;
#[cfg(target_os = "linux")]
mod runs;
#[cfg(target_os = "linux")]
mod tenants;

use wharf::Run;
use wharf::event::Event;

/// The events of a run, to its end.
async fn events_of(mut run: Run) -> Vec<Event> {
    let mut events = Vec::new();
    while let Some(event) = run.next().await {
        events.push(event);
    }
    events
}
