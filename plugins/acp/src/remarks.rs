//! Remarks of an agent that it writes as if the model had: warnings, retries, errors.
//!
//! A remark is recognized by what only the agent's own texts have: the id of the message or its absence, a whole chunk
//! of a fixed form. What may be an error is held back until the next update: an error ends its turn. A model that quotes
//! an error is believed.

use crate::agent::Agent;
use wharf_adapter::acp::TextKind;
use wharf_adapter::acp::{Transcript, failure_of};
use wharf_adapter::{Effects, ErrorClass, Failure, LogLevel, Outcome};

/// How goose begins and ends an error, and what it says about an answer without content.
const GOOSE_ERROR: (&str, &str) =
    ("Ran into this error: ", "Please retry if you think this is a transient or recoverable error.");
const GOOSE_EMPTY: &str = "The model returned an empty response.";
/// What codex-acp says without a message id, beside errors.
const CODEX_REMARKS: [&str; 3] = ["Config warning: ", "Warning: ", "*Context compacted to fit"];
/// What pi-acp says.
const RETRY_FINISHED: &str = "Retry finished, resuming.";
const PI_REMARKS: [&str; 3] = [
    RETRY_FINISHED,
    "Context nearing limit, running automatic compaction...",
    "Automatic compaction finished; context was summarized to continue the session.",
];

/// A text that was not reported yet.
#[derive(Debug)]
enum Held {
    /// An error of the agent, if nothing follows.
    Error(String),
    /// A text before the agent has repeated the prompt: no answer if it does so.
    Early(String),
}

/// What a chunk of text is.
#[derive(Debug, PartialEq)]
enum Chunk {
    Answer,
    Remark,
    Retry { attempt: u32, of: u32 },
    MaybeError,
    Early,
}

/// The state between two chunks.
#[derive(Debug, Default)]
pub(crate) struct Remarks {
    held: Option<Held>,
    /// Whether a text of this process had an id: those without are then the agent's own.
    has_ids: bool,
    /// The greeting that the agent announced.
    greeting: Option<String>,
    /// Whether the agent has repeated the prompt of this turn.
    has_prompt: bool,
    retries: Retries,
}

/// How far the agent is with its own retries.
#[derive(Debug, Default, PartialEq)]
enum Retries {
    #[default]
    Some,
    /// The latest one is the last that it makes.
    Last,
    /// The last one is over, and nothing has followed it.
    Over,
}

impl Remarks {
    pub(crate) fn start_turn(&mut self) {
        *self = Remarks { has_ids: self.has_ids, greeting: self.greeting.take(), ..Remarks::default() };
    }

    pub(crate) fn expect_greeting(&mut self, greeting: Option<String>) {
        self.greeting = greeting;
    }

    /// Reads a chunk of the answer. Returns whether it was not one.
    pub(crate) fn chunk(
        &mut self,
        agent: Agent,
        text: &str,
        id: Option<&str>,
        transcript: &mut Transcript,
        out: &mut Effects,
    ) -> bool {
        let chunk = self.recognize(agent, text, id);
        let was_last = self.retries != Retries::Some;
        self.retries = match chunk {
            Chunk::Remark if text == RETRY_FINISHED && was_last => Retries::Over,
            Chunk::Retry { attempt, of } if attempt == of => Retries::Last,
            Chunk::Answer if was_last => Retries::Last,
            _ => Retries::Some,
        };
        match chunk {
            Chunk::Answer => {
                self.release(id.is_none(), transcript, out);
                self.has_ids |= id.is_some();
                return false;
            }
            Chunk::Remark => {
                self.release(false, transcript, out);
                out.notice(LogLevel::Info, text.trim());
            }
            Chunk::Retry { .. } => {
                self.held = None;
                transcript.retry(Failure::new(ErrorClass::Provider, text), out);
            }
            Chunk::MaybeError => {
                self.release(false, transcript, out);
                self.held = Some(Held::Error(text.to_owned()));
            }
            Chunk::Early => match &mut self.held {
                Some(Held::Early(known)) => known.push_str(text),
                _ => self.held = Some(Held::Early(text.to_owned())),
            },
        }
        true
    }

    fn recognize(&self, agent: Agent, text: &str, id: Option<&str>) -> Chunk {
        if self.greeting.as_deref().is_some_and(|greeting| greeting.trim() == text.trim()) {
            return Chunk::Remark;
        }
        match agent {
            Agent::Goose if id.is_some_and(is_own_goose_id) && is_goose_error(text) => Chunk::MaybeError,
            Agent::Codex if id.is_none() && text.ends_with("\n\n") => {
                let is_remark = CODEX_REMARKS.iter().any(|start| text.starts_with(start));
                if is_remark { Chunk::Remark } else { Chunk::MaybeError }
            }
            Agent::Pi if PI_REMARKS.contains(&text) => Chunk::Remark,
            Agent::Pi => pi_retry(text).map_or(Chunk::Answer, |(attempt, of)| Chunk::Retry { attempt, of }),
            Agent::Vibe if !self.has_prompt && !id.is_some_and(|id| id.starts_with("assistant-")) => Chunk::Early,
            _ => Chunk::Answer,
        }
    }

    /// The agent repeats the prompt: what it said before was no answer.
    pub(crate) fn prompt(&mut self, transcript: &mut Transcript, out: &mut Effects) {
        self.has_prompt = true;
        self.release(false, transcript, out);
    }

    /// The agent went on with something else than text.
    pub(crate) fn proceed(&mut self, transcript: &mut Transcript, out: &mut Effects) {
        if self.retries == Retries::Over {
            self.retries = Retries::Some;
        }
        self.release(false, transcript, out);
    }

