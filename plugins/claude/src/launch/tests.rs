use super::*;
use crate::Claude;
use wharf_adapter::testing::{binary, set_option, turn};
use wharf_adapter::{Adapter as _, Arg};

/// The end of every command line without further settings.
const ISOLATED: &str = "--setting-sources user --strict-mcp-config";

fn line(args: &[Arg]) -> String {
    let shown = |arg: &Arg| match &arg.file {
        Some(file) => format!("{}<{file}>", arg.text),
        None => arg.text.clone(),
    };
    args.iter().map(shown).collect::<Vec<_>>().join(" ")
}

fn built(version: &str, change: impl FnOnce(&mut Turn)) -> Launch {
    let mut turn = turn::<Claude>("go");
    turn.session = SessionChoice::Fresh(None);
    turn.stream_text = false;
    turn.approvals = Approvals::Deny;
    // See `instructions`.
    set_option(&mut turn, "project-instructions", "false");
    change(&mut turn);
    let transport = if turn.approvals == Approvals::Ask { CONTROL } else { "" };
    let mut settings = Settings::of(&turn).over(transport);
    let mut launch = build(&mut settings, &binary(version)).expect("a launch");
    settings.finish(&mut launch);
    launch
}

#[test]
fn each_setting_has_its_flag() {
    type Change = fn(&mut Turn);
    let rows: [(&str, Change, &str); 26] = [
        ("2.1.325", |_| {}, "--permission-mode dontAsk"),
        ("2.0.76", |_| {}, ""),
        ("2.1.325", |turn| turn.approvals = Approvals::AllowAll, "--dangerously-skip-permissions"),
        (
            "2.1.325",
            |turn| turn.approvals = Approvals::Ask,
            "--input-format stream-json --permission-prompt-tool stdio",
        ),
        (
            "2.1.325",
            |turn| set_option(turn, "gates", "[\"Stop\"]"),
            "--input-format stream-json --permission-mode dontAsk",
        ),
        ("2.1.325", |turn| set_option(turn, "permission-mode", "\"plan\""), "--permission-mode plan"),
        ("2.0.76", |turn| turn.stream_text = true, "--include-partial-messages"),
        ("2.0.76", |turn| turn.session = SessionChoice::Fresh(Some("u".into())), "--session-id u"),
        ("2.0.76", |turn| turn.session = SessionChoice::Resume("u".into()), "--resume u"),
        ("2.0.76", |turn| turn.session = SessionChoice::Fork("u".into()), "--resume u --fork-session"),
        ("2.0.76", |turn| turn.session = SessionChoice::MostRecent, "--continue"),
        ("2.0.76", |turn| set_option(turn, "persist-session", "false"), "--no-session-persistence"),
        ("2.0.76", |turn| turn.model = Some("opus".into()), "--model=opus"),
        ("2.0.76", |turn| turn.fallback_model = Some("haiku".into()), "--fallback-model=haiku"),
        ("2.1.197", |turn| turn.effort = Some("minimal".into()), "--effort low --permission-mode dontAsk"),
        ("2.1.197", |turn| turn.effort = Some("max".into()), "--effort max --permission-mode dontAsk"),
        ("2.0.76", |turn| turn.effort = Some("high".into()), ""),
        ("2.0.76", |turn| turn.system_prompt = Some("s".into()), "--append-system-prompt-file <system-prompt.md>"),
        (
            "2.0.76",
            |turn| {
                turn.system_prompt = Some("s".into());
                set_option(turn, "system-prompt-mode", "\"replace\"");
            },
            "--system-prompt-file <system-prompt.md>",
        ),
        (
            "2.1.325",
            |turn| {
                turn.system_prompt = Some("s".into());
                turn.session = SessionChoice::Resume("u".into());
            },
            "--resume u --append-system-prompt-file <system-prompt.md> --system-prompt-snapshot off \
             --permission-mode dontAsk",
        ),
        (
            "2.1.197",
            |turn| {
                turn.system_prompt = Some("s".into());
                turn.session = SessionChoice::Resume("u".into());
            },
            "--resume u --append-system-prompt-file <system-prompt.md> --permission-mode dontAsk",
        ),
        ("2.0.76", |turn| turn.extra_dirs = vec!["/a".into(), "/b".into()], "--add-dir /a --add-dir /b"),
        ("2.0.76", |turn| turn.tools.only = vec!["Bash".into(), "Read".into()], "--tools Bash,Read"),
        (
            "2.0.76",
            |turn| turn.tools.allow = vec!["Bash(git *)".into(), "Edit".into()],
            "--allowedTools Bash(git *) Edit",
        ),
        (
            "2.0.76",
            |turn| {
                turn.tools.deny = vec!["Bash(rm *)".into()];
                turn.tools.without = vec!["WebFetch".into()];
            },
            "--disallowedTools Bash(rm *) WebFetch",
        ),
        ("2.1.325", |turn| turn.model = Some("x".into()), "--model=x --permission-mode dontAsk"),
    ];
    for (version, change, flags) in rows {
        let launch = built(version, change);
        let expected = format!("-p --output-format stream-json --verbose {flags} {ISOLATED}").replace("  ", " ");
        assert_eq!(line(&launch.args), expected, "{version}");
    }
}

