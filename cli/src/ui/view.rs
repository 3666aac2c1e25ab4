//! How events look to a person: the agent's text on stdout, what it does on stderr.

use super::shell::{BAD, BOLD, DIM, GOOD, ODD, Shell, TOOL, styled};
use super::visible::visible;
use std::collections::BTreeMap;
use wharf::adapter::LogLevel;
use wharf::ask::{AnsweredBy, AskAnswered};
use wharf::event::{EventKind, Outcome, Report, Retry, ToolCall, ToolStatus, Usage};

/// Shows events as they come.
pub(crate) struct View<'a> {
    shell: &'a Shell,
    /// Whether text is shown while it is written. Otherwise stdout gets only the answer, at the end.
    live: bool,
    /// The message that is being written, until its line has ended.
    writing: Option<String>,
    tools: BTreeMap<String, String>,
}

impl<'a> View<'a> {
    pub(crate) fn new(shell: &'a Shell) -> View<'a> {
        View { shell, live: shell.is_terminal(), writing: None, tools: BTreeMap::new() }
    }

    pub(crate) fn show(&mut self, event: &EventKind) {
        match event {
            EventKind::TextDelta(part) if part.parent.is_none() => self.write(&part.id, &part.text),
            EventKind::Message(part) if part.parent.is_none() && !part.text.is_empty() => {
                if self.writing.as_ref() != Some(&part.id) {
                    self.write(&part.id, &part.text);
                }
                self.end_line();
            }
            EventKind::Discard { .. } => {
                self.end_line();
                self.shell.say(styled(DIM, "  (that attempt was discarded; the agent retries)"));
            }
            EventKind::Thinking(part) if self.shell.verbose => {
                self.say(styled(DIM, format!("  thinks: {}", visible(&part.text))));
            }
            EventKind::Tool(call) => self.tool(call),
            EventKind::ToolOutput(part) if self.shell.verbose => self.say(styled(DIM, visible(part.text.trim_end()))),
            EventKind::Session(session) if self.shell.verbose => {
                let id = session.id.as_deref().unwrap_or("unknown");
                self.say(styled(DIM, format!("  session {}", visible(id))));
            }
            EventKind::Notice { level, text } if *level >= LogLevel::Warn || self.shell.verbose => {
                self.say(styled(ODD, format!("  {}", visible(text))));
            }
            EventKind::MessageSent { text } | EventKind::TurnStarted { prompt: text } => {
                self.say(styled(DIM, format!("  » {}", visible(text))));
            }
            EventKind::Retrying(failure) => {
                self.say(styled(ODD, format!("  the agent retries: {}", visible(&failure.message))));
            }
            EventKind::RateLimit { scope, blocked: true, .. } => {
                self.say(styled(ODD, format!("  rate limit: {}", visible(scope))));
            }
            EventKind::FileChange(change) => {
                self.say(styled(DIM, format!("  {} {}", change.kind, visible(&change.path))));
            }
            EventKind::Oversized { length, .. } => {
                self.say(styled(ODD, format!("  a line of {length} bytes was skipped")));
            }
            EventKind::AskAnswered(AskAnswered { by, name, choice, .. }) if *by != AnsweredBy::Caller => {
                let name = name.as_deref().map(|name| format!(" {name}")).unwrap_or_default();
                let text = format!("  answered by {by}{name}: {}", choice.as_deref().unwrap_or("no"));
                self.say(styled(DIM, visible(&text)));
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

    /// A line for people. What an agent wrote was made visible before: it must not control the terminal.
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
                self.say(format!(
                    "{inside}{} {}",
                    styled(TOOL, format!("● {}", visible(&name))),
                    styled(DIM, shorten(&what))
                ));
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
        let took = call.duration_ms.map(|millis| format!(" ({})", duration_text(millis))).unwrap_or_default();
        let output = call.output.as_deref().map(|text| shorten(text.trim())).unwrap_or_default();
        self.say(format!(
            "{inside}{} {}",
            styled(style, format!("{mark} {}{code}{took}", visible(&name))),
            styled(DIM, output)
        ));
    }

    pub(crate) fn report(&mut self, report: &Report) {
        self.end_line();
        if !self.live
            && let Some(answer) = &report.answer
        {
            // On a terminal it was made visible while it was written; elsewhere it is data.
            self.shell.line(answer.trim_end_matches('\n'));
        }
        let mut parts = vec![outcome_text(report.outcome)];
        parts.extend(report.model.as_deref().map(|model| visible(model).into_owned()));
        parts.extend(report.usage.as_ref().map(usage_text));
        parts.extend(report.session.as_ref().map(|session| format!("session {}", visible(&session.id))));
        self.shell.say(format!("{} {}", styled(BOLD, "●"), parts.join(" · ")));
        if let Some(detail) = &report.detail {
            self.shell.say(format!("  {}", visible(detail)));
        }
        if let Some(error) = &report.error {
            self.shell.say(format!("  {}: {}", styled(BAD, error.class), visible(&error.message)));
            if let Retry::AfterUserAction { action } = &error.retry {
                self.shell.say(format!("  {} {}", styled(BOLD, "hint:"), visible(action)));
            }
        }
        for setting in &report.unsupported {
            let text = format!("  unsupported setting {}: {}", setting.name, setting.reason);
            self.shell.say(styled(ODD, visible(&text)));
        }
        if !report.killed.is_empty() {
            self.shell.say(styled(ODD, format!("  leftover processes killed: {}", visible(&report.killed.join(", ")))));
        }
        if !report.drift.is_empty() {
            let unknown: Vec<String> =
                report.drift.unknown.iter().map(|(name, count)| format!("{name} ×{count}")).collect();
            let malformed = (report.drift.malformed > 0).then(|| format!("{} malformed", report.drift.malformed));
            let all: Vec<String> = unknown.into_iter().chain(malformed).collect();
            self.shell.say(styled(DIM, format!("  unknown to the adapter: {}", visible(&all.join(", ")))));
        }
    }
}

/// An outcome in its color.
pub(crate) fn outcome_text(outcome: Outcome) -> String {
    let style = match outcome {
        Outcome::Completed => GOOD,
        Outcome::Failed => BAD,
        _ => ODD,
    };
    styled(style, outcome)
}

/// A duration for people: `340 ms`, `2.1 s`, `3 min 5 s`.
fn duration_text(millis: u64) -> String {
    match millis {
        0..1000 => format!("{millis} ms"),
        1000..60_000 => format!("{}.{} s", millis / 1000, millis % 1000 / 100),
        _ => format!("{} min {} s", millis / 60_000, millis % 60_000 / 1000),
    }
}

/// What a turn used, as text. What is unknown is left out.
pub(crate) fn usage_text(usage: &Usage) -> String {
    let mut parts = Vec::new();
    let mut tokens = |count: Option<u64>, name: &str| parts.extend(count.map(|count| format!("{count} {name}")));
    // An agent may tell only one of the two figures of input.
    tokens(usage.input.or(usage.input_uncached), "in");
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
        let name = visible(name);
        text = format!("{text}{}{figure} {name}", if text.is_empty() { "" } else { " · " });
    }
    text
}

fn shorten(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    let more = line.chars().count() > 100 || text.lines().nth(1).is_some();
    let short: String = visible(line).chars().take(100).collect();
    if more { format!("{short}…") } else { short }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_short_text() {
        for (millis, text) in [(0, "0 ms"), (999, "999 ms"), (2149, "2.1 s"), (185_000, "3 min 5 s")] {
            assert_eq!(duration_text(millis), text);
        }
    }
}
