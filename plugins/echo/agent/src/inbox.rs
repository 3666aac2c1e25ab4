//! Reads stdin while the agent works: a thread reads one JSON line at a time, and the turn takes them when it is ready.

use serde_json::Value;
use std::io::BufRead;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

/// How many lines are read ahead. Then the writer has to wait, so that the queue cannot fill the memory.
const READ_AHEAD: usize = 64;

/// One line from the host.
#[derive(Debug, PartialEq)]
pub(crate) enum Input {
    /// The prompt of a turn, and its model if the line names one.
    Prompt(String, Option<String>),
    /// The answer to a question.
    Answer(Answer),
    /// A message in the middle of the turn.
    Message(String),
    /// Stop the turn.
    Cancel,
}

/// The answer to a question.
#[derive(Debug, PartialEq)]
pub(crate) struct Answer {
    /// The id of the question.
    pub(crate) ask: String,
    /// Whether the tool may run.
    pub(crate) allow: bool,
    /// The reason, if one was given.
    pub(crate) text: Option<String>,
    /// The edited input, if it was edited.
    pub(crate) input: Option<Value>,
}

/// The lines read so far, in order.
pub(crate) struct Inbox {
    inputs: Option<Receiver<Input>>,
}

impl Inbox {
    /// An inbox that stays empty.
    pub(crate) fn closed() -> Inbox {
        Inbox { inputs: None }
    }

    /// An inbox that is filled from a stream until it ends. Unknown lines are skipped: a newer host may send lines that
    /// this agent does not need.
    pub(crate) fn open(mut stream: impl BufRead + Send + 'static) -> Inbox {
        let (sender, inputs) = mpsc::sync_channel(READ_AHEAD);
        thread::spawn(move || {
            let mut line = Vec::new();
            while stream.read_until(b'\n', &mut line).is_ok_and(|length| length > 0) {
                if let Some(input) = read(&line)
                    && sender.send(input).is_err()
                {
                    return;
                }
                line.clear();
            }
        });
        Inbox { inputs: Some(inputs) }
    }

    /// Waits for the next line. `None` after the stream has ended.
    pub(crate) fn wait(&mut self) -> Option<Input> {
        self.inputs.as_ref()?.recv().ok()
    }

    /// Waits for the next line until the deadline. Always waits until then, even if no line can come.
    pub(crate) fn wait_until(&mut self, deadline: Instant) -> Option<Input> {
        let left = deadline.saturating_duration_since(Instant::now());
        match self.inputs.as_ref().map(|inputs| inputs.recv_timeout(left)) {
            Some(Ok(input)) => return Some(input),
            Some(Err(RecvTimeoutError::Timeout)) => {}
            Some(Err(RecvTimeoutError::Disconnected)) | None => sleep_until(deadline),
        }
        None
    }

    /// Waits for a prompt. Skips everything before it, except a cancellation: then there is no prompt.
    pub(crate) fn prompt(&mut self) -> Option<(String, Option<String>)> {
        loop {
            match self.wait()? {
                Input::Prompt(text, model) => return Some((text, model)),
                Input::Cancel => return None,
                Input::Answer(_) | Input::Message(_) => {}
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

fn read(line: &[u8]) -> Option<Input> {
    let value: Value = serde_json::from_slice(line).ok()?;
    let text = || value["text"].as_str().map(str::to_owned);
    match value["type"].as_str()? {
        "prompt" => text().map(|text| Input::Prompt(text, value["model"].as_str().map(str::to_owned))),
        "message" => text().map(Input::Message),
        "cancel" => Some(Input::Cancel),
        "answer" => Some(Input::Answer(Answer {
            ask: value["ask"].as_str()?.to_owned(),
            // Anything but `true` is a no.
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
    fn known_lines_are_read_and_others_are_skipped() {
        let answer = |allow, text: Option<&str>, input| {
            Some(Input::Answer(Answer { ask: "a".to_owned(), allow, text: text.map(str::to_owned), input }))
        };
        for (line, input) in [
            (r#"{"type":"prompt","text":"hi"}"#, Some(Input::Prompt("hi".to_owned(), None))),
            (
                r#"{"type":"prompt","text":"hi","model":"m"}"#,
                Some(Input::Prompt("hi".to_owned(), Some("m".to_owned()))),
            ),
            (r#"{"type":"message","text":"and"}"#, Some(Input::Message("and".to_owned()))),
            (r#"{"type":"cancel"}"#, Some(Input::Cancel)),
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
            assert_eq!(read(line.as_bytes()), input, "{line}");
        }
        assert_eq!(read(b"\xff\n"), None);
    }

    #[test]
    fn a_prompt_is_found_after_other_lines_but_not_after_a_cancellation() {
        let inbox = |text: &'static str| Inbox::open(text.as_bytes());
        assert_eq!(
            inbox("x\n{\"type\":\"message\",\"text\":\"m\"}\n{\"type\":\"prompt\",\"text\":\"p\"}").prompt(),
            Some(("p".to_owned(), None))
        );
        assert_eq!(inbox("{\"type\":\"cancel\"}\n{\"type\":\"prompt\",\"text\":\"p\"}").prompt(), None);
        assert_eq!(inbox("").prompt(), None);
    }
}
