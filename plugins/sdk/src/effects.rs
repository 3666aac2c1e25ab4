//! The list of effects that an adapter fills.

use crate::{
    Effect, Event, Failure, LogLevel, Notice, Outcome, Text, TextPart, Timer, ToolCall, ToolStatus, TurnEnd, Usage,
};

/// How many bytes of a malformed frame are reported.
const HEAD: usize = 200;

/// The effects of one call of an adapter, in order.
#[derive(Debug, Default, Clone, PartialEq)]
pub struct Effects(Vec<Effect>);

impl Effects {
    /// The number of effects.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are no effects.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn reserve(&mut self, more: usize) {
        self.0.reserve(more);
    }

    pub(crate) fn truncate(&mut self, length: usize) {
        self.0.truncate(length);
    }

    /// The effects, as the host gets them.
    pub fn into_vec(self) -> Vec<Effect> {
        self.0
    }

    /// The effects so far.
    pub fn as_slice(&self) -> &[Effect] {
        &self.0
    }

    /// Reports an event to the caller. Not inlined: an event is large, and it is called everywhere.
    #[inline(never)]
    pub fn emit(&mut self, event: Event) {
        self.0.push(Effect::Emit(event));
    }

    /// Writes to the agent's stdin.
    pub fn write(&mut self, bytes: impl Into<Vec<u8>>) {
        self.0.push(Effect::Write(bytes.into()));
    }

    /// Writes one line to the agent's stdin.
    pub fn write_line(&mut self, line: impl Into<String>) {
        let mut line = line.into();
        line.push('\n');
        self.write(line);
    }

    /// Closes the agent's stdin.
    pub fn close_stdin(&mut self) {
        self.0.push(Effect::CloseStdin);
    }

    /// Requests an `Input::Timer` after this many milliseconds.
    pub fn set_timer(&mut self, number: u32, milliseconds: u32) {
        self.0.push(Effect::SetTimer(Timer { number, milliseconds }));
    }

    /// A part of a message that is still being written.
    pub fn text_delta(&mut self, id: impl Into<Text>, parent: Option<&str>, text: Text) {
        self.emit(Event::TextDelta(part(id.into(), parent, text)));
    }

    /// A whole message, which replaces its deltas.
    pub fn message(&mut self, id: impl Into<Text>, parent: Option<&str>, text: Text) {
        self.emit(Event::Message(part(id.into(), parent, text)));
    }

    /// A part of reasoning that is still being written.
    pub fn thinking_delta(&mut self, id: impl Into<Text>, parent: Option<&str>, text: Text) {
        self.emit(Event::ThinkingDelta(part(id.into(), parent, text)));
    }

    /// A whole block of reasoning, which replaces its deltas.
    pub fn thinking(&mut self, id: impl Into<Text>, parent: Option<&str>, text: Text) {
        self.emit(Event::Thinking(part(id.into(), parent, text)));
    }

    /// More output of a tool that is still running.
    pub fn tool_output(&mut self, id: impl Into<Text>, parent: Option<&str>, text: Text) {
        self.emit(Event::ToolOutput(part(id.into(), parent, text)));
    }

    /// A tool call, new or changed.
    #[inline(never)]
    pub fn tool(&mut self, call: ToolCall) {
        self.emit(Event::Tool(call));
    }

    /// Token counts and costs.
    #[inline(never)]
    pub fn usage(&mut self, usage: Usage) {
        self.emit(Event::Usage(usage));
    }

    /// A message for the user.
    pub fn notice(&mut self, level: LogLevel, text: impl Into<String>) {
        self.emit_notice(Notice { level, text: text.into() });
    }

    #[inline(never)]
    fn emit_notice(&mut self, notice: Notice) {
        self.emit(Event::Notice(notice));
    }

    /// The agent reports that the turn is over.
    #[inline(never)]
    pub fn turn_ended(&mut self, outcome: Outcome, answer: Option<Text>) {
        self.emit(Event::TurnEnded(TurnEnd { outcome, answer, structured_output: None }));
    }

    /// The agent reports that the turn succeeded.
    pub fn completed(&mut self, answer: Option<Text>) {
        self.turn_ended(Outcome::Completed, answer);
    }

    /// The agent reports that the turn failed.
    #[inline(never)]
    pub fn failed(&mut self, failure: Failure) {
        self.turn_ended(Outcome::Failed(failure), None);
    }

    /// The process does not speak the chosen transport. The host goes on with the next one.
    pub fn transport_failed(&mut self, failure: Failure) {
        self.0.push(Effect::TransportFailed(failure));
    }

    /// A native type that the adapter does not know.
    #[inline(never)]
    pub fn unknown(&mut self, kind: &str) {
        self.emit(Event::Unknown(kind.to_owned()));
    }

    /// A frame that violates the protocol. Its beginning is reported.
    #[inline(never)]
    pub fn malformed(&mut self, frame: &str) {
        let mut end = frame.len().min(HEAD);
        while !frame.is_char_boundary(end) {
            end -= 1;
        }
        self.emit(Event::Malformed(frame[..end].to_owned()));
    }
}

#[inline(never)]
fn part(id: Text, parent: Option<&str>, text: Text) -> TextPart {
    TextPart { id, parent: parent.map(Text::from), text }
}

impl ToolCall {
    /// A tool call of which only the status is known yet.
    pub fn new(id: impl Into<Text>, status: ToolStatus) -> ToolCall {
        ToolCall {
            id: id.into(),
            parent: None,
            name: None,
            kind: None,
            mcp_server: None,
            title: None,
            status,
            input: None,
            output: None,
            exit_code: None,
            paths: vec![],
            diffs: vec![],
            denied_because: None,
        }
    }

    /// Sets the tool's name.
    #[must_use]
    pub fn named(mut self, name: &str) -> ToolCall {
        self.name = Some(name.to_owned());
        self
    }
}
