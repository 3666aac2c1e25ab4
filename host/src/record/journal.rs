//! Records a run while it is live: the recording, and the event file beside it. Everything is written before anyone
//! sees it, so that a killed host has lost nothing that it had reported.
//!
//! It never reads a clock: the time of each record is given to it.

use super::event_file::{EventFile, EventsSummary};
use super::format::Kind;
use super::writer::{RecordingWriter, Summary};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Duration;
use wharf_core::model::{Event, EventKind, LogLevel};
use wharf_core::stream::{Lines, Secrets, StreamedEvent};

/// Records a run, or nothing if recording is off.
pub(crate) struct Journal {
    kept: Option<Kept>,
    secrets: Secrets,
    /// Why something could not be recorded, to be reported once.
    problem: Option<String>,
    /// That no more events are kept, to be reported once.
    truncation: Option<String>,
}

struct Kept {
    writer: RecordingWriter,
    path: PathBuf,
    events: EventFile,
}

impl Journal {
    pub(crate) fn new(files: Option<(RecordingWriter, PathBuf, File)>, secrets: Secrets) -> Journal {
        let kept = files.map(|(writer, path, events)| {
            let events = EventFile::new(events, writer.limit());
            Kept { writer, path, events }
        });
        Journal { kept, secrets, problem: None, truncation: None }
    }

    /// The path of the recording, which can be read while it is written.
    pub(crate) fn path(&self) -> Option<&Path> {
        self.kept.as_ref().map(|kept| kept.path.as_path())
    }

    /// Records bytes that were redacted before.
    pub(crate) fn record(&mut self, kind: Kind, now: Duration, payload: &[u8]) {
        let micros = u64::try_from(now.as_micros()).unwrap_or(u64::MAX);
        if let Some(kept) = &mut self.kept
            && let Err(error) = kept.writer.append(kind, micros, payload)
        {
            self.problem.get_or_insert(format!("the recording {} is incomplete: {error}", kept.path.display()));
        }
    }

    /// Records text that may contain secrets.
    pub(crate) fn record_text(&mut self, kind: Kind, now: Duration, text: &str) {
        let clean = self.secrets.redact(text).into_owned();
        self.record(kind, now, clean.as_bytes());
    }

    /// Records bytes that may contain secrets. A secret must not be split over two calls.
    pub(crate) fn record_bytes(&mut self, kind: Kind, now: Duration, bytes: &[u8]) {
        let clean = self.secrets.redact_bytes(bytes).into_owned();
        self.record(kind, now, &clean);
    }

    /// An event without secrets. They were removed from the agent's output before, but an adapter that read a variable
    /// or joined pieces may add them again.
    pub(crate) fn clean(&self, event: EventKind) -> EventKind {
        if self.secrets.is_empty() {
            return event;
        }
        let Ok(mut value) = serde_json::to_value(&event) else { return event };
        // The type of an event is not text of the agent.
        let kind = value.get_mut("type").map(serde_json::Value::take);
        if !self.secrets.redact_value(&mut value) {
            return event;
        }
        if let Some(kind) = kind {
            value["type"] = kind;
        }
        // A field with fixed values may have contained a secret. Then the event is omitted.
        serde_json::from_value(value).unwrap_or_else(|_| omitted())
    }

    pub(crate) fn secrets(&self) -> &Secrets {
        &self.secrets
    }

    /// Whether events must be recorded or redacted.
    pub(crate) fn wants_events(&self) -> bool {
        self.kept.is_some() || !self.secrets.is_empty()
    }

    /// Removes the secrets from events and from their lines. Most contain none.
    pub(crate) fn redact_events(&self, events: &mut [Event], lines: &mut Lines) {
        if self.secrets.are_in(&lines.bytes) {
            for event in &mut *events {
                event.kind = self.clean(event.kind.clone());
            }
            *lines = events.iter().collect();
        }
    }

