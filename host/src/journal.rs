//! What is kept of a run while it goes on: the recording, and the events beside it. Everything is on its way to the
//! disk before anybody hears of it, so that a host that is killed has lost nothing that it had said.

use crate::event::Event;
use crate::line::Lines;
use crate::recording::{Kind, RecordingWriter, Summary};
use crate::redact::Secrets;
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Keeps a run; or keeps nothing, where recording is off.
pub(crate) struct Journal {
    start: Instant,
    kept: Option<Kept>,
    secrets: Secrets,
    events_digest: Sha256,
    events: u64,
    /// Why something could not be kept, to be said once.
    trouble: Option<String>,
}

struct Kept {
    writer: RecordingWriter,
    path: PathBuf,
    /// Gone once some events could not be written: nothing is to stand behind a gap.
    events: Option<File>,
    /// How long the events' file is.
    events_length: u64,
}

/// What the events' file came to.
pub(crate) struct EventsSummary {
    pub(crate) count: u64,
    pub(crate) sha256: String,
}

impl Journal {
    pub(crate) fn new(files: Option<(RecordingWriter, PathBuf, File)>, secrets: Secrets) -> Journal {
        let kept = files.map(|(writer, path, events)| Kept { writer, path, events: Some(events), events_length: 0 });
        Journal { start: Instant::now(), kept, secrets, events_digest: Sha256::new(), events: 0, trouble: None }
    }

    pub(crate) fn now(&self) -> std::time::Duration {
        self.start.elapsed()
    }

    /// The recording's file, to be read while it is written.
    pub(crate) fn path(&self) -> Option<&Path> {
        self.kept.as_ref().map(|kept| kept.path.as_path())
    }

    /// Bytes that were redacted before.
    pub(crate) fn record(&mut self, kind: Kind, payload: &[u8]) {
        let micros = u64::try_from(self.start.elapsed().as_micros()).unwrap_or(u64::MAX);
        if let Some(kept) = &mut self.kept
            && let Err(why) = kept.writer.append(kind, micros, payload)
        {
            self.trouble.get_or_insert(format!("the recording {} is cut short: {why}", kept.path.display()));
        }
    }

    /// Text that may have secrets in it.
    pub(crate) fn record_text(&mut self, kind: Kind, text: &str) {
        let clean = self.secrets.redact(text).into_owned();
        self.record(kind, clean.as_bytes());
    }

    /// Bytes that may have secrets in them, as a whole.
    pub(crate) fn record_bytes(&mut self, kind: Kind, bytes: &[u8]) {
        let clean = self.secrets.redact_bytes(bytes).into_owned();
        self.record(kind, &clean);
    }

    /// Events without secrets. The agent's output has lost them before; an adapter that read a variable, or put together
    /// what came in pieces, may bring them back.
    pub(crate) fn clean(&self, event: Event) -> Event {
        if self.secrets.is_empty() {
            return event;
        }
        let Ok(mut value) = serde_json::to_value(&event) else { return event };
        // What an event is, is no text of anybody's.
        let kind = value.get_mut("type").map(serde_json::Value::take);
        if !self.redact_value(&mut value) {
            return event;
        }
        if let Some(kind) = kind {
            value["type"] = kind;
        }
        // A word that has only some values may have been a secret. Better no event than that.
        serde_json::from_value(value).unwrap_or_else(|_| left_out())
    }

    /// Gives whether there was anything to take out.
    fn redact_value(&self, value: &mut serde_json::Value) -> bool {
        match value {
            serde_json::Value::String(text) => match self.secrets.redact(text) {
                std::borrow::Cow::Borrowed(_) => false,
                std::borrow::Cow::Owned(clean) => {
                    *text = clean;
                    true
                }
            },
            // Each of them, so no short cut.
            serde_json::Value::Array(items) => items.iter_mut().fold(false, |any, item| self.redact_value(item) | any),
            serde_json::Value::Object(fields) => {
                let names: Vec<String> = fields.keys().cloned().collect();
                let mut any = false;
                for name in names {
                    if let Some(mut field) = fields.remove(&name) {
                        any |= self.redact_value(&mut field);
                        let clean = self.secrets.redact(&name).into_owned();
                        any |= clean != name;
                        fields.insert(clean, field);
                    }
                }
                any
            }
            _ => false,
        }
    }

    pub(crate) fn secrets(&self) -> &Secrets {
        &self.secrets
    }

    /// Some events, in one write. They lose the secrets that were in them; gives them as lines, where somebody had to
    /// write them.
    pub(crate) fn events(&mut self, events: &mut [Event]) -> Option<Vec<u8>> {
        if self.kept.is_none() && self.secrets.is_empty() {
            return None;
        }
        let mut lines: Lines = events.iter().collect();
        if self.secrets.are_in(&lines.bytes) {
            for event in &mut *events {
                *event = self.clean(event.clone());
            }
            lines = events.iter().collect();
        }
        self.keep(&lines);
        Some(lines.bytes)
    }

    /// The same, of events that are lines already.
    pub(crate) fn lines(&mut self, mut lines: Lines) -> Vec<u8> {
        if self.secrets.are_in(&lines.bytes) {
            let mut clean = Lines::default();
            for line in lines.bytes.split_inclusive(|byte| *byte == b'\n') {
                if self.secrets.are_in(line) {
                    // Not every event that can be written can be read: an agent's JSON may be nested to the limit, or
                    // have keys that mean something to `serde_json`.
                    let event = serde_json::from_slice(line).map_or_else(|_| left_out(), |event| self.clean(event));
                    clean.push(&event);
                } else {
                    clean.bytes.extend_from_slice(line);
                    clean.count += 1;
                }
            }
            lines = clean;
        }
        self.keep(&lines);
        lines.bytes
    }

