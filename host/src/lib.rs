//! Wharf runs coding-agent CLIs behind one interface. What is particular to an agent lives in an *adapter*: a
//! WebAssembly component that can do only what was granted to it. The host runs the agent's process, and HTTP, on the
//! adapter's behalf.
//!
//! An orchestrator holds a [`Host`], loads an [`Adapter`](adapter::Adapter), starts a [`Turn`] and reads the [`Run`]'s
//! events, the last of which is the [`Report`](event::Report):
//!
//! ```no_run
//! # #[tokio::main]
//! # async fn main() -> wharf::Result<()> {
//! use wharf::ask::{Answer, Decision};
//! use wharf::event::EventKind;
//! use wharf::{Host, RunOptions, Turn};
//!
//! let host = Host::from_env()?;
//! let adapter = host.adapter("claude").await?;
//! let mut run = host.start(&adapter, Turn::new("Fix the failing test"), RunOptions::default()).await?;
//! while let Some(event) = run.next().await {
//!     match event.kind {
//!         EventKind::Ask(ask) => drop(run.answer(Answer::to(&ask, Decision::Deny).by("policy bot"))),
//!         EventKind::Report(report) => println!("{}: {:?}", report.outcome, report.answer),
//!         _ => {}
//!     }
//! }
//! # Ok(())
//! # }
//! ```
//!
//! # Theory of operation
//!
//! A turn goes through four rooms. *launch* asks the adapter to find the agent and to build a command line, checks both
//! against the grants, and starts the process (the crate `wharf-supervisor`). *run* moves bytes: secrets are removed
//! from the agent's output, which is recorded, split into frames and given to the adapter in *guest*; the adapter
//! returns effects, and the driver of `wharf-core` decides what to do about them. Events are written to disk by
//! *record* before a caller sees them. At the end one table decides the outcome, and a receipt seals the recording.
//! *replay* feeds a recording through the same code, without a process.
//!
//! Only the supervisor starts agents and signals processes; only *guest* connects to servers, for an adapter; only
//! `wharf-core` decides. An adapter that traps is replaced by a fresh instance that is fed from the recording, while the
//! agent runs on.
//!
//! # Features
//!
//! - `bundled`: the adapters for Claude Code and Copilot inside the library. Without it, adapters are loaded from files,
//!   and the build needs no wasm target.
//!
//! Log lines and a span for each run go to [`tracing`](https://docs.rs/tracing).

pub mod adapter;
pub mod agent;
mod agents;
pub mod ask;
mod config;
mod digest;
#[cfg(test)]
mod direction_tests;
mod dirs;
mod disk;
mod error;
pub mod event;
mod guest;
mod host;
mod install;
mod launch;
#[doc(hidden)]
pub mod measure;
mod packages;
mod project;
mod record;
pub mod recording;
mod replay;
mod run;
pub mod schema;
pub mod session;
mod sessions;
mod temp_folder;

pub use config::{
    AgentConfig, Config, LimitsConfig, ModelChoice, Models, PassedVariable, ProjectConfig, RecordingConfig,
    TimeoutsConfig,
};
pub use dirs::Dirs;
pub use error::{Error, ErrorKind, Result};
pub use guest::{Variable, compile_in_child};
pub use host::{Explanation, Host, not_started, reap_orphans};
pub use launch::{Preflight, RunOptions, SessionBusy, WhenBusy};
pub use project::PROJECT_FILE;
pub use run::{Batch, Controller, Delivery, Run, Ticket};
pub use wharf_core::model::time::{from_rfc3339 as parse_time, parse_span as parse_duration};
pub use wharf_core::model::{
    Approvals, Attachment, CallerTool, Effort, HookPoint, Labels, NextTurn, PolicyArea, PolicyDecision, PolicyRule,
    Price, Prices, SessionChoice, Settings, ToolRules, Turn, parse_json, parse_option,
};
pub use wharf_core::policy::loads_code;
pub use wharf_core::stream::Secrecy;
pub use wharf_core::turn::{TimeoutSetting, Timeouts};
pub use wharf_supervisor::{Cleanup, LeftoverProcess, ReapedRun, become_subreaper};
