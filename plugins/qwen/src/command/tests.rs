use super::*;
use crate::Qwen;
use wharf_adapter::testing::{binary, set_option, turn};
use wharf_adapter::{Attachment, ExitBehavior, Login, PolicyRule};

/// The transport that the host chooses: the first that has what the turn needs.
fn built(version: &str, change: impl FnOnce(&mut Turn)) -> Result<Launch, Failure> {
    over("", version, change)
}

fn over(transport: &str, version: &str, change: impl FnOnce(&mut Turn)) -> Result<Launch, Failure> {
    let mut turn = turn::<Qwen>("prompt");
    turn.session = SessionChoice::Fresh(None);
    change(&mut turn);
    let binary = binary(version);
    let needed = if turn.approvals == Approvals::Ask { "acp" } else { "stream-json" };
    let mut settings = Settings::of(&turn).over(if transport.is_empty() { needed } else { transport });
    let mut launch = build(&mut settings, &binary, Features::of(&binary))?;
    settings.finish(&mut launch);
    Ok(launch)
}

fn args(version: &str, change: impl FnOnce(&mut Turn)) -> (String, Vec<String>) {
    shown(built(version, change).expect("a command line"))
}

fn shown(launch: Launch) -> (String, Vec<String>) {
    let text = |arg: &Arg| arg.file.as_ref().map_or(arg.text.clone(), |file| format!("{}<{file}>", arg.text));
    let args: Vec<_> = launch.args.iter().map(text).collect();
    (args.join(" "), launch.unsupported.into_iter().map(|setting| setting.name).collect())
}

const LINES: &str = "--output-format stream-json --include-partial-messages";

#[test]
fn a_plain_turn_is_one_process_with_lines() {
    assert_eq!(args("0.24.4", |_| {}), (format!("{LINES} --approval-mode=yolo"), vec![]));
    let quiet = args("0.24.4", |turn| turn.stream_text = false).0;
    assert_eq!(quiet, "--output-format stream-json --approval-mode=yolo");
}

