//! Where an adapter puts what shall happen.

use crate::{
    Effect, Event, Failure, LogLevel, Notice, Outcome, Text, TextPart, Timer, ToolCall, ToolStatus, TurnEnd, Usage,
};

/// The longest beginning of a malformed frame that is passed on.
const HEAD: usize = 200;

/// What one call of an adapter makes happen, in order.
#[derive(Debug, Default, Clone, PartialEq)]
pub struct Effects(Vec<Effect>);

impl Effects {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn reserve(&mut self, more: usize) {
        self.0.reserve(more);
    }

    pub(crate) fn truncate(&mut self, length: usize) {
        self.0.truncate(length);
    }

    /// The effects themselves.
    pub fn into_vec(self) -> Vec<Effect> {
        self.0
    }

    /// The effects themselves.
    pub fn as_slice(&self) -> &[Effect] {
        &self.0
    }

    /// Say something to the orchestrator.
    pub fn emit(&mut self, event: Event) {
        self.0.push(Effect::Emit(event));
    }

    /// Write to the agent's stdin.
    pub fn write(&mut self, bytes: impl Into<Vec<u8>>) {
        self.0.push(Effect::Write(bytes.into()));
    }

    /// Write one line to the agent's stdin.
    pub fn write_line(&mut self, line: impl Into<String>) {
        let mut line = line.into();
        line.push('\n');
        self.write(line);
    }

    /// Close the agent's stdin.
    pub fn close_stdin(&mut self) {
        self.0.push(Effect::CloseStdin);
    }

    /// Ask for a `Input::Timer` after so many milliseconds.
    pub fn set_timer(&mut self, number: u32, milliseconds: u32) {
        self.0.push(Effect::SetTimer(Timer { number, milliseconds }));
    }

    /// A piece of an answer that is being written.
    pub fn text_delta(&mut self, id: &str, parent: Option<&str>, text: Text) {
        self.emit(Event::TextDelta(part(id, parent, text)));
    }

    /// A whole message, which replaces its deltas.
    pub fn message(&mut self, id: &str, parent: Option<&str>, text: Text) {
        self.emit(Event::Message(part(id, parent, text)));
    }

    /// A piece of the model's reasoning.
    pub fn thinking_delta(&mut self, id: &str, parent: Option<&str>, text: Text) {
        self.emit(Event::ThinkingDelta(part(id, parent, text)));
    }

    /// A whole piece of reasoning, which replaces its deltas.
    pub fn thinking(&mut self, id: &str, parent: Option<&str>, text: Text) {
        self.emit(Event::Thinking(part(id, parent, text)));
    }

    /// More output of a running tool.
    pub fn tool_output(&mut self, id: &str, parent: Option<&str>, text: Text) {
        self.emit(Event::ToolOutput(part(id, parent, text)));
    }

    /// A tool call, new or changed.
    pub fn tool(&mut self, call: ToolCall) {
        self.emit(Event::Tool(call));
    }

    /// Figures of usage.
    pub fn usage(&mut self, usage: Usage) {
        self.emit(Event::Usage(usage));
    }

    /// Something a person may want to read.
    pub fn notice(&mut self, level: LogLevel, text: impl Into<String>) {
        self.emit(Event::Notice(Notice { level, text: text.into() }));
    }

    /// The runtime says that the turn is over.
    pub fn turn_ended(&mut self, outcome: Outcome, answer: Option<Text>) {
        self.emit(Event::TurnEnded(TurnEnd { outcome, answer, structured_output: None }));
    }

    /// The runtime says that the turn succeeded.
    pub fn completed(&mut self, answer: Option<Text>) {
        self.turn_ended(Outcome::Completed, answer);
    }

    /// The runtime says that the turn failed.
    pub fn failed(&mut self, failure: Failure) {
        self.turn_ended(Outcome::Failed(failure), None);
    }

    /// A native type that the adapter does not know.
    pub fn unknown(&mut self, kind: &str) {
        self.emit(Event::Unknown(kind.to_owned()));
    }

    /// A frame that is not what the protocol says.
    pub fn malformed(&mut self, frame: &str) {
        let mut end = frame.len().min(HEAD);
        while !frame.is_char_boundary(end) {
            end -= 1;
        }
        self.emit(Event::Malformed(frame[..end].to_owned()));
    }
}

fn part(id: &str, parent: Option<&str>, text: Text) -> TextPart {
    TextPart { id: id.to_owned(), parent: parent.map(str::to_owned), text }
}

impl ToolCall {
    /// A tool call of which only the state is known yet.
    pub fn new(id: &str, status: ToolStatus) -> ToolCall {
        ToolCall {
            id: id.to_owned(),
            parent: None,
            name: None,
            title: None,
            status,
            input: None,
            output: None,
            exit_code: None,
        }
    }

    /// With the tool's name.
    #[must_use]
    pub fn named(mut self, name: &str) -> ToolCall {
        self.name = Some(name.to_owned());
        self
    }
}
