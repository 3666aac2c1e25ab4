//! Rules: which asks are answered without a person.

use crate::model::{Answer, Ask, AskKind, Decision};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, de::Error as _};
use serde_json::Value;
use std::fmt;

/// What is answered without asking a person: by the first rule that matches, else by `default`.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AskRules {
    /// Checked in order.
    #[serde(default, rename = "rule")]
    pub rules: Vec<AskRule>,
    /// For asks that no rule matches.
    #[serde(default)]
    pub default: RuleAnswer,
}

/// One rule.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AskRule {
    /// The tool's name; `*` at its end matches anything.
    #[serde(deserialize_with = "tool")]
    pub tool: String,
    /// A text that the tool's input must contain.
    pub contains: Option<String>,
    /// The answer if the rule matches.
    pub answer: RuleAnswer,
}

/// A tool's name. A `*` before its end would match nothing, and a rule that was meant to deny would do nothing.
fn tool<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let tool = String::deserialize(deserializer)?;
    if tool.strip_suffix('*').unwrap_or(&tool).contains('*') {
        return Err(D::Error::custom(format!("the tool {tool:?} has a `*` that is not at its end")));
    }
    Ok(tool)
}

/// What a rule answers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RuleAnswer {
    /// Wait for a person's answer, until the timeout.
    #[default]
    Ask,
    /// Yes, this time.
    Allow,
    /// No.
    Deny,
}

impl AskRules {
    /// The answer that needs no person, if there is one. Rules answer permissions only: a question has no yes.
    pub fn answer(&self, ask: &Ask) -> Option<Answer> {
        let tool = ask.tool.as_deref().unwrap_or_default();
        let matches = |rule: &&AskRule| {
            let named = match rule.tool.strip_suffix('*') {
                Some(prefix) => tool.starts_with(prefix),
                None => tool == rule.tool,
            };
            named && rule.contains.as_ref().is_none_or(|text| contains(&ask.detail, text))
        };
        let rule = self.rules.iter().find(matches);
        let decision = match rule.map_or(self.default, |rule| rule.answer) {
            RuleAnswer::Ask => return None,
            RuleAnswer::Allow if ask.kind != AskKind::Permission => return None,
            RuleAnswer::Allow => Decision::Allow,
            RuleAnswer::Deny => Decision::Deny,
        };
        let name = rule.map_or_else(|| "default".to_owned(), AskRule::to_string);
        Some(Answer::to(ask, decision).by(name))
    }
}

/// Whether a tool's input contains a text: as JSON, or in a text of it, in which quotes and backslashes have no escapes.
fn contains(input: &Value, text: &str) -> bool {
    let quoted = Value::from(text).to_string();
    // Input that cannot be kept as a value is a text itself, with escapes.
    let escaped = &quoted[1..quoted.len() - 1];
    input.to_string().contains(text) || any_text(input, &|found| found.contains(text) || found.contains(escaped))
}

fn any_text(value: &Value, matches: &impl Fn(&str) -> bool) -> bool {
    match value {
        Value::String(text) => matches(text),
        Value::Array(items) => items.iter().any(|item| any_text(item, matches)),
        Value::Object(fields) => fields.iter().any(|(key, value)| matches(key) || any_text(value, matches)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

impl fmt::Display for AskRule {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.tool)?;
        self.contains.as_ref().map_or(Ok(()), |text| write!(formatter, " containing {text:?}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(tool: &str) -> Ask {
        let mut ask = Ask::new("1", AskKind::Permission, "may I?");
        ask.tool = Some(tool.into());
        ask.detail = serde_json::json!({ "command": "git push" });
        ask
    }

    #[test]
    fn the_first_rule_that_matches_decides() {
        let rules: AskRules = toml::from_str(
            "default = \"deny\"\n[[rule]]\ntool = \"Bash\"\ncontains = \"git push\"\nanswer = \"ask\"\n\
             [[rule]]\ntool = \"Ba*\"\nanswer = \"allow\"\n",
        )
        .expect("rules");
        let decided = |ask: &Ask| rules.answer(ask).map(|answer| (answer.decision, answer.name.unwrap_or_default()));
        assert_eq!(decided(&ask("Bash")), None);
        assert_eq!(decided(&ask("Bat")), Some((Decision::Allow, "Ba*".to_owned())));
        assert_eq!(decided(&ask("Write")), Some((Decision::Deny, "default".to_owned())));
        let question = Ask { kind: AskKind::Question, ..ask("Bat") };
        assert_eq!(decided(&question), None, "a rule cannot answer a question with a yes");
    }

    #[test]
    fn a_rule_for_a_text_with_quotes_or_backslashes_matches() {
        for text in ["rm \"$HOME\"", "C:\\Windows", "first\nsecond", "\"command\":\"git"] {
            let rule = AskRule { tool: "Bash".to_owned(), contains: Some(text.to_owned()), answer: RuleAnswer::Deny };
            let rules = AskRules { rules: vec![rule], default: RuleAnswer::Allow };
            let decided = |detail: Value| rules.answer(&Ask { detail, ..ask("Bash") }).map(|answer| answer.decision);
            let command = if text.contains("command") { "git push".to_owned() } else { format!("sudo {text}; true") };
            let input = serde_json::json!({ "command": command });
            assert_eq!(decided(serde_json::json!([[input]])), Some(Decision::Deny), "{text}");
            assert_eq!(decided(Value::from(input.to_string())), Some(Decision::Deny), "{text}, kept as a text");
            assert_eq!(decided(serde_json::json!({ "command": "true" })), Some(Decision::Allow), "{text}");
        }
    }
}
