//! How many events of each kind a loop gave: they must agree before it makes sense to compare their times.

use serde::Deserialize;
use std::collections::BTreeMap;

/// The kinds that all loops give. Others are wharf's own: what it ignored, context, the report; and figures of usage,
/// which wharf also takes from files that the agent leaves.
const KINDS: [&str; 6] = ["session", "text-delta", "message", "tool", "tool-output", "turn-end"];

/// Events by kind.
pub(crate) type Tally = BTreeMap<String, usize>;

#[derive(Deserialize)]
struct Line {
    #[serde(rename = "type")]
    kind: String,
}

/// Counts the lines of a loop's output, or tells the line that is not an event.
pub(crate) fn count(output: &str) -> Result<Tally, String> {
    let mut tally = Tally::new();
    for line in output.lines() {
        let event: Line = serde_json::from_str(line).map_err(|why| {
            let head: String = line.chars().take(80).collect();
            format!("`{head}` is not an event: {why}")
        })?;
        if KINDS.contains(&event.kind.as_str()) {
            *tally.entry(event.kind).or_default() += 1;
        }
    }
    Ok(tally)
}

/// Where two loops disagree, in words.
pub(crate) fn difference(one: (&str, &Tally), other: (&str, &Tally)) -> Option<String> {
    let of = |tally: &Tally, kind: &str| tally.get(kind).copied().unwrap_or_default();
    let kinds = KINDS.into_iter().filter(|kind| of(one.1, kind) != of(other.1, kind));
    let words: Vec<String> = kinds
        .map(|kind| format!("{kind}: {} of {}, {} of {}", of(one.1, kind), one.0, of(other.1, kind), other.0))
        .collect();
    (!words.is_empty()).then(|| words.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::corpus::{self, Mix, Runtime};
    use crate::native;
    use wharf_adapter::{Adapter, Effect, Event, Origin, testing};
    use wharf_adapter_claude::Claude;
    use wharf_adapter_copilot::Copilot;

    /// What an adapter makes of a turn.
    fn adapted<A: Adapter>(turn: &str, version: &str) -> Tally {
        let mut adapter = A::default();
        let (order, binary) = (testing::turn::<A>("Do it."), testing::binary(version));
        assert!(adapter.build_args(&order, &binary).is_ok() && adapter.build_prompt(&order, &binary).is_ok());
        let mut tally = Tally::new();
        for effect in testing::play(&mut adapter, Origin::Stdout, turn, 100) {
            let Effect::Emit(event) = effect else { continue };
            let kind = match event {
                Event::Session(_) => "session",
                Event::TextDelta(_) => "text-delta",
                Event::Message(_) => "message",
                Event::Tool(_) => "tool",
                Event::ToolOutput(_) => "tool-output",
                Event::TurnEnd(_) => "turn-end",
                Event::Unknown(what) | Event::Malformed(what) => panic!("the corpus has {what}"),
                _ => continue,
            };
            *tally.entry(kind.to_owned()).or_default() += 1;
        }
        tally
    }

    #[test]
    fn the_adapters_and_the_native_loop_give_the_same_events() {
        for runtime in Runtime::ALL {
            for mix in Mix::ALL {
                let turn = corpus::turn(runtime, mix, 300 << 10);
                let mut lines = Vec::new();
                for line in turn.lines() {
                    native::parse(runtime, line.as_bytes(), |event| {
                        lines.push(serde_json::to_string(event).expect("an event is JSON"));
                    });
                }
                let native = count(&lines.join("\n")).expect("events");
                let adapted = match runtime {
                    Runtime::Copilot => adapted::<Copilot>(&turn, runtime.release()),
                    Runtime::Claude => adapted::<Claude>(&turn, runtime.release()),
                };
                assert!(native["text-delta"] > 100 && native["turn-end"] == 1, "{native:?}");
                assert_eq!(native.contains_key("tool"), mix == Mix::Mixed, "{native:?}");
                let difference = difference(("the adapter", &adapted), ("native", &native));
                assert_eq!(difference, None, "{runtime:?} {mix:?}");
            }
        }
    }

    #[test]
    fn events_are_counted_and_compared_by_kind() {
        let wharf = "{\"type\":\"message\"}\n{\"type\":\"report\"}\n{\"type\":\"tool\",\"id\":\"a\"}\n";
        let wharf = count(wharf).expect("events");
        let same = count("{\"type\":\"tool\"}\n{\"type\":\"message\"}\n").expect("events");
        assert_eq!(difference(("wharf", &wharf), ("native", &same)), None);
        let other = count("{\"type\":\"message\"}\n{\"type\":\"message\"}\n{\"type\":\"turn-end\"}\n").expect("events");
        let words = difference(("wharf", &wharf), ("node", &other)).expect("they differ");
        assert_eq!(
            words,
            "message: 1 of wharf, 2 of node; tool: 1 of wharf, 0 of node; turn-end: 0 of wharf, 1 of node"
        );
        assert!(count("hello\n").expect_err("not JSON").contains("`hello`"));
    }
}
