//! The sections of the configuration that are settings of wharf itself: timeouts, limits, recordings.

use crate::error::Result;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, de::Error as _};
use std::time::Duration;
use wharf_core::model::time::Span;
use wharf_core::turn::timeouts::deserialize_span;
use wharf_core::turn::{TimeoutSetting, Timeouts};

/// The timeouts of a turn: durations, or `none` where a timeout can be off. See [`Timeouts`] for the defaults.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct TimeoutsConfig {
    /// From the start to the first output.
    pub first_output: Option<TimeoutSetting>,
    /// Without output, while no tool runs and no ask is open.
    pub idle: Option<TimeoutSetting>,
    /// For the whole run.
    pub total: Option<TimeoutSetting>,
    /// Until an ask counts as denied.
    pub ask: Option<TimeoutSetting>,
    /// Between asking an agent to stop and killing it.
    #[serde(deserialize_with = "deserialize_span")]
    #[schemars(with = "Option<Span>")]
    pub grace: Option<Duration>,
}

impl TimeoutsConfig {
    /// The timeouts, with the defaults filled in.
    pub fn timeouts(&self) -> Timeouts {
        let mut timeouts = Timeouts::default();
        let set = |setting: Option<TimeoutSetting>, default| setting.map_or(default, Into::into);
        timeouts.first_output = set(self.first_output, timeouts.first_output);
        timeouts.idle = set(self.idle, timeouts.idle);
        timeouts.total = set(self.total, timeouts.total);
        timeouts.ask = set(self.ask, timeouts.ask);
        timeouts.grace = self.grace.unwrap_or(timeouts.grace);
        timeouts
    }
}

/// The limits of a host and its runs.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct LimitsConfig {
    /// The size limit of a frame in bytes; 16 MiB by default.
    #[serde(deserialize_with = "at_least_one")]
    #[schemars(range(min = 1))]
    pub frame_bytes: Option<usize>,
    /// How many runs of one host may be live at once; no limit by default.
    #[serde(deserialize_with = "at_least_one")]
    #[schemars(range(min = 1))]
    pub runs: Option<usize>,
    /// The processor time in seconds that compiling an adapter may take in a child process; 120 by default. See
    /// [`compile_in_child`](crate::compile_in_child).
    #[serde(deserialize_with = "at_least_one")]
    pub compile_seconds: Option<u64>,
    /// The memory in bytes that compiling an adapter may take in a child process; 2 GiB by default.
    #[serde(deserialize_with = "at_least_one")]
    pub compile_bytes: Option<u64>,
}

fn at_least_one<'de, D, N>(deserializer: D) -> Result<Option<N>, D::Error>
where
    D: Deserializer<'de>,
    N: Deserialize<'de> + Default + PartialEq,
{
    let number = N::deserialize(deserializer)?;
    if number == N::default() {
        return Err(D::Error::custom("0 is not allowed: it must be at least 1"));
    }
    Ok(Some(number))
}

/// What is kept of runs.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct RecordingConfig {
    /// Whether runs are recorded.
    pub enabled: bool,
    /// The size limit of one recording, in bytes. Beyond it, the streams are not kept.
    pub run_bytes: u64,
    /// How many runs are kept.
    pub keep_runs: usize,
    /// The size limit of all runs together, in bytes; the oldest are removed first.
    pub keep_bytes: u64,
}

impl Default for RecordingConfig {
    fn default() -> RecordingConfig {
        RecordingConfig { enabled: true, run_bytes: 1 << 30, keep_runs: 1000, keep_bytes: 4 << 30 }
    }
}
