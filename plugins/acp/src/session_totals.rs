//! Vibe's figures, which cover the whole session: what a turn adds to them.
//!
//! Every `usage_update` has the totals. The first one of a process shows what the session had before, also after a resume.

use wharf_adapter::{Effects, Json, Usage, UsageScope};

#[derive(Debug, Clone, Copy, PartialEq)]
struct Totals {
    input: u64,
    output: u64,
    cached: u64,
    cost_micros: Option<u64>,
}

/// The totals before this turn, and the latest ones.
#[derive(Debug, Default)]
pub(crate) struct SessionTotals {
    before: Option<Totals>,
    latest: Option<Totals>,
}

impl SessionTotals {
    pub(crate) fn start_turn(&mut self) {
        self.before = self.latest;
    }

    /// Reads a `usage_update`.
    pub(crate) fn read(&mut self, update: Json<'_>) {
        let meta = update.get("_meta");
        let figure = |key: &str| meta.get(key).u64();
        let (Some(input), Some(output)) = (figure("promptTokens"), figure("completionTokens")) else { return };
        let cost_micros = update.at(&["cost", "amount"]).micros();
        let totals = Totals { input, output, cached: figure("cachedTokens").unwrap_or(0), cost_micros };
        self.before.get_or_insert(totals);
        self.latest = Some(totals);
    }

    /// Reports what the turn has added.
    pub(crate) fn report(&self, out: &mut Effects) {
        let (Some(before), Some(latest)) = (self.before, self.latest) else { return };
        if before == latest {
            return;
        }
        let added = |of: fn(&Totals) -> u64| Some(of(&latest).saturating_sub(of(&before)));
        out.usage(Usage {
            input: added(|totals| totals.input),
            output: added(|totals| totals.output),
            cache_read: added(|totals| totals.cached),
            cost_micros: latest.cost_micros.map(|cost| cost.saturating_sub(before.cost_micros.unwrap_or(0))),
            ..Usage::new(UsageScope::TurnTotal, "acp-session", true)
        });
    }
}
