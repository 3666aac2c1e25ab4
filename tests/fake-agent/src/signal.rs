//! Signals, by name and to oneself.

use rustix::process::{Signal, getpid, kill_process};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::Duration;

/// What is tried before a signal counts as survived: Rust's own handler of SIGSEGV lets the first one pass.
const TRIES: u32 = 100;

/// The signal of a name ("TERM", "SIGTERM") or a number.
pub(crate) fn named(word: &str) -> Option<Signal> {
    let name = word.strip_prefix("SIG").unwrap_or(word);
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

/// Ends this process by a signal. The error is that it lives on.
pub(crate) fn die_by(signal: Signal) -> String {
    for _ in 0..TRIES {
        if let Err(error) = kill_process(getpid(), signal) {
            return format!("die: {error}");
        }
        thread::sleep(Duration::from_millis(1));
    }
    format!("die: survived signal {}", signal.as_raw())
}

/// From here on SIGTERM does nothing. It is caught rather than ignored, so children do not inherit it.
pub(crate) fn ignore_sigterm() -> Result<(), String> {
    signal_hook::flag::register(signal_hook::consts::SIGTERM, Arc::new(AtomicBool::new(false)))
        .map(drop)
        .map_err(|error| format!("ignore-sigterm: {error}"))
}
