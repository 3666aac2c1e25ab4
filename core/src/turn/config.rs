//! What a driver is given, and what it returns at the end. Plain data.

use super::outcome::EndFacts;
use super::rules::AskRules;
use super::timeouts::Timeouts;
use crate::model::{ExitBehavior, Prices, Report, SessionChoice, UnsupportedSetting, Usage};

/// What a driver knows from the start.
#[derive(Debug, Clone)]
#[expect(clippy::struct_excessive_bools, reason = "they are independent of each other")]
pub struct DriverConfig {
    /// When the turn times out.
    pub timeouts: Timeouts,
    /// Which asks are answered without a person.
    pub rules: AskRules,
    /// How the process exits after its turn.
    pub exit_behavior: ExitBehavior,
    /// Whether the agent's stdin stays open after its prompt.
    pub stdin_open: bool,
    /// Whether the process is kept for another turn.
    pub keep_alive: bool,
    /// Which conversation the caller chose.
    pub session: SessionChoice,
    /// Settings that the agent cannot apply.
    pub unsupported: Vec<UnsupportedSetting>,
    /// Why the agent takes no messages during its turn, if so.
    pub no_messages: Option<String>,
    /// Whether the agent was given a schema for its answer, and can apply it.
    pub structured_output: bool,
    /// What the session had used before, as far as known.
    pub used_before: Usage,
    /// The prices, for a cost that the agent does not report.
    pub prices: Prices,
    /// Whether the given times are real. Captured output has none, so its tools have no durations.
    pub timed: bool,
    /// Whether a recording is replayed: what was answered, and which timers expired, is in it.
    pub replay: bool,
}

impl Default for DriverConfig {
    fn default() -> DriverConfig {
        DriverConfig {
            timeouts: Timeouts::default(),
            rules: AskRules::default(),
            exit_behavior: ExitBehavior::ByItself,
            stdin_open: true,
            keep_alive: false,
            session: SessionChoice::Fresh(None),
            unsupported: vec![],
            no_messages: None,
            structured_output: false,
            prices: Prices::default(),
            used_before: Usage::default(),
            timed: true,
            replay: false,
        }
    }
}

/// The result of a turn: plain data.
#[derive(Debug, Clone, PartialEq)]
pub struct TurnResult {
    /// How it ended.
    pub report: Report,
    /// What the session has used in total, if the agent reports it.
    pub session_usage: Option<Usage>,
    /// What the host did to the turn.
    pub end: EndFacts,
}
