//! Turns of growing length: their time should grow with the length, their memory should not.
//!
//! No id occurs twice, so that memory that grows with messages or tools is visible. Recorded, which is the default.

use crate::corpus::{AgentKind, Mix};
use crate::measure::{Cost, measure};
use crate::stage::Stage;
use crate::start::empty_turn;
use crate::statistics::{median, number};
use crate::{Result, progress};
use serde::{Deserialize, Serialize};

/// A turn of one size.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) struct Growth {
    /// Bytes that the agent wrote; zero for the empty turn.
    pub(crate) bytes: f64,
    /// Medians, for wharf and the agent together.
    pub(crate) cost: Cost,
}

impl Growth {
    /// Nanoseconds of CPU time per byte, without those of an empty turn.
    pub(crate) fn time_per_byte(&self, empty: &Growth) -> f64 {
        (self.cost.cpu - empty.cost.cpu) * 1e9 / self.bytes
    }
}

/// Measures an empty turn, and one of each size.
pub(crate) fn run(stage: &Stage, sizes: &[usize], rounds: usize) -> Result<Vec<Growth>> {
    let mut empty = Vec::new();
    for _ in 0..rounds {
        empty.push(empty_turn(stage)?);
    }
    let mut figures = vec![Growth { bytes: 0.0, cost: medians(&empty) }];
    for size in sizes {
        progress(format!("growth: {} MB", size / 1_000_000));
        let agent = stage.agent_with_turn(AgentKind::Copilot, Mix::Mixed, *size)?;
        let mut costs = Vec::new();
        // Three rounds are enough for a gigabyte. One is not: in the first, a virtual machine may have to wait for memory
        // that it has not used before.
        for _ in 0..(if *size >= 1_000_000_000 { rounds.min(3) } else { rounds }) {
            costs.push(measure(&stage.wharf_run(&agent, true))?);
            stage.delete_runs()?;
        }
        figures.push(Growth { bytes: number(agent.size()?), cost: medians(&costs) });
        agent.remove()?;
    }
    Ok(figures)
}

fn medians(costs: &[Cost]) -> Cost {
    let column = |of: fn(&Cost) -> f64| median(&costs.iter().map(of).collect::<Vec<_>>());
    Cost { cpu: column(|cost| cost.cpu), wall: column(|cost| cost.wall), peak: column(|cost| cost.peak) }
}
