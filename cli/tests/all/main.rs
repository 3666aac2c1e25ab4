//! Everything that drives the `wharf` binary, as one test program. tests/support is the harness.

// The fake agent is for Unix only.
#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod components;
mod doctor;
mod environment;
mod exit_codes;
mod explain;
mod grants;
mod help;
mod hostile_files;
mod hostile_text;
mod invalid_input;
mod labels;
mod models;
mod named_agents;
mod old_formats;
mod prompts;
mod schemas;
mod turns;
mod tutorial;

// These look at processes through /proc.
#[cfg(target_os = "linux")]
mod agents;
#[cfg(target_os = "linux")]
mod asks;
#[cfg(target_os = "linux")]
mod events;
#[cfg(target_os = "linux")]
mod messages;
mod nesting;
#[cfg(target_os = "linux")]
mod orchestrating;
#[cfg(target_os = "linux")]
mod outcomes;
#[cfg(target_os = "linux")]
mod processes;
#[cfg(target_os = "linux")]
mod readers;
#[cfg(target_os = "linux")]
mod records;
#[cfg(target_os = "linux")]
mod sessions;
#[cfg(target_os = "linux")]
mod stdin;
#[cfg(target_os = "linux")]
mod streams;
#[cfg(target_os = "linux")]
mod usage;

use wharf_test_support::Sandbox;

/// The binary under test.
const WHARF: &str = env!("CARGO_BIN_EXE_wharf");

fn sandbox() -> Sandbox {
    Sandbox::with_binary(WHARF)
}
