//! The bars: limits that the figures should keep, and how each is computed from them.
//!
//! If a bar applies to several corpora, the worst counts. wharf is judged with its recording, which is the default,
//! and without: the loops that it is compared with record nothing.

use crate::figures::Figures;
use crate::latency::{BARE, Latency};
use crate::pipeline::{NODE, SIDECAR, UNRECORDED, WHARF};
use crate::{operators, parse, pipeline};

/// What a figure must be.
#[derive(Debug, Clone, Copy)]
enum Limit {
    AtMost(f64),
    AtLeast(f64),
}

/// A figure and its limit.
struct Bar {
    what: &'static str,
    limit: Limit,
    unit: &'static str,
    read: fn(&Figures) -> Option<f64>,
}

/// Whether a figure meets its bar.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Verdict {
    /// The figure's name.
    pub(crate) what: &'static str,
    /// The limit, as text.
    pub(crate) bar: String,
    /// The figure as text, if it was measured.
    pub(crate) figure: Option<String>,
    /// Whether the bar is met. Absent if it was not measured.
    pub(crate) met: Option<bool>,
}

const BARS: [Bar; 17] = [
    Bar {
        what: "whole pipeline compared with native serde_json, mixed corpus, CPU",
        limit: Limit::AtMost(1.0),
        unit: "",
        read: |figures| pipeline_ratio(figures, "mixed", WHARF),
    },
    Bar {
        what: "whole pipeline, unrecorded, compared with native serde_json, mixed corpus, CPU",
        limit: Limit::AtMost(1.0),
        unit: "",
        read: |figures| pipeline_ratio(figures, "mixed", UNRECORDED),
    },
    Bar {
        what: "whole pipeline compared with native serde_json, deltas, CPU",
        limit: Limit::AtMost(1.1),
        unit: "",
        read: |figures| pipeline_ratio(figures, "deltas", WHARF),
    },
    Bar {
        what: "whole pipeline, unrecorded, compared with native serde_json, deltas, CPU",
        limit: Limit::AtMost(1.1),
        unit: "",
        read: |figures| pipeline_ratio(figures, "deltas", UNRECORDED),
    },
    Bar {
        what: "parsing in the component compared with the same adapter compiled natively, CPU",
        limit: Limit::AtMost(2.0),
        unit: "",
        read: |figures| greatest(figures.parse.iter().map(component_ratio)),
    },
    Bar {
        what: "Node compared with the whole pipeline, CPU",
        limit: Limit::AtLeast(5.0),
        unit: " times",
        read: |figures| least(figures.pipeline.iter().map(|table| times(table, NODE, WHARF))),
    },
    Bar {
        what: "Node compared with the whole pipeline, unrecorded, CPU",
        limit: Limit::AtLeast(5.0),
        unit: " times",
        read: |figures| least(figures.pipeline.iter().map(|table| times(table, NODE, UNRECORDED))),
    },
    Bar {
        what: "a Node sidecar compared with the whole pipeline, CPU",
        limit: Limit::AtLeast(8.0),
        unit: " times",
        read: |figures| least(figures.pipeline.iter().map(|table| times(table, SIDECAR, WHARF))),
    },
    Bar {
        what: "a Node sidecar compared with the whole pipeline, unrecorded, CPU",
        limit: Limit::AtLeast(8.0),
        unit: " times",
        read: |figures| least(figures.pipeline.iter().map(|table| times(table, SIDECAR, UNRECORDED))),
    },
    Bar {
        what: "start of a turn, warm, `wharf`, more than the bare agent",
        limit: Limit::AtMost(15.0),
        unit: " ms",
        read: |figures| figures.start.map(|start| start.warm - start.bare),
    },
    Bar {
        what: "start of a turn, warm, in a process that uses the library, more than a bare spawn",
        limit: Limit::AtMost(1.0),
        unit: " ms",
        read: |figures| figures.start.map(|start| start.library.start - start.library.bare_spawn),
    },
    Bar {
        what: "added latency per line, p50",
        limit: Limit::AtMost(10.0),
        unit: " µs",
        read: |figures| added(figures, |latency| latency.p50),
    },
    Bar {
        what: "added latency per line, p99",
        limit: Limit::AtMost(100.0),
        unit: " µs",
        read: |figures| added(figures, |latency| latency.p99),
    },
    Bar {
        what: "memory per live run, 1,000 runs",
        limit: Limit::AtMost(200.0),
        unit: " KB",
        read: |figures| Some(figures.memory.iter().find(|memory| memory.runs >= 1000.0)?.bytes / 1e3),
    },
    Bar {
        what: "peak memory of a 1 GB turn, more than an empty turn",
        limit: Limit::AtMost(64.0),
        unit: " MB",
        read: |figures| {
            let (empty, _, long) = grown(figures)?;
            Some((long.cost.peak - empty.cost.peak) / 1e6)
        },
    },
    Bar {
        what: "time per byte of a 1 GB turn compared with a 10 MB turn, CPU",
        limit: Limit::AtMost(1.1),
        unit: "",
        read: |figures| {
            let (empty, short, long) = grown(figures)?;
            Some(long.time_per_byte(empty) / short.time_per_byte(empty))
        },
    },
    Bar {
        what: "WebAssembly operators per line compared with the recorded ones",
        limit: Limit::AtMost(operators::MAX_GROWTH),
        unit: "",
        read: |figures| Some(operators::growth(&figures.recorded, &figures.operators)?.0),
    },
];

