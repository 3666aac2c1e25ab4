//! What the model is to say: the scenario file.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// A whole scenario. Each request for an inference takes the next step; the last one repeats.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Scenario {
    /// The steps, in order.
    pub steps: Vec<Step>,
    /// Answers requests that offer no tools: agents make such ones beside the turn, to name a session for example, and
    /// they would use up the steps. Empty stands for a word of ours.
    pub aside: String,
}

/// One answer of the model, or one failure of its provider.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Step {
    /// Only for conversations in which the user says this: tells a sub-agent's requests from the agent's own. Such
    /// steps are counted apart, and come before those without.
    pub when: Option<String>,
    /// What is thought before it is said.
    pub thinking: Option<String>,
    /// What is said.
    pub text: Option<String>,
    /// Tools that are called.
    pub tools: Vec<Tool>,
    /// How many characters each piece of the stream has; 0 stands for 8.
    pub piece: usize,
    /// Milliseconds before anything is answered.
    pub delay: u64,
    /// Milliseconds after each piece.
    pub pause: u64,
    /// How the stream ends.
    pub end: End,
    /// Tokens of input and of output; unset stands for 100 and 20.
    pub usage: Option<(u64, u64)>,
    /// The status of a failure, instead of an answer.
    pub status: Option<u16>,
    /// What the failure's body says over what its status says anyway: `type`, `code`, `message`.
    pub error: Map<String, Value>,
    /// More headers of the answer or the failure.
    pub headers: BTreeMap<String, String>,
}

/// A tool that the model calls.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tool {
    /// Its name, as the agent offers it.
    pub name: String,
    /// Its input.
    pub input: Value,
}

/// How a stream ends.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum End {
    /// As it should.
    #[default]
    Finished,
    /// The connection is closed before the end.
    Dropped,
    /// Nothing more comes, and the connection stays open.
    Stalled,
}

impl Step {
    /// An answer in words.
    pub fn text(text: impl Into<String>) -> Step {
        Step { text: Some(text.into()), ..Step::default() }
    }

    /// A call of one tool.
    pub fn tool(name: &str, input: Value) -> Step {
        Step::tools(vec![(name, input)])
    }

    /// Calls of several tools at once.
    pub fn tools(calls: Vec<(&str, Value)>) -> Step {
        let tools = calls.into_iter().map(|(name, input)| Tool { name: name.to_owned(), input }).collect();
        Step { tools, ..Step::default() }
    }

    /// A failure.
    pub fn status(status: u16) -> Step {
        Step { status: Some(status), ..Step::default() }
    }

    /// The text or the thinking in pieces, never in the middle of a character.
    pub(crate) fn pieces<'a>(&self, text: &'a str) -> Vec<&'a str> {
        let size = if self.piece == 0 { 8 } else { self.piece };
        let mut starts: Vec<usize> = text.char_indices().map(|(at, _)| at).step_by(size).collect();
        starts.push(text.len());
        starts.windows(2).map(|ends| &text[ends[0]..ends[1]]).collect()
    }

    pub(crate) fn input_tokens(&self) -> u64 {
        self.usage.map_or(100, |(input, _)| input)
    }

    pub(crate) fn output_tokens(&self) -> u64 {
        self.usage.map_or(20, |(_, output)| output)
    }
}

/// Where each conversation stands in the scenario.
#[derive(Debug, Default)]
pub(crate) struct Position(BTreeMap<Option<String>, usize>);

impl Position {
    /// The next step for a conversation in which the user said this. A scenario without steps has none.
    pub(crate) fn next<'a>(&mut self, scenario: &'a Scenario, user: &str) -> Option<&'a Step> {
        let fits = |step: &&Step| step.when.as_ref().is_some_and(|text| user.contains(text.as_str()));
        let when = scenario.steps.iter().find(fits).and_then(|step| step.when.clone());
        let steps: Vec<&Step> = scenario.steps.iter().filter(|step| step.when == when).collect();
        let taken = self.0.entry(when).or_default();
        let step = steps.get(*taken).or(steps.last()).copied();
        *taken += 1;
        step
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_step_repeats_and_conversations_are_counted_apart() {
        let of = |when: &str, text: &str| Step { when: Some(when.to_owned()), ..Step::text(text) };
        let steps = vec![Step::text("one"), of("dig", "deep"), Step::text("two"), of("dig", "deeper")];
        let scenario = Scenario { steps, ..Scenario::default() };
        let mut position = Position::default();
        let mut next = |user: &str| position.next(&scenario, user).and_then(|step| step.text.clone());
        let said: Vec<_> =
            ["go", "dig here", "go", "dig here", "dig", "go"].map(&mut next).into_iter().flatten().collect();
        assert_eq!(said, ["one", "deep", "two", "deeper", "deeper", "two"]);
        assert_eq!(Position::default().next(&Scenario::default(), ""), None);
    }

    #[test]
    fn pieces_never_split_a_character() {
        for (text, piece, pieces) in [
            ("", 0, vec![]),
            ("häfen", 2, vec!["hä", "fe", "n"]),
            ("⚓⚓", 1, vec!["⚓", "⚓"]),
            ("123456789", 0, vec!["12345678", "9"]),
        ] {
            assert_eq!(Step { piece, ..Step::default() }.pieces(text), pieces, "{text}");
        }
    }

    #[test]
    fn a_misspelt_key_is_refused() {
        assert!(serde_json::from_str::<Scenario>(r#"{"steps":[{"txet":"hello"}]}"#).is_err());
        let read: Scenario = serde_json::from_str(
            r#"{"steps":[{"status":429,"headers":{"retry-after":"1"}},{"text":"hi","end":"stalled"}]}"#,
        )
        .expect("a scenario");
        assert_eq!((read.steps[0].status, read.steps[1].end), (Some(429), End::Stalled));
    }
}
