//! The command lines of turns.

use super::*;
use crate::Gemini;
use wharf_adapter::testing::{binary, set_option, turn};
use wharf_adapter::{Decision, PolicyArea, PolicyRule, ToolRules, Turn};

fn built_for(version: &str, transport: &str, change: impl FnOnce(&mut Turn)) -> Launch {
    let mut turn = turn::<Gemini>("prompt");
    turn.session = SessionChoice::Fresh(None);
    change(&mut turn);
    let mut settings = Settings::of(&turn).over(transport);
    let mut launch = build(&mut settings, Features::of(&binary(version))).expect("a command line");
    settings.finish(&mut launch);
    launch
}

fn built(transport: &str, change: impl FnOnce(&mut Turn)) -> Launch {
    built_for("0.61.0", transport, change)
}

fn args(launch: &Launch) -> String {
    let args = launch
        .args
        .iter()
        .map(|arg| arg.file.as_ref().map_or(arg.text.clone(), |file| format!("{}{{{file}}}", arg.text)));
    args.collect::<Vec<_>>().join(" ")
}

fn unsupported(launch: &Launch) -> Vec<&str> {
    let mut names: Vec<&str> = launch.unsupported.iter().map(|setting| setting.name.as_str()).collect();
    names.sort_unstable();
    names
}

fn variable<'a>(launch: &'a Launch, name: &str) -> Option<&'a wharf_adapter::Arg> {
    launch.variables.iter().find(|(known, _)| known == name).map(|(_, value)| value)
}

#[test]
fn a_plain_turn_allows_everything_and_is_stopped_by_signals() {
    let launch = built("stream-json", |_| {});
    assert_eq!(args(&launch), "--output-format stream-json --approval-mode=yolo");
    assert_eq!(args(&built("acp", |_| {})), "--acp --approval-mode=yolo");
    assert_eq!(args(&built_for("0.32.1", "acp", |_| {})), "--experimental-acp --approval-mode=yolo");
    assert!(variable(&launch, "GEMINI_CLI_NO_RELAUNCH").is_some_and(|value| value.text == "true"));
    assert!(variable(&launch, "GEMINI_CLI_TRUST_WORKSPACE").is_some());
    let untrusted = built("stream-json", |turn| set_option(turn, "trust-workspace", "false"));
    assert!(variable(&untrusted, "GEMINI_CLI_TRUST_WORKSPACE").is_none());
}

#[test]
fn sessions_are_chosen_resumed_and_never_forked() {
    let session = |version: &str, session: SessionChoice| {
        let launch = built_for(version, "stream-json", |turn| turn.session = session);
        (args(&launch).contains("session-id=x") || args(&launch).contains("--resume="), unsupported(&launch).len())
    };
    let id = || "x".to_owned();
    assert_eq!(session("0.61.0", SessionChoice::Fresh(Some(id()))), (true, 0));
    assert_eq!(session("0.61.0", SessionChoice::Resume(id())), (true, 0));
    assert_eq!(session("0.61.0", SessionChoice::MostRecent), (true, 0));
    assert_eq!(session("0.61.0", SessionChoice::Fork(id())), (false, 1));
    assert_eq!(session("0.36.0", SessionChoice::Fresh(Some(id()))), (false, 1));
    assert_eq!(session("0.12.0", SessionChoice::Resume(id())), (false, 1));
}

#[test]
fn approvals_are_modes_and_an_ask_needs_acp() {
    for (approvals, transport, mode, reported) in [
        (Approvals::AllowAll, "acp", "yolo", 0),
        (Approvals::Ask, "acp", "default", 0),
        (Approvals::Deny, "stream-json", "default", 0),
        (Approvals::Ask, "stream-json", "default", 1),
    ] {
        let launch = built(transport, |turn| turn.approvals = approvals);
        assert!(args(&launch).contains(&format!("--approval-mode={mode}")), "{approvals:?}");
        assert_eq!(unsupported(&launch).len(), reported, "{approvals:?} over {transport}");
    }
    let plan = built("stream-json", |turn| set_option(turn, "approval-mode", "\"plan\""));
    assert!(args(&plan).contains("--approval-mode=plan"));
}

#[test]
fn rules_become_a_policy_beside_those_of_the_user() {
    let launch = built("stream-json", |turn| {
        turn.tools = ToolRules { deny: vec!["web_fetch".to_owned()], ..turn.tools.clone() };
        let rule = |area, pattern: &str, decision| PolicyRule { area, pattern: Some(pattern.to_owned()), decision };
        turn.policy = vec![
            rule(PolicyArea::Commands, "rm -rf", Decision::Deny),
            rule(PolicyArea::Commands, "git *", Decision::Deny),
            rule(PolicyArea::Hosts, "example.com", Decision::Deny),
            rule(PolicyArea::Tools, "read_file", Decision::Ask),
        ];
    });
    assert!(args(&launch).contains("--policy {policy.toml} --policy ~/.gemini/policies"), "{}", args(&launch));
    let file = String::from_utf8(launch.files[0].content.clone()).expect("text");
    assert!(file.contains("web_fetch") && file.contains("commandPrefix = \"rm -rf\""), "{file}");
    assert_eq!(launch.enforced, [0]);
    assert!(!args(&built("stream-json", |_| {})).contains("--policy"));
    assert_eq!(unsupported(&built_for("0.12.0", "acp", |turn| turn.tools.deny = vec!["x".to_owned()])), ["tools"]);
}

#[test]
fn the_rest_of_the_settings_is_applied_or_reported() {
    let launch = built("stream-json", |turn| {
        turn.model = Some("gemini-2.5-pro".to_owned());
        turn.system_prompt = Some("Be brief.".to_owned());
        turn.extra_dirs = vec!["/more".to_owned(), "/a,b".to_owned()];
        turn.extra_args = vec!["--debug".to_owned()];
        turn.mcp_servers = Some("{}".to_owned());
        turn.effort = Some("high".to_owned());
        turn.max_turns = Some(3);
        turn.max_cost_micros = Some(1);
        turn.fallback_model = Some("x".to_owned());
        turn.output_schema = Some("{}".to_owned());
        turn.autopilot = true;
        set_option(turn, "extensions", r#"["none"]"#);
    });
    let line = args(&launch);
    for part in ["--model=gemini-2.5-pro", "--include-directories=/more", "--debug", "--extensions=none"] {
        assert!(line.contains(part), "{line}");
    }
    assert_eq!(variable(&launch, "GEMINI_SYSTEM_MD").and_then(|value| value.file.as_deref()), Some("system.md"));
    let expected = [
        "autopilot",
        "effort",
        "extra-dirs",
        "fallback-model",
        "max-cost",
        "max-turns",
        "mcp-servers",
        "output-schema",
    ];
    assert_eq!(unsupported(&launch), expected);
    assert_eq!(unsupported(&built("acp", |turn| turn.mcp_servers = Some("{}".to_owned()))), [""; 0]);
}

#[test]
fn servers_that_are_no_object_are_refused() {
    let turn = Turn { mcp_servers: Some("[1]".to_owned()), ..turn::<Gemini>("prompt") };
    let mut settings = Settings::of(&turn).over("acp");
    assert!(build(&mut settings, Features::of(&binary("0.61.0"))).is_err());
}
