//! The turn: hello, a thought, the tools, the answer in parts, the usage. Every line is flushed at once.

use crate::inbox::{Answer, Inbox, Input};
use crate::options::Options;
use crate::tool::{Tool, count_words};
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::io::{self, Write};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// The id of the answer's message.
const ANSWER: &str = "answer";

/// Why a turn stopped early.
#[derive(Debug)]
pub(crate) enum Stop {
    /// The output could not be written.
    Output(io::Error),
    /// The turn could not start, for this reason.
    CannotStart(String),
    /// The host cancelled it.
    Cancelled,
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Stop {
        Stop::Output(error)
    }
}

/// A turn in progress.
pub(crate) struct Turn<'a> {
    options: &'a Options,
    prompt: &'a str,
    system: Option<&'a str>,
    inbox: Inbox,
    stdout: &'a mut dyn Write,
    /// Messages that are not in the answer yet.
    messages: VecDeque<String>,
    /// The number of words in the prompt, the system prompt and the messages.
    words_in: usize,
}

impl<'a> Turn<'a> {
    /// A turn that has not started.
    pub(crate) fn new(
        options: &'a Options,
        prompt: &'a str,
        system: Option<&'a str>,
        inbox: Inbox,
        stdout: &'a mut dyn Write,
    ) -> Turn<'a> {
        let words_in = count_words(prompt) + system.map_or(0, count_words);
        Turn { options, prompt, system, inbox, stdout, messages: VecDeque::new(), words_in }
    }

    /// Runs the turn and returns the inbox. A cancellation is reported on stdout before it stops.
    pub(crate) fn run(mut self) -> Result<Inbox, Stop> {
        match self.run_steps() {
            Ok(()) => Ok(self.inbox),
            Err(Stop::Cancelled) => {
                self.write(&json!({ "type": "failed", "class": "other", "text": "cancelled" }))?;
                Err(Stop::Cancelled)
            }
            Err(stop) => Err(stop),
        }
    }

    fn run_steps(&mut self) -> Result<(), Stop> {
        let session = &self.options.session;
        let version = env!("CARGO_PKG_VERSION");
        self.write(&json!({ "type": "hello", "session": session, "model": self.options.model, "version": version }))?;
        let thought = "I count the words, look around, and say it back.";
        self.write(&json!({ "type": "think", "id": "thought", "text": thought }))?;
        self.use_tool("tool-1", Tool::CountWords)?;
        self.use_tool("tool-2", Tool::ListFolder)?;
        let words_out = self.answer()?;
        self.write(&json!({ "type": "usage", "input": self.words_in, "output": words_out }))?;
        self.write(&json!({ "type": "done" }))?;
        Ok(())
    }

    fn use_tool(&mut self, id: &str, tool: Tool) -> Result<(), Stop> {
        let mut input = tool.input(self.prompt);
        if let Some(question) = tool.question()
            && self.options.duplex
        {
            let ask = format!("ask-{id}");
            self.write(&json!({ "type": "ask", "id": ask, "title": question, "tool": tool.name(), "input": input }))?;
            let answer = self.await_answer(&ask)?;
            if !answer.as_ref().is_some_and(|answer| answer.allow) {
                let reason = answer.and_then(|answer| answer.text).unwrap_or_else(|| "it was not allowed".to_owned());
                let name = tool.name();
                return self.write(
                    &json!({ "type": "tool", "id": id, "name": name, "status": "denied", "input": input, "output": reason }),
                );
            }
            input = answer.and_then(|answer| answer.input).unwrap_or(input);
        }
        self.write(&json!({ "type": "tool", "id": id, "name": tool.name(), "status": "running", "input": input }))?;
        let result = tool.run(&input);
        let status = if result.exit_code == 0 { "succeeded" } else { "failed" };
        self.write(
            &json!({ "type": "tool", "id": id, "status": status, "output": result.output, "exit_code": result.exit_code }),
        )
    }

    /// Waits for the answer to one question. `None` if stdin closes first.
    fn await_answer(&mut self, ask: &str) -> Result<Option<Answer>, Stop> {
        while let Some(input) = self.inbox.wait() {
            match input {
                Input::Answer(answer) if answer.ask == ask => return Ok(Some(answer)),
                other => self.receive(other)?,
            }
        }
        Ok(None)
    }

    /// Writes the answer, in parts and then whole. Returns the number of its words. Messages that come meanwhile are
    /// added at its end.
    fn answer(&mut self) -> Result<usize, Stop> {
        let mut text = String::new();
        let mut parts = parts(&self.style(&answer_text(self.prompt, self.system)));
        loop {
            self.pause()?;
            while let Some(message) = self.messages.pop_front() {
                parts.extend(self::parts(&self.style(&format!("\nThen you said: {message}"))));
            }
            let Some(part) = parts.pop_front() else { break };
            self.write(&json!({ "type": "delta", "id": ANSWER, "text": part }))?;
            text.push_str(&part);
        }
        self.write(&json!({ "type": "say", "id": ANSWER, "text": text }))?;
        Ok(count_words(&text))
    }

    /// Handles input for the length of a pause.
    fn pause(&mut self) -> Result<(), Stop> {
        let deadline = Instant::now() + self.options.delay;
        while let Some(input) = self.inbox.wait_until(deadline) {
            self.receive(input)?;
        }
        Ok(())
    }

    fn receive(&mut self, input: Input) -> Result<(), Stop> {
        match input {
            Input::Cancel => return Err(Stop::Cancelled),
            Input::Message(text) => {
                self.words_in += count_words(&text);
                self.messages.push_back(text);
            }
            // A second prompt, or an answer to no open question.
            Input::Prompt(..) | Input::Answer(_) => {}
        }
        Ok(())
    }

    fn style(&self, text: &str) -> String {
        if self.options.model == "echo-loud" { text.to_uppercase() } else { text.to_owned() }
    }

    fn write(&mut self, line: &Value) -> Result<(), Stop> {
        writeln!(self.stdout, "{line}")?;
        Ok(self.stdout.flush()?)
    }
}

fn answer_text(prompt: &str, system: Option<&str>) -> String {
    match system.map(str::trim).filter(|system| !system.is_empty()) {
        Some(system) => format!("You said: {prompt}\nI was told: {system}"),
        None => format!("You said: {prompt}"),
    }
}

/// Splits a text into words, each with the whitespace after it.
fn parts(text: &str) -> VecDeque<String> {
    text.split_inclusive(char::is_whitespace).map(str::to_owned).collect()
}

/// A new session id, different for each process and each moment.
pub(crate) fn new_session() -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    format!("echo-{:x}-{:x}", since.as_nanos(), std::process::id())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_make_the_text() {
        for text in ["You said: hi", "  two  spaces\nand a line\n", "", "é ü"] {
            assert_eq!(parts(text).into_iter().collect::<String>(), text);
        }
        assert_eq!(parts("a b").len(), 2);
    }

    #[test]
    fn the_system_prompt_is_mentioned_if_there_is_one() {
        for (system, answer) in [
            (None, "You said: hi"),
            (Some(" \n"), "You said: hi"),
            (Some("be kind\n"), "You said: hi\nI was told: be kind"),
        ] {
            assert_eq!(answer_text("hi", system), answer);
        }
    }
}
