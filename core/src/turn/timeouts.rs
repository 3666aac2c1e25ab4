//! The timeouts of a turn, and which of them expires next.

use crate::model::time::{Span, parse_span};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize, de};
use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// The timeouts of a turn. One that is absent never expires.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Timeouts {
    /// From the start to the first output.
    pub first_output: Option<Duration>,
    /// Without output, while no tool runs and no ask is open.
    pub idle: Option<Duration>,
    /// For the whole run.
    pub total: Option<Duration>,
    /// Until an ask counts as denied. The turn is then blocked, whatever the agent makes of the denial.
    pub ask: Option<Duration>,
    /// Between asking an agent to stop and killing it.
    pub grace: Duration,
}

impl Default for Timeouts {
    fn default() -> Timeouts {
        Timeouts {
            first_output: Some(Duration::from_mins(5)),
            idle: Some(Duration::from_mins(15)),
            total: None,
            ask: Some(Duration::from_mins(5)),
            grace: Duration::from_secs(5),
        }
    }
}

impl Timeouts {
    /// The same with nothing longer than a year, so that no time in a run can overflow.
    pub(super) fn clamped(mut self) -> Timeouts {
        const YEAR: Duration = Duration::from_hours(24 * 365);
        let timeouts = [&mut self.first_output, &mut self.idle, &mut self.total, &mut self.ask];
        for timeout in timeouts.into_iter().flatten() {
            *timeout = YEAR.min(*timeout);
        }
        self.grace = YEAR.min(self.grace);
        self
    }

    /// The same for an agent that needs this many milliseconds to stop.
    #[must_use]
    pub fn with_stop(mut self, stop_ms: Option<u32>) -> Timeouts {
        /// An adapter must not keep a process alive that its caller wants to be gone.
        const LONGEST: u32 = 30_000;
        let needed = Duration::from_millis(stop_ms.unwrap_or(0).min(LONGEST).into());
        self.grace = self.grace.max(needed);
        self
    }

    /// No timeout ends the turn, and asks wait for their answers.
    pub fn none() -> Timeouts {
        Timeouts { first_output: None, idle: None, total: None, ask: None, ..Timeouts::default() }
    }

    /// The timeout that expires next, and when. `silent_since` is the time of the last output, absent before the first
    /// one; `idle_held` says that the agent has a reason to be silent.
    pub fn next(&self, silent_since: Option<Duration>, idle_held: bool) -> Option<(Timeout, Duration)> {
        let total = self.total.map(|limit| (Timeout::Total, limit));
        let first = self.first_output.filter(|_| silent_since.is_none()).map(|limit| (Timeout::FirstOutput, limit));
        let idle = self.idle.filter(|_| !idle_held).zip(silent_since);
        let idle = idle.map(|(limit, since)| (Timeout::Idle, since + limit));
        [total, first, idle].into_iter().flatten().min_by_key(|(_, at)| *at)
    }
}

/// A timeout that may end a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Timeout {
    /// There was no output at all.
    FirstOutput,
    /// There was no output for too long, while no tool ran and no ask was open.
    Idle,
    /// The run took too long.
    Total,
}

impl fmt::Display for Timeout {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(match self {
            Timeout::FirstOutput => "first-output timeout",
            Timeout::Idle => "idle timeout",
            Timeout::Total => "total timeout",
        })
    }
}

/// A timeout as a user sets it: `none`, or a duration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimeoutSetting {
    /// It never expires.
    None,
    /// It expires after this time.
    After(Duration),
}

impl From<TimeoutSetting> for Option<Duration> {
    fn from(setting: TimeoutSetting) -> Option<Duration> {
        match setting {
            TimeoutSetting::None => None,
            TimeoutSetting::After(time) => Some(time),
        }
    }
}

impl FromStr for TimeoutSetting {
    type Err = String;

    fn from_str(text: &str) -> Result<TimeoutSetting, String> {
        match text {
            "none" => Ok(TimeoutSetting::None),
            _ => parse_span(text).map(TimeoutSetting::After).map_err(|error| format!("{error}, or `none`")),
        }
    }
}

impl JsonSchema for TimeoutSetting {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "TimeoutSetting".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        Span::json_schema(generator)
    }
}

impl<'de> Deserialize<'de> for TimeoutSetting {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<TimeoutSetting, D::Error> {
        NumberOrText::deserialize(deserializer)?.text().parse().map_err(de::Error::custom)
    }
}

/// A duration in a file: a number of seconds, or a text such as `5m`. For `#[serde(deserialize_with = …)]`.
pub fn deserialize_span<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Duration>, D::Error> {
    parse_span(&NumberOrText::deserialize(deserializer)?.text()).map(Some).map_err(de::Error::custom)
}

/// How a duration may be written in a file.
#[derive(Deserialize)]
#[serde(
    untagged,
    expecting = "it is not a duration: a number of seconds, or a text such as \"90s\", \"5m\" or \"1h30m\""
)]
enum NumberOrText {
    Whole(i64),
    Number(f64),
    Text(String),
}

impl NumberOrText {
    fn text(self) -> String {
        match self {
            NumberOrText::Whole(number) => number.to_string(),
            NumberOrText::Number(number) => number.to_string(),
            NumberOrText::Text(text) => text,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timeout_is_none_or_a_duration() {
        assert_eq!("none".parse(), Ok(TimeoutSetting::None));
        assert_eq!("1h30m".parse(), Ok(TimeoutSetting::After(Duration::from_mins(90))));
        let error = "never".parse::<TimeoutSetting>().expect_err("refused");
        assert!(error.contains("\"never\"") && error.contains("1h30m") && error.ends_with("or `none`"), "{error}");
        for (json, expected) in [
            ("90", TimeoutSetting::After(Duration::from_secs(90))),
            ("0.5", TimeoutSetting::After(Duration::from_millis(500))),
            ("\"2h\"", TimeoutSetting::After(Duration::from_hours(2))),
            ("\"none\"", TimeoutSetting::None),
        ] {
            assert_eq!(serde_json::from_str::<TimeoutSetting>(json).expect(json), expected);
        }
        for invalid in ["-1", "\"-1s\"", "true", "[]", "\"\""] {
            assert!(serde_json::from_str::<TimeoutSetting>(invalid).is_err(), "{invalid}");
        }
    }

    #[test]
    fn the_timeout_that_expires_first_counts() {
        let seconds = Duration::from_secs;
        let mut timeouts = Timeouts::default();
        (timeouts.first_output, timeouts.idle, timeouts.total) =
            (Some(seconds(10)), Some(seconds(20)), Some(seconds(100)));
        for (silent_since, held, next) in [
            (None, false, Some((Timeout::FirstOutput, seconds(10)))),
            (Some(seconds(7)), false, Some((Timeout::Idle, seconds(27)))),
            (Some(seconds(7)), true, Some((Timeout::Total, seconds(100)))),
            (Some(seconds(90)), false, Some((Timeout::Total, seconds(100)))),
        ] {
            assert_eq!(timeouts.next(silent_since, held), next, "{silent_since:?} {held}");
        }
        assert_eq!(Timeouts::none().next(Some(seconds(1)), false), None);
    }
}
