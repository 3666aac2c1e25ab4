//! Lines of Claude Code.

use super::{Event, Money, Str, Tool, ToolRest, Tools, TurnEnd, Usage};
use serde::Deserialize;
use serde_json::Value;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// What later lines refer to.
#[derive(Default)]
pub(super) struct State {
    /// The message that is being streamed.
    message: String,
    /// Its id and the index of its current block.
    block: String,
    /// The model that the last request went to.
    model: Option<String>,
    /// Tokens in the context of the last request.
    used: Option<u64>,
}

#[derive(Deserialize)]
struct Line<'a> {
    #[serde(borrow, rename = "type")]
    kind: Cow<'a, str>,
    #[serde(borrow)]
    event: Option<StreamEvent<'a>>,
    #[serde(borrow)]
    message: Option<Message<'a>>,
    #[serde(borrow)]
    parent_tool_use_id: Str<'a>,
    #[serde(borrow)]
    session_id: Str<'a>,
    #[serde(borrow)]
    model: Str<'a>,
    #[serde(borrow)]
    claude_code_version: Str<'a>,
    #[serde(borrow)]
    result: Str<'a>,
    is_error: Option<bool>,
    #[serde(borrow, default, rename = "modelUsage")]
    models: BTreeMap<Cow<'a, str>, ModelUsage>,
}

#[derive(Deserialize)]
struct StreamEvent<'a> {
    #[serde(borrow, rename = "type")]
    kind: Cow<'a, str>,
    index: Option<u64>,
    #[serde(borrow)]
    delta: Option<Delta<'a>>,
    #[serde(borrow)]
    message: Option<Started<'a>>,
    usage: Option<Tokens>,
}

#[derive(Deserialize)]
struct Delta<'a> {
    #[serde(borrow)]
    text: Str<'a>,
}

#[derive(Deserialize)]
struct Started<'a> {
    #[serde(borrow)]
    id: Str<'a>,
    #[serde(borrow)]
    model: Str<'a>,
}

#[derive(Deserialize)]
struct Message<'a> {
    #[serde(borrow)]
    content: Vec<Block<'a>>,
    usage: Option<Tokens>,
}

#[derive(Deserialize)]
struct Block<'a> {
    #[serde(borrow, rename = "type")]
    kind: Cow<'a, str>,
    #[serde(borrow)]
    text: Str<'a>,
    #[serde(borrow)]
    id: Str<'a>,
    #[serde(borrow)]
    name: Str<'a>,
    input: Option<Value>,
    #[serde(borrow)]
    tool_use_id: Str<'a>,
    #[serde(borrow)]
    content: Str<'a>,
    is_error: Option<bool>,
}

#[derive(Deserialize, Clone, Copy)]
struct Tokens {
    #[serde(rename = "input_tokens")]
    input: Option<u64>,
    #[serde(rename = "output_tokens")]
    output: Option<u64>,
    #[serde(rename = "cache_read_input_tokens")]
    cache_read: Option<u64>,
    #[serde(rename = "cache_creation_input_tokens")]
    cache_write: Option<u64>,
}

impl Tokens {
    /// All input tokens, cached or not.
    fn context(self) -> Option<u64> {
        Some(self.input? + self.cache_read.unwrap_or_default() + self.cache_write.unwrap_or_default())
    }

    fn usage<'a>(self, scope: &'static str, source: &'static str, model: Str<'a>) -> Usage<'a> {
        Usage {
            scope,
            source,
            model,
            input: self.context(),
            input_uncached: self.input,
            output: self.output,
            cache_read: self.cache_read,
            cache_write: self.cache_write,
            ..Usage::default()
        }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ModelUsage {
    input_tokens: Option<u64>,
    output_tokens: Option<u64>,
    cache_read_input_tokens: Option<u64>,
    cache_creation_input_tokens: Option<u64>,
    #[serde(rename = "costUSD")]
    cost: Option<f64>,
    context_window: Option<u64>,
}

