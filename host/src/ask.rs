//! Asks and their answers: who may answer what without a person.

use crate::event::{Ask, ChoiceKind};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What somebody answers to an ask.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// The ask's id.
    pub ask: String,
    /// What was decided.
    pub decision: Decision,
    /// A text, where the ask wants one.
    pub text: Option<String>,
    /// The tool's input, changed.
    pub input: Option<Value>,
}

impl Answer {
    /// A plain decision.
    pub fn new(ask: impl Into<String>, decision: Decision) -> Answer {
        Answer { ask: ask.into(), decision, text: None, input: None }
    }
}

/// What was decided. Choices are picked by kind, not by position.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
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
    /// This very choice, by its id.
    Choice(String),
}

impl Decision {
    /// The id of the choice that means this. Nothing where the ask has none like it: an adapter takes that for a no.
    pub(crate) fn choose(&self, ask: &Ask) -> Option<String> {
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
}

/// What is answered without asking a person: the first rule that fits, else `otherwise`.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AskRules {
    /// Looked at in order.
    #[serde(default, rename = "rule")]
    pub rules: Vec<AskRule>,
    /// When no rule fits.
    #[serde(default)]
    pub otherwise: Otherwise,
}

/// One rule.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AskRule {
    /// The tool's name; `*` at its end stands for anything.
    pub tool: String,
    /// A text that must stand somewhere in the tool's input.
    pub contains: Option<String>,
    /// What is answered.
    pub answer: RuleAnswer,
}

/// What a rule answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RuleAnswer {
    /// Yes.
    Allow,
    /// No.
    Deny,
    /// A person shall say.
    Ask,
}

/// What happens to an ask that no rule fits.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Otherwise {
    /// Wait for an answer, until the limit.
    #[default]
    Ask,
    /// Yes.
    Allow,
    /// No.
    Deny,
}

impl AskRules {
    /// What is decided without a person, if anything. Only permissions are: a question has no yes or no.
    pub(crate) fn decide(&self, ask: &Ask) -> Option<Decision> {
        let tool = ask.tool.as_deref().unwrap_or_default();
        let detail = ask.detail.to_string();
        let fits = |rule: &&AskRule| {
            let named = match rule.tool.strip_suffix('*') {
                Some(beginning) => tool.starts_with(beginning),
                None => tool == rule.tool,
            };
            named && rule.contains.as_ref().is_none_or(|text| detail.contains(text.as_str()))
        };
        let answer = match self.rules.iter().find(fits) {
            Some(rule) => rule.answer,
            None => match self.otherwise {
                Otherwise::Ask => RuleAnswer::Ask,
                Otherwise::Allow => RuleAnswer::Allow,
                Otherwise::Deny => RuleAnswer::Deny,
            },
        };
        match answer {
            RuleAnswer::Ask => None,
            RuleAnswer::Allow if ask.kind != "permission" => None,
            RuleAnswer::Allow => Some(Decision::Allow),
            RuleAnswer::Deny => Some(Decision::Deny),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Choice;

    fn ask(tool: &str, choices: &[(&str, ChoiceKind)]) -> Ask {
        let choice = |(id, kind): &(&str, ChoiceKind)| Choice { id: (*id).into(), kind: *kind, label: String::new() };
        Ask {
            id: "1".into(),
            kind: "permission".into(),
            title: "may I?".into(),
            tool: Some(tool.into()),
            tool_id: None,
            detail: serde_json::json!({ "command": "git push" }),
            choices: choices.iter().map(choice).collect(),
            free_text: false,
            input_editable: false,
        }
    }

    #[test]
    fn choices_are_picked_by_kind_not_by_position() {
        let ask = ask(
            "Bash",
            &[("never", ChoiceKind::RejectAlways), ("no", ChoiceKind::RejectOnce), ("yes", ChoiceKind::AllowOnce)],
        );
        assert_eq!(Decision::Allow.choose(&ask).as_deref(), Some("yes"));
        assert_eq!(Decision::AllowAlways.choose(&ask).as_deref(), Some("yes"));
        assert_eq!(Decision::Deny.choose(&ask).as_deref(), Some("no"));
        assert_eq!(Decision::Choice("never".into()).choose(&ask).as_deref(), Some("never"));
        assert_eq!(Decision::Choice("typo".into()).choose(&ask), None);
    }

    #[test]
    fn a_yes_is_never_made_of_a_no_or_of_a_yes_for_always() {
        for kind in [ChoiceKind::RejectOnce, ChoiceKind::AllowAlways] {
            assert_eq!(Decision::Allow.choose(&ask("Bash", &[("it", kind)])), None, "{kind:?}");
        }
    }

    #[test]
    fn the_first_rule_that_fits_decides() {
        let rules: AskRules = toml::from_str(
            "otherwise = \"deny\"\n[[rule]]\ntool = \"Bash\"\ncontains = \"git push\"\nanswer = \"ask\"\n\
             [[rule]]\ntool = \"Ba*\"\nanswer = \"allow\"\n",
        )
        .expect("rules");
        assert_eq!(rules.decide(&ask("Bash", &[])), None);
        assert_eq!(rules.decide(&ask("Bat", &[])), Some(Decision::Allow));
        assert_eq!(rules.decide(&ask("Write", &[])), Some(Decision::Deny));
        let question = Ask { kind: "question".into(), ..ask("Bat", &[]) };
        assert_eq!(rules.decide(&question), None, "a rule cannot answer a question with a yes");
    }
}
