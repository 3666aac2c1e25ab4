//! The document of the figures, docs/performance.md. Pure: figures in, text out. What misses a bar stands there plainly.

use crate::bars::{Verdict, judge};
use crate::figures::Figures;
use crate::measure::Row;
use std::fmt::Write as _;

/// The whole document.
pub(crate) fn document(figures: &Figures) -> String {
    let mut out = String::new();
    head(figures, &mut out);
    bars(&judge(figures), &mut out);
    pipeline(figures, &mut out);
    parse(figures, &mut out);
    start(figures, &mut out);
    latency(figures, &mut out);
    memory(figures, &mut out);
    instances(figures, &mut out);
    growth(figures, &mut out);
    operators(figures, &mut out);
    foot(&mut out);
    out
}

/// Adds lines; writing to a text cannot fail.
macro_rules! add {
    ($out:expr, $($what:tt)*) => {{ let _ = writeln!($out, $($what)*); }};
}

fn head(figures: &Figures, out: &mut String) {
    let machine = &figures.machine;
    let versions: Vec<String> = machine.versions.iter().map(|(name, version)| format!("{name}: {version}")).collect();
    add!(out, "# Performance\n");
    add!(out, "Written by `cargo xtask bench`; do not edit.\n");
    add!(out, "- {}, {}, {}", machine.date, machine.processor, machine.kernel);
    add!(out, "- {}", versions.join("; "));
    add!(out, "- rounds: {}; in each every way was measured in turn; medians are told", figures.rounds);
    for skipped in &figures.skipped {
        add!(out, "- not measured: {skipped}");
    }
    if figures.quick {
        add!(out, "\n**Small sizes (`--quick`): these figures only show that the benchmark works.**");
    }
    if figures.debug {
        add!(out, "\n**Built without optimisation: these figures say nothing.**");
    }
}

fn bars(verdicts: &[Verdict], out: &mut String) {
    add!(out, "\n## The bars\n");
    add!(out, "Where several corpora were measured, the worst counts. `cargo xtask bench --check` fails on a miss.\n");
    add!(out, "| what | bar | measured | |\n|---|---|---|---|");
    for verdict in verdicts {
        let word = match verdict.met {
            Some(true) => "met",
            Some(false) => "**missed**",
            None => "not measured",
        };
        add!(out, "| {} | {} | {} | {word} |", verdict.what, verdict.bar, verdict.figure.as_deref().unwrap_or("–"));
    }
}

fn rows(rows: &[Row], bytes: f64, with_peak: bool, out: &mut String) {
    add!(out, "| | CPU | ratio | MB a second of CPU |{}", if with_peak { " wall | peak memory |" } else { "" });
    add!(out, "|---|---|---|---|{}", if with_peak { "---|---|" } else { "" });
    for row in rows {
        let rate = bytes / 1e6 / row.cost.cpu;
        let peak = if with_peak {
            format!(" {:.0} ms | {:.1} MB |", row.cost.wall * 1e3, row.cost.peak / 1e6)
        } else {
            String::new()
        };
        add!(out, "| {} | {:.0} ms | {:.2} | {rate:.0} |{peak}", row.name, row.cost.cpu * 1e3, row.ratio);
    }
}

fn pipeline(figures: &Figures, out: &mut String) {
    if figures.pipeline.is_empty() {
        return;
    }
    add!(out, "\n## The whole pipeline\n");
    add!(
        out,
        "The agent's process, its pipe, lines of events to /dev/null. CPU is user and system time of all processes, the \
         agent's too, which splices a file into its pipe. Every loop gives the same events, which was checked. wharf also \
         supervises, keeps the agent's token out of everything and, unless told not to, records every byte and every event \
         on disk; the others do nothing of that. The sidecar gets batches of whole lines as JSON-RPC from a relay in Rust, which writes the \
         events of its answers without looking into them."
    );
    for table in &figures.pipeline {
        add!(out, "\n### {}, {}, {:.0} MB\n", table.runtime, table.mix, table.bytes / 1e6);
        rows(&table.rows, table.bytes, true, out);
    }
}

