//! How events look to a person: the agent's text on stdout, what it does on stderr.

use super::shell::Shell;
use super::text::{self, BAD, BOLD, DIM, GOOD, ODD, TOOL, Text, foreign, ours};
use std::collections::BTreeMap;
use wharf::adapter::LogLevel;
use wharf::ask::{AnsweredBy, AskAnswered};
use wharf::event::{
    CostSource, EventKind, McpStatus, Omitted, Outcome, Phase, PlanItem, PlanStatus, Report, Retry, ToolCall,
    ToolStatus, Usage,
};

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
                self.shell.say(ours("  (that attempt was discarded; the agent retries)").in_style(DIM));
            }
            EventKind::Plan { items } => self.plan(items),
            EventKind::McpServer(server) if server.status == McpStatus::Failed || self.shell.verbose => {
                let text = ours("  MCP server ").foreign(&server.name).ours(" ").foreign(server.status);
                let reason = server.error.as_deref().unwrap_or_default();
                self.say(text.ours(if reason.is_empty() { "" } else { ": " }).foreign(reason).in_style(DIM));
            }
            EventKind::Compaction(compaction) => {
                let text = match compaction.phase {
                    Phase::Begun => "  the agent summarizes the conversation",
                    Phase::Ended => "  the conversation was summarized",
                };
                self.say(ours(text).in_style(DIM));
            }
            EventKind::Subagent(subagent) if subagent.phase == Phase::Begun => {
                let name = subagent.title.as_deref().or(subagent.name.as_deref()).unwrap_or(&subagent.id);
                self.say(ours("  sub-agent: ").foreign(name).in_style(DIM));
            }
            EventKind::Mode { mode } if self.shell.verbose => self.say(ours("  mode: ").foreign(mode).in_style(DIM)),
            EventKind::Thinking(part) if self.shell.verbose => {
                self.say(ours("  thinks: ").block(&part.text).in_style(DIM));
            }
            EventKind::Tool(call) => self.tool(call),
            EventKind::ToolOutput(part) if self.shell.verbose => {
                self.say(ours("  │ ").block(part.text.trim_end()).in_style(DIM));
            }
            EventKind::Session(session) if self.shell.verbose => {
                let id = session.id.as_deref().unwrap_or("unknown");
                self.say(ours("  session ").foreign(id).in_style(DIM));
            }
            EventKind::Notice { level, text } if *level >= LogLevel::Warn || self.shell.verbose => {
                self.say(ours("  ").block(text).in_style(ODD));
            }
            EventKind::InputRejected(rejected) => {
                self.say(ours("  not carried out: ").foreign(&rejected.reason).in_style(ODD));
            }
            EventKind::MessageSent { text } | EventKind::TurnStarted { prompt: text } => {
                self.say(ours("  » ").block(text).in_style(DIM));
            }
            EventKind::Retrying(failure) => {
                self.say(ours("  the agent retries: ").block(&failure.message).in_style(ODD));
            }
            EventKind::RateLimit { scope, blocked: true, .. } => {
                self.say(ours("  rate limit: ").foreign(scope).in_style(ODD));
            }
            EventKind::FileChange(change) => {
                self.say(ours("  ").foreign(change.kind).ours(" ").foreign(&change.path).in_style(DIM));
            }
            EventKind::Oversized { length, .. } => {
                self.say(ours("  a line of ").foreign(length).ours(" bytes was skipped").in_style(ODD));
            }
            EventKind::AskAnswered(AskAnswered { by, name, choice, .. }) if *by != AnsweredBy::Caller => {
                let name = name.as_deref().map(|name| ours(" ").foreign(name)).unwrap_or_default();
                let text = ours("  answered by ").foreign(by).then(name).ours(": ");
                self.say(text.foreign(choice.as_deref().unwrap_or("no")).in_style(DIM));
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
        self.shell.piece(&text::written(text));
    }

    pub(crate) fn end_line(&mut self) {
        if self.writing.take().is_some() {
            self.shell.piece(&ours("\n"));
        }
    }

    /// A line for people.
    fn say(&mut self, text: Text) {
        self.end_line();
        self.shell.say(text);
    }

    fn plan(&mut self, items: &[PlanItem]) {
        for item in items {
            let mark = match item.status {
                PlanStatus::Completed => "  [x] ",
                PlanStatus::InProgress => "  [>] ",
                PlanStatus::Cancelled => "  [-] ",
                _ => "  [ ] ",
            };
            self.say(ours(mark).then(shorten(&item.text)).in_style(DIM));
        }
    }

    fn tool(&mut self, call: &ToolCall) {
        let name = call.name.clone().or_else(|| self.tools.get(&call.id).cloned()).unwrap_or_else(|| "tool".to_owned());
        let inside = ours(if call.parent.is_some() { "  " } else { "" });
        if !call.status.is_final() {
            if self.tools.insert(call.id.clone(), name.clone()).is_none() {
                let what =
                    call.title.clone().or_else(|| call.input.as_ref().map(ToString::to_string)).unwrap_or_default();
                let name = ours("● ").foreign(&name).in_style(TOOL);
                self.say(inside.then(name).ours(" ").then(shorten(&what).in_style(DIM)));
            }
            return;
        }
        let (style, mark) = match call.status {
            ToolStatus::Succeeded => (GOOD, "✓"),
            ToolStatus::Denied => (ODD, "✗ denied"),
            ToolStatus::Cancelled => (ODD, "✗ cancelled"),
            _ => (BAD, "✗ failed"),
        };
        let code = call.exit_code.map(|code| ours(" exit ").foreign(code)).unwrap_or_default();
        let took = call.duration_ms.map(|millis| ours(" (").foreign(duration_text(millis)).ours(")"));
        let output = call.output.as_deref().map(|text| shorten(text.trim())).unwrap_or_default();
        let done = ours(mark).ours(" ").foreign(&name).then(code).then(took.unwrap_or_default()).in_style(style);
        self.say(inside.then(done).ours(" ").then(output.in_style(DIM)));
    }

    pub(crate) fn report(&mut self, report: &Report) {
        self.end_line();
        if !self.live
            && let Some(answer) = &report.answer
        {
            // Data, so that it is whole; but what would control a terminal is made visible, because many a pipe ends at
            // one. `--json` has the exact text.
            self.shell.line(text::data(answer.trim_end_matches('\n')));
        }
        let mut parts = vec![outcome_text(report.outcome)];
        parts.extend(report.model.as_deref().map(foreign));
        parts.extend(report.usage.as_ref().map(|usage| foreign(usage_text(usage))));
        parts.extend(report.session.as_ref().map(|session| ours("session ").foreign(&session.id)));
        self.shell.say(ours("●").in_style(BOLD).ours(" ").then(Text::joined(parts, " · ")));
        if let Some(detail) = &report.detail {
            self.shell.say(ours("  ").block(detail));
        }
        if let Some(error) = &report.error {
            let class = foreign(error.class).in_style(BAD);
            self.shell.say(ours("  ").then(class).ours(": ").block(&error.message));
            if let Retry::AfterUserAction { action } = &error.retry {
                self.shell.say(ours("  ").then(ours("hint:").in_style(BOLD)).ours(" ").block(action));
            }
        }
        for setting in &report.unsupported {
            let text = ours("  unsupported setting ").foreign(&setting.name).ours(": ").foreign(&setting.reason);
            self.shell.say(text.in_style(ODD));
        }
        if !report.killed.is_empty() {
            let killed = Text::joined(report.killed.iter().map(foreign), ", ");
            self.shell.say(ours("  leftover processes killed: ").then(killed).in_style(ODD));
        }
        if !report.drift.is_empty() {
            let unknown = report.drift.unknown.iter().map(|(name, count)| foreign(name).ours(" ×").foreign(count));
            let malformed = report.drift.malformed;
            let malformed = (malformed > 0).then(|| foreign(malformed).ours(" malformed"));
            let all = Text::joined(unknown.chain(malformed), ", ");
            self.shell.say(ours("  unknown to the adapter: ").then(all).in_style(DIM));
        }
        if let Some(omitted) = omitted_text(&report.omitted) {
            self.shell.say(ours("  too many for the report: ").foreign(omitted).in_style(ODD));
        }
    }
}

