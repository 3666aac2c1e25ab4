//! How events look to a person: the agent's words on stdout, what it does on stderr.

use super::shell::{BAD, BOLD, DIM, GOOD, ODD, Shell, TOOL, styled};
use std::borrow::Cow;
use std::collections::BTreeMap;
use wharf::{Event, Level, Outcome, Report, ToolCall, ToolStatus, Usage};

/// Shows events as they come.
pub(crate) struct View<'a> {
    shell: &'a Shell,
    /// Whether text is shown while it is written. Otherwise stdout gets the answer alone, at the end.
    live: bool,
    /// The message that is being written, and whether its line has ended.
    writing: Option<String>,
    tools: BTreeMap<String, String>,
}

impl<'a> View<'a> {
    pub(crate) fn new(shell: &'a Shell) -> View<'a> {
        View { shell, live: shell.is_terminal(), writing: None, tools: BTreeMap::new() }
    }

    pub(crate) fn show(&mut self, event: &Event) {
        match event {
            Event::TextDelta(part) if part.parent.is_none() => self.write(&part.id, &part.text),
            Event::Message(part) if part.parent.is_none() && !part.text.is_empty() => {
                if self.writing.as_ref() != Some(&part.id) {
                    self.write(&part.id, &part.text);
                }
                self.end_line();
            }
            Event::Discard { .. } => {
                self.end_line();
                self.shell.say(styled(DIM, "  (that attempt was dropped; the agent tries again)"));
            }
            Event::Thinking(part) if self.shell.verbose => self.say(styled(DIM, format!("  thinks: {}", part.text))),
            Event::Tool(call) => self.tool(call),
            Event::ToolOutput(part) if self.shell.verbose => self.say(styled(DIM, part.text.trim_end())),
            Event::Session(session) if self.shell.verbose => {
                let id = session.id.as_deref().unwrap_or("not told yet");
                self.say(styled(DIM, format!("  session {id}")));
            }
            Event::Notice { level, text } if *level >= Level::Warn || self.shell.verbose => {
                self.say(styled(ODD, format!("  {text}")));
            }
            Event::MessageSent { text } | Event::TurnBegun { prompt: text } => {
                self.say(styled(DIM, format!("  » {}", visible(text))));
            }
            Event::Retrying(failure) => self.say(styled(ODD, format!("  the agent retries: {}", failure.message))),
            Event::Limit { scope, blocked: true, .. } => self.say(styled(ODD, format!("  rate limit: {scope}"))),
            Event::FileChange(change) => self.say(styled(DIM, format!("  {} {}", change.kind, change.path))),
            Event::Oversized { length, .. } => self.say(styled(ODD, format!("  a line of {length} bytes was skipped"))),
            Event::AskAnswered { by, choice, .. } if by != "caller" => {
                self.say(styled(DIM, format!("  answered by {by}: {}", choice.as_deref().unwrap_or("no"))));
            }
            _ => {}
        }
    }

    fn write(&mut self, id: &str, text: &str) {
        if !self.live {
            return;
        }
        if self.writing.as_ref().is_some_and(|writing| writing != id) {
            self.end_line();
        }
        self.writing = Some(id.to_owned());
        self.shell.piece(&visible(text));
    }

    pub(crate) fn end_line(&mut self) {
        if self.writing.take().is_some() {
            self.shell.piece("\n");
        }
    }

    /// What an agent writes is text: it does not steer the terminal. `text` comes from us; agents' parts are made
    /// visible by `shorten` and where they are written.
    fn say(&mut self, text: impl std::fmt::Display) {
        self.end_line();
        self.shell.say(text);
    }

    fn tool(&mut self, call: &ToolCall) {
        let name = call.name.clone().or_else(|| self.tools.get(&call.id).cloned()).unwrap_or_else(|| "tool".to_owned());
        let inside = if call.parent.is_some() { "  " } else { "" };
        if !call.status.is_final() {
            if self.tools.insert(call.id.clone(), name.clone()).is_none() {
                let what =
                    call.title.clone().or_else(|| call.input.as_ref().map(ToString::to_string)).unwrap_or_default();
                self.say(format!("{inside}{} {}", styled(TOOL, format!("● {name}")), styled(DIM, shorten(&what))));
            }
            return;
        }
        let (style, mark) = match call.status {
            ToolStatus::Succeeded => (GOOD, "✓"),
            ToolStatus::Denied => (ODD, "✗ denied"),
            ToolStatus::Cancelled => (ODD, "✗ cancelled"),
            _ => (BAD, "✗ failed"),
        };
        let code = call.exit_code.map(|code| format!(" exit {code}")).unwrap_or_default();
        let output = call.output.as_deref().map(|text| shorten(text.trim())).unwrap_or_default();
        self.say(format!("{inside}{} {}", styled(style, format!("{mark} {name}{code}")), styled(DIM, output)));
    }

    pub(crate) fn report(&mut self, report: &Report) {
        self.end_line();
        if !self.live
            && let Some(answer) = &report.answer
        {
            self.shell.line(answer.trim_end_matches('\n'));
        }
        let (style, word) = match report.outcome {
            Outcome::Completed => (GOOD, "completed"),
            Outcome::Failed => (BAD, "failed"),
            Outcome::Cancelled => (ODD, "cancelled"),
            Outcome::Refused => (ODD, "refused"),
            Outcome::Blocked => (ODD, "blocked"),
            Outcome::Limit => (ODD, "limit reached"),
        };
        let mut parts = vec![styled(style, word)];
        parts.extend(report.model.clone());
        parts.extend(report.usage.as_ref().map(usage_text));
        parts.extend(report.session.as_ref().map(|session| format!("session {}", session.id)));
        self.shell.say(format!("{} {}", styled(BOLD, "●"), parts.join(" · ")));
        if let Some(detail) = &report.detail {
            self.shell.say(format!("  {detail}"));
        }
        if let Some(error) = &report.error {
            self.shell.say(format!("  {}: {}", styled(BAD, class_name(error)), error.message));
            if let wharf::Retry::AfterUserAction { action } = &error.retry {
                self.shell.say(format!("  {} {action}", styled(BOLD, "hint:")));
            }
        }
        for wish in &report.ignored {
            self.shell.say(styled(ODD, format!("  ignored {}: {}", wish.name, wish.why)));
        }
        if !report.killed.is_empty() {
            self.shell.say(styled(ODD, format!("  left running and killed: {}", report.killed.join(", "))));
        }
        if !report.drift.is_empty() {
            let unknown: Vec<String> =
                report.drift.unknown.iter().map(|(name, count)| format!("{name} ×{count}")).collect();
            let malformed = (report.drift.malformed > 0).then(|| format!("{} malformed", report.drift.malformed));
            let all: Vec<String> = unknown.into_iter().chain(malformed).collect();
            self.shell.say(styled(DIM, format!("  not known to the adapter: {}", all.join(", "))));
        }
    }
}

fn class_name(error: &wharf::Failure) -> String {
    serde_json::to_value(error.class).ok().and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_default()
}

/// What a turn used, in a few words. What is unknown is not there.
pub(crate) fn usage_text(usage: &Usage) -> String {
    let mut parts = Vec::new();
    let mut tokens = |count: Option<u64>, name: &str| parts.extend(count.map(|count| format!("{count} {name}")));
    tokens(usage.input, "in");
    tokens(usage.output, "out");
    tokens(usage.cache_read, "cached");
    let mut text = parts.join(", ");
    if !text.is_empty() {
        text.push_str(" tokens");
    }
    #[expect(clippy::cast_precision_loss, reason = "shown to four digits")]
    if let Some(cost) = usage.cost_micros {
        text = format!("{text}{}${:.4}", if text.is_empty() { "" } else { " · " }, cost as f64 / 1e6);
    }
    for (name, figure) in &usage.units {
        text = format!("{text}{}{figure} {name}", if text.is_empty() { "" } else { " · " });
    }
    text
}

/// Text in which no control character steers the terminal; lines and tabs stay.
pub(crate) fn visible(text: &str) -> Cow<'_, str> {
    let steers = |character: char| character.is_control() && character != '\n' && character != '\t';
    if text.contains(steers) { Cow::Owned(text.replace(steers, "\u{FFFD}")) } else { Cow::Borrowed(text) }
}

fn shorten(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    let more = line.chars().count() > 100 || text.lines().nth(1).is_some();
    let short: String = visible(line).chars().take(100).collect();
    if more { format!("{short}…") } else { short }
}
