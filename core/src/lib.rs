//! The data types and the decisions of Wharf: the model, the state machine of a turn, the processing of byte streams,
//! and the checks of grants.
//!
//! # Theory of operation
//!
//! Everything here is a value or a function of values. The crate starts no process, opens no file or socket, and reads
//! no clock: times are given to it as the [`Duration`](std::time::Duration) since the run started. The crate `wharf`
//! does all I/O and calls this one.
//!
//! - [`model`] has the plain data: the [`Turn`](model::Turn) that a caller requests, the [`Event`](model::Event)s that
//!   a run produces, the [`Report`](model::Report) at its end, and what is known about an agent.
//! - [`stream`] processes bytes and text: it removes secrets, splits an agent's output into frames, and writes events as
//!   lines of JSON. Event text stays borrowed from the agent's output until it is written.
//! - [`turn`] decides. The [`Driver`](turn::Driver) takes inputs and the adapter's effects, emits events into an
//!   [`EventSink`](turn::EventSink) and returns [`Action`](turn::Action)s. The outcome of a turn is one table
//!   ([`turn::outcome`]); a timeout is decided in [`turn::timeouts`] and the driver.
//! - [`policy`] decides what an adapter may reach.
//!
//! A program that only reads `wharf run --json` needs nothing but this crate:
//!
//! ```
//! use wharf_core::model::{Event, EventKind};
//!
//! let line = r#"{"seq":4,"at":120,"type":"text-delta","id":"m1","parent":null,"text":"Hello"}"#;
//! let event: Event = serde_json::from_str(line).expect("a line of `wharf run --json`");
//! let EventKind::TextDelta(part) = event.kind else { panic!("it is a text delta") };
//! assert_eq!((event.seq, part.text.as_str()), (4, "Hello"));
//! ```

pub mod model;
pub mod policy;
pub mod stream;
pub mod turn;
