use super::*;
use crate::Copilot;
use wharf_adapter::testing::{set_option, turn};
use wharf_adapter::{Binary, ExitBehavior, Turn};

const ID: &str = "11111111-2222-4333-8444-555555555555";

fn features(version: Option<&str>) -> Features {
    Features::of(&Binary { version: version.map(str::to_owned), ..Binary::at("/usr/bin/copilot".to_owned()) })
}

fn built(version: Option<&str>, change: impl FnOnce(&mut Turn)) -> Launch {
    let mut turn = turn::<Copilot>("prompt");
    change(&mut turn);
    let transport = if turn.approvals == Approvals::Ask { "acp" } else { "" };
    let mut settings = Settings::of(&turn).over(transport);
    let mut launch = build(&mut settings, features(version)).expect("a command line");
    settings.finish(&mut launch);
    launch
}

fn args(launch: &Launch) -> String {
    let args: Vec<String> = launch
        .args
        .iter()
        .map(|arg| arg.file.as_ref().map_or(arg.text.clone(), |file| format!("{}<{file}>", arg.text)))
        .collect();
    args.join(" ")
}

/// Sorted: the order says nothing.
fn unsupported(launch: &Launch) -> Vec<&str> {
    let mut names: Vec<&str> = launch.unsupported.iter().map(|setting| setting.name.as_str()).collect();
    names.sort_unstable();
    names
}

#[test]
fn a_plain_turn() {
    let launch = built(Some("1.0.102"), |_| {});
    assert_eq!(
        args(&launch),
        format!(
            "--output-format json -s --no-ask-user --stream on --no-auto-update --log-level error --allow-all \
             --session-id={ID} --usage-output-file <usage.json> --disable-builtin-mcps"
        )
    );
    let launch = built(Some("1.0.35"), |_| {});
    assert_eq!(
        args(&launch),
        "--output-format json -s --no-ask-user --stream on --no-auto-update --log-level error --allow-all \
         --disable-builtin-mcps"
    );
    assert_eq!(args(&built(None, |_| {})), args(&launch), "an unknown version gets the flags that all versions have");
    assert!(unsupported(&launch) == ["session"] && launch.files.is_empty());
}

