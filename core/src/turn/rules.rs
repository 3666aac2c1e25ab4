//! Rules: which asks are answered without a person.

use crate::model::{Answer, Ask, AskKind, Decision};
use schemars::JsonSchema;
use serde::Deserialize;
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
    pub tool: String,
    /// A text that the tool's input must contain.
    pub contains: Option<String>,
    /// The answer if the rule matches.
    pub answer: RuleAnswer,
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
        let detail = ask.detail.to_string();
        let matches = |rule: &&AskRule| {
            let named = match rule.tool.strip_suffix('*') {
                Some(prefix) => tool.starts_with(prefix),
                None => tool == rule.tool,
            };
            named && rule.contains.as_ref().is_none_or(|text| detail.contains(text.as_str()))
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
}
