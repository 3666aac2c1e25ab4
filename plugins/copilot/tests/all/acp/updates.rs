//! Updates of a session: names of tools, text of sub-agents, and remarks of the CLI.

use super::{answered, asking_turn, chunk, prompted, replay, texts};
use crate::{notices, outcomes};
use wharf_adapter::testing::{events, inline};
use wharf_adapter::{Effect, Event, LogLevel, Outcome, ToolStatus};

/// Names and final statuses of the tools, in the order in which they started.
fn tools(effects: &[Effect]) -> Vec<(String, ToolStatus)> {
    let mut tools: Vec<(String, String, ToolStatus)> = vec![];
    for event in events(effects) {
        let Event::Tool(call) = event else { continue };
        match tools.iter_mut().find(|(id, ..)| *id == inline(&call.id)) {
            Some(tool) => tool.2 = call.status,
            None => tools.push((inline(&call.id).to_owned(), call.name.clone().unwrap_or_default(), call.status)),
        }
    }
    tools.into_iter().map(|(_, name, status)| (name, status)).collect()
}

#[test]
fn tools_have_the_names_that_they_have_in_json_lines() {
    let effects = replay("acp_tools", &asking_turn("Use them.", "/lab/ws/1.0.102-acp_tools"));
    assert_eq!(outcomes(&effects), [Outcome::Completed]);
    let names = ["bash", "create", "edit", "view", "grep", "glob", "sql", "lab-echo", "list_bash"];
    assert_eq!(tools(&effects), names.map(|name| (name.to_owned(), ToolStatus::Succeeded)));
    let asked = events(&effects).into_iter().filter_map(|event| match event {
        Event::Ask(ask) => ask.tool.as_deref(),
        _ => None,
    });
    assert_eq!(asked.collect::<Vec<_>>(), ["bash", "create", "edit", "lab-echo"]);
}

#[test]
fn remarks_of_the_cli_are_not_an_answer() {
    let effects = replay("acp_tools", &asking_turn("Use them.", "/lab/ws/1.0.102-acp_tools"));
    assert_eq!(texts(&effects), ["All done."]);
    assert_eq!(notices(&effects), [(LogLevel::Info, "Disabled tools: read_agent")]);
    let changed = events(&effects).into_iter().filter(|event| matches!(event, Event::FileChange(_)));
    assert_eq!(changed.count(), 2, "one created and one edited file, once each");
}

fn update(rest: &str) -> String {
    let params = format!("{{\"sessionId\":\"s\",\"update\":{{\"sessionUpdate\":{rest}}}}}");
    format!("{{\"jsonrpc\":\"2.0\",\"method\":\"session/update\",\"params\":{params}}}\n")
}

/// Only the next update shows whether such a chunk is a remark.
#[test]
fn a_text_of_the_model_may_start_like_a_remark() {
    let end = answered(3, "{\"stopReason\":\"end_turn\",\"usage\":{\"outputTokens\":9}}");
    let call = update("\"usage_update\",\"used\":1,\"size\":2");
    let (info, rest) = (chunk("Info: "), chunk("it works."));
    for (chunks, text, notice_count) in [
        (vec![info.clone(), rest.clone()], vec!["Info: it works."], 0),
        (vec![chunk("Info: it works.")], vec!["Info: it works."], 0),
        (vec![chunk("Note: "), info.clone(), rest.clone()], vec!["Note: Info: it works."], 0),
        (vec![chunk("Info: a new version"), call.clone(), rest.clone()], vec!["it works."], 1),
        (vec![chunk("Info: one"), chunk("Info: two"), call.clone(), rest.clone()], vec!["it works."], 2),
    ] {
        let effects = prompted(&[chunks.as_slice(), std::slice::from_ref(&end)].concat());
        assert_eq!((texts(&effects), notices(&effects).len()), (text, notice_count), "{chunks:?}");
        assert_eq!(outcomes(&effects), [Outcome::Completed]);
    }
    let without_tokens = answered(3, "{\"stopReason\":\"end_turn\"}");
    let effects = prompted(&[chunk("Info: nothing to do"), without_tokens]);
    assert_eq!((texts(&effects), notices(&effects).len()), (vec![], 1), "the model wrote nothing");
}

