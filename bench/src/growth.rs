//! One turn that gets longer and longer: its time should grow with it, its memory should not.
//!
//! Every byte is another one, with ids that never come twice: what grows with messages or tools shows. With the
//! recording, as it comes.

use crate::corpus::{Mix, Runtime};
use crate::measure::{Cost, measure};
use crate::sample::{median, number};
use crate::stage::Stage;
use crate::start::empty_turn;
use crate::{Result, say};
use serde::{Deserialize, Serialize};

/// A turn of one size.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) struct Growth {
    /// What the agent wrote; nothing to speak of in an empty turn.
    pub(crate) bytes: f64,
    /// Medians, of wharf and the agent.
    pub(crate) cost: Cost,
}

impl Growth {
    /// Nanoseconds of processor time a byte, beyond those of an empty turn.
    pub(crate) fn time_a_byte(&self, empty: &Growth) -> f64 {
        (self.cost.cpu - empty.cost.cpu) * 1e9 / self.bytes
    }
}

/// An empty turn, and one of each size.
pub(crate) fn run(stage: &Stage, sizes: &[usize], rounds: usize) -> Result<Vec<Growth>> {
    let mut empty = Vec::new();
    for _ in 0..rounds {
        empty.push(empty_turn(stage)?);
    }
    let mut told = vec![Growth { bytes: 0.0, cost: middle(&empty) }];
    for size in sizes {
        say(format!("growth: {} MB", size / 1_000_000));
        let agent = stage.agent_of(Runtime::Copilot, Mix::Mixed, *size)?;
        let mut costs = Vec::new();
        // A gigabyte is long enough to be steady by itself, but for the first time: what it is written to is memory that a
        // virtual machine may never have had before, and waits for.
        for _ in 0..(if *size >= 1_000_000_000 { rounds.min(3) } else { rounds }) {
            costs.push(measure(&stage.wharf_run(&agent, true))?);
            stage.forget_runs()?;
        }
        told.push(Growth { bytes: number(agent.size()?), cost: middle(&costs) });
        agent.remove()?;
    }
    Ok(told)
}

fn middle(costs: &[Cost]) -> Cost {
    let column = |of: fn(&Cost) -> f64| median(&costs.iter().map(of).collect::<Vec<_>>());
    Cost { cpu: column(|cost| cost.cpu), wall: column(|cost| cost.wall), peak: column(|cost| cost.peak) }
}
