//! The ledger: what a turn used, from figures that are deltas, totals of the turn, or totals of the session.
//!
//! Figures are kept by source and model. For each field the strongest scope that has it is used: a total of the turn,
//! then the growth of the session's total, then the sum of the deltas. Within one scope the latest source is used.

use super::room::{ID_LIMIT, Room};
use crate::model::{Money, Usage, UsageFigures, UsageScope};
use std::collections::{BTreeMap, HashMap};

/// How many different units a usage may have.
const UNITS: usize = 100;

/// All figures of a turn.
#[derive(Debug, Default, Clone)]
pub struct Ledger {
    /// By the position of their latest figures.
    accounts: BTreeMap<u64, Account>,
    /// The position of each account.
    index: HashMap<Key, u64>,
    /// How many figures were entered.
    entered: u64,
    room: Room,
    /// How many figures found no room.
    omitted: u64,
    /// What the session had used before this turn, as far as known.
    before: Usage,
    /// What the earlier turns of the same process used.
    earlier: Usage,
}

/// What figures belong to.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Key {
    source: String,
    model: Option<String>,
    scope: UsageScope,
}

#[derive(Debug, Clone)]
struct Account {
    key: Key,
    usage: Usage,
    bytes: usize,
}

impl Ledger {
    /// A ledger of a session that had used this before.
    pub fn resuming(before: Usage) -> Ledger {
        Ledger { before, ..Ledger::default() }
    }

    /// Another turn starts in the same process: from now on, a turn's total is that of the new turn.
    pub fn next_turn(&mut self) {
        self.earlier = self.total().unwrap_or_default();
        self.before = self.session().unwrap_or_else(|| std::mem::take(&mut self.before));
        let ended = self.accounts.extract_if(.., |_, account| account.key.scope != UsageScope::SessionTotal);
        for (_, account) in ended {
            self.index.remove(&account.key);
            self.room.give_back(account.bytes);
        }
    }

    /// What all turns of this process used; none if nothing is known.
    pub fn total(&self) -> Option<Usage> {
        let total = add(&self.earlier, &self.turn().unwrap_or_default());
        (total != Usage::default()).then_some(total)
    }

    /// How many figures are not part of the totals, because too many sources, models or units were named.
    pub fn omitted(&self) -> u64 {
        self.omitted
    }

    /// Adds or replaces figures, depending on their scope.
    pub fn enter(&mut self, figures: &UsageFigures) {
        let key = Key { source: figures.source.clone(), model: figures.model.clone(), scope: figures.scope };
        let known = self.index.get(&key).and_then(|position| self.accounts.remove(position));
        let mut usage = figures.usage.clone();
        let named = usage.units.len();
        usage.units.retain(|name, _| name.len() <= ID_LIMIT);
        while usage.units.len() > UNITS {
            usage.units.pop_last();
        }
        self.omitted += u64::from(usage.units.len() < named);
        if let (Some(known), UsageScope::Delta) = (&known, figures.scope) {
            usage = add(&known.usage, &usage);
        }
        let bytes = key.source.len() + key.model.as_ref().map_or(0, String::len);
        let bytes = bytes + usage.units.keys().map(String::len).sum::<usize>();
        if let Some(known) = &known {
            self.room.give_back(known.bytes);
        }
        if !self.room.take(bytes) {
            self.omitted += 1;
            self.index.remove(&key);
            return;
        }
        self.entered += 1;
        self.index.insert(key.clone(), self.entered);
        self.accounts.insert(self.entered, Account { key, usage, bytes });
    }

    /// What the turn used; none if nothing is known.
    fn turn(&self) -> Option<Usage> {
        let mut total = Usage::default();
        for scope in [UsageScope::TurnTotal, UsageScope::SessionTotal, UsageScope::Delta] {
            for usage in self.by_source(scope).into_iter().rev() {
                let usage = if scope == UsageScope::SessionTotal { since(&usage, &self.before) } else { usage };
                fill(&mut total, &usage);
            }
        }
        (total != Usage::default()).then_some(total)
    }

    /// What the session has used in total, if the agent reports it.
    pub fn session(&self) -> Option<Usage> {
        let mut total = Usage::default();
        for usage in self.by_source(UsageScope::SessionTotal).iter().rev() {
            fill(&mut total, usage);
        }
        (total != Usage::default()).then_some(total)
    }

