//! Invalid input, as a table: the arguments, and what the message must contain. The exit code is 2. Stdout stays empty,
//! because it is for data.

use crate::sandbox;
use std::fs;
use wharf_test_support::Finished;

/// A case: the files, the arguments after `wharf`, and what stderr must contain.
struct Case {
    files: &'static [(&'static str, &'static str)],
    args: &'static [&'static str],
    errors: &'static [&'static str],
}

const fn case(args: &'static [&'static str], errors: &'static [&'static str]) -> Case {
    Case { files: &[], args, errors }
}

const fn with(
    files: &'static [(&'static str, &'static str)],
    args: &'static [&'static str],
    errors: &'static [&'static str],
) -> Case {
    Case { files, args, errors }
}

/// A valid command.
const RUN: &[&str] = &["run", "-a", "echo", "hello"];

const CASES: &[Case] = &[
    // The command line.
    case(&["dance"], &["'dance'"]),
    case(&["run", "-a", "echo", "--dance", "hello"], &["'--dance'"]),
    case(&["run", "-a", "echo", "--approve", "--deny", "hello"], &["'--approve'", "'--deny'"]),
    case(&["run", "-a", "echo", "--max-turns", "many", "hello"], &["'many'"]),
    case(&["run", "-a", "echo", "--max-cost=-1", "hello"], &["-1 is not an amount of dollars"]),
    case(
        &["run", "-a", "echo", "--idle-timeout=-1", "hello"],
        &["--idle-timeout", "\"-1\" is not a duration", "1h30m"],
    ),
    case(&["run", "-a", "echo", "--ask-timeout", "soon", "hello"], &["\"soon\" is not a duration", "or `none`"]),
    case(&["run", "-a", "echo", "--grace", "none", "hello"], &["\"none\" is not a duration"]),
    case(&["completions", "dish"], &["'dish'", "bash"]),
    // The adapter.
    case(&["run", "hello"], &["no adapter is named", "hint: use --adapter"]),
    case(&["run", "-a", "nobody", "hello"], &["there is no adapter `nobody`", "hint: the adapters are", "echo"]),
    case(&["run", "-a", "./nobody.wasm", "hello"], &["./nobody.wasm", "cannot be read"]),
    case(&["run", "-a", "./", "hello"], &["the adapter ./ cannot be read"]),
    case(&["adapters", "show", "nobody"], &["there is no adapter `nobody`"]),
    case(&["models", "nobody"], &["there is no adapter `nobody`"]),
    // Its options.
    case(
        &["run", "-a", "echo", "-o", "colour=red", "hello"],
        &["no option `colour`", "hint: its options: script, delay"],
    ),
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
    case(&["run", "-a", "echo", "--add-dir", "nowhere", "hello"], &["the folder nowhere cannot be used"]),
    case(&["run", "-a", "echo", "--home", "nowhere", "hello"], &["the home folder nowhere", "hint: create it"]),
    case(&["run", "-a", "echo", "--session-id", "", "hello"], &["the id of a session must not be empty"]),
    case(&["run", "-a", "echo", "--max-turns", "0", "hello"], &["invalid value '0' for '--max-turns <N>'"]),
    case(&["run", "-a", "echo", "--max-turns", "-1", "hello"], &["invalid value '-1' for '--max-turns <N>'"]),
    case(&["run", "-a", "echo", "--max-cost", "-1", "hello"], &["-1 is not an amount of dollars"]),
    case(&["run", "-a", "echo", "--max-cost", "abc", "hello"], &["abc is not an amount of dollars"]),
    case(&["run", "-a", "echo", "--idle-timeout", "-5", "hello"], &["\"-5\" is not a duration"]),
    case(&["replay", "last", "--chunk", "0"], &["invalid value '0' for '--chunk <BYTES>'"]),
    case(&["run", "-a", "echo", "-e", "huge", "hello"], &["`huge` is not an effort", "hint: one of none, minimal"]),
    case(&["run", "-a", "echo", "-r", "last", "hello"], &["no session of echo", "hint: `wharf sessions` lists"]),
    case(&["run", "-a", "echo", "--fork", "last", "hello"], &["no session of echo"]),
    case(&["run", "-a", "echo", "--rules", "missing.toml", "hello"], &["the file missing.toml cannot be read"]),
    with(
        &[("workspace/rules.toml", "default = \"perhaps\"\n")],
        &["run", "-a", "echo", "--rules", "rules.toml", "hello"],
        &["the rules rules.toml, line 1", "perhaps"],
    ),
    with(
        &[("workspace/rules.toml", "[[rule]]\ntool = \"B*h\"\nanswer = \"deny\"\n")],
        &["run", "-a", "echo", "--rules", "rules.toml", "hello"],
        &["the rules rules.toml, line 2", "B*h", "not at its end"],
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
    with(
        &[("workspace/mcp.json", "{\"servers\":{}}")],
        &["run", "-a", "echo", "--mcp", "mcp.json", "hello"],
        &["no object `mcpServers`", "hint: write"],
    ),
    case(&["run", "-a", "echo", "--output-schema", "none.json", "hello"], &["the file none.json cannot be read"]),
    // The configuration.
    with(&[("config.toml", "model = \"a\"\nmodle = \"b\"\n")], RUN, &["config.toml, line 2", "`modle`", "hint:"]),
    with(&[("config.toml", "[timeouts]\nidle = \"long\"\n")], RUN, &["config.toml, line 2", "long"]),
    with(&[("config.toml", "adapter = [\n")], RUN, &["config.toml, line"]),
    with(&[("config.toml", "[grants.echo]\nprogramms = []\n")], RUN, &["config.toml, line 2", "`programms`"]),
    with(&[("workspace/.wharf.toml", "\n\ncolour = 1\n")], RUN, &[".wharf.toml, line 3", "`colour`"]),
    with(
        &[("workspace/.wharf.toml", "[grants.echo]\nprograms = [\"sh\"]\n")],
        RUN,
        &[".wharf.toml, line 1", "`grants`", "hint: `grants` may only be in your own file", "config.toml"],
    ),
    with(&[("workspace/.wharf.toml", "approvals = \"allow-all\"\n")], RUN, &["hint: `approvals` may only be in"]),
    with(&[("config.toml", "[options.echo]\ncolour = 1\n")], RUN, &["no option `colour`"]),
    // Values that are out of range: the same error as on the command line.
    with(&[("config.toml", "[timeouts]\nidle = -1\n")], RUN, &["config.toml, line 2", "\"-1\" is not a duration"]),
    with(&[("config.toml", "\n[timeouts]\ntotal = nan\n")], RUN, &["config.toml, line 3", "not a duration"]),
    with(
        &[("config.toml", "[prices.x]\ninput = -1\noutput = 1\n")],
        RUN,
        &["config.toml, line 2", "-1 is not a price"],
    ),
    // The usage.
    case(&["usage", "--by", "weekday"], &["`weekday`", "hint: day, adapter, model, or label:NAME"]),
    case(&["usage", "--since", "yesterday"], &["`yesterday` is not a time", "hint:"]),
    with(&[("config.toml", "[limits]\nruns = 0\n")], RUN, &["config.toml, line 2"]),
    with(&[("config.toml", "effort = \"huge\"\n")], RUN, &["config.toml, line 1", "huge"]),
    // The labels.
    case(
        &["run", "-a", "echo", "--label", "task", "hello"],
        &["`task` is not a label", "hint: write it as NAME=VALUE"],
    ),
    case(&["run", "-a", "echo", "--label", "=42", "hello"], &["`=42` is not a label"]),
    case(&["run", "-a", "echo", "--label", "a=1", "--label", "a=2", "hello"], &["the label `a` is given twice"]),
    case(&["runs", "--label", "task"], &["`task` is not a label"]),
    case(&["sessions", "--label", "task"], &["`task` is not a label"]),
    // The environment.
    case(&["run", "-a", "echo", "--env", "NOT_SET_HERE", "hello"], &["NOT_SET_HERE", "hint: set it"]),
    case(&["run", "-a", "echo", "--env", "=1", "hello"], &["cannot be the name of an environment variable"]),
    // The runs.
    case(&["runs", "rm", "nothing"], &["there is no run \"nothing\"", "hint: `wharf runs`"]),
    case(&["runs", "rm", "last"], &["there is no run yet"]),
    case(&["sessions", "rm", "nothing"], &["wharf remembers no session `nothing`", "hint: `wharf sessions`"]),
    case(&["sessions", "rm", "last"], &["wharf remembers no session `last`"]),
    case(&["show", "last"], &["there is no run yet"]),
    case(&["replay", "nothing"], &["there is no run \"nothing\"", "hint: `wharf runs`"]),
    case(&["receipt", "nothing"], &["there is no run \"nothing\""]),
    case(&["sessions", "nothing"], &["wharf remembers no session `nothing`"]),
];

#[track_caller]
fn assert_refused(run: &Finished, args: &[&str], errors: &[&str]) {
    assert_eq!((run.code, run.stdout.as_str()), (Some(2), ""), "{args:?}: {run:?}");
    assert!(run.stderr.starts_with("error: "), "{args:?}: {run:?}");
    for part in errors {
        assert!(run.stderr.contains(part), "{args:?}: {part:?} is not in {:?}", run.stderr);
    }
}

#[test]
fn invalid_input_is_named_and_exits_with_2() {
    for Case { files, args, errors } in CASES {
        let sandbox = sandbox();
        for (name, content) in *files {
            sandbox.write(name, content);
        }
        let run = sandbox.call(*args);
        assert_refused(&run, args, errors);
        assert!(sandbox.files("data/runs").is_empty(), "{args:?} has started a run");
    }
}

#[test]
fn the_doctor_reports_invalid_input_and_exits_with_2() {
    // What it finds is data, even if it is an error.
    let run = sandbox().call(["doctor", "nobody"]);
    assert_eq!(run.code, Some(2), "{run:?}");
    assert!(run.stdout.contains("there is no adapter `nobody`"), "{run:?}");
}

#[test]
fn a_configuration_that_cannot_be_read_is_named() {
    let sandbox = sandbox();
    // Nobody can read it, root neither.
    fs::create_dir(sandbox.path("config.toml")).expect("a folder");
    let path = sandbox.path("config.toml");
    assert_refused(&sandbox.call(RUN), RUN, &[path.to_str().expect("UTF-8"), "cannot be read"]);
    let sandbox = crate::sandbox();
    sandbox.write("config.toml", b"adapter = \"\xff\"\n");
    assert_refused(&sandbox.call(RUN), RUN, &["config.toml", "cannot be read", "UTF-8"]);
}

#[test]
fn a_prompt_on_stdin_that_is_not_utf_8_is_refused() {
    let sandbox = sandbox();
    let prompt = sandbox.write("prompt", b"\xff\xfe");
    let args = ["run", "-a", "echo"];
    let run = Finished::of(sandbox.wharf(args).stdin(fs::File::open(prompt).expect("the prompt")));
    assert_refused(&run, &args, &["the prompt on standard input is not UTF-8"]);
}

#[test]
fn a_missing_program_exits_with_3() {
    let sandbox = sandbox();
    for (args, part) in [
        (vec!["run", "-a", "echo", "--program", "/no/such/agent", "hello"], "/no/such/agent"),
        (vec!["explain", "-a", "echo", "--program", "/no/such/agent", "hello"], "/no/such/agent"),
    ] {
        let run = sandbox.call(&args);
        assert_eq!((run.code, run.stdout.as_str()), (Some(3), ""), "{args:?}: {run:?}");
        assert!(run.stderr.contains(part) && run.stderr.contains("hint: "), "{args:?}: {run:?}");
    }
    // A program that reads only the events gets it as well.
    let run = sandbox.call(["run", "-a", "echo", "--json", "--program", "/no/such/agent", "hello"]);
    assert_eq!((run.code, &run.report()["error"]["class"]), (Some(3), &"not-found".into()), "{run:?}");
}

#[test]
fn an_error_with_text_of_a_project_does_not_control_the_terminal() {
    let sandbox = sandbox();
    let project = sandbox.path("project");
    std::fs::create_dir_all(&project).unwrap();
    std::fs::write(project.join(".wharf.toml"), "adapter = \"a\\u001b]0;title\\u0007b\"\n").unwrap();
    let run = sandbox.call(["run", "-C", project.to_str().unwrap(), "hello"]);
    assert_eq!(run.code, Some(2), "{run:?}");
    assert!(run.stderr.contains("]0;title") && !run.stderr.contains(['\u{1b}', '\u{7}']), "{run:?}");
}

#[test]
fn with_json_invalid_input_and_a_bad_configuration_have_a_report_too() {
    let too_long = "x".repeat(12 << 20);
    let agent = "#!/bin/sh\necho '2.1.325 (Claude Code)'\n";
    for (args, config, message) in [
        (&["-a", "nobody", "hello"][..], "", "no adapter `nobody`"),
        (&["hello"], "", "no adapter is named"),
        (&["-a", "echo", ""], "", "the prompt is empty"),
        (&["-a", "echo", "hello"], "modle = 1\n", "modle"),
        (&["-a", "echo", "--idle-timeout", "soon", "hello"], "", "is not a duration"),
        (&["-a", "echo", "--dance", "hello"], "", "--dance"),
        (&["-a", "claude", "--program", "../claude", "-f", "../long"], "", "longer than the 10 MB"),
    ] {
        let sandbox = sandbox();
        sandbox.write("config.toml", config);
        sandbox.write("long", &too_long);
        let program = sandbox.write("claude", agent);
        fs::set_permissions(program, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        let run = sandbox.call([&["run", "--json"], args].concat());
        assert_eq!(run.code, Some(2), "{run:?}");
        assert_eq!(run.stdout.lines().count(), 1, "{run:?}");
        let report = run.report();
        assert_eq!((&report["outcome"], &report["error"]["class"]), (&"failed".into(), &"invalid-option".into()));
        assert!(report["error"]["message"].as_str().unwrap().contains(message), "{report}");
        assert!(!run.stderr.contains("doctor"), "{run:?}");
    }
}

#[test]
fn the_projects_file_is_found_from_a_folder_below() {
    let sandbox = sandbox();
    fs::create_dir_all(sandbox.path("workspace/repository/.git")).unwrap();
    fs::create_dir_all(sandbox.path("workspace/repository/a/b")).unwrap();
    sandbox.write("workspace/repository/.wharf.toml", "adapter = \"echo\"\n");
    let run = sandbox.call(["run", "-C", "repository/a/b", "hello"]).success();
    assert_eq!(run.stdout, "You said: hello\n");
}
