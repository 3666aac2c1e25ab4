//! What comes in on stdin while the agent works: one JSON line each, read by a thread, taken when it suits the turn.

use serde_json::Value;
use std::io::BufRead;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

/// How many lines are read ahead. Beyond it the writer waits, so that nobody can fill the memory.
const AHEAD: usize = 64;

/// One line from the other side.
#[derive(Debug, PartialEq)]
pub(crate) enum Letter {
    /// What the turn is about, and with which model where that is said.
    Prompt(String, Option<String>),
    /// To a question.
    Answer(Answer),
    /// Something more, in the middle of the turn.
    Message(String),
    /// Stop.
    Cancel,
}

/// What somebody decided.
#[derive(Debug, PartialEq)]
pub(crate) struct Answer {
    /// The question's id.
    pub(crate) ask: String,
    /// Whether the tool may run.
    pub(crate) allow: bool,
    /// Why, where they said so.
    pub(crate) text: Option<String>,
    /// What it shall run with instead.
    pub(crate) input: Option<Value>,
}

/// The lines that have come, in order.
pub(crate) struct Inbox {
    letters: Option<Receiver<Letter>>,
}

impl Inbox {
    /// One into which nothing ever comes.
    pub(crate) fn closed() -> Inbox {
        Inbox { letters: None }
    }

    /// One that is filled from a stream until it ends. Lines that are no letters are skipped: a newer host may say
    /// things that this agent need not know.
    pub(crate) fn open(mut stream: impl BufRead + Send + 'static) -> Inbox {
        let (sender, letters) = mpsc::sync_channel(AHEAD);
        thread::spawn(move || {
            let mut line = Vec::new();
            while stream.read_until(b'\n', &mut line).is_ok_and(|length| length > 0) {
                if let Some(letter) = read(&line)
                    && sender.send(letter).is_err()
                {
                    return;
                }
                line.clear();
            }
        });
        Inbox { letters: Some(letters) }
    }

    /// The next letter, whenever it comes; none once the stream has ended.
    pub(crate) fn wait(&mut self) -> Option<Letter> {
        self.letters.as_ref()?.recv().ok()
    }

    /// The next letter before the deadline. Without one it waits the whole time, even where none can come.
    pub(crate) fn wait_until(&mut self, deadline: Instant) -> Option<Letter> {
        let left = deadline.saturating_duration_since(Instant::now());
        match self.letters.as_ref().map(|letters| letters.recv_timeout(left)) {
            Some(Ok(letter)) => return Some(letter),
            Some(Err(RecvTimeoutError::Timeout)) => {}
            Some(Err(RecvTimeoutError::Disconnected)) | None => sleep_until(deadline),
        }
        None
    }

    /// The prompt. What comes before it is nothing to this turn, but for a cancellation, which leaves no prompt.
    pub(crate) fn prompt(&mut self) -> Option<(String, Option<String>)> {
        loop {
            match self.wait()? {
                Letter::Prompt(text, model) => return Some((text, model)),
                Letter::Cancel => return None,
                Letter::Answer(_) | Letter::Message(_) => {}
            }
        }
    }
}

fn sleep_until(deadline: Instant) {
    let left = deadline.saturating_duration_since(Instant::now());
    if left > Duration::ZERO {
        thread::sleep(left);
    }
}

fn read(line: &[u8]) -> Option<Letter> {
    let value: Value = serde_json::from_slice(line).ok()?;
    let text = || value["text"].as_str().map(str::to_owned);
    match value["type"].as_str()? {
        "prompt" => text().map(|text| Letter::Prompt(text, value["model"].as_str().map(str::to_owned))),
        "message" => text().map(Letter::Message),
        "cancel" => Some(Letter::Cancel),
        "answer" => Some(Letter::Answer(Answer {
            ask: value["ask"].as_str()?.to_owned(),
            // What is not clearly a yes is a no.
            allow: value["allow"] == true,
            text: text(),
            input: value.get("input").filter(|input| !input.is_null()).cloned(),
        })),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn lines_are_read_and_what_is_none_is_skipped() {
        let answer = |allow, text: Option<&str>, input| {
            Some(Letter::Answer(Answer { ask: "a".to_owned(), allow, text: text.map(str::to_owned), input }))
        };
        for (line, letter) in [
            (r#"{"type":"prompt","text":"hi"}"#, Some(Letter::Prompt("hi".to_owned(), None))),
            (
                r#"{"type":"prompt","text":"hi","model":"m"}"#,
                Some(Letter::Prompt("hi".to_owned(), Some("m".to_owned()))),
            ),
            (r#"{"type":"message","text":"and"}"#, Some(Letter::Message("and".to_owned()))),
            (r#"{"type":"cancel"}"#, Some(Letter::Cancel)),
            (r#"{"type":"answer","ask":"a","allow":true}"#, answer(true, None, None)),
            (r#"{"type":"answer","ask":"a","allow":"yes","text":"why"}"#, answer(false, Some("why"), None)),
            (r#"{"type":"answer","ask":"a","allow":true,"input":{"p":1}}"#, answer(true, None, Some(json!({"p": 1})))),
            (r#"{"type":"answer","allow":true}"#, None),
            (r#"{"type":"prompt"}"#, None),
            (r#"{"type":"later"}"#, None),
            ("[]", None),
            ("not json", None),
            ("", None),
        ] {
            assert_eq!(read(line.as_bytes()), letter, "{line}");
        }
        assert_eq!(read(b"\xff\n"), None);
    }

    #[test]
    fn a_prompt_is_found_behind_other_lines_but_not_behind_a_cancellation() {
        let inbox = |text: &'static str| Inbox::open(text.as_bytes());
        assert_eq!(
            inbox("x\n{\"type\":\"message\",\"text\":\"m\"}\n{\"type\":\"prompt\",\"text\":\"p\"}").prompt(),
            Some(("p".to_owned(), None))
        );
        assert_eq!(inbox("{\"type\":\"cancel\"}\n{\"type\":\"prompt\",\"text\":\"p\"}").prompt(), None);
        assert_eq!(inbox("").prompt(), None);
    }
}
