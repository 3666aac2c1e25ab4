//! The WebAssembly operators that a component executes per line: the only figure that is the same on every machine.
//!
//! `bench/operators.json` contains the last recorded figures. If they grow by more than a tenth, the check and a test
//! fail.

use crate::corpus::{self, AgentKind, Mix};
use crate::statistics::number;
use crate::{Result, error};
use std::collections::BTreeMap;
use wharf::adapter::Adapter;
use wharf::measure::{Parser, counted};

/// Bytes of each corpus that are parsed.
const SIZE: usize = 1 << 20;

/// Bytes that an adapter gets in one call.
const BATCH: usize = 64 << 10;

/// How many times the recorded figure is still accepted.
pub(crate) const MAX_GROWTH: f64 = 1.1;

/// Operators per line, by agent and mix.
pub(crate) type Operators = BTreeMap<String, u64>;

/// Counts for both adapters and both corpora. Each is counted twice and must not vary.
pub(crate) fn count() -> Result<Operators> {
    let tokio = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    tokio.block_on(async {
        let mut operators = Operators::new();
        for kind in AgentKind::ALL {
            let adapter = counted(kind.id()).await?;
            for mix in Mix::ALL {
                let text = corpus::turn(kind, mix, SIZE);
                let (first, second) = (once(&adapter, kind, &text).await?, once(&adapter, kind, &text).await?);
                let name = format!("{} {}", kind.id(), mix.name());
                if first != second {
                    return Err(error(format!("{name}: {first} operators, then {second}: an adapter must not vary")));
                }
                operators.insert(name, first / text.lines().count().max(1) as u64);
            }
        }
        Ok(operators)
    })
}

/// The operators executed for a text, without those of the instance's start.
async fn once(adapter: &Adapter, kind: AgentKind, text: &str) -> Result<u64> {
    let uncounted = || error("the engine does not count operators");
    let mut parser = Parser::start(adapter, kind.version()).await?;
    let before = parser.operators().ok_or_else(uncounted)?;
    for batch in corpus::batches(text, BATCH) {
        parser.parse(batch).await?;
    }
    Ok(parser.operators().ok_or_else(uncounted)? - before)
}

/// The figures that are recorded in the repository.
pub(crate) fn recorded() -> Result<Operators> {
    Ok(serde_json::from_str(include_str!("../operators.json"))?)
}

/// The largest ratio of a figure to the recorded one, and its name. It is infinite for a figure that is not recorded.
pub(crate) fn growth<'a>(recorded: &Operators, counted: &'a Operators) -> Option<(f64, &'a str)> {
    let ratio = |(name, now): (&'a String, &u64)| {
        let before = recorded.get(name).copied().unwrap_or_default();
        (number(*now) / number(before), name.as_str())
    };
    counted.iter().map(ratio).max_by(|one, other| one.0.total_cmp(&other.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_growth_is_named() {
        let operators =
            |pairs: &[(&str, u64)]| pairs.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect();
        let before: Operators = operators(&[("a", 100), ("b", 100)]);
        assert_eq!(growth(&before, &operators(&[("a", 150), ("b", 50)])), Some((1.5, "a")));
        assert_eq!(growth(&before, &operators(&[("a", 150), ("c", 1)])), Some((f64::INFINITY, "c")));
        assert_eq!(growth(&before, &operators(&[])), None);
    }

    #[test]
    fn no_adapter_executes_many_more_operators_than_recorded() {
        let counted = count().expect("figures");
        let (grown, name) = growth(&recorded().expect("JSON"), &counted).expect("figures");
        let hint = "if that is right, record them with `cargo xtask bench --only operators --record`";
        assert!(
            grown <= MAX_GROWTH,
            "{name}: {} operators per line, {grown:.2} times the recorded ones; {hint}",
            counted[name]
        );
    }
}
