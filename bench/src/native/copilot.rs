//! Lines of the GitHub Copilot CLI.

use super::{Event, Str, Tool, ToolRest, Tools, TurnEnd, Units, Usage};
use serde::Deserialize;
use serde_json::Value;
use std::borrow::Cow;

/// What later lines refer to.
#[derive(Default)]
pub(super) struct State {
    model: Option<String>,
}

#[derive(Deserialize)]
struct Line<'a> {
    #[serde(borrow, rename = "type")]
    kind: Cow<'a, str>,
    #[serde(borrow, default)]
    data: Data<'a>,
    #[serde(borrow, rename = "sessionId")]
    session: Str<'a>,
    #[serde(rename = "exitCode")]
    exit_code: Option<i32>,
    usage: Option<Totals>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct Data<'a> {
    #[serde(borrow)]
    message_id: Str<'a>,
    #[serde(borrow)]
    delta_content: Str<'a>,
    #[serde(borrow)]
    content: Str<'a>,
    #[serde(borrow)]
    model: Str<'a>,
    output_tokens: Option<u64>,
    #[serde(borrow)]
    parent_tool_call_id: Str<'a>,
    #[serde(borrow)]
    tool_call_id: Str<'a>,
    #[serde(borrow)]
    tool_name: Str<'a>,
    #[serde(borrow)]
    tool_title: Str<'a>,
    arguments: Option<Value>,
    #[serde(borrow)]
    text: Str<'a>,
    success: Option<bool>,
    #[serde(borrow)]
    result: Option<ToolResult<'a>>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct ToolResult<'a> {
    #[serde(borrow)]
    content: Str<'a>,
    contents: Vec<Content>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Content {
    exit_code: Option<i32>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Totals {
    premium_requests: Option<f64>,
    total_api_duration_ms: Option<u64>,
    code_changes: Option<Value>,
}

pub(super) fn parse(state: &mut State, (tools, at): (&mut Tools, u64), line: &[u8], mut emit: impl FnMut(&Event<'_>)) {
    let Ok(Line { kind, data, session, exit_code, usage }) = serde_json::from_slice(line) else { return };
    let parent = data.parent_tool_call_id;
    match kind.as_ref() {
        "assistant.message_delta" => {
            if let (Some(id), Some(text)) = (data.message_id, data.delta_content) {
                emit(&Event::TextDelta { id, parent, text });
            }
        }
        "assistant.message" => {
            emit(&Event::Usage(Usage {
                scope: "delta",
                source: "message",
                model: data.model,
                input_includes_cached: true,
                output: data.output_tokens,
                ..Usage::default()
            }));
            if let (Some(id), Some(text)) = (data.message_id, data.content) {
                emit(&Event::Message { id, parent, text });
            }
        }
        "session.tools_updated" => {
            state.model = data.model.as_deref().map(str::to_owned);
            emit(&Event::Session { id: None, resumed: None, model: data.model, agent_version: None });
        }
        "tool.execution_start" => {
            if let Some(id) = data.tool_call_id {
                tools.start(&id, at);
                emit(&Event::Tool(Tool {
                    id,
                    parent,
                    name: data.tool_name,
                    title: data.tool_title,
                    status: "running",
                    input: data.arguments,
                    output: None,
                    exit_code: None,
                    duration_ms: None,
                    rest: ToolRest::default(),
                }));
            }
        }
        "tool.shell_output" => {
            if let (Some(id), Some(text)) = (data.tool_call_id, data.text) {
                emit(&Event::ToolOutput { id, parent, text });
            }
        }
        "tool.execution_complete" => {
            if let (Some(id), Some(result)) = (data.tool_call_id, data.result) {
                let duration_ms = tools.end(&id, at);
                emit(&Event::Tool(Tool {
                    id,
                    parent,
                    name: None,
                    title: None,
                    status: if data.success == Some(true) { "succeeded" } else { "failed" },
                    input: None,
                    output: result.content,
                    exit_code: result.contents.iter().find_map(|content| content.exit_code),
                    duration_ms,
                    rest: ToolRest::default(),
                }));
            }
        }
        "result" => end(state, session, usage, exit_code != Some(0), emit),
        _ => {}
    }
}

fn end(state: &State, session: Str<'_>, usage: Option<Totals>, failed: bool, mut emit: impl FnMut(&Event<'_>)) {
    let model = state.model.as_deref().map(Cow::Borrowed);
    emit(&Event::Session { id: session, resumed: None, model, agent_version: None });
    if let Some(totals) = usage {
        emit(&Event::Usage(Usage {
            scope: "session-total",
            source: "result",
            input_includes_cached: true,
            units: Units { premium_requests: totals.premium_requests },
            api_ms: totals.total_api_duration_ms,
            ..Usage::default()
        }));
        if let Some(payload) = totals.code_changes {
            emit(&Event::Other { name: "code-changes", payload });
        }
    }
    emit(&Event::TurnEnded(TurnEnd::new(failed, None)));
}
