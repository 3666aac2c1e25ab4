//! Write a Wharf adapter.
//!
//! An adapter is a WebAssembly component that knows one coding-agent CLI. It tells the host how to find and start the
//! program, and turns what the program prints into events. It does nothing by itself: no files, no network, no clock.
//! What it needs from outside it asks of the host, which grants or denies.
//!
//! Implement [`Adapter`], name it in [`export!`], build for `wasm32-wasip2`:
//!
//! ```
//! use wharf_adapter::{Adapter, AdapterInfo, Binary, Effects, Failure, Host, Json, Launch, Malformed, Environment, Turn};
//!
//! #[derive(Default)]
//! struct Parrot;
//!
//! impl Adapter for Parrot {
//!     fn describe() -> AdapterInfo {
//!         AdapterInfo::new("parrot", "Parrot", "0.1.0").program("parrot")
//!     }
//!     fn resolve_binary(&mut self, host: &dyn Host, environment: &Environment) -> Result<Binary, Failure> {
//!         Ok(Binary::at(wharf_adapter::locate(host, environment, &["parrot"], "npm install -g parrot")?))
//!     }
//!     fn build_args(&mut self, _turn: &Turn, _binary: &Binary) -> Result<Launch, Failure> {
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
//! The logic is plain Rust: [`testing`] has a host to test it against natively, without wasm.

// The generated code names this crate from inside and from outside alike.
extern crate self as wharf_adapter;

mod adapter;
mod build;
mod effects;
mod effort;
mod export;
mod host;
pub mod json;
mod locate;
#[cfg(any(target_family = "wasm", test))]
mod memory;
mod scan;
mod stderr;
mod tape;
pub mod testing;
mod version;

#[allow(
    missing_docs,
    unsafe_code,
    unreachable_pub,
    clippy::all,
    clippy::pedantic,
    clippy::unwrap_used,
    reason = "generated; the documentation is in wit/runtime.wit"
)]
#[doc(hidden)]
pub mod bindings {
    wit_bindgen::generate!({
        path: "../../wit",
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
pub use bindings::wharf::runtime::host::{Command, FoundProgram, HostError, Output, Request, Response};
pub use bindings::wharf::runtime::types::{
    Access, AdapterInfo, Answer, Approvals, Arg, Ask, AskKind, Binary, Capabilities, ChangeKind, Choice, ChoiceKind,
    Chunk, ContextUsage, Effect, Environment, ErrorClass, Event, Evidence, ExitBehavior, ExitStatus, Failure,
    FileChange, Frames, Framing, Input, Launch, LaunchFile, LogLevel, Login, Model, ModelList, Note, Notice,
    OptionKind, OptionSpec, Outcome, Oversized, PromptDelivery, RateLimit, Retry, SessionChoice, SessionInfo, Span,
    Stream, Support, Text, TextPart, Timer, ToolCall, ToolRules, ToolStatus, Turn, TurnEnd, UnsupportedSetting, Usage,
    UsageScope,
};
pub use effects::Effects;
pub use effort::{Effort, nearest_effort};
#[doc(hidden)]
pub use export::{Exported, InSlot, Slot};
pub use host::Host;
pub use json::{Json, Malformed};
pub use locate::{locate, probe_version};
#[cfg(any(target_family = "wasm", test))]
#[doc(hidden)]
pub use memory::Memory;
pub use stderr::failure_from_stderr;
pub use version::Version;
