//! The loop that somebody would write without wharf, in Rust, with `serde_json`: typed, borrowed, one pass a line.
//!
//! It gives the same events as the adapters for what the corpus has in it, which the benchmark checks, and does nothing
//! else: no recording, no supervision, no redaction, no limits, no summary but the last message.

use crate::corpus::Runtime;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::io::{self, BufRead as _, BufReader, BufWriter, Write};
use std::path::Path;
use std::process::{Command, Stdio};

type Str<'a> = Option<Cow<'a, str>>;

/// An event, in the vocabulary of `wharf run --json`.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub(crate) enum Event<'a> {
    /// The session.
    Session { id: Str<'a>, resumed: Option<bool>, model: Str<'a>, runtime_version: Option<&'static str> },
    /// A piece of a message.
    TextDelta { id: Cow<'a, str>, parent: Str<'a>, text: Cow<'a, str> },
    /// A message.
    Message { id: Cow<'a, str>, parent: Str<'a>, text: Cow<'a, str> },
    /// A tool call.
    Tool {
        id: Cow<'a, str>,
        parent: Str<'a>,
        name: Str<'a>,
        title: Str<'a>,
        status: &'static str,
        input: Option<&'a RawValue>,
        output: Str<'a>,
        exit_code: Option<i32>,
    },
    /// More of a tool's output.
    ToolOutput { id: Cow<'a, str>, parent: Str<'a>, text: Cow<'a, str> },
    /// Figures.
    Usage {
        scope: &'static str,
        source: &'static str,
        model: Str<'a>,
        input: Option<u64>,
        output: Option<u64>,
        cache_read: Option<u64>,
        cache_write: Option<u64>,
        cost_micros: Option<u64>,
    },
    /// The end.
    TurnEnd { outcome: &'static str, answer: Str<'a> },
}

/// Runs the agent and turns what it writes into lines of events.
pub(crate) fn run(runtime: Runtime, agent: &Path) -> io::Result<()> {
    let mut child = Command::new(agent).stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?;
    let stdout = child.stdout.take().expect("it was asked for");
    let mut reader = BufReader::with_capacity(64 << 10, stdout);
    let mut writer = BufWriter::with_capacity(64 << 10, io::stdout().lock());
    let mut line = Vec::new();
    while reader.read_until(b'\n', &mut line)? > 0 {
        // An error of the writer's is the only one here: what is no JSON is passed over.
        parse(runtime, &line, |event| {
            let _ = serde_json::to_writer(&mut writer, event).map(|()| writer.write_all(b"\n"));
        });
        line.clear();
    }
    child.wait()?;
    writer.flush()
}

/// One line.
pub(crate) fn parse(runtime: Runtime, line: &[u8], emit: impl FnMut(&Event<'_>)) {
    match runtime {
        Runtime::Copilot => copilot(line, emit),
        Runtime::Claude => claude(line, emit),
    }
}

#[derive(Deserialize)]
struct CopilotLine<'a> {
    #[serde(borrow, rename = "type")]
    kind: Cow<'a, str>,
    #[serde(borrow, default)]
    data: CopilotData<'a>,
    #[serde(borrow, rename = "sessionId")]
    session: Str<'a>,
    #[serde(rename = "exitCode")]
    exit_code: Option<i32>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct CopilotData<'a> {
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
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
    #[serde(borrow)]
    text: Str<'a>,
    success: Option<bool>,
    #[serde(borrow)]
    result: Option<CopilotResult<'a>>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct CopilotResult<'a> {
    #[serde(borrow)]
    content: Str<'a>,
    contents: Vec<CopilotContent>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct CopilotContent {
    exit_code: Option<i32>,
}

fn copilot(line: &[u8], mut emit: impl FnMut(&Event<'_>)) {
    let Ok(CopilotLine { kind, data, session, exit_code }) = serde_json::from_slice::<CopilotLine<'_>>(line) else {
        return;
    };
    let parent = data.parent_tool_call_id;
    match kind.as_ref() {
        "assistant.message_delta" => {
            if let (Some(id), Some(text)) = (data.message_id, data.delta_content) {
                emit(&Event::TextDelta { id, parent, text });
            }
        }
        "assistant.message" => {
            emit(&Event::Usage {
                scope: "delta",
                source: "messages",
                model: data.model,
                input: None,
                output: data.output_tokens,
                cache_read: None,
                cache_write: None,
                cost_micros: None,
            });
            if let (Some(id), Some(text)) = (data.message_id, data.content) {
                emit(&Event::Message { id, parent, text });
            }
        }
        "session.tools_updated" => {
            emit(&Event::Session { id: None, resumed: None, model: data.model, runtime_version: None });
        }
        "tool.execution_start" => {
            if let Some(id) = data.tool_call_id {
                emit(&Event::Tool {
                    id,
                    parent,
                    name: data.tool_name,
                    title: data.tool_title,
                    status: "running",
                    input: data.arguments,
                    output: None,
                    exit_code: None,
                });
            }
        }
        "tool.shell_output" => {
            if let (Some(id), Some(text)) = (data.tool_call_id, data.text) {
                emit(&Event::ToolOutput { id, parent, text });
            }
        }
        "tool.execution_complete" => {
            if let (Some(id), Some(result)) = (data.tool_call_id, data.result) {
                let status = if data.success == Some(true) { "succeeded" } else { "failed" };
                let exit_code = result.contents.iter().find_map(|content| content.exit_code);
                emit(&Event::Tool {
                    id,
                    parent,
                    name: None,
                    title: None,
                    status,
                    input: None,
                    output: result.content,
                    exit_code,
                });
            }
        }
        "result" => {
            emit(&Event::Session { id: session, resumed: None, model: None, runtime_version: None });
            let outcome = if exit_code == Some(0) { "completed" } else { "failed" };
            emit(&Event::TurnEnd { outcome, answer: None });
        }
        _ => {}
    }
}

#[derive(Deserialize)]
struct ClaudeLine<'a> {
    #[serde(borrow, rename = "type")]
    kind: Cow<'a, str>,
    #[serde(borrow)]
    event: Option<ClaudeEvent<'a>>,
    #[serde(borrow)]
    message: Option<ClaudeMessage<'a>>,
    #[serde(borrow)]
    parent_tool_use_id: Str<'a>,
    #[serde(borrow)]
    api_message_id: Str<'a>,
    #[serde(borrow)]
    session_id: Str<'a>,
    #[serde(borrow)]
    model: Str<'a>,
    #[serde(borrow)]
    result: Str<'a>,
    is_error: Option<bool>,
    total_cost_usd: Option<f64>,
    usage: Option<ClaudeUsage>,
}

#[derive(Deserialize)]
struct ClaudeEvent<'a> {
    #[serde(borrow)]
    delta: Option<ClaudeDelta<'a>>,
}

#[derive(Deserialize)]
struct ClaudeDelta<'a> {
    #[serde(borrow)]
    text: Str<'a>,
}

#[derive(Deserialize)]
struct ClaudeMessage<'a> {
    #[serde(borrow)]
    id: Str<'a>,
    #[serde(borrow)]
    content: Vec<ClaudeBlock<'a>>,
}

#[derive(Deserialize)]
struct ClaudeBlock<'a> {
    #[serde(borrow, rename = "type")]
    kind: Cow<'a, str>,
    #[serde(borrow)]
    text: Str<'a>,
    #[serde(borrow)]
    id: Str<'a>,
    #[serde(borrow)]
    name: Str<'a>,
    #[serde(borrow)]
    input: Option<&'a RawValue>,
    #[serde(borrow)]
    tool_use_id: Str<'a>,
    #[serde(borrow)]
    content: Str<'a>,
    is_error: Option<bool>,
}