fn parse(figures: &Figures, out: &mut String) {
    if figures.parse.is_empty() {
        return;
    }
    add!(out, "\n## Parsing alone\n");
    add!(
        out,
        "In one process, 64 KiB of whole lines a call, what comes out is dropped. The component's effects are lifted and \
         the places of their texts checked; the natively compiled adapter's (release profile) are left as it made them, and its \
         scanner looks at words of eight bytes instead of vectors. `transcripts` \
         is all that real agents wrote in tests/transcripts, repeated."
    );
    for table in &figures.parse {
        add!(out, "\n### {}, {}, {:.0} MB\n", table.runtime, table.mix, table.bytes / 1e6);
        rows(&table.rows, table.bytes, false, out);
    }
}

fn start(figures: &Figures, out: &mut String) {
    let Some(start) = &figures.start else { return };
    let held = &start.held;
    add!(out, "\n## The start of a turn\n");
    add!(
        out,
        "Around an agent that writes six lines and exits. Wall time. The process that holds the library starts \
         {} turns, before this benchmark has removed any run: for minutes ext4 looks at the inodes of deleted files again \
         whenever it makes new ones, and where thousands were deleted, as after a benchmark just before this one, a start \
         takes several times as long.\n",
        crate::start::HELD_ROUNDS * figures.rounds
    );
    add!(out, "| | ms | over bare |\n|---|---|---|");
    for (what, time, bare) in [
        ("the agent, spawned and waited for", start.bare, start.bare),
        ("`wharf run --json`, warm, to its exit", start.warm, start.bare),
        ("`wharf run --json`, cold: compiles, asks the agent's version", start.cold, start.bare),
        ("the agent, spawned, in a process that holds the library", held.bare_spawn, held.bare_spawn),
        ("`Host::start`, to its return: the agent is up", held.start, held.bare_spawn),
        ("the same, unrecorded", held.unrecorded_start, held.bare_spawn),
        ("the agent, spawned and waited for, in that process", held.bare_end, held.bare_end),
        ("`Host::start`, to the report", held.report, held.bare_end),
        ("the same, unrecorded", held.unrecorded_report, held.bare_end),
    ] {
        add!(out, "| {what} | {time:.2} | {:.2} |", time - bare);
    }
}

fn latency(figures: &Figures, out: &mut String) {
    if figures.latency.is_empty() {
        return;
    }
    add!(out, "\n## Latency of a line\n");
    add!(out, "A line a millisecond, from before its write in the agent to after the read of its event.\n");
    add!(out, "| | lines | p50 | p99 |\n|---|---|---|---|");
    for way in &figures.latency {
        add!(out, "| {} | {:.0} | {:.1} µs | {:.1} µs |", way.name, way.lines, way.p50, way.p99);
    }
}

fn memory(figures: &Figures, out: &mut String) {
    if figures.memory.is_empty() {
        return;
    }
    add!(out, "\n## Live runs in one process\n");
    add!(
        out,
        "Recorded runs, whose agents have written 64 KiB of the mixed corpus and wait; their events were read. What each adds to the process \
         that holds the library; the agent's own memory is not in it. Pages that runs share, as they do the initial memory of \
         their adapter, are memory once, and resident for each.\n"
    );
    add!(out, "| runs | memory | resident | descriptors | threads | child processes |\n|---|---|---|---|---|---|");
    for memory in &figures.memory {
        let Memories { own, resident, descriptors, threads, processes } = Memories::of(memory);
        add!(
            out,
            "| {:.0} | {own:.0} KB | {resident:.0} KB | {descriptors:.1} | {threads:.2} | {processes:.2} |",
            memory.runs
        );
    }
}

fn instances(figures: &Figures, out: &mut String) {
    if figures.instances.is_empty() {
        return;
    }
    add!(out, "\n### Instances alone\n");
    add!(
        out,
        "Copilot's component without a run around it: from nothing to a command line built and gone again, and what each \
         of many keeps that live at once and have parsed as much.\n"
    );
    add!(out, "| memory | live | start and end | memory of each |\n|---|---|---|---|");
    for instances in &figures.instances {
        let (name, live, start, bytes) = (&instances.name, instances.live, instances.start, instances.bytes / 1e3);
        add!(out, "| {name} | {live:.0} | {start:.0} µs | {bytes:.0} KB |");
    }
}

/// What one run adds, in the table's units.
struct Memories {
    own: f64,
    resident: f64,
    descriptors: f64,
    threads: f64,
    processes: f64,
}

impl Memories {
    fn of(memory: &crate::memory::Memory) -> Memories {
        Memories {
            own: memory.bytes / 1e3,
            resident: memory.resident / 1e3,
            descriptors: memory.descriptors,
            threads: memory.threads,
            processes: memory.processes,
        }
    }
}

