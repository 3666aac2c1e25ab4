//! The command line describes itself: help, man pages and completions, all from one definition.

use crate::common::Machine;
use std::fmt::Write as _;
use std::fs;

/// Every command; `the_help_names_every_command` keeps it whole.
const COMMANDS: [&str; 15] = [
    "run",
    "demo",
    "explain",
    "adapters",
    "doctor",
    "models",
    "sessions",
    "runs",
    "show",
    "receipt",
    "replay",
    "fixture",
    "schema",
    "completions",
    "man",
];

#[test]
fn the_help_is_as_it_was_read() {
    let machine = Machine::new();
    let mut all = String::new();
    let mut add = |words: &[&str]| {
        let text = machine.run(words).good().stdout;
        let _ = write!(all, "$ wharf {}\n{text}\n", words.join(" "));
    };
    add(&["--help"]);
    for command in COMMANDS {
        add(&[command, "-h"]);
    }
    add(&["adapters", "show", "-h"]);
    add(&["run", "--help"]);
    // Clap leaves a blank before a line's end here and there.
    let all: Vec<&str> = all.lines().map(str::trim_end).collect();
    insta::assert_snapshot!(all.join("\n"));
}

#[test]
fn the_help_names_every_command() {
    let help = Machine::new().run(["--help"]).good().stdout;
    let listed = help.split_once("Commands:\n").and_then(|(_, rest)| rest.split_once("\n\n")).expect("commands").0;
    let listed: Vec<&str> = listed.lines().filter_map(|line| line.split_whitespace().next()).collect();
    assert_eq!(listed, COMMANDS.into_iter().chain(["help"]).collect::<Vec<_>>());
}

#[test]
fn completions_know_the_commands() {
    let machine = Machine::new();
    for shell in ["bash", "zsh", "fish"] {
        let script = machine.run(["completions", shell]).good().stdout;
        for word in COMMANDS.into_iter().chain(["limit-first-output"]) {
            assert!(script.contains(word), "{shell}: {word}");
        }
    }
}

#[test]
fn man_pages_are_printed_and_written() {
    let machine = Machine::new();
    let page = machine.run(["man"]).good().stdout;
    assert!(page.contains(".TH wharf 1") && page.contains("Exit codes"), "{page}");
    let folder = machine.path("man");
    machine.run(["man", folder.to_str().expect("UTF-8")]).good();
    for command in COMMANDS {
        let page = fs::read_to_string(folder.join(format!("wharf-{command}.1"))).expect(command);
        assert!(page.contains(".TH wharf"), "{command}: {page}");
    }
}

#[test]
fn the_version_is_the_packages() {
    let said = Machine::new().run(["--version"]).good().stdout;
    assert_eq!(said.trim(), concat!("wharf ", env!("CARGO_PKG_VERSION")));
}
