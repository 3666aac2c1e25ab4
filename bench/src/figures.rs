//! All that was measured in one go, as `figures.json` keeps it: the document can be written again from it.

use crate::growth::Growth;
use crate::latency::Latency;
use crate::machine::Machine;
use crate::memory::{Instances, Memory};
use crate::operators::Operators;
use crate::start::Start;
use crate::{parse, pipeline};
use serde::{Deserialize, Serialize};

/// Figures. What was not measured is absent or empty.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Figures {
    /// Where, when, with what.
    pub(crate) machine: Machine,
    /// Everything, at its real size: only such figures go into the repository.
    pub(crate) whole: bool,
    /// With small sizes.
    pub(crate) quick: bool,
    /// Unoptimised: the figures say nothing.
    pub(crate) debug: bool,
    /// How many rounds.
    pub(crate) rounds: usize,
    /// The whole way.
    pub(crate) pipeline: Vec<pipeline::Table>,
    /// Parsing alone.
    pub(crate) parse: Vec<parse::Table>,
    /// The start of a turn.
    pub(crate) start: Option<Start>,
    /// A line's way.
    pub(crate) latency: Vec<Latency>,
    /// Live runs.
    pub(crate) memory: Vec<Memory>,
    /// Instances alone.
    #[serde(default)]
    pub(crate) instances: Vec<Instances>,
    /// Longer turns, an empty one first.
    pub(crate) growth: Vec<Growth>,
    /// Operators a line.
    pub(crate) operators: Operators,
    /// Operators a line, as the repository had them.
    pub(crate) recorded: Operators,
    /// What could not be measured here, in words.
    pub(crate) skipped: Vec<String>,
}
