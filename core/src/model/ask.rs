//! A question of the agent, and its answer.

use super::action::Action;
use super::choice::{Choice, ChoiceKind};
use super::form::{FieldAnswer, Question};
use super::json;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fmt;

/// A question of the agent that somebody must answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct Ask {
    /// The agent's id of it. An agent may use an id again.
    pub id: String,
    /// Which ask of the run it is: 1, 2, 3 … An [`Answer`] names it by this number.
    #[serde(default)]
    pub number: u64,
    /// What is asked for.
    pub kind: AskKind,
    /// The question for a person.
    pub title: String,
    /// The tool that it is about.
    pub tool: Option<String>,
    /// The tool call that it is about.
    pub tool_id: Option<String>,
    /// What the agent would do, if the adapter can tell.
    #[serde(default)]
    pub actions: Vec<Action>,
    /// The tool's input, or the question's own form.
    #[serde(deserialize_with = "json::value")]
    pub detail: Value,
    /// The choices that the agent offers.
    pub choices: Vec<Choice>,
    /// Whether the answer may have a text.
    pub free_text: bool,
    /// Whether the answer may change the tool's input.
    pub input_editable: bool,
    /// Several questions in one.
    #[serde(default)]
    pub form: Vec<Question>,
    /// A JSON Schema of the value that is asked for.
    #[serde(default, deserialize_with = "json::optional")]
    #[schemars(!default)]
    pub schema: Option<Value>,
}

impl Ask {
    /// An ask without choices. The host numbers it.
    pub fn new(id: impl Into<String>, kind: AskKind, title: impl Into<String>) -> Ask {
        Ask {
            id: id.into(),
            number: 0,
            kind,
            title: title.into(),
            tool: None,
            tool_id: None,
            actions: vec![],
            detail: Value::Null,
            choices: vec![],
            free_text: false,
            input_editable: false,
            form: vec![],
            schema: None,
        }
    }
}

/// What an ask is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum AskKind {
    /// To use a tool.
    Permission,
    /// A question to the user.
    Question,
    /// To run one of the caller's tools: `tool` is its name, `detail` its input, and the answer's `value` its result.
    Tool,
    /// A hook of the turn: `title` is the name of the point, `detail` what the agent says about it.
    Hook,
    /// Something else.
    Other,
}

impl fmt::Display for AskKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(match self {
            AskKind::Permission => "permission",
            AskKind::Question => "question",
            AskKind::Tool => "tool",
            AskKind::Hook => "hook",
            AskKind::Other => "other",
        })
    }
}

/// A caller's answer to an ask, which it names by number or by id.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Answer {
    /// The id of the ask. It is refused without a number if the agent has used the id before, for an ask that the caller
    /// did not answer: the answer could be meant for that one.
    #[serde(default)]
    pub ask: Option<String>,
    /// The number of the ask.
    #[serde(default)]
    pub number: Option<u64>,
    /// What was decided.
    pub decision: Decision,
    /// A text, if the ask takes one; with a no, the reason for it.
    #[serde(default)]
    pub text: Option<String>,
    /// The tool's input, changed.
    #[serde(default, deserialize_with = "json::optional")]
    pub input: Option<Value>,
    /// The answers to a form's questions.
    #[serde(default)]
    pub fields: Vec<FieldAnswer>,
    /// What the ask's `schema` describes; of a caller's tool its result; of a hook the agent's own form of an answer.
    #[serde(default, deserialize_with = "json::optional")]
    pub value: Option<Value>,
    /// Who answered, for the event and the receipt: a person's name, a bot's.
    #[serde(default)]
    pub name: Option<String>,
}

impl Answer {
    /// A plain decision about the ask with this id.
    pub fn new(ask: impl Into<String>, decision: Decision) -> Answer {
        Answer {
            ask: Some(ask.into()),
            number: None,
            decision,
            text: None,
            input: None,
            fields: vec![],
            value: None,
            name: None,
        }
    }

    /// A plain decision about this ask and no other.
    pub fn to(ask: &Ask, decision: Decision) -> Answer {
        Answer { number: Some(ask.number), ..Answer::new(&ask.id, decision) }
    }

    /// Whether the ask takes this answer. One that it does not take would count as a no, or lose the changed input,
    /// without a word.
    pub fn check(&self, ask: &Ask) -> Result<(), String> {
        let offered = || {
            let ids = ask.choices.iter().map(|choice| format!("`{}`", choice.id)).collect::<Vec<_>>().join(", ");
            if ids.is_empty() { "it offers no choices".to_owned() } else { format!("it offers {ids}") }
        };
        let chosen = self.decision.choose(ask).is_some();
        match &self.decision {
            Decision::Choice(id) if !chosen => Err(format!("the ask has no choice `{id}`: {}", offered())),
            Decision::Allow | Decision::AllowAlways
                if !chosen && ask.kind == AskKind::Permission && !ask.choices.is_empty() =>
            {
                Err(format!("the ask has no choice that allows only this: {}", offered()))
            }
            decision if self.input.is_some() && decision.is_permission() && !ask.input_editable => {
                Err("the input of this ask cannot be changed (`input_editable` is false)".to_owned())
            }
            _ => self.check_fields(ask),
        }
    }