fn growth(figures: &Figures, out: &mut String) {
    let Some((empty, turns)) = figures.growth.split_first() else { return };
    add!(out, "\n## A longer turn\n");
    add!(out, "One recorded turn of the mixed corpus, no byte repeated. Time a byte is beyond an empty turn's.\n");
    add!(out, "| bytes | CPU | wall | CPU a byte | peak memory | over an empty turn |\n|---|---|---|---|---|---|");
    let (cpu, wall, peak) = (empty.cost.cpu * 1e3, empty.cost.wall * 1e3, empty.cost.peak / 1e6);
    add!(out, "| an empty turn | {cpu:.0} ms | {wall:.0} ms | | {peak:.1} MB | |");
    for turn in turns {
        let over = (turn.cost.peak - empty.cost.peak) / 1e6;
        add!(
            out,
            "| {:.0} MB | {:.0} ms | {:.0} ms | {:.2} ns | {:.1} MB | {over:.1} MB |",
            turn.bytes / 1e6,
            turn.cost.cpu * 1e3,
            turn.cost.wall * 1e3,
            turn.time_a_byte(empty),
            turn.cost.peak / 1e6
        );
    }
}

fn operators(figures: &Figures, out: &mut String) {
    if figures.operators.is_empty() {
        return;
    }
    add!(out, "\n## Operators a line\n");
    add!(out, "WebAssembly operators that the component executes, counted as fuel: the same on every machine.\n");
    add!(out, "| corpus | operators a line | recorded |\n|---|---|---|");
    for (name, count) in &figures.operators {
        let recorded = figures.recorded.get(name).map_or_else(|| "none".to_owned(), u64::to_string);
        add!(out, "| {name} | {count} | {recorded} |");
    }
}

fn foot(out: &mut String) {
    add!(out, "\n## Where the time goes, and why a bar is missed\n");
    add!(out, "{}", include_str!("../profile.md").trim_end());
    add!(out, "\n## Repeat it\n");
    add!(out, "On Linux, with nothing else running:\n");
    add!(out, "    cargo xtask bench                   # everything; writes this file and target/bench/figures.json");
    add!(out, "    cargo xtask bench --check           # and exits with 1 when a bar is missed");
    add!(out, "    cargo xtask bench --quick           # small sizes, to see that it works");
    add!(out, "    cargo xtask bench --only start      # operators, parse, start, latency, memory, growth or pipeline");
    add!(out, "    cargo xtask bench --profile         # where the time goes\n");
    add!(
        out,
        "The corpora are made up by bench/src/corpus.rs from a seed, the same bytes on every machine. It needs about 5 GB of \
         disk for the longest turn and its recording."
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::latency::Latency;

    #[test]
    fn what_was_measured_is_told_and_what_was_not_is_left_out() {
        let way = |name: &str, p50, p99| Latency { name: name.to_owned(), lines: 5000.0, p50, p99 };
        let figures = Figures {
            latency: vec![way(crate::latency::BARE, 13.0, 37.0), way(crate::pipeline::WHARF, 30.25, 65.0)],
            skipped: vec!["Python: there is no `python3`".to_owned()],
            ..Figures::default()
        };
        let text = document(&figures);
        assert!(text.contains("| added latency a line, p50 | at most 10 µs | 17.25 µs | **missed** |"), "{text}");
        assert!(text.contains("| added latency a line, p99 | at most 100 µs | 28.00 µs | met |"), "{text}");
        assert!(text.contains("| memory a live run at 1,000 | at most 200 KB | – | not measured |"), "{text}");
        assert!(text.contains("| wharf run --json | 5000 | 30.2 µs | 65.0 µs |"), "{text}");
        assert!(text.contains("- not measured: Python: there is no `python3`"), "{text}");
        assert!(!text.contains("## Parsing alone") && !text.contains("--quick`)"), "{text}");
    }

    #[test]
    fn a_document_can_be_made_again_from_its_figures() {
        let figures = Figures {
            quick: true,
            latency: vec![Latency { name: "bare pipe".to_owned(), lines: 3.0, p50: 0.1, p99: 1.0 / 3.0 }],
            operators: [("copilot mixed".to_owned(), 12)].into(),
            ..Figures::default()
        };
        let json = serde_json::to_string(&figures).expect("JSON");
        let again: Figures = serde_json::from_str(&json).expect("figures");
        assert_eq!(document(&again), document(&figures));
    }
}