    /// Something follows the held text: the agent went on. `continues` says whether it is text of the same kind.
    fn release(&mut self, continues: bool, transcript: &mut Transcript, out: &mut Effects) {
        match self.held.take() {
            Some(Held::Error(text)) if continues && !self.has_ids => write(&text, transcript, out),
            Some(Held::Early(text)) if !self.has_prompt => self.held = Some(Held::Early(text)),
            Some(Held::Error(text) | Held::Early(text)) => out.notice(LogLevel::Warn, text.trim()),
            None => {}
        }
    }

    /// The turn is over: the failure that the last text was. `wrote` says whether the model wrote anything.
    pub(crate) fn outcome(
        &mut self,
        agent: Agent,
        wrote: bool,
        transcript: &mut Transcript,
        out: &mut Effects,
    ) -> Option<Outcome> {
        match self.held.take() {
            // Goose's figures may be those of an earlier turn.
            Some(Held::Error(text)) if agent == Agent::Goose || !wrote || self.has_ids => {
                return Some(Outcome::Failed(error(&text)));
            }
            Some(Held::Error(text) | Held::Early(text)) => write(&text, transcript, out),
            None => {}
        }
        if self.retries == Retries::Over {
            let message = "the agent has used all its retries, and does not say whether the last one succeeded";
            return Some(Outcome::Failed(Failure::new(ErrorClass::Provider, message)));
        }
        let has_written = wrote && agent != Agent::Goose;
        (!transcript.has_output() && !has_written).then(|| {
            let message = "the agent ended the turn without a word, which is how it hides a failed model call";
            Outcome::Failed(Failure::new(ErrorClass::Provider, message))
        })
    }
}

fn write(text: &str, transcript: &mut Transcript, out: &mut Effects) {
    transcript.write(TextKind::Message, text, None, out);
}

/// Whether goose itself gave this id to a message, and not the model's provider: `msg_` and a UUID.
fn is_own_goose_id(id: &str) -> bool {
    let is_hex = |part: &str, length| part.len() == length && part.bytes().all(|byte| byte.is_ascii_hexdigit());
    let parts: Vec<&str> = id.strip_prefix("msg_").unwrap_or_default().split('-').collect();
    parts.len() == 5 && parts.iter().zip([8, 4, 4, 4, 12]).all(|(part, length)| is_hex(part, length))
}

fn is_goose_error(text: &str) -> bool {
    let (start, end) = GOOSE_ERROR;
    (text.starts_with(start) && text.trim_end().ends_with(end)) || text.starts_with(GOOSE_EMPTY)
}

/// The failure of an error in a text, without the agent's words around it.
fn error(text: &str) -> Failure {
    let (start, end) = GOOSE_ERROR;
    let inner = text.strip_prefix(start).unwrap_or(text).trim_end();
    failure_of(inner.strip_suffix(end).unwrap_or(inner).trim_end())
}

/// The numbers of `Retrying (attempt 1/3, waiting 2s)...`.
fn pi_retry(text: &str) -> Option<(u32, u32)> {
    let (attempt, rest) = text.strip_prefix("Retrying (attempt ")?.split_once('/')?;
    let (of, rest) = rest.split_once(", waiting ")?;
    let seconds = rest.strip_suffix("s)...")?;
    seconds.parse::<f64>().ok()?;
    Some((attempt.parse().ok()?, of.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOSE: &str = "Ran into this error: Server error: Server error (500 Internal Server Error) at http://h: no.\n\n\
        Please retry if you think this is a transient or recoverable error.";

    #[test]
    fn an_error_is_known_by_its_form_and_by_who_named_the_message() {
        let remarks = Remarks::default();
        let own = Some("msg_60a736af-d38e-4832-9539-7da28ff06370");
        for (agent, text, id, chunk) in [
            (Agent::Goose, GOOSE, own, Chunk::MaybeError),
            (Agent::Goose, GOOSE, Some("chatcmpl-6804e79fe7"), Chunk::Answer),
            (Agent::Goose, "Ran into this error: it says so.", own, Chunk::Answer),
            (Agent::Codex, "exceeded retry limit, last status: 429\n\n", None, Chunk::MaybeError),
            (Agent::Codex, "exceeded retry limit, last status: 429\n\n", Some("msg_1"), Chunk::Answer),
            (Agent::Codex, "Config warning: no bubblewrap\n\n", None, Chunk::Remark),
            (Agent::Pi, "Retrying (attempt 1/3, waiting 2s)...", None, Chunk::Retry { attempt: 1, of: 3 }),
            (Agent::Pi, "I am Retrying (attempt 1/3, waiting 2s)...", None, Chunk::Answer),
            (Agent::Pi, "Retry finished, resuming.", None, Chunk::Remark),
            (Agent::Vibe, "Couldn't load", Some("c7f2066e"), Chunk::Early),
            (Agent::Vibe, "pong", Some("assistant-1"), Chunk::Answer),
            (Agent::Other, GOOSE, own, Chunk::Answer),
        ] {
            assert_eq!(remarks.recognize(agent, text, id), chunk, "{agent:?}: {text}");
        }
    }

    #[test]
    fn an_error_has_the_class_of_what_it_says() {
        let failure = error(GOOSE);
        assert_eq!((failure.class, failure.http_status), (ErrorClass::Provider, Some(500)));
        assert!(failure.message.ends_with("no."), "{}", failure.message);
        let failure = error("exceeded retry limit, last status: 429 Too Many Requests\n\n");
        assert_eq!((failure.class, failure.http_status), (ErrorClass::RateLimit, Some(429)));
    }
}