    /// The sums over the models of each source, the source with the latest figures last.
    fn by_source(&self, scope: UsageScope) -> Vec<Usage> {
        let mut sums: Vec<Usage> = Vec::new();
        let mut index: HashMap<&str, usize> = HashMap::new();
        for account in self.accounts.values().filter(|account| account.key.scope == scope) {
            if let Some(at) = index.get(account.key.source.as_str()) {
                sums[*at] = add(&sums[*at], &account.usage);
            } else {
                index.insert(&account.key.source, sums.len());
                sums.push(account.usage.clone());
            }
        }
        sums
    }
}

/// Combines two usages field by field. The units are those of `a`.
fn combine(a: &Usage, b: &Usage, of: impl Fn(Option<u64>, Option<u64>) -> Option<u64>) -> Usage {
    let micros = |usage: &Usage| usage.cost.map(|cost| cost.micros);
    Usage {
        input: of(a.input, b.input),
        input_uncached: of(a.input_uncached, b.input_uncached),
        output: of(a.output, b.output),
        cache_read: of(a.cache_read, b.cache_read),
        cache_write: of(a.cache_write, b.cache_write),
        reasoning: of(a.reasoning, b.reasoning),
        cost: of(micros(a), micros(b)).map(Money::usd),
        // A sum with an estimate in it is an estimate.
        cost_source: a.cost_source.max(b.cost_source),
        units: a.units.clone(),
        api_ms: of(a.api_ms, b.api_ms),
        rounds: of(a.rounds, b.rounds),
    }
}

/// The sum; a field that neither knows stays unknown. It has no more than a hundred units.
pub fn add(a: &Usage, b: &Usage) -> Usage {
    let mut sum = combine(a, b, |a, b| match (a, b) {
        (Some(a), Some(b)) => Some(a.saturating_add(b)),
        (one, other) => one.or(other),
    });
    for (name, figure) in &b.units {
        if sum.units.len() < UNITS || sum.units.contains_key(name) {
            *sum.units.entry(name.clone()).or_insert(0.0) += figure;
        }
    }
    // JSON has no infinity: such a sum is unknown.
    sum.units.retain(|_, figure| figure.is_finite());
    sum
}

/// What `total` grew by since `before`. A total that shrank means that the agent restarted its count.
fn since(total: &Usage, before: &Usage) -> Usage {
    let mut grown = combine(total, before, |total, before| match (total, before) {
        (Some(total), Some(before)) if total >= before => Some(total - before),
        (total, _) => total,
    });
    let before: &BTreeMap<String, f64> = &before.units;
    for (name, figure) in &mut grown.units {
        match before.get(name) {
            Some(earlier) if *figure >= *earlier => *figure -= earlier,
            _ => {}
        }
    }
    grown
}

