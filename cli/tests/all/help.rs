//! The help, the man pages and the completions, which all come from one definition.

use crate::sandbox;
use std::fmt::Write as _;
use std::fs;

/// Every command; `the_help_names_every_command` checks that none is missing.
const COMMANDS: [&str; 17] = [
    "run",
    "demo",
    "explain",
    "adapters",
    "agent",
    "doctor",
    "models",
    "sessions",
    "runs",
    "usage",
    "show",
    "receipt",
    "replay",
    "fixture",
    "schema",
    "completions",
    "man",
];

#[test]
fn the_help_is_as_it_was_reviewed() {
    let sandbox = sandbox();
    let mut all = String::new();
    let mut add = |args: &[&str]| {
        let text = sandbox.call(args).success().stdout;
        let _ = write!(all, "$ wharf {}\n{text}\n", args.join(" "));
    };
    add(&["--help"]);
    for command in COMMANDS {
        add(&[command, "-h"]);
    }
    for nested in [
        ["adapters", "show"],
        ["agent", "install"],
        ["agent", "list"],
        ["agent", "remove"],
        ["runs", "rm"],
        ["sessions", "rm"],
    ] {
        add(&[nested[0], nested[1], "-h"]);
    }
    add(&["run", "--help"]);
    // Clap leaves spaces at the end of some lines.
    let all: Vec<&str> = all.lines().map(str::trim_end).collect();
    insta::assert_snapshot!(all.join("\n"));
}

#[test]
fn the_help_names_every_command() {
    let help = sandbox().call(["--help"]).success().stdout;
    let listed = help.split_once("Commands:\n").and_then(|(_, rest)| rest.split_once("\n\n")).expect("commands").0;
    let listed: Vec<&str> = listed.lines().filter_map(|line| line.split_whitespace().next()).collect();
    assert_eq!(listed, COMMANDS.into_iter().chain(["help"]).collect::<Vec<_>>());
}

#[test]
fn completions_know_the_commands() {
    let sandbox = sandbox();
    for shell in ["bash", "zsh", "fish"] {
        let script = sandbox.call(["completions", shell]).success().stdout;
        for word in COMMANDS.into_iter().chain(["first-output-timeout"]) {
            assert!(script.contains(word), "{shell}: {word}");
        }
    }
}

#[test]
fn man_pages_are_printed_and_written() {
    let sandbox = sandbox();
    let page = sandbox.call(["man"]).success().stdout;
    assert!(page.contains(".TH wharf 1") && page.contains("EXIT STATUS"), "{page}");
    let folder = sandbox.path("man");
    let _ = sandbox.call(["man", folder.to_str().expect("UTF-8")]).success();
    for command in COMMANDS {
        let page = fs::read_to_string(folder.join(format!("wharf-{command}.1"))).expect(command);
        assert!(page.contains(".TH wharf"), "{command}: {page}");
    }
}

#[test]
fn every_man_page_has_the_exit_codes_and_the_variables() {
    let sandbox = sandbox();
    let folder = sandbox.path("man");
    let _ = sandbox.call(["man", folder.to_str().expect("UTF-8")]).success();
    let pages: Vec<_> = fs::read_dir(&folder).expect("the pages").map(|page| page.expect("a page").path()).collect();
    assert!(pages.len() > COMMANDS.len(), "{pages:?}");
    let help = sandbox.call(["--help"]).success().stdout;
    for text in pages.iter().map(|page| fs::read_to_string(page).expect("text")) {
        for part in ["EXIT STATUS", "the turn was cancelled", "130", "ENVIRONMENT"] {
            assert!(text.contains(part), "{part}: {text}");
        }
        for name in ["ADAPTER", "CONFIG", "DATA", "CACHE", "ADAPTERS", "PROFILE"].map(|name| format!("WHARF_{name}")) {
            assert!(text.contains(&name) && help.contains(&name), "{name}: {text}");
        }
    }
}

#[test]
fn the_version_is_that_of_the_package() {
    let printed = sandbox().call(["--version"]).success().stdout;
    assert_eq!(printed.trim(), concat!("wharf ", env!("CARGO_PKG_VERSION")));
}
