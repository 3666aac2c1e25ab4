//! Bad input, as a table: what was said, the exit code, and what the message must name. Stdout stays empty, for it is
//! data.

use crate::common::{Machine, Ran};
use std::fs;

/// A case: what there is beforehand, the words after `wharf`, and what stderr must contain. All of it is exit code 2.
struct Case {
    files: &'static [(&'static str, &'static str)],
    words: &'static [&'static str],
    says: &'static [&'static str],
}

const fn case(words: &'static [&'static str], says: &'static [&'static str]) -> Case {
    Case { files: &[], words, says }
}

const fn with(
    files: &'static [(&'static str, &'static str)],
    words: &'static [&'static str],
    says: &'static [&'static str],
) -> Case {
    Case { files, words, says }
}

/// The usual words, with a good prompt.
const RUN: &[&str] = &["run", "-a", "echo", "hello"];

const CASES: &[Case] = &[
    // The command line.
    case(&["dance"], &["'dance'"]),
    case(&["run", "-a", "echo", "--dance", "hello"], &["'--dance'"]),
    case(&["run", "-a", "echo", "--approve", "--deny", "hello"], &["'--approve'", "'--deny'"]),
    case(&["run", "-a", "echo", "--max-turns", "many", "hello"], &["'many'"]),
    case(&["run", "-a", "echo", "--max-cost=-1", "hello"], &["-1 is not an amount of dollars"]),
    case(&["run", "-a", "echo", "--limit-idle=-1", "hello"], &["-1 is not a number of seconds"]),
    case(&["completions", "dish"], &["'dish'", "bash"]),
    // The adapter.
    case(&["run", "hello"], &["no adapter is named", "hint: use --adapter"]),
    case(&["run", "-a", "nobody", "hello"], &["there is no adapter `nobody`", "hint: there are", "echo"]),
    case(&["run", "-a", "./nobody.wasm", "hello"], &["./nobody.wasm", "cannot be read"]),
    case(&["run", "-a", "./", "hello"], &["the adapter ./ cannot be read"]),
    case(&["adapters", "show", "nobody"], &["there is no adapter `nobody`"]),
    case(&["models", "nobody"], &["there is no adapter `nobody`"]),
    // Its options.
    case(&["run", "-a", "echo", "-o", "colour=red", "hello"], &["no option `colour`", "hint: it takes script, delay"]),
    case(
        &["run", "-a", "echo", "-o", "delay=soon", "hello"],
        &["`delay`", "\"soon\"", "hint: it takes a whole number"],
    ),
    case(&["run", "-a", "echo", "-o", "delay=1.5", "hello"], &["`delay`", "1.5", "hint: it takes a whole number"]),
    case(&["run", "-a", "echo", "-o", "delay", "hello"], &["`delay` has no value", "hint: write it as NAME=VALUE"]),
    // The turn.
    case(&["run", "-a", "echo", ""], &["the prompt is empty", "hint: give it as an argument, with --file"]),
    case(&["run", "-a", "echo", " \n\t "], &["the prompt is empty"]),
    case(&["run", "-a", "echo"], &["the prompt is empty"]),
    case(&["run", "-a", "echo", "-"], &["the prompt is empty"]),
    with(&[("workspace/empty", "")], &["run", "-a", "echo", "-f", "empty"], &["the prompt is empty"]),
    case(&["run", "-a", "echo", "-f", "missing.md"], &["the file missing.md cannot be read"]),
    case(&["run", "-a", "echo", "-f", "."], &["the file . cannot be read"]),
    case(&["run", "-a", "echo", "-s", "@missing.md", "hello"], &["the file missing.md cannot be read"]),
    case(&["run", "-a", "echo", "-C", "nowhere", "hello"], &["the workspace nowhere cannot be used"]),
    with(
        &[("workspace/file", "")],
        &["run", "-a", "echo", "-C", "file", "hello"],
        &["the workspace file is not a folder"],
    ),
    case(&["run", "-a", "echo", "-e", "huge", "hello"], &["`huge` is not an effort", "hint: one of none, minimal"]),
    case(&["run", "-a", "echo", "-r", "last", "hello"], &["no session of echo", "hint: `wharf sessions` lists"]),
    case(&["run", "-a", "echo", "--fork", "last", "hello"], &["no session of echo"]),
    case(&["run", "-a", "echo", "--rules", "missing.toml", "hello"], &["the file missing.toml cannot be read"]),
    with(
        &[("workspace/rules.toml", "otherwise = \"perhaps\"\n")],
        &["run", "-a", "echo", "--rules", "rules.toml", "hello"],
        &["the rules rules.toml, line 1", "perhaps"],
    ),
    with(
        &[("workspace/rules.toml", "[[rule]\n")],
        &["run", "-a", "echo", "--rules", "rules.toml", "hello"],
        &["the rules rules.toml, line 1"],
    ),
    with(
        &[("workspace/mcp.json", "{")],
        &["run", "-a", "echo", "--mcp", "mcp.json", "hello"],
        &["the file mcp.json is not JSON"],
    ),
    case(&["run", "-a", "echo", "--output-schema", "none.json", "hello"], &["the file none.json cannot be read"]),
    // The configuration.
    with(&[("config.toml", "model = \"a\"\nmodle = \"b\"\n")], RUN, &["config.toml, line 2", "`modle`", "hint:"]),
    with(&[("config.toml", "[limits]\nidle = \"long\"\n")], RUN, &["config.toml, line 2", "long"]),
    with(&[("config.toml", "adapter = [\n")], RUN, &["config.toml, line"]),
    with(&[("config.toml", "[grants.echo]\nprogramms = []\n")], RUN, &["config.toml, line 2", "`programms`"]),
    with(&[("workspace/.wharf.toml", "\n\ncolour = 1\n")], RUN, &[".wharf.toml, line 3", "`colour`"]),
    with(
        &[("workspace/.wharf.toml", "[grants.echo]\nprograms = [\"sh\"]\n")],
        RUN,
        &[".wharf.toml, line 1", "`grants`", "hint: `grants` may only stand in your own file", "config.toml"],
    ),
    with(&[("workspace/.wharf.toml", "approvals = \"allow-all\"\n")], RUN, &["hint: `approvals` may only stand in"]),
    with(&[("config.toml", "[options.echo]\ncolour = 1\n")], RUN, &["no option `colour`"]),
    // The runs.
    case(&["show", "last"], &["there is no run yet"]),
    case(&["replay", "nothing"], &["there is no run \"nothing\"", "hint: `wharf runs`"]),
    case(&["receipt", "nothing"], &["there is no run \"nothing\""]),
    case(&["sessions", "nothing"], &["no session `nothing` is remembered"]),
];