#[test]
fn the_model_of_a_project_cannot_be_an_option() {
    let launch = built("2.1.325", |turn| turn.model = Some("--dangerously-skip-permissions".into()));
    assert!(launch.args.iter().any(|arg| arg.text == "--model=--dangerously-skip-permissions"));
    assert!(!launch.args.iter().any(|arg| arg.text == "--dangerously-skip-permissions"));
}

#[test]
fn other_settings_follow_the_isolation() {
    type Change = fn(&mut Turn);
    let rows: [(Change, &str); 7] = [
        (|turn| turn.mcp_servers = Some("{\"a\":{}}".into()), "--mcp-config <mcp.json>"),
        (|turn| set_option(turn, "settings", "{}"), "--settings <settings.json>"),
        (|turn| set_option(turn, "bare", "true"), "--bare"),
        (|turn| turn.max_turns = Some(3), "--max-turns 3"),
        (|turn| turn.max_cost_micros = Some(1_250_000), "--max-budget-usd 1.25"),
        (|turn| turn.max_cost_micros = Some(100), "--max-budget-usd 0.0001"),
        (|turn| turn.output_schema = Some("{}".into()), "--json-schema {}"),
    ];
    for (change, flags) in rows {
        let args = line(&built("2.1.325", change).args);
        assert!(args.ends_with(&format!("{ISOLATED} {flags}")), "{args}");
    }
    let open = line(&built("2.1.325", |turn| set_option(turn, "project-settings", "true")).args);
    assert!(!open.contains("setting-sources") && !open.contains("strict-mcp-config"), "{open}");
}

#[test]
fn unsupported_settings_are_reported() {
    let unsupported = |version: &str, change: fn(&mut Turn)| -> Vec<String> {
        built(version, change).unsupported.into_iter().map(|setting| setting.name).collect()
    };
    assert_eq!(unsupported("2.0.76", |turn| turn.effort = Some("high".into())), ["effort"]);
    assert_eq!(unsupported("2.0.76", |turn| set_option(turn, "bare", "true")), ["bare"]);
    assert_eq!(unsupported("2.1.325", |turn| turn.effort = Some("bogus".into())), ["effort"]);
    assert_eq!(unsupported("2.1.325", |turn| turn.autopilot = true), ["autopilot"]);
    assert_eq!(unsupported("2.1.325", |turn| turn.effort = Some("high".into())), [""; 0]);
}

#[test]
fn other_settings_are_files_and_variables() {
    let launch = built("2.1.325", |turn| {
        turn.mcp_servers = Some("{\"lab\":{\"command\":\"x\"}}".into());
        turn.system_prompt = Some("be brief".into());
        set_option(turn, "background-tasks", "false");
        set_option(turn, "sandboxed", "true");
    });
    let file = |name: &str| {
        let file = launch.files.iter().find(|file| file.name == name).expect("the file");
        String::from_utf8(file.content.clone()).expect("text")
    };
    assert_eq!(file("mcp.json"), r#"{"mcpServers":{"lab":{"command":"x"}}}"#);
    assert_eq!(file("system-prompt.md"), "be brief");
    let whole = built("2.1.325", |turn| turn.mcp_servers = Some("{\"mcpServers\":{}}".into()));
    assert_eq!(whole.files[0].content, b"{\"mcpServers\":{}}");

    let set: Vec<(&str, &str)> =
        launch.variables.iter().map(|(name, value)| (name.as_str(), value.text.as_str())).collect();
    let expected = [
        ("IS_SANDBOX", "1"),
        ("CLAUDE_CODE_MAX_RETRIES", "4"),
        ("CLAUDE_CODE_DISABLE_BACKGROUND_TASKS", "1"),
        ("DISABLE_AUTOUPDATER", "1"),
    ];
    assert_eq!(set, expected);
    let requested = Claude::describe().access.variables;
    assert!(set.iter().all(|(name, _)| requested.iter().any(|requested| requested == name)));
}

#[test]
fn a_prompt_reaches_the_model_as_text() {
    for (text, commands, written) in [
        ("hello", "false", "hello"),
        ("/usage", "false", " /usage"),
        ("/usr/bin/env is a path", "false", " /usr/bin/env is a path"),
        ("/usage", "true", "/usage"),
        ("-p", "false", "-p"),
    ] {
        let mut turn = turn::<Claude>(text);
        set_option(&mut turn, "slash-commands", commands);
        assert_eq!(prompt(&turn), Ok(written.to_owned()));
    }
    let huge = turn::<Claude>(&"x".repeat(MAX_PROMPT + 1));
    assert_eq!(prompt(&huge).map_err(|failure| failure.class), Err(ErrorClass::InvalidOption));
}

#[test]
fn duplex_exits_when_stdin_closes_and_one_shot_by_itself() {
    assert_eq!(built("2.1.325", |turn| turn.approvals = Approvals::Ask).exit_behavior, ExitBehavior::WhenStdinCloses);
    assert_eq!(built("2.1.325", |_| {}).exit_behavior, ExitBehavior::ByItself);
}