    fn keep(&mut self, lines: &Lines) {
        if let Some(kept) = &mut self.kept
            && let Some(file) = &mut kept.events
        {
            if let Err(why) = file.write_all(&lines.bytes) {
                // A full disk may have taken a part.
                let _ = file.set_len(kept.events_length);
                kept.events = None;
                self.trouble.get_or_insert(format!("the events beside {} are cut short: {why}", kept.path.display()));
            } else {
                kept.events_length += lines.bytes.len() as u64;
                self.events += lines.count;
                self.events_digest.update(&lines.bytes);
            }
        }
    }

    /// How much is kept, of both files.
    pub(crate) fn bytes(&self) -> u64 {
        self.kept.as_ref().map_or(0, |kept| kept.writer.bytes() + kept.events_length)
    }

    /// Why something could not be kept, once.
    pub(crate) fn take_trouble(&mut self) -> Option<String> {
        self.trouble.take()
    }

    /// Ends the recording.
    pub(crate) fn close(self) -> (Option<Summary>, EventsSummary) {
        use std::fmt::Write as _;
        let sha256 = self.events_digest.finalize().iter().fold(String::new(), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        });
        (self.kept.and_then(|kept| kept.writer.close().ok()), EventsSummary { count: self.events, sha256 })
    }
}

/// Instead of an event that cannot be cleaned.
fn left_out() -> Event {
    let text = "an event was left out: a secret could not be taken out of it".to_owned();
    Event::Notice { level: crate::info::Level::Warn, text }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{TextPart, ToolCall, ToolStatus};

    fn tool(output: &str, input: &str) -> Event {
        Event::Tool(ToolCall {
            id: "t".into(),
            parent: None,
            name: None,
            title: None,
            status: ToolStatus::Running,
            input: Some(crate::info::json(input.to_owned())),
            output: Some(output.into()),
            exit_code: None,
        })
    }

    #[test]
    fn a_line_that_cannot_be_read_again_is_left_out_and_its_neighbours_are_not_touched() {
        let deep = format!("{}{}", "[".repeat(127), "]".repeat(127));
        for input in [r#"{"a":1,"$serde_json::private::RawValue":"x"}"#, deep.as_str()] {
            let mut journal = Journal::new(None, Secrets::new([("KEY", "hunter2hunter2")]));
            let events = [tool("innocent", input), tool("a hunter2hunter2", input), thinking("hunter2hunter2")];
            let innocent: Lines = events[..1].iter().collect();
            let lines = journal.lines(events.iter().collect());
            let text = String::from_utf8(lines).expect("text");
            assert!(text.as_bytes().starts_with(&innocent.bytes), "{text}");
            assert!(text.contains("was left out") && text.contains("[redacted:KEY]"), "{text}");
            assert!(!text.contains("hunter2") && text.lines().count() == 3, "{text}");
        }
    }

    fn thinking(text: &str) -> Event {
        Event::Thinking(TextPart { id: "1".into(), parent: None, text: text.into() })
    }

    #[test]
    fn what_an_event_is_stays_and_every_text_in_it_is_clean() {
        let secrets = Secrets::new([("KEY", "hunter2\"hunter2"), ("MODE", "thinking")]);
        let journal = Journal::new(None, secrets);
        let clean = journal.clean(thinking("a hunter2\"hunter2 b"));
        assert_eq!(clean, thinking("a [redacted:KEY] b"));
        let tool = serde_json::json!({"type": "tool", "id": "1", "parent": null, "name": null, "title": null,
            "status": "running", "input": {"hunter2\"hunter2": ["thinking"]}, "output": null, "exit_code": null});
        let clean = journal.clean(serde_json::from_value(tool).expect("an event"));
        let Event::Tool(call) = clean else { panic!("{clean:?}") };
        assert_eq!(call.input, Some(serde_json::json!({"[redacted:KEY]": ["[redacted:MODE]"]})));
    }

    #[test]
    fn an_event_that_cannot_be_cleaned_is_left_out() {
        let journal = Journal::new(None, Secrets::new([("MODE", "succeeded")]));
        let tool = serde_json::json!({"type": "tool", "id": "succeeded", "parent": null, "name": null, "title": null,
            "status": "succeeded", "input": null, "output": null, "exit_code": null});
        let clean = journal.clean(serde_json::from_value(tool).expect("an event"));
        assert!(matches!(clean, Event::Notice { .. }), "{clean:?}");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn events_end_where_the_disk_was_full() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("recording");
        let writer = RecordingWriter::create(&path, u64::MAX).expect("a new file");
        let full = File::options().write(true).open("/dev/full").expect("Linux has it");
        let mut journal = Journal::new(Some((writer, path, full)), Secrets::default());
        assert!(journal.events(&mut [thinking("lost")]).is_some(), "whoever reads them gets them");
        journal.events(&mut [thinking("behind the gap")]);
        assert!(journal.take_trouble().is_some_and(|trouble| trouble.contains("cut short")));
        assert_eq!(journal.close().1.count, 0, "only what is there counts");
    }
}