#[test]
fn a_retried_call_discards_the_text_of_the_failed_one() {
    for remark in [
        "Info: Request failed due to a transient API error. Retrying...",
        "Info: Response was interrupted due to a server error. Retrying...",
        "Info: The conversation exceeded the model's context limit. Compacting history and retrying...",
    ] {
        let effects =
            prompted(&[chunk("par"), chunk(remark), chunk("whole"), answered(3, "{\"stopReason\":\"end_turn\"}")]);
        assert_eq!(texts(&effects), ["whole"], "{remark}");
        let is_discarded = |event: &&Event| matches!(event, Event::Discard(id) if id == "text-1");
        assert!(events(&effects).iter().any(is_discarded), "{remark}");
    }
}

#[test]
fn a_sub_agents_text_and_tools_have_its_call_as_parent() {
    let effects = replay("acp_subagent", &asking_turn("MAINGO", "/lab/ws/1.0.102-acp_subagent"));
    let task = Some("call_f751abdad0");
    let reported: Vec<_> = events(&effects)
        .into_iter()
        .filter_map(|event| match event {
            Event::Message(part) | Event::Thinking(part) => {
                Some((inline(&part.text), part.parent.as_ref().map(inline)))
            }
            Event::Tool(call) if call.name.is_some() && call.status == ToolStatus::Pending => {
                Some((call.name.as_deref().unwrap_or_default(), call.parent.as_ref().map(inline)))
            }
            _ => None,
        })
        .collect();
    let expected = [
        ("task", None),
        ("view", task),
        ("I have read it.", task),
        ("The file says hello.", task),
        ("It was looked at.", None),
    ];
    assert_eq!(reported, expected);
}

/// With two open calls the protocol does not say which sub-agent belongs to which call.
#[test]
fn a_sub_agent_among_several_has_its_own_id_as_parent() {
    let task = |id: &str| {
        update(&format!(
            "\"tool_call\",\"toolCallId\":\"{id}\",\"title\":\"t\",\"kind\":\"other\",\"rawInput\":{{\"agent_type\":\"x\"}}"
        ))
    };
    let meta = "\"_meta\":{\"github.com/copilot\":{\"agentId\":\"a1\"}}";
    let tool =
        update(&format!("\"tool_call\",\"toolCallId\":\"v\",\"title\":\"list_bash\",\"kind\":\"execute\",{meta}"));
    let effects = prompted(&[task("one"), task("two"), tool]);
    let parent = events(&effects).into_iter().find_map(|event| match event {
        Event::Tool(call) if call.id == "v" => Some(call.parent.clone()),
        _ => None,
    });
    assert_eq!(parent, Some(Some("a1".into())));
}

#[test]
fn a_tool_that_a_cancellation_stopped_is_cancelled() {
    let effects = replay("acp_cancel_tool", &asking_turn("Nap.", "/lab/ws/1.0.102-acp_cancel_tool"));
    assert_eq!(outcomes(&effects), [Outcome::Cancelled]);
    assert_eq!(tools(&effects), [("bash".to_owned(), ToolStatus::Cancelled)]);
}

/// The agent waits until it gets an answer.
#[test]
fn a_malformed_permission_request_is_answered() {
    let ask = "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"session/request_permission\",\"params\":[]}\n";
    let effects = prompted(&[ask.to_owned()]);
    assert!(matches!(events(&effects)[..], [Event::Malformed(_)]), "{effects:?}");
    let written = super::writes(&effects);
    assert_eq!((&written[0]["id"], &written[0]["result"]["outcome"]["outcome"]), (&7.into(), &"cancelled".into()));
}