    /// Removes the secrets from events of which there are only lines.
    pub(crate) fn redact_lines(&self, lines: &mut Lines) {
        if !self.secrets.are_in(&lines.bytes) {
            return;
        }
        let mut clean = Lines::default();
        for line in lines.bytes.split_inclusive(|byte| *byte == b'\n') {
            if self.secrets.are_in(line) {
                // Every event can be read again. One that could not must not be shown.
                let (seq, at, kind) = if let Ok(event) = serde_json::from_slice::<Event>(line) {
                    (event.seq, event.at, self.clean(event.kind))
                } else {
                    let (seq, at) = position(line);
                    (seq, at, omitted())
                };
                clean.push(seq, at, &StreamedEvent::borrowed(&kind));
            } else {
                clean.push_line(line);
            }
        }
        *lines = clean;
    }

    /// Writes lines without secrets to the event file, in one write.
    pub(crate) fn write_events(&mut self, lines: &Lines) {
        let Some(kept) = &mut self.kept else { return };
        match kept.events.write(lines) {
            Ok(false) => {}
            Ok(true) => {
                let limit = kept.writer.limit();
                self.truncation =
                    Some(format!("from here on the events are not kept: they have reached {limit} bytes"));
            }
            Err(error) => self.events_incomplete(&error),
        }
    }

    /// Writes the last event.
    pub(crate) fn write_report(&mut self, report: &Lines) {
        if let Some(kept) = &mut self.kept
            && let Err(error) = kept.events.write_report(report)
        {
            self.events_incomplete(&error);
        }
    }

    fn events_incomplete(&mut self, error: &std::io::Error) {
        if let Some(kept) = &self.kept {
            let path = kept.path.display();
            self.problem.get_or_insert_with(|| format!("the events beside {path} are incomplete: {error}"));
        }
    }

    /// The size of both files.
    pub(crate) fn bytes(&self) -> u64 {
        self.kept.as_ref().map_or(0, |kept| kept.writer.bytes() + kept.events.length())
    }

    /// Why something could not be recorded. Returned only once.
    pub(crate) fn take_problem(&mut self) -> Option<String> {
        self.problem.take()
    }

    /// That no more events are kept. Returned only once.
    pub(crate) fn take_truncation(&mut self) -> Option<String> {
        self.truncation.take()
    }

    /// Closes the recording, if there is one.
    pub(crate) fn close(self) -> (Option<Summary>, Option<EventsSummary>) {
        let Some(Kept { writer, events, .. }) = self.kept else { return (None, None) };
        (writer.close().ok(), Some(events.close()))
    }
}

/// Replaces an event from which a secret could not be removed.
fn omitted() -> EventKind {
    EventKind::notice(LogLevel::Warn, "an event was omitted: a secret could not be removed from it")
}

/// The number and time of a line that cannot be parsed as an event: they are at the start of every line.
fn position(line: &[u8]) -> (u64, Duration) {
    let number = |name: &str| {
        let start = memchr::memmem::find(line, name.as_bytes())? + name.len();
        let digits = line[start..].iter().take_while(|byte| byte.is_ascii_digit());
        Some(digits.fold(0u64, |number, digit| number.saturating_mul(10).saturating_add(u64::from(digit - b'0'))))
    };
    let millis = number("\"at\":").unwrap_or_default();
    (number("{\"seq\":").unwrap_or_default(), Duration::from_millis(millis))
}

#[cfg(test)]
mod tests {
    use super::*;
    use wharf_core::model::{TextPart, ToolCall, ToolStatus, json_or_text};

    fn tool(output: &str, input: &str) -> EventKind {
        let mut call = ToolCall::new("t", ToolStatus::Running);
        call.input = Some(json_or_text(input.to_owned()));
        call.output = Some(output.into());
        EventKind::Tool(call)
    }

    fn thinking(text: &str) -> EventKind {
        EventKind::Thinking(TextPart { id: "1".into(), parent: None, text: text.into() })
    }

    fn events(kinds: impl IntoIterator<Item = EventKind>) -> Vec<Event> {
        (1..).zip(kinds).map(|(seq, kind)| Event { seq, at: Duration::from_millis(seq * 10), kind }).collect()
    }