    fn check_fields(&self, ask: &Ask) -> Result<(), String> {
        self.fields.iter().try_for_each(|field| {
            let question = ask.form.iter().find(|question| question.id == field.question);
            question.ok_or_else(|| format!("the ask has no question `{}`", field.question))?.check(field)
        })
    }

    /// With a text.
    #[must_use]
    pub fn with_text(mut self, text: impl Into<String>) -> Answer {
        self.text = Some(text.into());
        self
    }

    /// With the tool's input, changed.
    #[must_use]
    pub fn with_input(mut self, input: Value) -> Answer {
        self.input = Some(input);
        self
    }

    /// With a value: what the ask's schema describes, or the result of a caller's tool.
    #[must_use]
    pub fn with_value(mut self, value: Value) -> Answer {
        self.value = Some(value);
        self
    }

    /// With the answer to one question of a form.
    #[must_use]
    pub fn with_field(mut self, field: FieldAnswer) -> Answer {
        self.fields.push(field);
        self
    }

    /// With the name of the person or the program that answered.
    #[must_use]
    pub fn by(mut self, name: impl Into<String>) -> Answer {
        self.name = Some(name.into());
        self
    }
}

/// What was decided. Choices are picked by kind, not by position.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Decision {
    /// Yes, this time.
    Allow,
    /// Yes, from now on.
    AllowAlways,
    /// No.
    Deny,
    /// No, and end the turn.
    DenyAndStop,
    /// One choice, by its id.
    Choice(String),
}

impl Decision {
    /// The id of the choice that means this. None if the ask has no such choice: an adapter treats that as a no.
    pub fn choose(&self, ask: &Ask) -> Option<String> {
        let kinds: &[ChoiceKind] = match self {
            Decision::Choice(id) => {
                return ask.choices.iter().find(|choice| choice.id == *id).map(|choice| choice.id.clone());
            }
            // Never more than was granted.
            Decision::Allow => &[ChoiceKind::AllowOnce],
            Decision::AllowAlways => &[ChoiceKind::AllowAlways, ChoiceKind::AllowOnce],
            Decision::Deny => &[ChoiceKind::RejectOnce, ChoiceKind::RejectAlways, ChoiceKind::RejectAndStop],
            Decision::DenyAndStop => &[ChoiceKind::RejectAndStop, ChoiceKind::RejectOnce, ChoiceKind::RejectAlways],
        };
        kinds
            .iter()
            .find_map(|kind| ask.choices.iter().find(|choice| choice.kind == *kind))
            .map(|choice| choice.id.clone())
    }

    /// Whether this permits what the agent asked for.
    pub fn is_permission(&self) -> bool {
        matches!(self, Decision::Allow | Decision::AllowAlways | Decision::Choice(_))
    }
}

/// An ask that was answered: the event, and what the adapter is sent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct AskAnswered {
    /// The id of the ask.
    pub id: String,
    /// The number of the ask.
    #[serde(default)]
    pub number: u64,
    /// The id of the choice that was made; null is a no.
    pub choice: Option<String>,
    /// A text that came with the answer; with a no, the reason for it.
    pub text: Option<String>,
    /// The tool's input, changed by the answer.
    #[serde(default, deserialize_with = "json::optional")]
    #[schemars(!default)]
    pub input: Option<Value>,
    /// The answers to a form's questions.
    #[serde(default)]
    pub fields: Vec<FieldAnswer>,
    /// The value that was asked for.
    #[serde(default, deserialize_with = "json::optional")]
    #[schemars(!default)]
    pub value: Option<Value>,
    /// Who answered.
    pub by: AnsweredBy,
    /// The name of the person, the program or the rule that answered.
    pub name: Option<String>,
}

impl AskAnswered {
    /// An answer, applied to its ask.
    pub fn new(ask: &Ask, answer: Answer, by: AnsweredBy) -> AskAnswered {
        let (id, number) = (ask.id.clone(), ask.number);
        if answer.input.iter().chain(&answer.value).any(json::is_too_deep) {
            // It could not be read again. Without it a yes would allow the input that somebody wanted to change.
            let text = Some("the changed input, or the value, is nested too deeply".to_owned());
            let choice = Decision::Deny.choose(ask);
            let (input, fields, value) = (None, vec![], None);
            return AskAnswered { id, number, choice, text, input, fields, value, by, name: answer.name };
        }
        // Changed input counts only with a yes.
        let input = answer.input.filter(|_| answer.decision.is_permission());
        let choice = answer.decision.choose(ask);
        // A no has no answers.
        let is_yes = answer.decision.is_permission();
        let fields = if is_yes { answer.fields } else { vec![] };
        let value = answer.value.filter(|_| is_yes);
        AskAnswered { id, number, choice, text: answer.text, input, fields, value, by, name: answer.name }
    }
}

