//! Signals: by name, and sent to this process.

use rustix::process::{Signal, getpid, kill_process};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::Duration;

/// How often a signal is sent before it counts as survived: Rust's handler of SIGSEGV swallows the first one.
const TRIES: u32 = 100;

/// Parses a name ("TERM", "SIGTERM") or a number.
pub(crate) fn parse(text: &str) -> Option<Signal> {
    let name = text.strip_prefix("SIG").unwrap_or(text);
    Some(match name {
        "ABRT" => Signal::ABORT,
        "HUP" => Signal::HUP,
        "INT" => Signal::INT,
        "KILL" => Signal::KILL,
        "QUIT" => Signal::QUIT,
        "SEGV" => Signal::SEGV,
        "TERM" => Signal::TERM,
        number => return Signal::from_named_raw(number.parse().ok()?),
    })
}

/// Kills this process with a signal. It returns an error message if the process survives.
pub(crate) fn kill_self(signal: Signal) -> String {
    for _ in 0..TRIES {
        if let Err(error) = kill_process(getpid(), signal) {
            return format!("die: {error}");
        }
        thread::sleep(Duration::from_millis(1));
    }
    format!("die: survived signal {}", signal.as_raw())
}

/// From here on SIGTERM has no effect. It is caught rather than ignored, so that children do not inherit that.
pub(crate) fn ignore_sigterm() -> Result<(), String> {
    signal_hook::flag::register(signal_hook::consts::SIGTERM, Arc::new(AtomicBool::new(false)))
        .map(drop)
        .map_err(|error| format!("ignore-sigterm: {error}"))
}