pub(super) fn parse(state: &mut State, (tools, at): (&mut Tools, u64), line: &[u8], mut emit: impl FnMut(&Event<'_>)) {
    let Ok(line) = serde_json::from_slice::<Line<'_>>(line) else { return };
    let parent = line.parent_tool_use_id;
    match line.kind.as_ref() {
        "system" => {
            if let Some(model) = line.model {
                let (id, agent_version) = (line.session_id, line.claude_code_version);
                emit(&Event::Session { id, resumed: None, model: Some(model), agent_version });
            }
        }
        "stream_event" => {
            if let Some(event) = line.event {
                stream_event(state, event, parent, emit);
            }
        }
        "assistant" => {
            let Some(message) = line.message else { return };
            state.used = message.usage.and_then(Tokens::context);
            for block in message.content {
                match (block.kind.as_ref(), block.text, block.id) {
                    ("text", Some(text), _) => {
                        emit(&Event::Message { id: Cow::Borrowed(&state.block), parent: parent.clone(), text });
                    }
                    ("tool_use", _, Some(id)) => {
                        tools.start(&id, at);
                        emit(&Event::Tool(Tool {
                            id,
                            parent: parent.clone(),
                            name: block.name,
                            title: None,
                            status: "running",
                            input: block.input,
                            output: None,
                            exit_code: None,
                            duration_ms: None,
                            rest: ToolRest::default(),
                        }));
                    }
                    _ => {}
                }
            }
        }
        "user" => {
            for block in line.message.into_iter().flat_map(|message| message.content) {
                if let ("tool_result", Some(id)) = (block.kind.as_ref(), block.tool_use_id) {
                    let duration_ms = tools.end(&id, at);
                    emit(&Event::Tool(Tool {
                        id,
                        parent: parent.clone(),
                        name: None,
                        title: None,
                        status: if block.is_error == Some(true) { "failed" } else { "succeeded" },
                        input: None,
                        output: block.content,
                        exit_code: None,
                        duration_ms,
                        rest: ToolRest::default(),
                    }));
                }
            }
        }
        "result" => end(state, &line.models, TurnEnd::new(line.is_error == Some(true), line.result), emit),
        _ => {}
    }
}

fn stream_event(state: &mut State, event: StreamEvent<'_>, parent: Str<'_>, mut emit: impl FnMut(&Event<'_>)) {
    match event.kind.as_ref() {
        "content_block_delta" => {
            if let Some(text) = event.delta.and_then(|delta| delta.text) {
                emit(&Event::TextDelta { id: Cow::Borrowed(&state.block), parent, text });
            }
        }
        "message_start" => {
            if let Some(message) = event.message {
                state.message = message.id.unwrap_or_default().into_owned();
                state.model = message.model.map(Cow::into_owned);
            }
        }
        "content_block_start" => {
            state.block = format!("{}/{}", state.message, event.index.unwrap_or_default());
        }
        "message_delta" => {
            if let Some(tokens) = event.usage {
                let model = state.model.as_deref().map(Cow::Borrowed);
                emit(&Event::Usage(tokens.usage("delta", "stream", model)));
            }
        }
        _ => {}
    }
}

fn end(state: &State, models: &BTreeMap<Cow<'_, str>, ModelUsage>, end: TurnEnd<'_>, mut emit: impl FnMut(&Event<'_>)) {
    for (model, usage) in models {
        let tokens = Tokens {
            input: usage.input_tokens,
            output: usage.output_tokens,
            cache_read: usage.cache_read_input_tokens,
            cache_write: usage.cache_creation_input_tokens,
        };
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "dollars of one turn")]
        let cost = usage.cost.map(|dollars| Money { micros: (dollars * 1e6).round() as u64, currency: "USD" });
        let model = Some(Cow::Borrowed(model.as_ref()));
        emit(&Event::Usage(Usage { cost, ..tokens.usage("turn-total", "result", model) }));
    }
    let window = state.model.as_deref().and_then(|model| models.get(model)).and_then(|usage| usage.context_window);
    if let (Some(used), Some(window)) = (state.used, window) {
        emit(&Event::Context { used, window });
    }
    emit(&Event::TurnEnded(end));
}
