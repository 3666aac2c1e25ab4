//! Signals: by name, and sent to this process.

use rustix::process::Signal;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

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

/// Kills this process with a signal, even if the process that started it ignores that signal, as `nohup` does with
/// SIGHUP. It returns an error message if the process survives.
pub(crate) fn kill_self(signal: Signal) -> String {
    match signal_hook::low_level::emulate_default_handler(signal.as_raw()) {
        Ok(()) => format!("die: survived signal {}", signal.as_raw()),
        Err(error) => format!("die: {error}"),
    }
}

/// From here on SIGTERM has no effect. It is caught rather than ignored, so that children do not inherit that.
pub(crate) fn ignore_sigterm() -> Result<(), String> {
    signal_hook::flag::register(signal_hook::consts::SIGTERM, Arc::new(AtomicBool::new(false)))
        .map(drop)
        .map_err(|error| format!("ignore-sigterm: {error}"))
}