/// A change to the turn, and what it must add to the command line.
type Case = (fn(&mut Turn), &'static str);

#[test]
fn every_setting_has_its_flag() {
    let cases: [Case; 15] = [
        (
            |turn| {
                turn.autopilot = true;
                set_option(turn, "max-autopilot-continues", "7");
            },
            "--max-autopilot-continues 7",
        ),
        (|turn| turn.stream_text = false, "--stream off"),
        (|turn| turn.model = Some("gpt-5.4".into()), "--model=gpt-5.4"),
        (|turn| turn.effort = Some("max".into()), "--reasoning-effort max"),
        (|turn| turn.effort = Some("none".into()), "--reasoning-effort none"),
        (|turn| turn.autopilot = true, "--autopilot --max-autopilot-continues 50"),
        (
            |turn| {
                turn.autopilot = true;
                turn.max_turns = Some(3);
            },
            "--max-autopilot-continues 3",
        ),
        (|turn| turn.session = SessionChoice::Resume("abc".into()), "--resume=abc"),
        (|turn| turn.session = SessionChoice::MostRecent, "--continue"),
        (|turn| turn.extra_dirs = vec!["/a".into(), "/b".into()], "--add-dir=/a --add-dir=/b"),
        (|turn| turn.mcp_servers = Some("{}".into()), "--additional-mcp-config @<mcp.json>"),
        (|turn| set_option(turn, "agent", "\"reviewer\""), "--agent=reviewer"),
        (|turn| set_option(turn, "reasoning-summaries", "true"), "--enable-reasoning-summaries"),
        (|turn| set_option(turn, "experimental", "true"), "--experimental"),
        (|turn| set_option(turn, "max-ai-credits", "40"), "--max-ai-credits 40"),
    ];
    for (change, expected) in cases {
        let launch = built(Some("1.0.102"), change);
        assert!(args(&launch).contains(expected), "{expected} is not in {}", args(&launch));
        assert!(launch.unsupported.is_empty(), "{expected}: {:?}", launch.unsupported);
        assert!(!args(&launch).contains("--verbose"));
    }
    let open = built(Some("1.0.102"), |turn| set_option(turn, "disable-builtin-mcps", "false"));
    assert!(!args(&open).contains("builtin"));
}

/// A user of Copilot expects that AGENTS.md counts.
#[test]
fn the_instructions_of_the_workspace_are_read_unless_an_option_says_no() {
    assert!(!args(&built(Some("1.0.102"), |_| {})).contains("custom-instructions"));
    let without = built(Some("1.0.102"), |turn| set_option(turn, "no-custom-instructions", "true"));
    assert!(args(&without).contains("--no-custom-instructions"));
}

#[test]
fn unsupported_settings_are_reported() {
    let launch = built(Some("1.0.35"), |turn| {
        turn.max_cost_micros = Some(1);
        turn.fallback_model = Some("m".into());
        turn.output_schema = Some("{}".into());
        turn.max_turns = Some(2);
        turn.session = SessionChoice::Fork(ID.into());
        turn.effort = Some("max".into());
        set_option(turn, "max-ai-credits", "40");
    });
    let expected = ["effort", "fallback-model", "max-ai-credits", "max-cost", "max-turns", "output-schema", "session"];
    assert_eq!(unsupported(&launch), expected);
    assert!(args(&launch).contains("--reasoning-effort xhigh") && !args(&launch).contains("session"));
    assert_eq!(unsupported(&built(None, |turn| turn.effort = Some("heroic".into()))), ["effort", "session"]);
    let asking = Turn { approvals: Approvals::Ask, ..turn::<Copilot>("prompt") };
    let mut settings = Settings::of(&asking).over("json-lines");
    let mut launch = build(&mut settings, features(None)).expect("a command line");
    settings.finish(&mut launch);
    assert_eq!(unsupported(&launch), ["approvals", "session"]);
}

#[test]
fn a_resumed_session_stays_in_the_workspace() {
    let launch = built(Some("1.0.102"), |turn| turn.session = SessionChoice::Resume(ID.into()));
    let set: Vec<_> = launch.variables.iter().map(|(name, value)| (name.as_str(), value.text.as_str())).collect();
    assert_eq!(set, [("COPILOT_AUTO_UPDATE", "false"), ("COPILOT_DISABLE_RESUME_AUTO_CD", "1")]);
    let requested = crate::info::describe().access.variables;
    assert!(set.iter().all(|(name, _)| requested.iter().any(|variable| variable == name)), "they must be requested");
}

#[test]
fn mcp_servers_without_a_wrapper_are_wrapped() {
    for (given, written) in [
        (r#"{"a":{"command":"x"}}"#, r#"{"mcpServers":{"a":{"command":"x"}}}"#),
        (r#"{"mcpServers":{"a":{}}}"#, r#"{"mcpServers":{"a":{}}}"#),
    ] {
        let launch = built(None, |turn| turn.mcp_servers = Some(given.to_owned()));
        assert_eq!(launch.files[0].content, written.as_bytes());
    }
    let mut turn = turn::<Copilot>("prompt");
    turn.mcp_servers = Some("[1]".to_owned());
    let built = build(&mut Settings::of(&turn), features(None));
    assert_eq!(built.map_err(|failure| failure.class), Err(ErrorClass::InvalidOption));
}

#[test]
fn asking_needs_the_protocol() {
    let launch = built(Some("1.0.102"), |turn| turn.approvals = Approvals::Ask);
    assert!(args(&launch).starts_with("--acp ") && launch.exit_behavior == ExitBehavior::WhenStdinCloses);
    assert!(!args(&launch).contains("--allow") && !args(&launch).contains("--session-id"));
    let launch = built(Some("1.0.102"), |turn| {
        turn.approvals = Approvals::Ask;
        turn.autopilot = true;
        turn.max_turns = Some(1);
        turn.stream_text = false;
        turn.session = SessionChoice::MostRecent;
        turn.mcp_servers = Some("{}".into());
    });
    assert_eq!(unsupported(&launch), ["autopilot", "max-turns", "session", "stream-text"]);
    assert!(args(&launch).contains("--additional-mcp-config @<mcp.json>"), "the protocol's own field is not read");
    let old = built(Some("1.0.35"), |turn| {
        turn.approvals = Approvals::Ask;
        turn.mcp_servers = Some("{}".into());
    });
    assert_eq!(unsupported(&old), ["mcp-servers", "session"]);
}

/// Measured on 1.0.102: the flag has no effect there.
#[test]
fn instructions_that_are_read_over_the_protocol_all_the_same_are_not_said_to_be_excluded() {
    for (approvals, read) in [(Approvals::Deny, false), (Approvals::Ask, true)] {
        let launch = built(Some("1.0.102"), |turn| {
            turn.approvals = approvals;
            set_option(turn, "no-custom-instructions", "true");
        });
        assert!(launch.instructions.iter().all(|file| file.read == read), "{approvals:?}");
        assert_eq!(unsupported(&launch).contains(&"no-custom-instructions"), read, "{approvals:?}");
    }
}

/// The host passes it on if its caller chose the id.
#[test]
fn a_session_id_that_cannot_be_used_is_never_dropped_silently() {
    let fresh = |version, id: Option<&str>, approvals| {
        let launch = built(Some(version), |turn| {
            turn.session = SessionChoice::Fresh(id.map(str::to_owned));
            turn.approvals = approvals;
        });
        (args(&launch).contains("--session-id="), unsupported(&launch).contains(&"session"))
    };
    for (version, id, approvals, given, reported) in [
        ("1.0.102", Some(ID), Approvals::Deny, true, false),
        ("1.0.102", Some("task-42"), Approvals::Deny, false, true),
        ("1.0.102", Some(ID), Approvals::Ask, false, true),
        ("1.0.35", Some(ID), Approvals::Deny, false, true),
        ("1.0.35", None, Approvals::Deny, false, false),
    ] {
        assert_eq!(fresh(version, id, approvals), (given, reported), "{version} {id:?} {approvals:?}");
    }
}

#[test]
fn only_a_uuid_can_be_the_id_of_a_new_session() {
    for (id, valid) in [(ID, true), ("my-own-id", false), ("11111111-2222-4333-8444-55555555555g", false), ("", false)]
    {
        assert_eq!(is_uuid(id), valid, "{id}");
    }
}