/// The verdicts in the order of the table.
pub(crate) fn judge(figures: &Figures) -> Vec<Verdict> {
    let verdict = |bar: &Bar| {
        let figure = (bar.read)(figures);
        let (text, met) = match bar.limit {
            Limit::AtMost(limit) => (format!("at most {limit}{}", bar.unit), figure.map(|figure| figure <= limit)),
            Limit::AtLeast(limit) => (format!("at least {limit}{}", bar.unit), figure.map(|figure| figure >= limit)),
        };
        Verdict { what: bar.what, bar: text, figure: figure.map(|figure| format!("{figure:.2}{}", bar.unit)), met }
    };
    BARS.iter().map(verdict).collect()
}

fn greatest(values: impl Iterator<Item = Option<f64>>) -> Option<f64> {
    values.flatten().reduce(f64::max)
}

fn least(values: impl Iterator<Item = Option<f64>>) -> Option<f64> {
    values.flatten().reduce(f64::min)
}

fn pipeline_ratio(figures: &Figures, mix: &str, name: &str) -> Option<f64> {
    let tables = figures.pipeline.iter().filter(|table| table.mix == mix);
    greatest(tables.map(|table| Some(table.row(name)?.ratio)))
}

fn component_ratio(table: &parse::Table) -> Option<f64> {
    Some(table.rows.iter().find(|row| row.name == parse::COMPONENT)?.ratio)
}

/// The CPU time of one row divided by that of another.
fn times(table: &pipeline::Table, more: &str, less: &str) -> Option<f64> {
    Some(table.row(more)?.ratio / table.row(less)?.ratio)
}

fn added(figures: &Figures, value: fn(&Latency) -> f64) -> Option<f64> {
    let find = |name: &str| figures.latency.iter().find(|latency| latency.name == name).map(value);
    Some(find(WHARF)? - find(BARE)?)
}

