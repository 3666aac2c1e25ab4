//! The WebAssembly operators that a component executes for a line: the one figure here that is the same on every machine.
//!
//! `bench/operators.json` holds what they were when they were last looked at; a growth of over a tenth fails the check,
//! and a test.

use crate::corpus::{self, Mix, Runtime};
use crate::sample::number;
use crate::{Result, failed};
use std::collections::BTreeMap;
use wharf::Adapter;
use wharf::measure::{Parser, counted};

/// How much of each corpus is parsed.
const SIZE: usize = 1 << 20;

/// How much goes to an adapter in one call.
const BATCH: usize = 64 << 10;

/// How many times those recorded they may be before somebody has to look.
pub(crate) const MOST: f64 = 1.1;

/// Operators a line, by runtime and mix.
pub(crate) type Operators = BTreeMap<String, u64>;

/// Both adapters over both corpora, each twice.
pub(crate) fn count() -> Result<Operators> {
    let tokio = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    tokio.block_on(async {
        let mut operators = Operators::new();
        for runtime in Runtime::ALL {
            let adapter = counted(runtime.id()).await?;
            for mix in Mix::ALL {
                let text = corpus::turn(runtime, mix, SIZE);
                let (first, second) = (once(&adapter, runtime, &text).await?, once(&adapter, runtime, &text).await?);
                let name = format!("{} {}", runtime.id(), mix.name());
                if first != second {
                    return Err(failed(format!("{name}: {first} operators, then {second}: an adapter must not vary")));
                }
                operators.insert(name, first / text.lines().count().max(1) as u64);
            }
        }
        Ok(operators)
    })
}

/// What is executed for a text, the start of the instance left out.
async fn once(adapter: &Adapter, runtime: Runtime, text: &str) -> Result<u64> {
    let uncounted = || failed("the engine counts no operators");
    let mut parser = Parser::start(adapter, runtime.release()).await?;
    let before = parser.operators().ok_or_else(uncounted)?;
    for batch in corpus::batches(text, BATCH) {
        parser.parse(batch).await?;
    }
    Ok(parser.operators().ok_or_else(uncounted)? - before)
}

/// The figures in the repository.
pub(crate) fn recorded() -> Result<Operators> {
    Ok(serde_json::from_str(include_str!("../operators.json"))?)
}

/// The greatest of the counts against what is recorded, and whose it is. What is not recorded has grown from nothing.
pub(crate) fn growth<'a>(recorded: &Operators, counted: &'a Operators) -> Option<(f64, &'a str)> {
    let ratio = |(name, now): (&'a String, &u64)| {
        let then = recorded.get(name).copied().unwrap_or_default();
        (number(*now) / number(then), name.as_str())
    };
    counted.iter().map(ratio).max_by(|one, other| one.0.total_cmp(&other.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_greatest_growth_is_told_by_name() {
        let of = |pairs: &[(&str, u64)]| pairs.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect();
        let then: Operators = of(&[("a", 100), ("b", 100)]);
        assert_eq!(growth(&then, &of(&[("a", 150), ("b", 50)])), Some((1.5, "a")));
        assert_eq!(growth(&then, &of(&[("a", 150), ("c", 1)])), Some((f64::INFINITY, "c")));
        assert_eq!(growth(&then, &of(&[])), None);
    }

    #[test]
    fn no_adapter_executes_much_more_than_is_recorded() {
        let counted = count().expect("figures");
        let (grown, name) = growth(&recorded().expect("JSON"), &counted).expect("there are some");
        let hint = "`cargo xtask bench --only operators --record` records them anew, where that is right";
        assert!(grown <= MOST, "{name}: {} operators a line, {grown:.2} times those recorded; {hint}", counted[name]);
    }
}
