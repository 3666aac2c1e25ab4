//! The scenario: what the model answers.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// A scenario. Each inference request takes the next step; the last step repeats.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Scenario {
    /// The answers, in order.
    pub steps: Vec<Step>,
    /// The answer to inference requests without tools. Agents send such requests outside the turn, for example to name a
    /// session, and they must not use up the steps. Empty means a default answer.
    pub side_answer: String,
    /// Requests that contain one of these texts are side requests too, although they have tools: agents extract memories,
    /// classify commands or suggest a next prompt.
    pub side_texts: Vec<String>,
}

impl Scenario {
    /// Whether a request takes no step.
    pub(crate) fn is_side_request(&self, body: &str, tools: &[String]) -> bool {
        tools.is_empty() || self.side_texts.iter().any(|text| body.contains(text.as_str()))
    }
}

/// An answer of the model, or a failure of its provider.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Step {
    /// Only for conversations in which a user message contains this, which separates a sub-agent's requests from the
    /// agent's own. Such steps are counted separately and take precedence over steps without this field.
    pub when: Option<String>,
    /// The reasoning before the text.
    pub thinking: Option<String>,
    /// The text of the answer.
    pub text: Option<String>,
    /// The tools that the model calls.
    pub tools: Vec<Tool>,
    /// The number of characters in each piece of the stream; 0 means 8.
    pub piece: usize,
    /// Milliseconds before the answer starts.
    pub delay: u64,
    /// Milliseconds after each piece.
    pub pause: u64,
    /// How the stream ends.
    pub end: End,
    /// Input and output tokens; unset means 100 and 20. Cached tokens and those of the reasoning are part of them.
    pub usage: Option<(u64, u64)>,
    /// The input tokens that were read from a cache.
    pub cached: u64,
    /// The output tokens of the reasoning.
    pub reasoning: u64,
    /// An HTTP status that replaces the answer by a failure.
    pub status: Option<u16>,
    /// Fields of the failure's body that override the defaults for its status: `type`, `code`, `message`.
    pub error: Map<String, Value>,
    /// Additional headers of the response.
    pub headers: BTreeMap<String, String>,
}

/// A tool that the model calls.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tool {
    /// The name under which the agent offers it; of a tool in a namespace, `namespace::name`.
    pub name: String,
    /// The arguments of the call.
    pub input: Value,
    /// The group that it is in, where the agent offers it in one. The server fills it in.
    #[serde(skip)]
    pub namespace: Option<String>,
}

/// How a stream ends.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum End {
    /// Completely.
    #[default]
    Finished,
    /// The connection is closed before the end.
    Dropped,
    /// Nothing more is sent, and the connection stays open.
    Stalled,
}

impl Step {
    /// An answer with this text.
    pub fn text(text: impl Into<String>) -> Step {
        Step { text: Some(text.into()), ..Step::default() }
    }

    /// A call of a single tool.
    pub fn tool(name: &str, input: Value) -> Step {
        Step::tools(vec![(name, input)])
    }

    /// Calls of several tools at once.
    pub fn tools(calls: Vec<(&str, Value)>) -> Step {
        let tools =
            calls.into_iter().map(|(name, input)| Tool { name: name.to_owned(), input, namespace: None }).collect();
        Step { tools, ..Step::default() }
    }

    /// A failure with this HTTP status.
    pub fn status(status: u16) -> Step {
        Step { status: Some(status), ..Step::default() }
    }

    /// Splits text into the pieces of the stream, never inside a character.
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

/// The tokens of all answers that the model finished.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usage {
    /// All input tokens.
    pub input: u64,
    /// All output tokens.
    pub output: u64,
    /// The input tokens that were read from a cache.
    pub cached: u64,
    /// The output tokens of the reasoning.
    pub reasoning: u64,
    /// The number of answers.
    pub answers: u64,
}

impl Usage {
    /// Adds an answer, if the step is a finished one.
    pub(crate) fn add(&mut self, step: &Step) {
        if step.status.is_some() || step.end != End::Finished {
            return;
        }
        self.input += step.input_tokens();
        self.output += step.output_tokens();
        self.cached += step.cached;
        self.reasoning += step.reasoning;
        self.answers += 1;
    }
}

/// How many steps each conversation has taken.
#[derive(Debug, Default)]
pub(crate) struct Position(BTreeMap<Option<String>, usize>);

impl Position {
    /// The next step for a conversation with these user messages; none if the scenario has no steps.
    pub(crate) fn next<'a>(&mut self, scenario: &'a Scenario, user: &str) -> Option<&'a Step> {
        let matches = |step: &&Step| step.when.as_ref().is_some_and(|text| user.contains(text.as_str()));
        let when = scenario.steps.iter().find(matches).and_then(|step| step.when.clone());
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
    fn the_last_step_repeats_and_conversations_are_counted_separately() {
        let of = |when: &str, text: &str| Step { when: Some(when.to_owned()), ..Step::text(text) };
        let steps = vec![Step::text("one"), of("dig", "deep"), Step::text("two"), of("dig", "deeper")];
        let scenario = Scenario { steps, ..Scenario::default() };
        let mut position = Position::default();
        let mut next = |user: &str| position.next(&scenario, user).and_then(|step| step.text.clone());
        let texts: Vec<_> =
            ["go", "dig here", "go", "dig here", "dig", "go"].map(&mut next).into_iter().flatten().collect();
        assert_eq!(texts, ["one", "deep", "two", "deeper", "deeper", "two"]);
        assert_eq!(Position::default().next(&Scenario::default(), ""), None);
    }

    #[test]
    fn side_requests_have_no_tools_or_a_known_text() {
        let scenario = Scenario { side_texts: vec!["Suggest what".to_owned()], ..Scenario::default() };
        let tools = ["shell".to_owned()];
        assert!(scenario.is_side_request("Go.", &[]) && scenario.is_side_request("Suggest what comes next.", &tools));
        assert!(!scenario.is_side_request("Go.", &tools));
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
    fn a_misspelled_key_is_an_error() {
        assert!(serde_json::from_str::<Scenario>(r#"{"steps":[{"txet":"hello"}]}"#).is_err());
        let read: Scenario = serde_json::from_str(
            r#"{"steps":[{"status":429,"headers":{"retry-after":"1"}},{"text":"hi","end":"stalled"}]}"#,
        )
        .expect("a scenario");
        assert_eq!((read.steps[0].status, read.steps[1].end), (Some(429), End::Stalled));
    }
}
