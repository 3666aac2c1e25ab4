//! What a session offers to change: models, modes, options.
//!
//! Agents do it in three ways, and many in several of them: `models` with `session/set_model`, which no schema has; `modes`
//! with `session/set_mode`; and `configOptions` with `session/set_config_option`, which is the newest.

use crate::json::Object;
use crate::{Effort, Json, nearest_effort};

/// One change of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    pub(super) what: What,
    /// The setting of the turn that it applies, for messages.
    pub(super) setting: &'static str,
    /// Whether the turn works without it.
    pub(super) optional: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum What {
    Model(String),
    Mode(String),
    Option { id: String, value: String },
}

impl Change {
    /// Sets the model by `session/set_model`.
    pub fn model(id: impl Into<String>) -> Change {
        Change { what: What::Model(id.into()), setting: "model", optional: false }
    }

    /// Sets the mode by `session/set_mode`.
    pub fn mode(id: impl Into<String>) -> Change {
        Change { what: What::Mode(id.into()), setting: "mode", optional: false }
    }

    /// Sets an option by `session/set_config_option`.
    pub fn option(setting: &'static str, id: impl Into<String>, value: impl Into<String>) -> Change {
        Change { what: What::Option { id: id.into(), value: value.into() }, setting, optional: false }
    }

    /// If it fails, the turn continues with a notice.
    #[must_use]
    pub fn optional(mut self) -> Change {
        self.optional = true;
        self
    }

    /// The model that the session has after it.
    pub(super) fn new_model(&self) -> Option<&str> {
        match &self.what {
            What::Model(model) => Some(model),
            What::Option { value, .. } if self.setting == "model" => Some(value),
            What::Mode(_) | What::Option { .. } => None,
        }
    }

    /// The method and its parameters besides the session.
    pub(super) fn request(&self, session: Object) -> (&'static str, Object) {
        match &self.what {
            What::Model(id) => ("session/set_model", session.str("modelId", id)),
            What::Mode(id) => ("session/set_mode", session.str("modeId", id)),
            What::Option { id, value } => {
                ("session/set_config_option", session.str("configId", id).str("value", value))
            }
        }
    }
}

/// What a session offers: the response to `session/new`, `session/load` or `session/resume`.
#[derive(Debug, Clone, Copy)]
pub struct Offer<'a>(pub Json<'a>);

impl<'a> Offer<'a> {
    /// The model that the session has.
    pub fn current_model(&self) -> Option<String> {
        let current = self.0.at(&["models", "currentModelId"]).string();
        current.or_else(|| self.option("model", &["model"])?.get("currentValue").string())
    }

