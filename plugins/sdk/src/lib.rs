//! Write an adapter for Wharf.
//!
//! Wharf runs coding-agent CLIs. An adapter knows one of them. It is a WebAssembly component that tells the host how to
//! find and start the program, and turns the program's output into events.
//!
//! # Theory of operation
//!
//! An adapter does nothing by itself: it has no files, no network, no processes and no clock. The host does the work and
//! calls the adapter:
//!
//! 1. [`Adapter::describe`] names the adapter, its options and the access it needs. The user grants access; the host
//!    enforces it.
//! 2. [`Adapter::resolve_binary`] finds the program, its version and what that version can do.
//! 3. [`Adapter::launch`] and [`Adapter::build_prompt`] turn the [`Settings`] of a turn into a command line and a prompt.
//!    A setting that the adapter does not take is reported as unsupported, never dropped.
//! 4. The host starts the process and passes its output in whole lines to [`Adapter::parse_chunk`], which calls
//!    [`Adapter::line`] for each. Answers, messages, timers and cancellations go to [`Adapter::handle`]. Both put
//!    [`Effects`] into a list: events for the caller, and writes to the agent's stdin.
//! 5. After the process has exited, [`Adapter::finish`] may look up what the output did not contain. If nothing said how
//!    the turn ended, [`Adapter::parse_error`] decides by the exit status and stderr.
//!
//! Only `resolve_binary`, `finish` and `list_models` get a [`Host`]. Everything else is a pure function of its input, so
//! that a recording gives the same events when it is replayed.
//!
//! Lines are read with [`Json`], which builds no values: an adapter picks the fields it needs, and long text goes back to
//! the host as a span of its own buffer.
//!
//! # Example
//!
//! Implement [`Adapter`], name the type in [`export!`], build for `wasm32-wasip2`:
//!
//! ```
//! use wharf_adapter::{
//!     Adapter, AdapterInfo, Binary, Capabilities, Effects, Environment, Failure, Host, Json, Launch, Malformed, Settings,
//! };
//!
//! #[derive(Default)]
//! struct Parrot;
//!
//! impl Adapter for Parrot {
//!     fn describe() -> AdapterInfo {
//!         AdapterInfo::new("parrot", "Parrot", "0.1.0").program("parrot")
//!     }
//!     fn resolve_binary(&mut self, host: &dyn Host, environment: &Environment) -> Result<Binary, Failure> {
//!         let mut binary = Binary::at(wharf_adapter::locate(host, environment, &["parrot"], "npm install -g parrot")?);
//!         binary.transport("json-lines", Capabilities::empty());
//!         Ok(binary)
//!     }
//!     fn launch(&mut self, settings: &mut Settings<'_>, _binary: &Binary) -> Result<Launch, Failure> {
//!         settings.otherwise("a parrot has no settings");
//!         Ok(Launch::lines(["--json"]))
//!     }
//!     fn line(&mut self, line: Json<'_>, out: &mut Effects) -> Result<(), Malformed> {
//!         let [kind, text] = line.pick(["type", "text"])?;
//!         match kind.name() {
//!             Some("say") => out.message("1", None, text.text_or_empty()),
//!             Some("bye") => out.completed(None),
//!             other => out.unknown(other.unwrap_or("?")),
//!         }
//!         Ok(())
//!     }
//! }
//!
//! wharf_adapter::export!(Parrot);
//! ```
//!
//! The logic is plain Rust: [`testing`] has a fake host to test it natively, without WebAssembly.
//!
//! # What adapters share
//!
//! - [`acp`]: a session of the Agent Client Protocol, over a [`Dialect`](acp::Dialect) with what an agent does differently.
//! - [`rpc`]: JSON-RPC, with and without its version member, in lines or with `Content-Length`.
//! - [`Calls`], [`Drafts`], [`Ignored`]: open tool calls, streamed text that a retry voids, types that are not reported.
//! - [`failure`], [`time`], [`Probe`], [`Tested`], [`fetch_json`]: classes of errors, timestamps, versions, lists of models.
//!
//! # Features
//!
//! - `allocator` (default): [`export!`] also sets the component's global allocator, which is made for many short strings.
//!   An adapter with a `#[global_allocator]` of its own turns this off: `default-features = false`.
//! - `transcripts`: `testing::transcript` replays recorded runs and makes the host's own report of them. For tests.

// The generated code refers to this crate by name, inside the crate and outside.
extern crate self as wharf_adapter;

pub mod acp;
mod adapter;
#[cfg(any(all(target_family = "wasm", feature = "allocator"), test))]
mod allocator;
mod build;
mod calls;
mod drafts;
mod effects;
mod effort;
mod export;
pub mod failure;
mod fetch;
mod host;
mod ignored;
pub mod json;
mod probe;
pub mod rpc;
mod scan;
mod settings;
mod skip;
mod support;
mod tape;
pub mod testing;
pub mod text;
pub mod time;
mod version;

#[allow(
    missing_docs,
    unsafe_code,
    unreachable_pub,
    clippy::all,
    clippy::pedantic,
    clippy::unwrap_used,
    reason = "generated; wit/runtime.wit has the documentation"
)]
#[doc(hidden)]
pub mod bindings {
    wit_bindgen::generate!({
        path: "wit",
        world: "adapter",
        pub_export_macro: true,
        export_macro_name: "export_component",
        default_bindings_module: "wharf_adapter::bindings",
        additional_derives: [PartialEq, Clone],
        runtime_path: "wharf_adapter::wit_bindgen_rt",
    });
}

/// What the generated export code needs at run time.
#[doc(hidden)]
pub use wit_bindgen::rt as wit_bindgen_rt;

pub use adapter::Adapter;
#[cfg(any(all(target_family = "wasm", feature = "allocator"), test))]
#[doc(hidden)]
pub use allocator::Allocator;
pub use bindings::wharf::runtime::host::{Command, FoundProgram, HostError, Output, Request, Response};
pub use bindings::wharf::runtime::types::{
    Access, Action, AdapterInfo, Answer, Approvals, Arg, Ask, AskKind, Attachment, Binary, CallerTool, Capabilities,
    ChangeKind, Choice, ChoiceKind, Chunk, CommandInfo, Compaction, ContextUsage, Decision, Diff, Effect, Environment,
    ErrorClass, Event, Evidence, ExitBehavior, ExitStatus, Failure, FieldAnswer, FileChange, FileWrite, Frames,
    Framing, HookPoints, Input, InstructionFile, Launch, LaunchFile, LogLevel, Login, McpCall, McpServer, McpStatus,
    Model, ModelList, NextTurn, Note, Notice, OptionKind, OptionSpec, Outcome, Oversized, Phase, PlanItem, PlanStatus,
    PolicyArea, PolicyRule, PromptDelivery, Question, RateLimit, Retry, Round, SessionChoice, SessionInfo, Span,
    StopSignal, Stream, Subagent, Support, Text, TextPart, Timer, ToolCall, ToolKind, ToolRules, ToolStatus, Transport,
    Turn, TurnEnd, UnsupportedSetting, Usage, UsageScope,
};
pub use calls::Calls;
pub use drafts::Drafts;
pub use effects::Effects;
pub use effort::{Effort, nearest_effort};
#[doc(hidden)]
pub use export::{Exported, InSlot, Slot};
pub use failure::failure_from_stderr;
pub use fetch::{FetchError, fetch_json};
pub use host::Host;
pub use ignored::Ignored;
pub use json::{Json, Malformed};
pub use probe::{Probe, locate};
pub use settings::{Setting, Settings};
pub use support::Refused;
pub use version::{Tested, Version};