#[derive(Deserialize)]
#[expect(clippy::struct_field_names, reason = "as Claude names them")]
struct ClaudeUsage {
    input_tokens: Option<u64>,
    output_tokens: Option<u64>,
    cache_read_input_tokens: Option<u64>,
    cache_creation_input_tokens: Option<u64>,
}

fn claude(line: &[u8], mut emit: impl FnMut(&Event<'_>)) {
    let Ok(line) = serde_json::from_slice::<ClaudeLine<'_>>(line) else { return };
    let parent = line.parent_tool_use_id;
    match line.kind.as_ref() {
        "system" => {
            if let Some(model) = line.model {
                emit(&Event::Session { id: line.session_id, resumed: None, model: Some(model), runtime_version: None });
            }
        }
        "stream_event" => {
            if let (Some(id), Some(text)) = (line.api_message_id, line.event.and_then(|event| event.delta?.text)) {
                emit(&Event::TextDelta { id, parent, text });
            }
        }
        "assistant" => {
            let Some(message) = line.message else { return };
            let id = message.id.unwrap_or_default();
            for block in message.content {
                match (block.kind.as_ref(), block.text, block.id) {
                    ("text", Some(text), _) => emit(&Event::Message { id: id.clone(), parent: parent.clone(), text }),
                    ("tool_use", _, Some(call)) => emit(&Event::Tool {
                        id: call,
                        parent: parent.clone(),
                        name: block.name,
                        title: None,
                        status: "running",
                        input: block.input,
                        output: None,
                        exit_code: None,
                    }),
                    _ => {}
                }
            }
        }
        "user" => {
            for block in line.message.into_iter().flat_map(|message| message.content) {
                if let ("tool_result", Some(id)) = (block.kind.as_ref(), block.tool_use_id) {
                    let status = if block.is_error == Some(true) { "failed" } else { "succeeded" };
                    emit(&Event::Tool {
                        id,
                        parent: parent.clone(),
                        name: None,
                        title: None,
                        status,
                        input: None,
                        output: block.content,
                        exit_code: None,
                    });
                }
            }
        }
        "result" => {
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "dollars of one turn")]
            let cost_micros = line.total_cost_usd.map(|dollars| (dollars * 1e6).round() as u64);
            if let Some(usage) = line.usage {
                emit(&Event::Usage {
                    scope: "turn-total",
                    source: "result",
                    model: None,
                    input: usage.input_tokens,
                    output: usage.output_tokens,
                    cache_read: usage.cache_read_input_tokens,
                    cache_write: usage.cache_creation_input_tokens,
                    cost_micros,
                });
            }
            let outcome = if line.is_error == Some(true) { "failed" } else { "completed" };
            emit(&Event::TurnEnd { outcome, answer: line.result });
        }
        _ => {}
    }
}
