//! Wharf runs coding-agent CLIs behind one interface. What is particular to an agent lives in an *adapter*: a
//! WebAssembly component that can do only what was granted to it. The host runs the agent's process, and HTTP, on the
//! adapter's behalf.
//!
//! An orchestrator holds a [`Host`], loads an [`Adapter`], starts a [`Turn`] and reads the [`Run`]'s events, the last
//! of which is the [`Report`]:
//!
//! ```no_run
//! # #[tokio::main]
//! # async fn main() -> wharf::Result<()> {
//! use wharf::{Event, Host, RunOptions, Turn};
//!
//! let host = Host::of_user()?;
//! let adapter = host.adapter("claude").await?;
//! let mut run = host.start(&adapter, Turn::new("Fix the failing test"), RunOptions::default()).await?;
//! while let Some(event) = run.next().await {
//!     match event {
//!         Event::Ask(ask) => run.answer(wharf::Answer::new(ask.id, wharf::Decision::Deny)),
//!         Event::Report(report) => println!("{:?}: {:?}", report.outcome, report.answer),
//!         _ => {}
//!     }
//! }
//! # Ok(())
//! # }
//! ```
//!
//! The parts, in the order in which the data goes through them:
//!
//! - a turn is checked ([`Turn`]) and prepared (`prepare`) with what an adapter (`adapter`, `instance`) says, within
//!   what was granted to it (`grants`, `services`);
//! - the process is started and supervised (the crate `wharf-supervisor`), its output is redacted (`redact`), recorded (`recording`,
//!   `journal`) and cut into frames (`frame`);
//! - the adapter makes effects of the frames (`conversation`, `lift`), and the `driver`, a pure state machine, decides
//!   what is done about them; `run` is the loop that does it;
//! - at the end one table says how it went (`outcome`), and what is left is kept (`keep`, `sessions`, `receipt`).

mod action;
mod adapter;
mod ask;
mod bindings;
mod catalog;
mod compiled;
mod config;
mod conversation;
mod driver;
mod engine;
mod environment;
mod error;
mod event;
mod frame;
mod grants;
mod host;
mod http;
mod info;
mod instance;
mod journal;
mod keep;
mod last_words;
mod lift;
mod line;
mod log;
#[doc(hidden)]
pub mod measure;
mod outcome;
mod places;
mod prepare;
mod program;
mod receipt;
mod recording;
mod redact;
mod replay;
mod resolved;
mod run;
mod runs;
mod services;
mod sessions;
mod stdin;
mod summary;
mod text;
mod turn;
mod usage;

pub use adapter::{Adapter, Source};
pub use ask::{Answer, AskRule, AskRules, Decision, Otherwise, RuleAnswer};
pub use catalog::Entry;
pub use config::{Config, LimitsConfig, PROJECT_FILE, RecordingConfig};
pub use driver::{Clocks, Ending};
pub use environment::BASE as BASE_ENVIRONMENT;
pub use error::{Error, ErrorKind, Result};
pub use event::{
    Ask, Choice, ChoiceKind, Drift, ErrorClass, Event, Exit, Failure, FileChange, IgnoredWish, Outcome, Report,
    ReportSession, ReportTool, Retry, SessionInfo, TextPart, ToolCall, ToolStatus, Usage, UsageFigures, UsageScope,
    schema,
};
pub use grants::{Denial, Policy, Why};
pub use host::{Explanation, Host, RunOptions, not_started, reap_orphans};
pub use info::{AdapterInfo, Binary, Level, Login, Model, ModelList, Needs, Note, OptionKind, OptionSpec, Support};
pub use log::set_log;
pub use places::Places;
pub use prepare::{FramingKind, Plan, Word};
pub use receipt::{Check, Receipt, Verified, verify as verify_receipt};
pub use replay::{AdapterRecord, Capture, LaunchRecord, Replayed, Streams, anonymous, launch_record, streams};
pub use run::{Batch, Controller, Run};
pub use runs::{Pruned, RunEntry, RunFolder, RunState, find as find_run, list as list_runs, prune as prune_runs};
pub use sessions::{DriftRow, SessionEntry, Sessions};
pub use turn::{Approvals, EFFORTS, NextTurn, SessionChoice, ToolRules, Turn, parse_option};
pub use wharf_supervisor::{Reaped, Remnant, Swept, become_subreaper};
