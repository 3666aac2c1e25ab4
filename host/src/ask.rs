//! Asks: what an agent asks, how it is answered, and which asks are answered by rules.

pub use wharf_core::model::{
    Action, Answer, AnsweredBy, Ask, AskAnswered, AskKind, Choice, ChoiceKind, Decision, FieldAnswer, Question,
};
pub use wharf_core::turn::{AskRule, AskRules, RuleAnswer};