/// Who answered an ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum AnsweredBy {
    /// The caller: a person at the terminal, or a program.
    Caller,
    /// A rule.
    Rule,
    /// Nobody did in time: the answer is no.
    Timeout,
    /// The host, because too many asks were open: the answer is no.
    Limit,
}

impl fmt::Display for AnsweredBy {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(match self {
            AnsweredBy::Caller => "caller",
            AnsweredBy::Rule => "rule",
            AnsweredBy::Timeout => "timeout",
            AnsweredBy::Limit => "limit",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(choices: &[(&str, ChoiceKind)]) -> Ask {
        let choice = |(id, kind): &(&str, ChoiceKind)| Choice { id: (*id).into(), kind: *kind, label: String::new() };
        let mut ask = Ask::new("1", AskKind::Permission, "may I?");
        ask.choices = choices.iter().map(choice).collect();
        ask
    }

    #[test]
    fn choices_are_picked_by_kind_not_by_position() {
        let ask =
            ask(&[("never", ChoiceKind::RejectAlways), ("no", ChoiceKind::RejectOnce), ("yes", ChoiceKind::AllowOnce)]);
        assert_eq!(Decision::Allow.choose(&ask).as_deref(), Some("yes"));
        assert_eq!(Decision::AllowAlways.choose(&ask).as_deref(), Some("yes"));
        assert_eq!(Decision::Deny.choose(&ask).as_deref(), Some("no"));
        assert_eq!(Decision::Choice("never".into()).choose(&ask).as_deref(), Some("never"));
        assert_eq!(Decision::Choice("typo".into()).choose(&ask), None);
    }

    #[test]
    fn allowing_once_never_picks_a_rejection_or_a_permanent_permission() {
        for kind in [ChoiceKind::RejectOnce, ChoiceKind::AllowAlways] {
            assert_eq!(Decision::Allow.choose(&ask(&[("it", kind)])), None, "{kind:?}");
        }
    }

    #[test]
    fn an_answer_that_the_ask_does_not_take_is_refused() {
        let mut asked = ask(&[("yes", ChoiceKind::AllowOnce), ("no", ChoiceKind::RejectOnce)]);
        let changed = || Answer::new("1", Decision::Allow).with_input(serde_json::json!({}));
        for decision in [Decision::Allow, Decision::AllowAlways, Decision::Deny, Decision::Choice("no".into())] {
            assert_eq!(Answer::new("1", decision.clone()).check(&asked), Ok(()), "{decision:?}");
        }
        let typo = Answer::new("1", Decision::Choice("typo".into())).check(&asked);
        assert!(typo.is_err_and(|reason| reason.contains("no choice `typo`") && reason.contains("`yes`, `no`")));
        assert!(changed().check(&asked).is_err_and(|reason| reason.contains("cannot be changed")));
        asked.input_editable = true;
        assert_eq!(changed().check(&asked), Ok(()));
        let always = ask(&[("always", ChoiceKind::AllowAlways), ("no", ChoiceKind::RejectOnce)]);
        assert!(Answer::new("1", Decision::Allow).check(&always).is_err_and(|reason| reason.contains("`always`")));
        let question = Ask::new("1", AskKind::Question, "which?");
        assert_eq!(Answer::new("1", Decision::Allow).with_text("this").check(&question), Ok(()));
    }

    #[test]
    fn changed_input_counts_only_with_a_yes() {
        let ask = ask(&[("yes", ChoiceKind::AllowOnce), ("no", ChoiceKind::RejectOnce)]);
        let input = |decision| {
            let answer = Answer::new("1", decision).with_input(serde_json::json!({ "command": "ls" }));
            AskAnswered::new(&ask, answer, AnsweredBy::Caller).input
        };
        assert!(input(Decision::Allow).is_some());
        assert_eq!(input(Decision::Deny), None);
    }

    #[test]
    fn a_yes_with_input_that_is_nested_too_deeply_is_a_no() {
        let ask = ask(&[("yes", ChoiceKind::AllowOnce), ("no", ChoiceKind::RejectOnce)]);
        let deep = (0..=json::DEPTH_LIMIT).fold(Value::Null, |inner, _| serde_json::json!([inner]));
        let answered = AskAnswered::new(&ask, Answer::new("1", Decision::Allow).with_input(deep), AnsweredBy::Caller);
        assert_eq!((answered.choice.as_deref(), answered.input), (Some("no"), None));
    }
}
