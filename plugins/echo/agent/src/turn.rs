//! The turn: hello, a thought, the tools, the answer in pieces, the bill. Every line is flushed as it is written.

use crate::inbox::{Answer, Inbox, Letter};
use crate::options::Options;
use crate::tool::{Tool, count_words};
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::io::{self, Write};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// The id of the answer's message.
const ANSWER: &str = "answer";

/// Why a turn did not come to its end.
#[derive(Debug)]
pub(crate) enum Stop {
    /// Its output could not be written.
    Output(io::Error),
    /// It could not begin, for this reason.
    Unfit(String),
    /// The other side wanted no more of it.
    Cancelled,
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Stop {
        Stop::Output(error)
    }
}

/// A turn under way.
pub(crate) struct Turn<'a> {
    options: &'a Options,
    prompt: &'a str,
    system: Option<&'a str>,
    inbox: Inbox,
    stdout: &'a mut dyn Write,
    /// What was said in the meantime and is not in the answer yet.
    messages: VecDeque<String>,
    /// The words that it was given.
    words_in: usize,
}

impl<'a> Turn<'a> {
    /// A turn that has not begun.
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

    /// Goes through it, and gives the inbox back. A cancellation is reported before it stops.
    pub(crate) fn take(mut self) -> Result<Inbox, Stop> {
        match self.go() {
            Ok(()) => Ok(self.inbox),
            Err(Stop::Cancelled) => {
                self.write(&json!({ "type": "failed", "class": "other", "text": "cancelled" }))?;
                Err(Stop::Cancelled)
            }
            Err(stop) => Err(stop),
        }
    }

    fn go(&mut self) -> Result<(), Stop> {
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
                let why = answer.and_then(|answer| answer.text).unwrap_or_else(|| "it was not allowed".to_owned());
                let name = tool.name();
                return self.write(
                    &json!({ "type": "tool", "id": id, "name": name, "status": "denied", "input": input, "output": why }),
                );
            }
            input = answer.and_then(|answer| answer.input).unwrap_or(input);
        }
        self.write(&json!({ "type": "tool", "id": id, "name": tool.name(), "status": "running", "input": input }))?;
        let ran = tool.run(&input);
        let status = if ran.exit_code == 0 { "succeeded" } else { "failed" };
        self.write(
            &json!({ "type": "tool", "id": id, "status": status, "output": ran.output, "exit_code": ran.exit_code }),
        )
    }

    /// The answer to one question; none when stdin closes before it comes.
    fn await_answer(&mut self, ask: &str) -> Result<Option<Answer>, Stop> {
        while let Some(letter) = self.inbox.wait() {
            match letter {
                Letter::Answer(answer) if answer.ask == ask => return Ok(Some(answer)),
                other => self.receive(other)?,
            }
        }
        Ok(None)
    }

    /// Writes the answer, piece by piece and then whole, and gives the number of its words. What is said meanwhile is
    /// taken up at its end.
    fn answer(&mut self) -> Result<usize, Stop> {
        let mut text = String::new();
        let mut pieces = pieces(&self.voice(&opening(self.prompt, self.system)));
        loop {
            self.pause()?;
            while let Some(message) = self.messages.pop_front() {
                pieces.extend(self::pieces(&self.voice(&format!("\nThen you said: {message}"))));
            }
            let Some(piece) = pieces.pop_front() else { break };
            self.write(&json!({ "type": "delta", "id": ANSWER, "text": piece }))?;
            text.push_str(&piece);
        }
        self.write(&json!({ "type": "say", "id": ANSWER, "text": text }))?;
        Ok(count_words(&text))
    }

    /// Reads what has come, for as long as a pause is.
    fn pause(&mut self) -> Result<(), Stop> {
        let deadline = Instant::now() + self.options.delay;
        while let Some(letter) = self.inbox.wait_until(deadline) {
            self.receive(letter)?;
        }
        Ok(())
    }

    fn receive(&mut self, letter: Letter) -> Result<(), Stop> {
        match letter {
            Letter::Cancel => return Err(Stop::Cancelled),
            Letter::Message(text) => {
                self.words_in += count_words(&text);
                self.messages.push_back(text);
            }
            // A second prompt, or the answer to a question that is not open.
            Letter::Prompt(..) | Letter::Answer(_) => {}
        }
        Ok(())
    }

    fn voice(&self, text: &str) -> String {
        if self.options.model == "echo-loud" { text.to_uppercase() } else { text.to_owned() }
    }

    fn write(&mut self, line: &Value) -> Result<(), Stop> {
        writeln!(self.stdout, "{line}")?;
        Ok(self.stdout.flush()?)
    }
}

fn opening(prompt: &str, system: Option<&str>) -> String {
    match system.map(str::trim).filter(|system| !system.is_empty()) {
        Some(system) => format!("You said: {prompt}\nI was told: {system}"),
        None => format!("You said: {prompt}"),
    }
}

/// A text in words, each with the white space behind it.
fn pieces(text: &str) -> VecDeque<String> {
    text.split_inclusive(char::is_whitespace).map(str::to_owned).collect()
}

/// Different for each process and each moment, which is all that a session of nothing needs.
pub(crate) fn new_session() -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    format!("echo-{:x}-{:x}", since.as_nanos(), std::process::id())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pieces_make_the_text() {
        for text in ["You said: hi", "  two  spaces\nand a line\n", "", "é ü"] {
            assert_eq!(pieces(text).into_iter().collect::<String>(), text);
        }
        assert_eq!(pieces("a b").len(), 2);
    }

    #[test]
    fn the_system_prompt_is_mentioned_where_there_is_one() {
        for (system, answer) in [
            (None, "You said: hi"),
            (Some(" \n"), "You said: hi"),
            (Some("be kind\n"), "You said: hi\nI was told: be kind"),
        ] {
            assert_eq!(opening("hi", system), answer);
        }
    }
}