    #[test]
    fn no_json_of_an_agent_keeps_an_event_from_being_redacted() {
        let deep = format!("{}{}", "[".repeat(127), "]".repeat(127));
        let raw = serde_json::json!({ "a": 1, "$serde_json::private::RawValue": "x" }).to_string();
        for input in [raw.as_str(), deep.as_str(), &"[".repeat(1 << 20)] {
            let journal = Journal::new(None, Secrets::new([("KEY", "hunter2hunter2")]));
            let events = events([tool("innocent", input), tool("a hunter2hunter2", input), thinking("hunter2hunter2")]);
            let mut lines: Lines = events.iter().collect();
            journal.redact_lines(&mut lines);
            let text = String::from_utf8(lines.bytes).expect("text");
            assert!(!text.contains("was omitted") && !text.contains("hunter2"), "{text}");
            let read: Vec<Event> = text.lines().map(|line| serde_json::from_str(line).expect("an event")).collect();
            let expected = [tool("innocent", input), tool("a [redacted:KEY]", input), thinking("[redacted:KEY]")];
            assert_eq!(read.into_iter().map(|event| event.kind).collect::<Vec<_>>(), expected);
        }
    }

    #[test]
    fn a_line_that_cannot_be_parsed_is_omitted_and_its_neighbors_are_not_changed() {
        let journal = Journal::new(None, Secrets::new([("KEY", "hunter2hunter2")]));
        let events = events([tool("innocent", "{}"), thinking("broken hunter2hunter2"), thinking("hunter2hunter2")]);
        let innocent: Lines = events[..1].iter().collect();
        let mut lines: Lines = events.iter().collect();
        let text = String::from_utf8(lines.bytes)
            .expect("text")
            .replace("\"id\":\"1\",\"parent\":null,\"text\":\"broken", "\"text\":\"broken");
        lines.bytes = text.into_bytes();
        journal.redact_lines(&mut lines);
        let text = String::from_utf8(lines.bytes).expect("text");
        assert!(text.as_bytes().starts_with(&innocent.bytes), "{text}");
        assert!(text.contains("was omitted") && text.contains("[redacted:KEY]"), "{text}");
        assert!(!text.contains("hunter2") && text.lines().count() == 3, "{text}");
        assert!(text.lines().nth(1).is_some_and(|line| line.starts_with(r#"{"seq":2,"at":20,"#)), "{text}");
    }

    #[test]
    fn the_type_of_an_event_is_kept_and_every_text_in_it_is_redacted() {
        let secrets = Secrets::new([("KEY", "hunter2\"hunter2"), ("MODE", "hush-hush")]);
        let journal = Journal::new(None, secrets);
        let clean = journal.clean(thinking("a hunter2\"hunter2 b"));
        assert_eq!(clean, thinking("a [redacted:KEY] b"));
        let clean = journal.clean(tool("", r#"{"hunter2\"hunter2": ["hush-hush"]}"#));
        let EventKind::Tool(call) = clean else { panic!("{clean:?}") };
        assert_eq!(call.input, Some(serde_json::json!({"[redacted:KEY]": ["[redacted:MODE]"]})));
    }

    #[test]
    fn an_event_that_cannot_be_redacted_is_omitted() {
        // A time with a secret in it is not a time any more.
        let journal = Journal::new(None, Secrets::new([("KEY", "2023-11-14T22")]));
        let resets_at = Some(wharf_core::model::time::from_unix_seconds(1_700_000_000));
        let clean = journal.clean(EventKind::RateLimit { scope: "hour".into(), resets_at, blocked: false });
        assert!(matches!(clean, EventKind::Notice { .. }), "{clean:?}");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn no_events_follow_a_gap_on_a_full_disk() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("recording");
        let writer = RecordingWriter::create(&path, u64::MAX).expect("a new file");
        let full = File::options().write(true).open("/dev/full").expect("Linux has it");
        let mut journal = Journal::new(Some((writer, path, full)), Secrets::default());
        journal.write_events(&events([thinking("lost")]).iter().collect());
        journal.write_events(&events([thinking("after the gap")]).iter().collect());
        assert!(journal.take_problem().is_some_and(|problem| problem.contains("incomplete")));
        assert_eq!(journal.close().1.map(|events| events.count), Some(0), "only what was written counts");
    }
}
