//! `[models]`: names of the user's own for models, each with the name that every agent has for it.

use schemars::JsonSchema;
use serde::Deserialize;
use std::collections::BTreeMap;

/// Shorthands for models, by name. Each has the model's name by adapter.
///
/// ```toml
/// [models]
/// fast = { claude = "haiku", copilot = "gpt-5-mini" }
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Models(pub BTreeMap<String, BTreeMap<String, String>>);

/// The model for one agent.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ModelChoice {
    /// The agent's own name for it.
    pub model: String,
    /// Why it may not be what the user wants.
    pub warning: Option<String>,
}

impl Models {
    /// What a model's name or a shorthand means for an agent, which the configuration knows by these keys: see
    /// [`Adapter::config_keys`](crate::adapter::Adapter::config_keys).
    pub fn choose(&self, name: &str, keys: &[String]) -> ModelChoice {
        let agent = keys.first().map_or("this agent", String::as_str);
        if let Some(models) = self.0.get(name) {
            if let Some(model) = keys.iter().find_map(|key| models.get(key)) {
                return ModelChoice { model: model.clone(), warning: None };
            }
            let warning = format!(
                "the shorthand `{name}` in `[models]` has no entry for {agent}: the name is passed on as it is"
            );
            return ModelChoice { model: name.to_owned(), warning: Some(warning) };
        }
        ModelChoice { model: name.to_owned(), warning: self.of_another(name, keys, agent) }
    }

    /// What an agent's shorthands are, in order.
    pub fn of(&self, keys: &[String]) -> BTreeMap<&str, &str> {
        let mut own = BTreeMap::new();
        for (name, models) in &self.0 {
            own.extend(keys.iter().find_map(|key| models.get(key)).map(|model| (name.as_str(), model.as_str())));
        }
        own
    }

    /// A warning if a model is that of other agents and not of this one.
    fn of_another(&self, model: &str, keys: &[String], agent: &str) -> Option<String> {
        let mut found = None;
        for (shorthand, models) in &self.0 {
            for (other, named) in models.iter().filter(|(_, named)| *named == model) {
                if keys.contains(other) {
                    return None;
                }
                found.get_or_insert((shorthand, models, other, named));
            }
        }
        let (shorthand, models, other, _) = found?;
        let instead = keys.iter().find_map(|key| models.get(key));
        let instead = instead.map(|own| format!("; for {agent}, `{shorthand}` is {own}")).unwrap_or_default();
        Some(format!(
            "the model {model} is {other}'s name for `{shorthand}` in `[models]`: {agent} may not know it{instead}"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn models() -> Models {
        let text =
            "fast = { claude = \"haiku\", copilot = \"gpt-5-mini\" }\nbest = { claude = \"opus\", goose = \"opus\" }\n";
        toml::from_str(text).expect("valid")
    }

    #[test]
    fn a_shorthand_becomes_the_agents_own_name_or_is_warned_about() {
        for (name, agent, model, warning) in [
            ("fast", "claude", "haiku", None),
            ("fast", "copilot", "gpt-5-mini", None),
            ("fast", "goose", "fast", Some("no entry for goose")),
            ("haiku", "claude", "haiku", None),
            ("opus", "goose", "opus", None),
            ("haiku", "copilot", "haiku", Some("claude's name for `fast`")),
            ("haiku", "copilot", "haiku", Some("for copilot, `fast` is gpt-5-mini")),
            ("haiku", "goose", "haiku", Some("goose may not know it")),
            ("sonnet", "goose", "sonnet", None),
        ] {
            let choice = models().choose(name, &[agent.to_owned()]);
            assert_eq!(choice.model, model, "{name} {agent}");
            assert_eq!(choice.warning.is_some(), warning.is_some(), "{name} {agent}: {choice:?}");
            assert!(choice.warning.unwrap_or_default().contains(warning.unwrap_or_default()), "{name} {agent}");
        }
    }

    #[test]
    fn an_agent_with_a_name_of_its_own_has_the_shorthands_of_its_adapter_too() {
        let keys = ["old-claude".to_owned(), "claude".to_owned()];
        assert_eq!(models().choose("fast", &keys).model, "haiku");
        assert_eq!(models().of(&keys).into_iter().collect::<Vec<_>>(), [("best", "opus"), ("fast", "haiku")]);
        assert_eq!(models().of(&["copilot".to_owned()]).into_iter().collect::<Vec<_>>(), [("fast", "gpt-5-mini")]);
    }
}
