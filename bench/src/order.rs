//! The command line of the benchmark.

use std::path::PathBuf;

/// What can be measured, in the order in which it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Section {
    /// Operators a line.
    Operators,
    /// Parsing alone.
    Parse,
    /// The start of a turn.
    Start,
    /// A line's way.
    Latency,
    /// Live runs.
    Memory,
    /// Longer turns.
    Growth,
    /// The whole way.
    Pipeline,
}

impl Section {
    /// All of them, the short ones first.
    pub(crate) const ALL: [Section; 7] = [
        Section::Operators,
        Section::Parse,
        Section::Start,
        Section::Latency,
        Section::Memory,
        Section::Growth,
        Section::Pipeline,
    ];

    /// As `--only` names it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Section::Operators => "operators",
            Section::Parse => "parse",
            Section::Start => "start",
            Section::Latency => "latency",
            Section::Memory => "memory",
            Section::Growth => "growth",
            Section::Pipeline => "pipeline",
        }
    }
}

/// What is to be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Task {
    /// Take figures, write the document.
    Measure,
    /// Only write the document again, from the figures of the last time.
    Report,
    /// Leave a profile instead of figures.
    Profile,
    /// Record the operators anew.
    Record,
}

/// What is to be done, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Order {
    /// Where files are made.
    pub(crate) folder: PathBuf,
    pub(crate) task: Task,
    /// What is measured.
    pub(crate) sections: Vec<Section>,
    /// Exit with 1 when a bar is missed.
    pub(crate) check: bool,
    /// Small sizes: to see that it works, not to believe the figures.
    pub(crate) quick: bool,
    /// How many rounds; odd, so that a median is one of them.
    pub(crate) rounds: usize,
}

impl Order {
    /// From the words of the command line, or why not.
    pub(crate) fn parse(words: &[String]) -> Result<Order, String> {
        let mut order = Order {
            folder: PathBuf::from("target/bench"),
            task: Task::Measure,
            sections: vec![],
            check: false,
            quick: false,
            rounds: 5,
        };
        let mut words = words.iter().peekable();
        while let Some(word) = words.next() {
            match word.as_str() {
                "--check" => order.check = true,
                "--quick" => order.quick = true,
                "--profile" => order.task = Task::Profile,
                "--record" => order.task = Task::Record,
                "--report" => order.task = Task::Report,
                "--folder" => order.folder = words.next().ok_or("`--folder` needs a path")?.into(),
                "--rounds" => {
                    let rounds = words.next().and_then(|number| number.parse().ok());
                    order.rounds = rounds.filter(|rounds| rounds % 2 == 1).ok_or("`--rounds` needs an odd number")?;
                }
                "--only" => {
                    while let Some(name) = words.next_if(|word| !word.starts_with("--")) {
                        let section = Section::ALL.into_iter().find(|section| section.name() == name);
                        order.sections.push(section.ok_or_else(|| {
                            let known = Section::ALL.map(Section::name).join(", ");
                            format!("there is nothing called `{name}` to measure; there are {known}")
                        })?);
                    }
                    if order.sections.is_empty() {
                        return Err("`--only` needs a name".to_owned());
                    }
                }
                other => return Err(format!("there is no flag `{other}`")),
            }
        }
        if order.task == Task::Record && order.sections != [Section::Operators] {
            return Err("`--record` goes with `--only operators`".to_owned());
        }
        if order.sections.is_empty() {
            order.sections = Section::ALL.to_vec();
        }
        Ok(order)
    }

    /// Whether the figures are all of them, at their real sizes.
    pub(crate) fn is_whole(&self) -> bool {
        !self.quick && self.sections.len() == Section::ALL.len()
    }

    /// Bytes of a corpus for the whole way.
    pub(crate) fn pipeline_size(&self) -> usize {
        if self.quick { 20_000_000 } else { 172_000_000 }
    }

    /// Bytes of a corpus for parsing alone.
    pub(crate) fn parse_size(&self) -> usize {
        if self.quick { 2_000_000 } else { 32_000_000 }
    }

    /// Bytes of the turns that grow.
    pub(crate) fn growth_sizes(&self) -> &'static [usize] {
        if self.quick { &[1_000_000, 10_000_000] } else { &[1_000_000, 10_000_000, 100_000_000, 1_000_000_000] }
    }

    /// How many runs live at once.
    pub(crate) fn live_runs(&self) -> &'static [usize] {
        if self.quick { &[100] } else { &[100, 1000] }
    }

    /// Lines with the time in them, a round.
    pub(crate) fn timed_lines(&self) -> usize {
        if self.quick { 200 } else { 1000 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Order, String> {
        Order::parse(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn flags_are_understood() {
        let order = parse("").expect("everything");
        assert!(order.is_whole() && order.rounds == 5 && !order.check);
        let order = parse("--check --quick --rounds 3").expect("a quick check");
        assert!(order.check && order.quick && !order.is_whole() && order.rounds == 3);
        let order = parse("--only start latency --check --folder /x").expect("some");
        assert_eq!(order.sections, [Section::Start, Section::Latency]);
        assert!(order.check && !order.is_whole());
        assert_eq!(parse("--only operators --record").expect("a recording").task, Task::Record);
        assert_eq!(parse("--profile --quick").expect("a profile").task, Task::Profile);
    }

    #[test]
    fn wrong_words_are_named() {
        for (line, word) in [
            ("fast", "`fast`"),
            ("--only", "--only"),
            ("--only speed", "`speed`"),
            ("--rounds 4", "odd"),
            ("--record", "--only operators"),
            ("--folder", "--folder"),
        ] {
            assert!(parse(line).expect_err(line).contains(word), "{line}");
        }
    }
}
