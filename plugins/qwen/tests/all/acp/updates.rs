//! Single updates, requests and notifications.

use super::{acp_turn, receive, start, tools, writes};
use crate::{outcomes, texts, usages};
use wharf_adapter::testing::events;
use wharf_adapter::{Approvals, Effect, Event, Outcome, ToolStatus};

const INITIALIZED: &str = "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"protocolVersion\":1}}\n";
const NEW: &str = "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"sessionId\":\"s\"}}\n";
const END: &str = "{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{\"stopReason\":\"end_turn\"}}\n";

fn update(update: &str) -> String {
    let params = format!("{{\"sessionId\":\"s\",\"update\":{update}}}");
    format!("{{\"jsonrpc\":\"2.0\",\"method\":\"session/update\",\"params\":{params}}}\n")
}

fn chunk(text: &str, meta: &str) -> String {
    update(&format!(
        r#"{{"sessionUpdate":"agent_message_chunk","content":{{"type":"text","text":"{text}"}},"_meta":{meta}}}"#
    ))
}

/// The effects of these lines, after the prompt was sent.
fn prompted(lines: &[String]) -> Vec<Effect> {
    let (mut adapter, _) = start(&acp_turn("Hi", Approvals::Ask), "0.24.4");
    receive(&mut adapter, INITIALIZED);
    receive(&mut adapter, NEW);
    lines.iter().flat_map(|line| receive(&mut adapter, line)).collect()
}

#[test]
fn extensions_for_other_hosts_are_refused_and_are_no_drift() {
    let request = |method: &str| format!("{{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"{method}\",\"params\":{{}}}}\n");
    for method in ["craft/drainMidTurnQueue", "craft/claimTodoStopGuardContinuation", "_qwencode/start_turn"] {
        let effects = prompted(&[request(method)]);
        assert_eq!(writes(&effects)[0]["error"]["code"], -32601, "{method}");
        assert!(events(&effects).is_empty(), "{method}");
    }
    let notification = |method: &str| format!("{{\"jsonrpc\":\"2.0\",\"method\":\"{method}\",\"params\":{{}}}}\n");
    for (method, is_known) in [
        ("qwen/notify/session/mode-update", true),
        ("qwen/notify/session/prompt-suggestion", true),
        ("qwen/notify/session/of-tomorrow", false),
    ] {
        let effects = prompted(&[notification(method)]);
        let is_unknown = matches!(&events(&effects)[..], [Event::Unknown(kind)] if kind == method);
        assert_eq!(is_unknown, !is_known, "{method}");
    }
}

/// An update of a version that was not captured in full: two sub-agents that write at the same time.
#[test]
fn texts_of_two_sub_agents_are_kept_apart() {
    let of = |text: &str, agent: &str| chunk(text, &format!(r#"{{"parentToolCallId":"{agent}"}}"#));
    let effects = prompted(&[of("one", "a"), of("two", "b"), of(" more", "b"), chunk("own", "{}"), END.to_owned()]);
    assert_eq!(texts(&effects), [(Some("a"), "one"), (Some("b"), "two more"), (None, "own")]);
}

#[test]
fn remarks_of_the_cli_are_notices_and_its_answers_about_tasks_are_not() {
    let source = |source: &str| format!(r#"{{"source":"{source}","qwenDiscreteMessage":true}}"#);
    let effects = prompted(&[
        chunk("Todos are open.", &source("todo_stop_guard")),
        chunk("The task is done.", &source("background_notification_response")),
        END.to_owned(),
    ]);
    assert_eq!(texts(&effects), [(None, "The task is done.")]);
    let notices = events(&effects).iter().filter(|event| matches!(event, Event::Notice(_))).count();
    assert_eq!(notices, 1);
}

#[test]
fn an_empty_chunk_has_figures_and_no_text() {
    let usage = r#"{"usage":{"inputTokens":12,"outputTokens":3,"totalTokens":15,"cachedReadTokens":8}}"#;
    let effects = prompted(&[chunk("", usage), END.to_owned()]);
    let [figures] = &usages(&effects)[..] else { panic!("one usage") };
    assert_eq!((figures.input, figures.output, figures.cache_read), (Some(12), Some(3), Some(8)));
    assert_eq!(figures.reasoning, None, "what is not reported is unknown");
    assert!(texts(&effects).is_empty());
    let effects = prompted(&[chunk("", r#"{"goalState":{"v":2}}"#), END.to_owned()]);
    assert!(usages(&effects).is_empty());
}

/// Measured: a rule denies it, nobody was asked.
#[test]
fn a_tool_that_a_rule_denies_is_denied() {
    let denial = r#"Qwen Code requires permission to use \"run_shell_command\", but that permission was declined."#;
    let content = format!(r#"[{{"type":"content","content":{{"type":"text","text":"{denial}"}}}}]"#);
    let failed = update(
        &format!(
            r#"{{"sessionUpdate":"tool_call_update","toolCallId":"t","status":"failed","content":{content},
        "_meta":{{"toolName":"run_shell_command"}}}}"#
        )
        .replace('\n', ""),
    );
    let effects = prompted(&[failed, chunk("Done.", "{}"), END.to_owned()]);
    assert_eq!(tools(&effects), [("run_shell_command".to_owned(), None, ToolStatus::Denied, None)]);
    assert_eq!(outcomes(&effects), [Outcome::Completed]);
}

/// A rejection that the model answers is not the end.
#[test]
fn a_turn_that_goes_on_after_a_rejection_is_complete() {
    let ask = r#"{"jsonrpc":"2.0","id":0,"method":"session/request_permission","params":{"sessionId":"s","options":
        [{"optionId":"cancel","name":"Reject","kind":"reject_once"}],"toolCall":{"toolCallId":"t","status":"pending",
        "title":"touch x (lab)","kind":"execute","rawInput":{"command":"touch x"}}}}"#
        .replace('\n', "")
        + "\n";
    let failed = update(r#"{"sessionUpdate":"tool_call_update","toolCallId":"t","status":"failed","content":[]}"#);
    let (mut adapter, _) = start(&acp_turn("Hi", Approvals::Deny), "0.24.4");
    receive(&mut adapter, INITIALIZED);
    receive(&mut adapter, NEW);
    let lines = [ask, failed, chunk("Then not.", "{}"), END.to_owned()];
    let effects: Vec<Effect> = lines.iter().flat_map(|line| receive(&mut adapter, line)).collect();
    assert_eq!(outcomes(&effects), [Outcome::Completed]);
    assert_eq!(writes(&effects)[0]["result"]["outcome"]["optionId"], "cancel", "denied without asking");
    assert_eq!(tools(&effects), [("run_shell_command".to_owned(), None, ToolStatus::Denied, None)]);
}