/// The turns that are empty, of 10 MB and of 1 GB.
fn grown(figures: &Figures) -> Option<(&crate::growth::Growth, &crate::growth::Growth, &crate::growth::Growth)> {
    let at_least = |bytes: f64| figures.growth.iter().find(|growth| growth.bytes >= bytes);
    Some((figures.growth.first()?, at_least(1e7)?, at_least(1e9)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::growth::Growth;
    use crate::measure::{Cost, Row};
    use crate::memory::Memory;
    use crate::start::{LibraryStart, Start};

    fn row(name: &str, ratio: f64) -> Row {
        Row { name: name.to_owned(), cost: Cost { cpu: ratio, wall: ratio, peak: 0.0 }, ratio }
    }

    fn table(agent: &str, mix: &str, rows: &[(&str, f64)]) -> pipeline::Table {
        let rows = rows.iter().map(|(name, ratio)| row(name, *ratio)).collect();
        pipeline::Table { agent: agent.to_owned(), mix: mix.to_owned(), bytes: 1.0, rows }
    }

    fn good() -> Figures {
        let latency = |name: &str, p50, p99| Latency { name: name.to_owned(), lines: 1.0, p50, p99 };
        let rows = [(WHARF, 0.9), (UNRECORDED, 0.7), (NODE, 7.0), (SIDECAR, 10.0)];
        let growth = |bytes, cpu, peak| Growth { bytes, cost: Cost { cpu, wall: cpu, peak } };
        let parsed = vec![row(parse::NATIVE, 1.0), row(parse::COMPONENT, 1.5)];
        let library = LibraryStart {
            bare_spawn: 0.5,
            bare_exit: 1.0,
            start: 1.25,
            report: 2.0,
            unrecorded_start: 1.0,
            unrecorded_report: 1.5,
        };
        Figures {
            pipeline: vec![table("copilot", "mixed", &rows), table("copilot", "deltas", &rows)],
            parse: vec![parse::Table { agent: "x".into(), mix: "mixed".into(), bytes: 1.0, rows: parsed }],
            start: Some(Start { bare: 1.0, warm: 15.0, cold: 200.0, library }),
            latency: vec![latency(BARE, 13.0, 37.0), latency(WHARF, 18.0, 65.0)],
            memory: vec![
                Memory { runs: 100.0, bytes: 9e9, resident: 0.0, descriptors: 9.0, threads: 0.0, processes: 1.0 },
                Memory { runs: 1000.0, bytes: 150e3, resident: 9e9, descriptors: 9.0, threads: 0.0, processes: 1.0 },
            ],
            growth: vec![growth(0.0, 0.02, 20e6), growth(1e7, 0.05, 30e6), growth(1e9, 3.2, 70e6)],
            operators: [("copilot mixed".to_owned(), 109)].into(),
            recorded: [("copilot mixed".to_owned(), 100)].into(),
            ..Figures::default()
        }
    }

    #[test]
    fn good_figures_meet_every_bar() {
        let verdicts = judge(&good());
        assert!(verdicts.iter().all(|verdict| verdict.met == Some(true)), "{verdicts:#?}");
        let figures: Vec<&str> = verdicts.iter().filter_map(|verdict| verdict.figure.as_deref()).collect();
        for (at, figure) in [(9, "14.00 ms"), (10, "0.75 ms"), (11, "5.00 µs"), (13, "150.00 KB"), (14, "50.00 MB")] {
            assert_eq!(figures[at], figure);
        }
    }

    #[test]
    fn what_was_not_measured_is_not_judged() {
        assert!(judge(&Figures::default()).iter().all(|verdict| verdict.met.is_none() && verdict.figure.is_none()));
    }

    /// A change to one figure, and the bars that are missed then.
    type Case = (fn(&mut Figures), &'static [usize]);

    #[test]
    fn each_bar_is_missed_by_its_own_figure() {
        let cases: [Case; 17] = [
            (|figures| figures.pipeline[0].rows[0].ratio = 1.01, &[0]),
            (|figures| figures.pipeline[1].rows[0].ratio = 1.11, &[2]),
            // Of several tables the worst counts.
            (|figures| figures.pipeline.push(table("claude", "mixed", &[(UNRECORDED, 1.2)])), &[1]),
            (|figures| figures.pipeline.push(table("claude", "deltas", &[(UNRECORDED, 1.2)])), &[3]),
            (|figures| figures.parse[0].rows[1].ratio = 2.1, &[4]),
            (|figures| figures.pipeline[0].rows[2].ratio = 3.6, &[5]),
            (|figures| figures.pipeline[0].rows[2].ratio = 3.4, &[5, 6]),
            (|figures| figures.pipeline[1].rows[3].ratio = 6.5, &[7]),
            (|figures| figures.pipeline[1].rows[3].ratio = 5.5, &[7, 8]),
            (|figures| figures.start.as_mut().expect("a start").warm = 16.1, &[9]),
            (|figures| figures.start.as_mut().expect("a start").library.start = 1.6, &[10]),
            (|figures| figures.latency[1].p50 = 23.5, &[11]),
            (|figures| figures.latency[1].p99 = 138.0, &[12]),
            (|figures| figures.memory[1].bytes = 201e3, &[13]),
            (|figures| figures.growth[2].cost.peak = 85e6, &[14]),
            (|figures| figures.growth[2].cost.cpu = 3.4, &[15]),
            (|figures| figures.operators.extend([("claude mixed".to_owned(), 1)]), &[16]),
        ];
        for (change, expected) in cases {
            let mut figures = good();
            change(&mut figures);
            let verdicts = judge(&figures);
            let missed = verdicts.iter().enumerate().filter(|(_, verdict)| verdict.met == Some(false));
            assert_eq!(missed.map(|(at, _)| at).collect::<Vec<_>>(), expected, "{verdicts:#?}");
        }
    }
}
