//! A live run: the loop that moves bytes between the agent's process, the adapter and the reader of the events.
//!
//! This room never decides how a turn continues: the loop asks the driver of `wharf-core`. Memory is bounded: while
//! events wait for their reader, or too much waits for the agent to read it, the agent's pipes are not read.

mod alarm;
mod batch;
mod buffer;
mod clock;
mod control;
mod event_loop;
mod exchange;
mod handle;
mod model_names;
mod notices;
mod pipe;
mod queue;
mod recover;
mod recovery;
mod send;
mod stdin;
mod wrap_up;

pub use batch::Batch;
pub(crate) use clock::RunClock;
pub use control::{Controller, Delivery, Ticket};
pub(crate) use event_loop::Parts;
pub(crate) use exchange::{Exchange, Io, TurnContext};
pub use handle::Run;
pub(crate) use handle::start;
pub(crate) use model_names::ModelNames;