/// Fills the unknown fields of `total` from `usage`.
fn fill(total: &mut Usage, usage: &Usage) {
    let known = std::mem::take(total);
    *total = combine(&known, usage, Option::or);
    for (name, figure) in &usage.units {
        total.units.entry(name.clone()).or_insert(*figure);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures(scope: UsageScope, source: &str, model: &str, input: Option<u64>, output: Option<u64>) -> UsageFigures {
        let usage = Usage { output, ..Usage::default() };
        let mut figures = UsageFigures::new(scope, source, input, true, usage);
        figures.model = Some(model.into());
        figures
    }

    #[test]
    fn nothing_known_is_not_zero() {
        assert_eq!(Ledger::default().turn(), None);
        let mut ledger = Ledger::default();
        ledger.enter(&figures(UsageScope::Delta, "message", "m", None, Some(3)));
        let turn = ledger.turn().expect("something is known");
        assert_eq!((turn.input, turn.output), (None, Some(3)));
    }

    #[test]
    fn deltas_add_up_and_totals_replace() {
        let mut ledger = Ledger::default();
        for output in [1, 2, 3] {
            ledger.enter(&figures(UsageScope::Delta, "message", "m", None, Some(output)));
            ledger.enter(&figures(UsageScope::TurnTotal, "result", "m", Some(output * 10), None));
        }
        let turn = ledger.turn().expect("known");
        assert_eq!((turn.input, turn.output), (Some(30), Some(6)), "each field from the strongest scope that has it");
    }

    #[test]
    fn turns_of_one_process_add_up_whatever_the_scope() {
        let mut ledger = Ledger::resuming(Usage { output: Some(100), ..Usage::default() });
        for (turn, session) in [(10, 103), (20, 107)] {
            ledger.enter(&figures(UsageScope::Delta, "message", "m", Some(turn - 1), None));
            ledger.enter(&figures(UsageScope::TurnTotal, "result", "m", Some(turn), None));
            ledger.enter(&figures(UsageScope::SessionTotal, "thread", "m", None, Some(session)));
            ledger.next_turn();
        }
        let total = ledger.total().expect("known");
        assert_eq!((total.input, total.output), (Some(30), Some(7)));
        assert_eq!(ledger.session().and_then(|session| session.output), Some(107));
        let mut unknown = Ledger::default();
        unknown.next_turn();
        assert_eq!(unknown.total(), None, "unknown is not zero");
    }

    #[test]
    fn models_of_one_source_add_up_and_sources_do_not() {
        let mut ledger = Ledger::default();
        ledger.enter(&figures(UsageScope::TurnTotal, "result", "large", Some(10), Some(1)));
        ledger.enter(&figures(UsageScope::TurnTotal, "result", "small", Some(5), Some(1)));
        ledger.enter(&figures(UsageScope::TurnTotal, "file", "large", Some(15), None));
        assert_eq!(ledger.turn().map(|turn| (turn.input, turn.output)), Some((Some(15), Some(2))));
    }

    #[test]
    fn the_sessions_total_becomes_the_turns() {
        let mut ledger = Ledger::resuming(Usage { input: Some(100), output: Some(50), ..Usage::default() });
        ledger.enter(&figures(UsageScope::SessionTotal, "thread", "m", Some(130), Some(20)));
        let turn = ledger.turn().expect("known");
        assert_eq!(turn.input, Some(30));
        assert_eq!(turn.output, Some(20), "a total that shrank was restarted");
        assert_eq!(ledger.session().and_then(|session| session.input), Some(130));
    }

    /// One source reports tokens, the other requests.
    #[test]
    fn the_session_has_the_figures_of_all_sources() {
        let mut ledger = Ledger::default();
        ledger.enter(&figures(UsageScope::SessionTotal, "file", "m", Some(10), Some(1)));
        let units = BTreeMap::from([("premium-requests".to_owned(), 2.0)]);
        let usage = Usage { units: units.clone(), ..Usage::default() };
        ledger.enter(&UsageFigures::new(UsageScope::SessionTotal, "result", None, true, usage));
        let session = ledger.session().expect("known");
        assert_eq!((session.input, session.output, session.units), (Some(10), Some(1), units));
        assert_eq!(Ledger::default().session(), None);
    }
    /// If each of them were compared with the others, this would take minutes.
    #[test]
    fn half_a_million_sources_are_each_looked_at_once_and_a_part_is_kept() {
        let begun = std::time::Instant::now();
        let mut ledger = Ledger::default();
        for number in 0..500_000 {
            ledger.enter(&figures(UsageScope::Delta, &number.to_string(), "m", None, Some(1)));
        }
        assert_eq!((ledger.accounts.len(), ledger.omitted()), (10_000, 490_000));
        for _ in 0..500_000 {
            ledger.enter(&figures(UsageScope::Delta, "7", "m", None, Some(1)));
        }
        assert_eq!(ledger.turn().and_then(|turn| turn.output), Some(500_001), "the source with the latest figures");
        ledger.next_turn();
        assert!(ledger.accounts.is_empty() && ledger.index.is_empty());
        ledger.enter(&figures(UsageScope::Delta, "new", "m", None, Some(1)));
        assert_eq!(ledger.accounts.len(), 1, "there is room again");
        assert!(begun.elapsed() < std::time::Duration::from_mins(1), "{:?}", begun.elapsed());
    }

    #[test]
    fn units_without_end_are_not_kept() {
        let mut ledger = Ledger::default();
        for number in 0..1000 {
            let units = BTreeMap::from([(format!("unit-{number}"), 1.0), ("x".repeat(ID_LIMIT + 1), 1.0)]);
            let usage = Usage { units, ..Usage::default() };
            ledger.enter(&UsageFigures::new(UsageScope::Delta, "file", None, true, usage));
        }
        assert_eq!(ledger.turn().map(|turn| turn.units.len()), Some(UNITS));
        assert!(ledger.omitted() > 0);
    }
}
