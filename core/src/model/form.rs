//! Several questions in one ask, and their answers.

use super::choice::Choice;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One question of a form.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct Question {
    /// The agent's id of it.
    pub id: String,
    /// A word or two: what it is about.
    pub title: String,
    /// The question for a person.
    pub text: String,
    /// The choices that the agent offers.
    pub choices: Vec<Choice>,
    /// Whether several of the choices may be chosen.
    pub multiple: bool,
    /// Whether the answer may have a text.
    pub free_text: bool,
}

impl Question {
    /// A question without choices, which takes a text.
    pub fn new(id: impl Into<String>, text: impl Into<String>) -> Question {
        Question {
            id: id.into(),
            title: String::new(),
            text: text.into(),
            choices: vec![],
            multiple: false,
            free_text: true,
        }
    }

    /// Whether the question takes this answer.
    pub(super) fn check(&self, answer: &FieldAnswer) -> Result<(), String> {
        let unknown = answer.choices.iter().find(|id| !self.choices.iter().any(|choice| choice.id == **id));
        if let Some(id) = unknown {
            let ids = self.choices.iter().map(|choice| format!("`{}`", choice.id)).collect::<Vec<_>>().join(", ");
            let offered = if ids.is_empty() { "no choices".to_owned() } else { ids };
            return Err(format!("the question `{}` has no choice `{id}`: it offers {offered}", self.id));
        }
        if answer.choices.len() > 1 && !self.multiple {
            return Err(format!("the question `{}` takes one choice, not {}", self.id, answer.choices.len()));
        }
        if answer.text.is_some() && !self.free_text {
            return Err(format!("the question `{}` takes no text (`free_text` is false)", self.id));
        }
        Ok(())
    }
}

/// The answer to one question of a form. Without a choice and without a text it is no answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FieldAnswer {
    /// The id of the question.
    pub question: String,
    /// The ids of the choices.
    #[serde(default)]
    pub choices: Vec<String>,
    /// A text, if the question takes one.
    #[serde(default)]
    pub text: Option<String>,
}
