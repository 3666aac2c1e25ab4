//! Claims of other documents about Copilot's output that no other test covers.
//!
//! The table in `docs/adapters/copilot.md` has the result for every claim.

use crate::{captures, event, notices, outcomes, run, usages};
use std::fs;
use std::path::{Path, PathBuf};
use wharf_adapter::testing::{FakeHost, environment, events, inline};
use wharf_adapter::{Adapter, Capabilities, Effect, Event, LogLevel, ModelList, Outcome, ToolStatus};
use wharf_adapter_copilot::Copilot;

fn result(code: i32, usage: &str) -> String {
    format!(r#"{{"type":"result","sessionId":"s","exitCode":{code},"usage":{usage}}}"#)
}

fn outcome(effects: &[Effect]) -> Option<Outcome> {
    outcomes(effects).pop()
}

/// From `OpenClaw`'s list of the SDK's schema. Most never reach stdout, but another version may write them there.
#[test]
fn every_event_of_the_sdks_schema_is_known() {
    let schema = [
        ("session", "start resume remote_steerable_changed error idle title_changed schedule_created"),
        ("session", "schedule_cancelled info warning model_change mode_changed plan_changed workspace_file_changed"),
        ("session", "handoff truncation snapshot_rewind shutdown context_changed usage_info compaction_start"),
        ("session", "compaction_complete task_complete tools_updated background_tasks_changed skills_loaded"),
        ("session", "custom_agents_updated mcp_servers_loaded mcp_server_status_changed extensions_loaded"),
        ("user", "message"),
        ("pending_messages", "modified"),
        ("assistant", "turn_start intent reasoning reasoning_delta streaming_delta message message_start"),
        ("assistant", "message_delta turn_end usage"),
        ("model", "call_failure"),
        ("tool", "user_requested execution_start execution_partial_result execution_progress execution_complete"),
        ("skill", "invoked"),
        ("subagent", "started completed failed selected deselected"),
        ("hook", "start end"),
        ("system", "message notification"),
        ("permission", "requested completed"),
        ("user_input", "requested completed"),
        ("elicitation", "requested completed"),
        ("sampling", "requested completed"),
        ("mcp", "oauth_required oauth_completed"),
        ("external_tool", "requested completed"),
        ("command", "queued execute completed"),
        ("auto_mode_switch", "requested completed"),
        ("commands", "changed"),
        ("capabilities", "changed"),
        ("exit_plan_mode", "requested completed"),
    ];
    let mut kinds: Vec<String> = schema
        .iter()
        .flat_map(|(family, names)| names.split(' ').map(move |name| format!("{family}.{name}")))
        .collect();
    kinds.push("abort".to_owned());
    let effects = run(&kinds.iter().map(|kind| event(kind, "{}")).collect::<Vec<_>>());
    let unknown: Vec<_> = events(&effects).into_iter().filter(|event| matches!(event, Event::Unknown(_))).collect();
    assert!(unknown.is_empty(), "{unknown:?}");
    assert!(events(&run(&[event("function", "{}")])).contains(&&Event::Unknown("function".into())));
}

/// The names in `schemas/session-events.schema.json` in the packages of both versions.
#[test]
fn every_event_of_the_packages_schemas_is_known() {
    for names in [include_str!("../schema-1.0.35.txt"), include_str!("../schema-1.0.102.txt")] {
        let effects = run(&names.lines().map(|kind| event(kind, "{}")).collect::<Vec<_>>());
        let unknown: Vec<_> = events(&effects).into_iter().filter(|one| matches!(one, Event::Unknown(_))).collect();
        assert!(unknown.is_empty() && names.lines().count() > 70, "{unknown:?}");
    }
}

/// Optional fields are missing.
#[test]
fn a_missing_text_is_not_drift() {
    let effects = run(&[
        event("assistant.reasoning_delta", r#"{"reasoningId":"r","deltaContent":"hm"}"#),
        event("assistant.reasoning", r#"{"reasoningId":"r"}"#),
        event("assistant.reasoning", r#"{"reasoningOpaque":"x"}"#),
        event("assistant.reasoning_delta", r#"{"reasoningId":"r"}"#),
        event("assistant.message_delta", r#"{"messageId":"m"}"#),
        event("assistant.message", r#"{"messageId":"m"}"#),
        event("tool.shell_output", r#"{"toolCallId":"t"}"#),
        event("tool.execution_partial_result", r#"{"toolCallId":"t"}"#),
        event("tool.execution_start", r#"{"toolCallId":"t"}"#),
        event("tool.execution_complete", r#"{"toolCallId":"t"}"#),
        event("session.task_complete", "{}"),
        event("session.error", "{}"),
        event("session.info", "{}"),
        event("session.warning", "{}"),
        event("assistant.turn_retry", "{}"),
        event("model.call_failure", "{}"),
    ]);
    let is_drift = |event: &&Event| matches!(event, Event::Malformed(_) | Event::Unknown(_));
    assert_eq!(events(&effects).into_iter().find(is_drift), None);
    let thoughts = events(&effects).into_iter().filter(|event| matches!(event, Event::Thinking(_))).count();
    assert_eq!(thoughts, 0, "streamed text is not replaced by an empty one");
}

#[test]
fn every_documented_reason_of_an_abort_cancels() {
    for reason in ["user_initiated", "remote_command", "user_abort"] {
        let abort = event("abort", &format!(r#"{{"reason":"{reason}"}}"#));
        assert_eq!(outcome(&run(&[abort, result(0, "{}")])), Some(Outcome::Cancelled), "{reason}");
    }
}

#[test]
fn warnings_remarks_and_broken_servers_are_notices() {
    let effects = run(&[
        event("session.warning", r#"{"warningType":"mcp","message":"blocked"}"#),
        event("session.info", r#"{"infoType":"configuration","message":"Disabled tools: bash"}"#),
        event("session.mcp_server_status_changed", r#"{"serverName":"good","status":"connected"}"#),
        event("session.mcp_server_status_changed", r#"{"serverName":"off","status":"disabled"}"#),
        event("session.mcp_server_status_changed", r#"{"serverName":"bad","status":"error","error":"no such file"}"#),
        result(0, "{}"),
    ]);
    let expected = [
        (LogLevel::Warn, "blocked"),
        (LogLevel::Info, "Disabled tools: bash"),
        (LogLevel::Warn, "MCP server bad: error: no such file"),
    ];
    assert_eq!(notices(&effects), expected);
    assert_eq!(outcome(&effects), Some(Outcome::Completed));
}

#[test]
fn restrictions_of_an_enterprise_are_notices() {
    let data = r#"{"action":"bypass_permissions_blocked","setting":"x","failClosed":false,"message":"not here"}"#;
    let effects = run(&[event("session.managed_settings_enforced", data)]);
    let [Event::Notice(notice)] = events(&effects)[..] else { panic!("{effects:?}") };
    assert_eq!((notice.level, notice.text.as_str()), (LogLevel::Warn, "not here"));
}

/// Some warnings make the CLI exit with 1.
#[test]
fn a_warning_explains_a_failure_without_an_error() {
    let warning =
        event("session.warning", r#"{"warningType":"policy_blocked","message":"your organization forbids it"}"#);
    assert!(matches!(outcome(&run(&[warning.clone(), result(1, "{}")])), Some(Outcome::Failed(failure))
        if failure.class == wharf_adapter::ErrorClass::Permission && failure.message.contains("forbids")));
    assert_eq!(outcome(&run(&[warning, result(0, "{}")])), Some(Outcome::Completed));
}

#[test]
fn the_result_counts_requests_time_and_lines_and_leaves_tokens_unknown() {
    let changes = r#"{"linesAdded":3,"linesRemoved":1,"filesModified":["/a"]}"#;
    let counts = format!(
        r#"{{"premiumRequests":2,"totalApiDurationMs":5485,"sessionDurationMs":9103,"codeChanges":{changes}}}"#
    );
    let effects = run(&[result(0, &counts)]);
    let usages = usages(&effects);
    let [usage] = usages.as_slice() else { panic!("{usages:?}") };
    assert_eq!((usage.units.as_slice(), usage.api_millis), (&[("premium-requests".to_owned(), 2.0)][..], Some(5485)));
    assert_eq!((usage.input, usage.output, usage.cache_read, usage.cost_micros), (None, None, None, None));
    assert!(events(&effects).contains(&&Event::Other(("code-changes".into(), changes.into()))));
    let without = run(&[result(0, "{}")]);
    assert!(!events(&without).iter().any(|event| matches!(event, Event::Usage(_))), "unknown is not zero");
}

#[test]
fn a_tool_reports_its_error_and_may_end_without_a_start() {
    for (code, expected) in
        [("failure", ToolStatus::Failed), ("denied", ToolStatus::Denied), ("rejected", ToolStatus::Denied)]
    {
        let data = format!(r#"{{"toolCallId":"t","success":false,"error":{{"message":"no","code":"{code}"}}}}"#);
        let effects = run(&[event("tool.execution_complete", &data)]);
        let [Event::Tool(call)] = events(&effects)[..] else { panic!("{effects:?}") };
        assert_eq!((inline(&call.id), call.status, call.output.as_ref().map(inline)), ("t", expected, Some("no")));
    }
}

/// Fields of a message that only some providers have, as Minions found them, and one unknown field.
#[test]
fn the_message_replaces_its_deltas_whatever_other_fields_it_has() {
    for more in [
        r#""reasoningOpaque":"x","encryptedContent":"y","phase":"final_answer","requestId":"r","outputTokens":52"#,
        r#""reasoningOpaque":"x","reasoningText":"I think""#,
        r#""brandNew":{"a":[1]}"#,
    ] {
        let effects = run(&[
            event("assistant.message_delta", r#"{"messageId":"m","deltaContent":"pon"}"#),
            event("assistant.message", &format!(r#"{{"messageId":"m","content":"pong","toolRequests":[],{more}}}"#)),
        ]);
        let texts: Vec<_> = events(&effects)
            .into_iter()
            .filter_map(|event| match event {
                Event::TextDelta(part) | Event::Message(part) => Some((inline(&part.id), inline(&part.text))),
                Event::Malformed(_) => panic!("{more}"),
                _ => None,
            })
            .collect();
        assert_eq!(texts, [("m", "pon"), ("m", "pong")]);
    }
}

#[test]
fn both_versions_have_the_claimed_capabilities() {
    let claimed = Capabilities::STREAMING
        | Capabilities::SESSION_RESUME
        | Capabilities::MODEL_DISCOVERY
        | Capabilities::EFFORT_LEVELS
        | Capabilities::MCP_SERVERS;
    for version in ["1.0.35", "1.0.102"] {
        let prints = format!("GitHub Copilot CLI {version}.");
        let host = FakeHost::default().program("copilot", "/c").output("/c --no-auto-update --version", 0, &prints);
        let found = Copilot::default().resolve_binary(&host, &environment()).expect("a program");
        assert!(found.can(claimed), "{version}");
    }
}

/// The token in the request for a list of models.
fn token_sent(host: &FakeHost) -> String {
    let list = Copilot::default().list_models(host, None);
    assert!(matches!(list, ModelList::Models(_)), "{list:?}");
    let requests = host.requests.borrow();
    let header = requests.last().expect("a request").headers.iter().find(|(name, _)| name == "Authorization");
    header.expect("a token").1.clone()
}

#[test]
fn models_are_requested_with_the_right_token() {
    let gh = FakeHost::default().program("gh", "/gh").output("/gh auth token", 0, "gho_stored\n").response(
        "GET https://api.githubcopilot.com/models",
        200,
        r#"{"data":[]}"#,
    );
    assert_eq!(token_sent(&gh), "Bearer gho_stored");
    assert_eq!(token_sent(&gh.with_variable("GH_TOKEN", "gho_set")), "Bearer gho_set");
    let own = FakeHost::default()
        .with_variable("COPILOT_PROVIDER_BASE_URL", "https://h/v1")
        .with_variable("COPILOT_PROVIDER_API_KEY", "key")
        .response("GET https://h/v1/models", 200, r#"{"data":[]}"#);
    assert_eq!(token_sent(&own), "Bearer key");
    assert_eq!(token_sent(&own.with_variable("COPILOT_PROVIDER_BEARER_TOKEN", "bearer")), "Bearer bearer");
}

fn files_in(folder: &Path, into: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() { files_in(&path, into) } else { into.push(path) }
    }
}

/// Every test and every capture that the table names must exist.
#[test]
fn tests_and_captures_in_the_table_of_claims_exist() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = fs::read_to_string(root.join("../../docs/adapters/copilot.md")).expect("the page");
    let (_, table) = page.split_once("## Claims of the documents").expect("the table");
    let mut files = vec![];
    for folder in ["src", "tests"] {
        files_in(&root.join(folder), &mut files);
    }
    let source: String = files.iter().filter_map(|path| fs::read_to_string(path).ok()).collect();
    let versions = ["1.0.35", "1.0.102"].map(|version| captures().join(version));
    let folders: Vec<String> = versions
        .iter()
        .flat_map(|folder| fs::read_dir(folder).expect("captures"))
        .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
        .collect();
    // Names of tests and captures have several words. Names of captures may end with a star.
    let is_name = |word: &&str| {
        word.matches('_').count() >= 2
            && !word.ends_with('_')
            && word.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'-' | b'*'))
    };
    let names: Vec<&str> = table.split('`').skip(1).step_by(2).filter(is_name).collect();
    assert!(names.len() > 60, "only {} names were found", names.len());
    let exists = |name: &str| {
        let prefix = name.trim_end_matches('*');
        let is_capture = |folder: &String| if prefix == name { folder == name } else { folder.starts_with(prefix) };
        source.contains(&format!("fn {name}(")) || folders.iter().any(is_capture)
    };
    let missing: Vec<_> = names.into_iter().filter(|name| !exists(name)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}
