//! What an ask or a question of a form offers to choose from.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One of an ask's choices. Answers are chosen by kind, not by position.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Choice {
    /// The agent's id of it.
    pub id: String,
    /// What it means.
    pub kind: ChoiceKind,
    /// The text for a person.
    pub label: String,
}

/// What a choice means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum ChoiceKind {
    /// Yes, this time.
    AllowOnce,
    /// Yes, from now on.
    AllowAlways,
    /// No, this time.
    RejectOnce,
    /// No, from now on.
    RejectAlways,
    /// No, and end the turn.
    RejectAndStop,
    /// Something else.
    Other,
}
