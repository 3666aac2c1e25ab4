//! The words of the driver: what happens to a turn, what shall be done about it, what is said to the adapter. Plain data;
//! a reply is also what a recording keeps of it.

use crate::ask::Answer;
use crate::event::Event;
use crate::line::Lines;
use crate::turn::Turn;
use serde::{Deserialize, Serialize};

/// What is said to the adapter.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Reply {
    /// The process is up.
    Start,
    /// Somebody answered an ask.
    Answer {
        /// The ask's id.
        ask: String,
        /// The choice's id.
        choice: Option<String>,
        /// A text.
        text: Option<String>,
        /// The tool's input, changed.
        input: Option<serde_json::Value>,
        /// Who answered: caller, rule, timeout.
        by: String,
    },
    /// The user says something more.
    Message(String),
    /// Another turn in the same process.
    NextTurn(Box<Turn>),
    /// A timer ran out.
    Timer(u32),
    /// Ask the agent to stop.
    Cancel,
}

/// What happens to a turn, beside what the adapter wants to happen.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Input {
    /// The process is up.
    Started,
    /// The agent wrote something.
    Output,
    /// A caller's answer to an ask.
    Answer(Answer),
    /// A caller's message.
    Message(String),
    /// A caller's message that came while the agent leaves too much of what it was told before unread.
    MessageUnread,
    /// The adapter was told of a message; whether anything went to the agent, and whether it said why not.
    MessageDelivered {
        /// The message.
        text: String,
        /// Whether it wrote.
        wrote: bool,
        /// Whether it said anything about it.
        explained: bool,
    },
    /// A caller's next turn in the same process.
    NextTurn(Box<Turn>),
    /// The adapter was told of it; whether anything went to the agent, and whether it said why not.
    NextTurnDelivered {
        /// The turn's prompt.
        prompt: String,
        /// Whether it wrote.
        wrote: bool,
        /// Whether it said anything about it.
        explained: bool,
    },
    /// A caller has no further turn.
    NoNextTurn,
    /// A caller wants it stopped; the second time at once.
    Cancel,
    /// The adapter was told to cancel; whether anything went to the agent.
    CancelDelivered {
        /// Whether it did.
        wrote: bool,
    },
    /// The adapter cannot go on.
    Fault(String),
    /// Time passed.
    Tick,
    /// Whoever reads the events does not keep up: silence is not the agent's then.
    Stalled,
    /// All that was there has been taken in: now is the time to answer what rules can answer. Apart from the
    /// effects, so that the order of events does not depend on how the agent's output was cut.
    Settle,
}

/// What shall be done.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Action {
    /// Say this to the orchestrator.
    Emit(Event),
    /// The same, of events that somebody has written already.
    Pass(Lines),
    /// Write this to the agent's stdin.
    Write(Vec<u8>),
    /// Close the agent's stdin.
    CloseStdin,
    /// Say this to the adapter.
    Tell(Reply),
    /// Ask the process to end.
    Terminate,
    /// End the process.
    Kill,
}
