//! The document, docs/performance.md: figures in, text out. It never reads or writes a file.

use crate::bars::{Verdict, judge};
use crate::figures::Figures;
use crate::measure::Row;
use std::fmt::Write as _;

/// The text of the document, in Markdown.
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

/// Adds a line. Writing to a string cannot fail.
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
    add!(
        out,
        "- rounds: {}; in each round, all rows of a table were measured in turn; the figures are medians",
        figures.rounds
    );
    for skipped in &figures.skipped {
        add!(out, "- not measured: {skipped}");
    }
    if figures.quick {
        add!(out, "\n**Small sizes (`--quick`): these figures only show that the benchmark works.**");
    }
    if figures.debug {
        add!(out, "\n**Built without optimization: these figures mean nothing.**");
    }
}

fn bars(verdicts: &[Verdict], out: &mut String) {
    add!(out, "\n## The bars\n");
    add!(
        out,
        "If several corpora were measured, the worst counts. `cargo xtask bench --check` fails if a bar is missed.\n"
    );
    add!(out, "| what | bar | measured | |\n|---|---|---|---|");
    for verdict in verdicts {
        let result = match verdict.met {
            Some(true) => "met",
            Some(false) => "**missed**",
            None => "not measured",
        };
        add!(out, "| {} | {} | {} | {result} |", verdict.what, verdict.bar, verdict.figure.as_deref().unwrap_or("–"));
    }
}

fn rows(rows: &[Row], bytes: f64, with_peak: bool, out: &mut String) {
    add!(out, "| | CPU | ratio | MB per second of CPU |{}", if with_peak { " wall | peak memory |" } else { "" });
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
        "The agent's process, its pipe, lines of events to /dev/null. CPU is the user and system time of all processes, \
         the agent's included, which splices a file into its pipe. Every loop writes the same events, each with its \
         number and its time; that was checked. Only wharf's first event describes the run, and only wharf writes a \
         report. wharf also supervises the agent, redacts its token and, unless unrecorded, writes every byte and every \
         event to disk; the others do none of that. The sidecar gets batches of whole lines as JSON-RPC from a relay in \
         Rust, which writes the events of its responses without parsing them."
    );
    for table in &figures.pipeline {
        add!(out, "\n### {}, {}, {:.0} MB\n", table.agent, table.mix, table.bytes / 1e6);
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
        "In one process, 64 KiB of whole lines per call; the result is dropped. The component's effects are lifted and the \
         spans of their texts checked. The effects of the native adapter (release profile) are not, and its scanner reads \
         words of eight bytes instead of vectors. `transcripts` is the output of real agents in tests/transcripts, \
         repeated."
    );
    for table in &figures.parse {
        add!(out, "\n### {}, {}, {:.0} MB\n", table.agent, table.mix, table.bytes / 1e6);
        rows(&table.rows, table.bytes, false, out);
    }
}

fn start(figures: &Figures, out: &mut String) {
    let Some(start) = &figures.start else { return };
    let library = &start.library;
    add!(out, "\n## The start of a turn\n");
    add!(
        out,
        "With an agent that writes six lines and exits. Wall time. The process that uses the library starts {} turns, before \
         this benchmark has deleted any run: for minutes ext4 checks the inodes of deleted files again whenever it \
         creates new ones. After thousands of deleted files, for example by a benchmark just before this one, a start \
         takes several times as long.\n",
        crate::start::LIBRARY_TURNS * figures.rounds
    );
    add!(out, "| | ms | more than bare |\n|---|---|---|");
    for (what, time, bare) in [
        ("the agent, spawned and waited for", start.bare, start.bare),
        ("`wharf run --json`, warm, to its exit", start.warm, start.bare),
        ("`wharf run --json`, cold: compiles, asks the agent's version", start.cold, start.bare),
        ("the agent, spawned, in a process that uses the library", library.bare_spawn, library.bare_spawn),
        ("`Host::start`, to its return: the agent has started", library.start, library.bare_spawn),
        ("the same, unrecorded", library.unrecorded_start, library.bare_spawn),
        ("the agent, spawned and waited for, in that process", library.bare_exit, library.bare_exit),
        ("`Host::start`, to the report", library.report, library.bare_exit),
        ("the same, unrecorded", library.unrecorded_report, library.bare_exit),
    ] {
        add!(out, "| {what} | {time:.2} | {:.2} |", time - bare);
    }
}

