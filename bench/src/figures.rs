//! All figures of one benchmark, as they are stored in `figures.json`. The document can be written again from them.

use crate::growth::Growth;
use crate::latency::Latency;
use crate::machine::Machine;
use crate::memory::{Instances, Memory};
use crate::operators::Operators;
use crate::start::Start;
use crate::{parse, pipeline};
use serde::{Deserialize, Serialize};

/// What was not measured is absent or empty.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Figures {
    pub(crate) machine: Machine,
    /// Everything was measured, at full size. Only such figures go into the repository.
    pub(crate) complete: bool,
    /// Measured with small sizes.
    pub(crate) quick: bool,
    /// Measured without optimization: the figures mean nothing.
    pub(crate) debug: bool,
    pub(crate) rounds: usize,
    pub(crate) pipeline: Vec<pipeline::Table>,
    pub(crate) parse: Vec<parse::Table>,
    pub(crate) start: Option<Start>,
    pub(crate) latency: Vec<Latency>,
    pub(crate) memory: Vec<Memory>,
    #[serde(default)]
    pub(crate) instances: Vec<Instances>,
    /// The empty turn first.
    pub(crate) growth: Vec<Growth>,
    /// Operators per line, now.
    pub(crate) operators: Operators,
    /// Operators per line, as recorded in the repository.
    pub(crate) recorded: Operators,
    /// What could not be measured, and why.
    pub(crate) skipped: Vec<String>,
}
