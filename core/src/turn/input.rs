//! The vocabulary of the driver: what happens to a turn, what is done about it, what is sent to the adapter. Plain
//! data.

use crate::model::{Answer, AskAnswered, EventKind, Failure, InputRejected, RunStarted, Turn};
use crate::stream::StreamedEvent;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Where events go. The run's loop chooses: into memory for a caller, or as lines of JSON straight into a buffer.
pub trait EventSink {
    /// Takes an event, with the time since the run started.
    fn emit(&mut self, event: StreamedEvent<'_>, at: Duration);
}

impl EventSink for Vec<EventKind> {
    fn emit(&mut self, event: StreamedEvent<'_>, _at: Duration) {
        self.push(event.into_kind());
    }
}

/// What an adapter requests.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect<'c> {
    /// Report an event.
    Emit(StreamedEvent<'c>),
    /// Write to the agent's stdin.
    Write(Vec<u8>),
    /// Close the agent's stdin.
    CloseStdin,
    /// Send [`AdapterInput::Timer`] after a delay.
    SetTimer {
        /// The adapter's number for it.
        number: u32,
        /// The delay.
        delay: Duration,
    },
    /// The process does not speak the chosen transport.
    TransportFailed(Failure),
}

/// What is sent to the adapter. A recording keeps it in this form.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AdapterInput {
    /// The process has started.
    Start,
    /// An ask was answered.
    Answer(AskAnswered),
    /// A message from the user.
    Message(String),
    /// Another turn in the same process.
    NextTurn(Box<Turn>),
    /// A timer has expired.
    Timer(u32),
    /// Ask the agent to stop.
    Cancel,
}

/// What happens to a turn, beside the adapter's effects.
#[derive(Debug, Clone, PartialEq)]
pub enum Input {
    /// The process has started.
    Started(Box<RunStarted>),
    /// The agent wrote something.
    Output,
    /// The agent reads no more input, although the host did not close its stdin.
    StdinClosed,
    /// A caller's answer to an ask.
    Answer(Answer),
    /// A caller's message.
    Message(String),
    /// A caller's message, while too much earlier input is still unread by the agent.
    MessageUnread(String),
    /// Something that a caller sent and that was not understood.
    Rejected(InputRejected),
    /// A caller's next turn in the same process.
    NextTurn(Box<Turn>),
    /// An answer is being sent to the adapter: its ask is closed.
    Answered(AskAnswered),
    /// The adapter has handled an input, with this result.
    Delivered(Delivery),
    /// An input was not sent to the adapter.
    NotSent {
        /// The input.
        input: AdapterInput,
        /// Why not.
        reason: String,
    },
    /// The caller has no further turn.
    FinishAfterTurn,
    /// A caller stops the run; the second time the process is killed.
    Cancel,
    /// The reader of the events was dropped: the process is killed at once.
    Abandoned,
    /// The adapter failed for good.
    AdapterFailed(String),
    /// Time passed.
    Tick,
    /// The reader of the events is slow: the silence is not the agent's.
    Stalled,
    /// All available output was handled: now rules answer what they can. This is separate from the effects, so that the
    /// order of events does not depend on how the agent's output was split into reads.
    Flush,
    /// In a replay: an event that the host had added, at its position in the recording.
    Recorded(Box<EventKind>),
}

/// What the adapter did with an input.
#[derive(Debug, Clone, PartialEq)]
pub struct Delivery {
    /// The input.
    pub input: AdapterInput,
    /// Whether the adapter wrote anything to the agent.
    pub wrote: bool,
    /// Whether the adapter explained it by an event.
    pub explained: bool,
}

/// What the host must do.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// Write to the agent's stdin.
    Write(Vec<u8>),
    /// Close the agent's stdin.
    CloseStdin,
    /// Send this to the adapter.
    Send(AdapterInput),
    /// Ask the process to exit.
    Terminate,
    /// Kill the process.
    Kill,
}
