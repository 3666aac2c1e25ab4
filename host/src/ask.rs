//! Asks: what an agent asks, how it is answered, and which asks are answered by rules.

pub use wharf_core::model::{Answer, AnsweredBy, Ask, AskAnswered, AskKind, Choice, ChoiceKind, Decision};
pub use wharf_core::turn::{AskRule, AskRules, RuleAnswer};