fn latency(figures: &Figures, out: &mut String) {
    if figures.latency.is_empty() {
        return;
    }
    add!(out, "\n## Latency of a line\n");
    add!(out, "One line per millisecond, from before the agent writes it until its event was read.\n");
    add!(out, "| | lines | p50 | p99 |\n|---|---|---|---|");
    for latency in &figures.latency {
        add!(out, "| {} | {:.0} | {:.1} µs | {:.1} µs |", latency.name, latency.lines, latency.p50, latency.p99);
    }
}

fn memory(figures: &Figures, out: &mut String) {
    if figures.memory.is_empty() {
        return;
    }
    add!(out, "\n## Live runs in one process\n");
    add!(
        out,
        "Recorded runs. Their agents have written 64 KiB of the mixed corpus and wait; the events were read. The figures are \
         what one run adds to the process that uses the library, without the agent's own memory. Pages that runs share, \
         such as the initial memory of their adapter, count once as memory, and for each run as resident.\n"
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
        "Copilot's component without a run: the time to start an instance, build a command line and drop the instance; and \
         the memory of each of many live instances that have parsed as much as the runs.\n"
    );
    add!(out, "| memory | live | start to drop | memory per instance |\n|---|---|---|---|");
    for instances in &figures.instances {
        let (name, live, start, bytes) = (&instances.name, instances.live, instances.start, instances.bytes / 1e3);
        add!(out, "| {name} | {live:.0} | {start:.0} µs | {bytes:.0} KB |");
    }
}

/// What one run adds, in the units of the table.
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
    add!(
        out,
        "One recorded turn of the mixed corpus, nothing repeated. CPU per byte is without that of an empty turn.\n"
    );
    add!(
        out,
        "| bytes | CPU | wall | CPU per byte | peak memory | more than an empty turn |\n|---|---|---|---|---|---|"
    );
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
            turn.time_per_byte(empty),
            turn.cost.peak / 1e6
        );
    }
}

fn operators(figures: &Figures, out: &mut String) {
    if figures.operators.is_empty() {
        return;
    }
    add!(out, "\n## Operators per line\n");
    add!(
        out,
        "The WebAssembly operators that the component executes, counted as fuel. They are the same on every machine.\n"
    );
    add!(out, "| corpus | operators per line | recorded |\n|---|---|---|");
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
    add!(out, "    cargo xtask bench --check           # and exits with 1 if a bar is missed");
    add!(out, "    cargo xtask bench --quick           # small sizes, to see that it works");
    add!(out, "    cargo xtask bench --only start      # operators, parse, start, latency, memory, growth or pipeline");
    add!(out, "    cargo xtask bench --profile         # where the time goes: perf profiles in target/bench/profile\n");
    add!(
        out,
        "The corpora are generated by bench/src/corpus.rs from a seed: the same bytes on every machine. The longest turn and \
         its recording need about 5 GB of disk."
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::latency::Latency;

    #[test]
    fn figures_that_were_not_measured_are_left_out() {
        let latency = |name: &str, p50, p99| Latency { name: name.to_owned(), lines: 5000.0, p50, p99 };
        let figures = Figures {
            latency: vec![latency(crate::latency::BARE, 13.0, 37.0), latency(crate::pipeline::WHARF, 30.25, 65.0)],
            skipped: vec!["Python: `python3` is not in PATH".to_owned()],
            ..Figures::default()
        };
        let text = document(&figures);
        assert!(text.contains("| added latency per line, p50 | at most 10 µs | 17.25 µs | **missed** |"), "{text}");
        assert!(text.contains("| added latency per line, p99 | at most 100 µs | 28.00 µs | met |"), "{text}");
        assert!(text.contains("| memory per live run, 1,000 runs | at most 200 KB | – | not measured |"), "{text}");
        assert!(text.contains("| wharf run --json | 5000 | 30.2 µs | 65.0 µs |"), "{text}");
        assert!(text.contains("- not measured: Python: `python3` is not in PATH"), "{text}");
        assert!(!text.contains("## Parsing alone") && !text.contains("--quick`)"), "{text}");
    }

    #[test]
    fn a_document_can_be_written_again_from_stored_figures() {
        let figures = Figures {
            quick: true,
            latency: vec![Latency { name: "bare pipe".to_owned(), lines: 3.0, p50: 0.1, p99: 1.0 / 3.0 }],
            operators: [("copilot mixed".to_owned(), 12)].into(),
            ..Figures::default()
        };
        let json = serde_json::to_string(&figures).expect("JSON");
        let stored: Figures = serde_json::from_str(&json).expect("figures");
        assert_eq!(document(&stored), document(&figures));
    }
}