/// What is not in a report, because its lists are limited.
fn omitted_text(omitted: &Omitted) -> Option<String> {
    let Omitted { tools, files, types, usage, asks, .. } = *omitted;
    let parts: Vec<_> = [
        (tools, "events about tools"),
        (files, "changes of files"),
        (types, "messages of unknown types"),
        (usage, "figures of usage"),
        (asks, "asks, which were denied"),
    ]
    .into_iter()
    .filter(|(count, _)| *count > 0)
    .map(|(count, what)| format!("{count} {what}"))
    .collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

/// An outcome in its color.
pub(crate) fn outcome_text(outcome: Outcome) -> Text {
    let style = match outcome {
        Outcome::Completed => GOOD,
        Outcome::Failed => BAD,
        _ => ODD,
    };
    foreign(outcome).in_style(style)
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
    if let Some(cost) = usage.cost {
        let estimate = if usage.cost_source == Some(CostSource::Prices) { "about " } else { "" };
        text = format!("{text}{}{estimate}{cost}", if text.is_empty() { "" } else { " · " });
    }
    for (name, figure) in &usage.units {
        text = format!("{text}{}{figure} {name}", if text.is_empty() { "" } else { " · " });
    }
    text
}

/// The first line, and no more of it than fits beside a name.
fn shorten(text: &str) -> Text {
    let line = text.lines().next().unwrap_or_default();
    let more = line.chars().count() > 100 || text.lines().nth(1).is_some();
    let short = foreign(line.chars().take(100).collect::<String>());
    if more { short.ours("…") } else { short }
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

    #[test]
    fn what_a_report_leaves_out_is_told() {
        let mut omitted = Omitted::default();
        assert_eq!(omitted_text(&omitted), None);
        (omitted.tools, omitted.asks) = (7, 1);
        assert_eq!(omitted_text(&omitted).as_deref(), Some("7 events about tools, 1 asks, which were denied"));
    }
}