    /// The change to another model, by its id or by its name.
    pub fn model(&self, requested: &str) -> Change {
        let named = |list: Json<'a>, key: &str| {
            let of = |key: &str| list.items().find(|model| model.get(key).str().as_deref() == Some(requested));
            of(key).or_else(|| of("name")).and_then(|model| model.get(key).string())
        };
        let given = || requested.to_owned();
        if let Some(option) = self.option("model", &["model"])
            && let Some(id) = option.get("id").string()
        {
            return Change::option("model", id, named(option.get("options"), "value").unwrap_or_else(given));
        }
        let models = self.0.at(&["models", "availableModels"]);
        Change::model(named(models, "modelId").unwrap_or_else(given))
    }

    /// The change to the nearest effort that is offered, if any is.
    pub fn effort(&self, requested: &str) -> Option<Change> {
        let option = self.option("thought_level", &["thinking", "effort", "thinking_effort", "reasoning_effort"])?;
        let values = || option.get("options").items().filter_map(|value| value.get("value").string());
        let level = |value: &str| match value {
            "off" => Some(Effort::None),
            "on" => Some(Effort::Medium),
            _ => Effort::parse(value),
        };
        let offered: Vec<Effort> = values().filter_map(|value| level(&value)).collect();
        let requested = Effort::parse(requested)?;
        // A request for reasoning never turns it off.
        let nearest = if requested == Effort::None {
            nearest_effort(requested, &offered)?
        } else {
            let reasoning: Vec<Effort> = offered.into_iter().filter(|effort| *effort != Effort::None).collect();
            nearest_effort(requested, &reasoning)?
        };
        let value = values().find(|value| level(value) == Some(nearest))?;
        Some(Change::option("effort", option.get("id").string()?, value).optional())
    }

    /// The change to a mode, if it is offered.
    pub fn mode(&self, id: &str) -> Option<Change> {
        let mut modes = self.0.at(&["modes", "availableModes"]).items();
        if modes.any(|mode| mode.get("id").is(id)) {
            return Some(Change::mode(id));
        }
        let option = self.option("mode", &["mode"])?;
        let offered = option.get("options").items().any(|value| value.get("value").is(id));
        Some(Change::option("mode", option.get("id").string()?, id)).filter(|_| offered)
    }

    /// The option with one of these ids, else with this category. Two may share a category: a provider and its models.
    fn option(&self, category: &str, ids: &[&str]) -> Option<Json<'a>> {
        let options = || self.0.get("configOptions").items();
        let has_id = |option: &Json<'_>| option.get("id").name().is_some_and(|id| ids.contains(&id));
        options().find(has_id).or_else(|| options().find(|option| option.get("category").is(category)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOTH: &str = r#"{"sessionId":"s","models":{"currentModelId":"a","availableModels":[{"modelId":"a","name":"A"}]},
        "configOptions":[{"id":"provider","category":"model","options":[{"value":"x"}]},
        {"id":"model","category":"model","currentValue":"a","options":[{"value":"$runtime|a","name":"A"},{"value":"b"}]},
        {"id":"thought","category":"thought_level","options":[{"value":"off"},{"value":"low"},{"value":"high"}]},
        {"id":"mode","category":"mode","options":[{"value":"yolo"}]}]}"#;
    const MODELS: &str = r#"{"models":{"currentModelId":"a","availableModels":[{"modelId":"a","name":"Alpha"}]},
        "modes":{"availableModes":[{"id":"plan"}]}}"#;

    #[test]
    fn options_are_used_before_the_methods_that_no_schema_has() {
        let offer = Offer(Json::parse(BOTH));
        assert_eq!(offer.current_model().as_deref(), Some("a"));
        assert_eq!(offer.model("A"), Change::option("model", "model", "$runtime|a"));
        assert_eq!(offer.model("unlisted"), Change::option("model", "model", "unlisted"));
        assert_eq!(offer.mode("yolo"), Some(Change::option("mode", "mode", "yolo")));
        assert_eq!(offer.mode("nope"), None);
        let offer = Offer(Json::parse(MODELS));
        assert_eq!(offer.model("Alpha"), Change::model("a"));
        assert_eq!((offer.mode("plan"), offer.effort("low")), (Some(Change::mode("plan")), None));
        let offer = Offer(Json::parse("{}"));
        assert_eq!((offer.current_model(), offer.model("m")), (None, Change::model("m")));
    }

    #[test]
    fn the_nearest_offered_effort_is_set() {
        let offer = Offer(Json::parse(BOTH));
        for (requested, given) in [("none", "off"), ("medium", "low"), ("max", "high")] {
            assert_eq!(offer.effort(requested), Some(Change::option("effort", "thought", given).optional()));
        }
        assert_eq!(offer.effort("heroic"), None);
        let switch = r#"{"configOptions":[{"id":"thinking","options":[{"value":"off"},{"value":"on"}]}]}"#;
        for (requested, given) in [("none", "off"), ("minimal", "on"), ("high", "on")] {
            let change = Offer(Json::parse(switch)).effort(requested);
            assert_eq!(change, Some(Change::option("effort", "thinking", given).optional()), "{requested}");
        }
        let off = r#"{"configOptions":[{"id":"thinking","options":[{"value":"off"}]}]}"#;
        assert_eq!(Offer(Json::parse(off)).effort("high"), None, "reasoning is not turned off");
    }
}