#[test]
fn approvals_choose_the_mode() {
    type Row = (Approvals, &'static str, &'static str, &'static str);
    let rows: [Row; 6] = [
        (Approvals::AllowAll, "", "by-approvals", "--approval-mode=yolo"),
        (Approvals::Deny, "", "by-approvals", "--approval-mode=default"),
        (Approvals::Ask, "", "by-approvals", "--acp --approval-mode=default"),
        (Approvals::AllowAll, "acp", "by-approvals", "--acp --approval-mode=yolo"),
        (Approvals::Ask, "", "plan", "--acp --approval-mode=plan"),
        (Approvals::Deny, "stream-json", "auto-edit", "--approval-mode=auto-edit"),
    ];
    for (approvals, transport, mode, expected) in rows {
        let launch = over(transport, "0.24.4", |turn| {
            turn.approvals = approvals;
            set_option(turn, "approval-mode", &format!("{mode:?}"));
        });
        let (line, unsupported) = shown(launch.expect("a command line"));
        assert!(line.ends_with(expected) && unsupported.is_empty(), "{line} {unsupported:?}");
        assert_eq!(line.starts_with("--output-format"), !expected.starts_with("--acp"), "{line}");
    }
    let asking = over("stream-json", "0.24.4", |turn| turn.approvals = Approvals::Ask).expect("a command line");
    assert_eq!(shown(asking).1, ["approvals"]);
}

#[test]
fn sessions_have_their_flags() {
    let line = |version, session| args(version, |turn: &mut Turn| turn.session = session);
    let id = || "e6a764b4-e140-43cd-bdf4-5c513a4152ec".to_owned();
    for (session, flags) in [
        (SessionChoice::Fresh(Some(id())), format!("--session-id={}", id())),
        (SessionChoice::Resume(id()), format!("--resume={}", id())),
        (SessionChoice::Fork(id()), format!("--resume={} --fork-session", id())),
        (SessionChoice::MostRecent, "--continue".to_owned()),
    ] {
        assert_eq!(line("0.24.4", session), (format!("{LINES} --approval-mode=yolo {flags}"), vec![]));
    }
    assert_eq!(line("0.15.10", SessionChoice::Fork(id())).1, ["session"]);
}

#[test]
fn settings_have_their_flags() {
    let (line, unsupported) = args("0.24.4", |turn| {
        turn.model = Some("m".to_owned());
        turn.fallback_model = Some("f".to_owned());
        turn.system_prompt = Some("Be brief.".to_owned());
        turn.max_turns = Some(7);
        turn.tools.allow = vec!["run_shell_command(git status)".to_owned()];
        turn.tools.deny = vec!["edit".to_owned()];
        turn.tools.only = vec!["read_file".to_owned()];
        turn.tools.without = vec!["glob".to_owned()];
        turn.mcp_servers = Some(r#"{"lab":{"command":"x"}}"#.to_owned());
        turn.output_schema = Some("{}".to_owned());
        turn.extra_dirs = vec!["/more".to_owned()];
        turn.extra_args = vec!["--debug".to_owned()];
        set_option(turn, "max-tool-calls", "9");
        set_option(turn, "persist-session", "false");
        set_option(turn, "bare", "true");
        set_option(turn, "auth-type", "\"anthropic\"");
    });
    let expected = [
        "--auth-type=anthropic --model=m --approval-mode=yolo --append-system-prompt=Be brief.",
        "--allowed-tools=run_shell_command(git status) --exclude-tools=edit --exclude-tools=glob",
        "--core-tools=read_file --fallback-model=f --max-session-turns=7 --max-tool-calls=9",
        "--mcp-config <mcp.json> --json-schema @<schema.json>",
        "--include-directories=/more --chat-recording=false --bare --debug",
    ];
    assert_eq!((line, unsupported), (format!("{LINES} {}", expected.join(" ")), vec![]));
}

#[test]
fn what_a_version_or_a_transport_lacks_is_reported() {
    let all = |turn: &mut Turn| {
        turn.fallback_model = Some("f".to_owned());
        turn.effort = Some("high".to_owned());
        turn.max_turns = Some(7);
        turn.max_cost_micros = Some(1);
        turn.output_schema = Some("{}".to_owned());
        turn.mcp_servers = Some("{}".to_owned());
        turn.autopilot = true;
        set_option(turn, "max-tool-calls", "9");
    };
    let unsupported = |version, change: &dyn Fn(&mut Turn)| args(version, |turn| change(turn)).1;
    assert_eq!(unsupported("0.15.10", &all), ["fallback-model", "effort", "max-tool-calls", "max-cost", "autopilot"]);
    assert_eq!(unsupported("0.24.4", &all), ["effort", "max-cost", "autopilot"]);
    assert!(unsupported("0.10.1", &all).contains(&"mcp-servers".to_owned()));
    let over_acp = |turn: &mut Turn| {
        all(turn);
        turn.session = SessionChoice::Fork("s".to_owned());
    };
    let expected = ["max-turns", "output-schema", "max-tool-calls", "session", "max-cost", "autopilot"];
    assert_eq!(shown(over("acp", "0.24.4", over_acp).expect("a command line")).1, expected);
}

#[test]
fn the_protocol_ends_with_stdin_and_has_its_old_name_in_old_versions() {
    let launch = |version| built(version, |turn| turn.approvals = Approvals::Ask).expect("a command line");
    assert_eq!(launch("0.24.4").exit_behavior, ExitBehavior::WhenStdinCloses);
    assert_eq!(launch("0.24.4").args[0].text, "--acp");
    assert_eq!(launch("0.5.0").args[0].text, "--experimental-acp");
}

#[test]
fn a_key_alone_names_its_provider() {
    let turn = turn::<Qwen>("prompt");
    let binary = Binary { login: Login::Present("OPENAI_API_KEY".to_owned()), ..binary("0.24.4") };
    let launch = build(&mut Settings::of(&turn), &binary, Features::of(&binary)).expect("a command line");
    assert!(launch.args.iter().any(|arg| arg.text == "--auth-type=openai"));
}

#[test]
fn a_system_prompt_that_no_command_line_can_hold_is_refused() {
    let long = built("0.24.4", |turn| turn.system_prompt = Some("x".repeat(MAX_ARGUMENT + 1)));
    assert_eq!(long.map_err(|failure| failure.class), Err(ErrorClass::InvalidOption));
    let replaced = args("0.24.4", |turn| {
        turn.system_prompt = Some("x".to_owned());
        set_option(turn, "system-prompt-mode", "\"replace\"");
    });
    assert!(replaced.0.ends_with("--system-prompt=x"));
}

#[test]
fn a_tool_that_the_policy_denies_by_name_is_not_offered() {
    let rule =
        |area, pattern: Option<&str>, decision| PolicyRule { area, pattern: pattern.map(str::to_owned), decision };
    let launch = built("0.24.4", |turn| {
        turn.policy = vec![
            rule(PolicyArea::Commands, Some("rm"), Decision::Deny),
            rule(PolicyArea::Tools, Some("web_fetch"), Decision::Deny),
            rule(PolicyArea::Tools, Some("mcp__*"), Decision::Deny),
            rule(PolicyArea::Tools, Some("edit"), Decision::Ask),
            rule(PolicyArea::Tools, None, Decision::Allow),
        ];
    });
    let launch = launch.expect("a command line");
    assert_eq!(launch.enforced, [1]);
    assert!(shown(launch).0.ends_with("--exclude-tools=web_fetch"));
}

#[test]
fn a_file_outside_of_the_workspace_is_reported() {
    let attached = |path: &str| {
        args("0.24.4", |turn| {
            let (name, media_type) = ("a".to_owned(), "text/plain".to_owned());
            turn.attachments = vec![Attachment { name, media_type, path: Some(path.to_owned()), bytes: None }];
            "/w".clone_into(&mut turn.workspace);
        })
    };
    assert!(attached("/w/a").1.is_empty());
    assert_eq!(attached("/elsewhere/a").1, ["attachments"]);
}
