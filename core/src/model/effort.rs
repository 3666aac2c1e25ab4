//! How much a model reasons: one scale for all agents.

use super::options::SettingError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// How much the model reasons, on a scale that is common to all agents. Adapters map it to their agent's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
#[expect(missing_docs, reason = "a scale: only the order has a meaning")]
pub enum Effort {
    None,
    Minimal,
    Low,
    Medium,
    High,
    XHigh,
    Max,
}

impl Effort {
    /// All of them, in rising order.
    pub const ALL: [Effort; 7] =
        [Effort::None, Effort::Minimal, Effort::Low, Effort::Medium, Effort::High, Effort::XHigh, Effort::Max];

    /// Its name in JSON, in the interface and on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Effort::None => "none",
            Effort::Minimal => "minimal",
            Effort::Low => "low",
            Effort::Medium => "medium",
            Effort::High => "high",
            Effort::XHigh => "xhigh",
            Effort::Max => "max",
        }
    }
}

impl fmt::Display for Effort {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.as_str())
    }
}

impl FromStr for Effort {
    type Err = SettingError;

    fn from_str(text: &str) -> Result<Effort, SettingError> {
        Effort::ALL.into_iter().find(|effort| effort.as_str() == text).ok_or_else(|| SettingError {
            message: format!("`{text}` is not an effort"),
            hint: format!("one of {}", Effort::ALL.map(Effort::as_str).join(", ")),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn efforts_have_the_same_name_everywhere() {
        for effort in Effort::ALL {
            assert_eq!(serde_json::json!(effort), effort.as_str());
            assert_eq!(effort.as_str().parse(), Ok(effort));
        }
        assert!("huge".parse::<Effort>().expect_err("refused").hint.contains("xhigh"));
    }
}
