//! What a session tells while it works: which tool it is, whose text, and which of it is the CLI's own.

use super::{answered, asking, chunk, converse, outcomes, prompted, texts};
use wharf_adapter::testing::{events, inline};
use wharf_adapter::{Effect, Event, LogLevel, Outcome, ToolStatus};

/// Tools by their ids, with their names and how they ended, in the order in which they began.
fn tools(effects: &[Effect]) -> Vec<(String, ToolStatus)> {
    let mut tools: Vec<(String, String, ToolStatus)> = vec![];
    for event in events(effects) {
        let Event::Tool(call) = event else { continue };
        match tools.iter_mut().find(|(id, ..)| *id == call.id) {
            Some(tool) => tool.2 = call.status,
            None => tools.push((call.id.clone(), call.name.clone().unwrap_or_default(), call.status)),
        }
    }
    tools.into_iter().map(|(_, name, status)| (name, status)).collect()
}

fn notices(effects: &[Effect]) -> Vec<(LogLevel, &str)> {
    let all = events(effects).into_iter().filter_map(|event| match event {
        Event::Notice(notice) => Some((notice.level, notice.text.as_str())),
        _ => None,
    });
    all.collect()
}

#[test]
fn tools_have_the_names_that_they_have_in_json_lines() {
    let effects = converse("acp_tools", &asking("Use them.", "/lab/ws/1.0.102-acp_tools"));
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
fn remarks_of_the_cli_are_no_answer() {
    let effects = converse("acp_tools", &asking("Use them.", "/lab/ws/1.0.102-acp_tools"));
    assert_eq!(texts(&effects), ["All done."]);
    assert_eq!(notices(&effects), [(LogLevel::Info, "Disabled tools: read_agent")]);
    let changed = events(&effects).into_iter().filter(|event| matches!(event, Event::FileChange(_)));
    assert_eq!(changed.count(), 2, "what was made and what was edited, once each");
}

fn update(rest: &str) -> String {
    let params = format!("{{\"sessionId\":\"s\",\"update\":{{\"sessionUpdate\":{rest}}}}}");
    format!("{{\"jsonrpc\":\"2.0\",\"method\":\"session/update\",\"params\":{params}}}\n")
}

/// Nothing marks such a chunk: what follows tells whose it was.
#[test]
fn a_model_may_begin_like_a_remark() {
    let end = answered(3, "{\"stopReason\":\"end_turn\",\"usage\":{\"outputTokens\":9}}");
    let call = update("\"usage_update\",\"used\":1,\"size\":2");
    let (info, rest) = (chunk("Info: "), chunk("it works."));
    for (said, text, noticed) in [
        (vec![info.clone(), rest.clone()], vec!["Info: it works."], 0),
        (vec![chunk("Info: it works.")], vec!["Info: it works."], 0),
        (vec![chunk("Note: "), info.clone(), rest.clone()], vec!["Note: Info: it works."], 0),
        (vec![chunk("Info: a new version"), call.clone(), rest.clone()], vec!["it works."], 1),
        (vec![chunk("Info: one"), chunk("Info: two"), call.clone(), rest.clone()], vec!["it works."], 2),
    ] {
        let effects = prompted(&[said.as_slice(), std::slice::from_ref(&end)].concat());
        assert_eq!((texts(&effects), notices(&effects).len()), (text, noticed), "{said:?}");
        assert_eq!(outcomes(&effects), [Outcome::Completed]);
    }
    let silent = answered(3, "{\"stopReason\":\"end_turn\"}");
    let effects = prompted(&[chunk("Info: nothing to do"), silent]);
    assert_eq!((texts(&effects), notices(&effects).len()), (vec![], 1), "the model wrote nothing");
}

#[test]
fn a_call_that_is_made_again_voids_what_the_failed_one_wrote() {
    for remark in [
        "Info: Request failed due to a transient API error. Retrying...",
        "Info: Response was interrupted due to a server error. Retrying...",
        "Info: The conversation exceeded the model's context limit. Compacting history and retrying...",
    ] {
        let effects =
            prompted(&[chunk("par"), chunk(remark), chunk("whole"), answered(3, "{\"stopReason\":\"end_turn\"}")]);
        assert_eq!(texts(&effects), ["whole"], "{remark}");
        let voided = |event: &&Event| matches!(event, Event::Discard(id) if id == "text-1");
        assert!(events(&effects).iter().any(voided), "{remark}");
    }
}

#[test]
fn a_sub_agents_text_and_tools_have_its_call_as_parent() {
    let effects = converse("acp_subagent", &asking("MAINGO", "/lab/ws/1.0.102-acp_subagent"));
    let task = Some("call_f751abdad0");
    let told: Vec<_> = events(&effects)
        .into_iter()
        .filter_map(|event| match event {
            Event::Message(part) | Event::Thinking(part) => Some((inline(&part.text), part.parent.as_deref())),
            Event::Tool(call) if call.name.is_some() && call.status == ToolStatus::Pending => {
                Some((call.name.as_deref().unwrap_or_default(), call.parent.as_deref()))
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
    assert_eq!(told, expected);
}

/// With two at once the protocol does not say which sub-agent belongs to which call.
#[test]
fn a_sub_agent_among_several_stands_for_itself() {
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
    assert_eq!(parent, Some(Some("a1".to_owned())));
}

#[test]
fn a_tool_that_a_cancellation_cut_off_is_cancelled() {
    let effects = converse("acp_cancel_tool", &asking("Nap.", "/lab/ws/1.0.102-acp_cancel_tool"));
    assert_eq!(outcomes(&effects), [Outcome::Cancelled]);
    assert_eq!(tools(&effects), [("bash".to_owned(), ToolStatus::Cancelled)]);
}

/// The agent waits for an answer, whatever it asked.
#[test]
fn a_permission_that_cannot_be_read_is_answered() {
    let ask = "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"session/request_permission\",\"params\":[]}\n";
    let effects = prompted(&[ask.to_owned()]);
    assert!(matches!(events(&effects)[..], [Event::Malformed(_)]), "{effects:?}");
    let written = super::writes(&effects);
    assert_eq!((&written[0]["id"], &written[0]["result"]["outcome"]["outcome"]), (&7.into(), &"cancelled".into()));
}