fn assert_refused(ran: &Ran, words: &[&str], says: &[&str]) {
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{words:?}: {ran:?}");
    assert!(ran.stderr.starts_with("error: "), "{words:?}: {ran:?}");
    for part in says {
        assert!(ran.stderr.contains(part), "{words:?}: {part:?} is not in {:?}", ran.stderr);
    }
}

#[test]
fn bad_input_is_told_apart_and_exits_with_2() {
    // What was compiled once is shared; nothing else is.
    let shared = Machine::new();
    for Case { files, words, says } in CASES {
        let machine = Machine::new();
        for (name, content) in *files {
            machine.write(name, content);
        }
        let ran = Ran::of(machine.wharf(*words).env("WHARF_CACHE", shared.path("cache")));
        assert_refused(&ran, words, says);
        assert!(machine.files("data/runs").is_empty(), "{words:?} has started a run");
    }
}

#[test]
fn the_doctor_says_it_and_exits_with_2() {
    // Its findings are data, whatever they are.
    let ran = Machine::new().run(["doctor", "nobody"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.stdout.contains("there is no adapter `nobody`"), "{ran:?}");
}

#[test]
fn a_configuration_that_cannot_be_read_is_named() {
    let machine = Machine::new();
    // Unreadable to everybody, root too.
    fs::create_dir(machine.path("config.toml")).expect("a folder");
    let path = machine.path("config.toml");
    assert_refused(&machine.run(RUN), RUN, &[path.to_str().expect("UTF-8"), "cannot be read"]);
    let machine = Machine::new();
    machine.write("config.toml", b"adapter = \"\xff\"\n");
    assert_refused(&machine.run(RUN), RUN, &["config.toml", "cannot be read", "UTF-8"]);
}

#[test]
fn a_prompt_on_stdin_that_is_no_text_is_refused() {
    let machine = Machine::new();
    let prompt = machine.write("prompt", b"\xff\xfe");
    let words = ["run", "-a", "echo"];
    let ran = Ran::of(machine.wharf(words).stdin(fs::File::open(prompt).expect("the prompt")));
    assert_refused(&ran, &words, &["the prompt on standard input is not UTF-8"]);
}

#[test]
fn a_program_that_is_missing_exits_with_3() {
    let machine = Machine::new();
    for (words, part) in [
        (vec!["run", "-a", "echo", "--program", "/no/such/agent", "hello"], "/no/such/agent"),
        (vec!["explain", "-a", "echo", "--program", "/no/such/agent", "hello"], "/no/such/agent"),
    ] {
        let ran = machine.run(&words);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(3), ""), "{words:?}: {ran:?}");
        assert!(ran.stderr.contains(part) && ran.stderr.contains("hint: "), "{words:?}: {ran:?}");
    }
    // Whoever reads nothing but events is told as well.
    let ran = machine.run(["run", "-a", "echo", "--json", "--program", "/no/such/agent", "hello"]);
    assert_eq!((ran.code, &ran.report()["error"]["class"]), (Some(3), &"not-found".into()), "{ran:?}");
}
