//! `OpenAI`'s chat completions.

use super::{Frame, Stream};
use crate::scenario::{Step, Tool};
use serde_json::{Value, json};

fn usage(step: &Step) -> Value {
    let (input, output) = (step.input_tokens(), step.output_tokens());
    json!({
        "prompt_tokens": input, "prompt_tokens_details": { "cached_tokens": step.cached },
        "completion_tokens": output, "completion_tokens_details": { "reasoning_tokens": step.reasoning },
        "total_tokens": input + output,
    })
}

fn finish(step: &Step) -> &'static str {
    if step.tools.is_empty() { "stop" } else { "tool_calls" }
}

fn call(tool: &Tool, at: usize, serial: &str) -> Value {
    let function = json!({ "name": tool.name, "arguments": tool.input.to_string() });
    json!({ "id": format!("call_{serial}_{at}"), "type": "function", "function": function })
}

pub(super) fn complete(model: &str, step: &Step, serial: &str) -> Value {
    let mut message = json!({ "role": "assistant", "content": step.text });
    if let Some(thinking) = &step.thinking {
        message["reasoning_content"] = json!(thinking);
    }
    if !step.tools.is_empty() {
        message["tool_calls"] = step.tools.iter().enumerate().map(|(at, tool)| call(tool, at, serial)).collect();
    }
    json!({
        "id": format!("chatcmpl-{serial}"), "object": "chat.completion", "created": 0, "model": model,
        "choices": [{ "index": 0, "message": message, "finish_reason": finish(step) }], "usage": usage(step),
    })
}

pub(super) fn stream(model: &str, step: &Step, serial: &str) -> Stream {
    let chunk = |choices: Value| {
        json!({
            "id": format!("chatcmpl-{serial}"), "object": "chat.completion.chunk", "created": 0,
            "model": model, "choices": choices,
        })
    };
    let delta = |delta: Value, finish: Option<&str>| {
        Frame::unnamed(&chunk(json!([{ "index": 0, "delta": delta, "finish_reason": finish }])))
    };
    let mut body = vec![delta(json!({ "role": "assistant", "content": "" }), None)];
    for (key, text) in [("reasoning_content", &step.thinking), ("content", &step.text)] {
        let pieces = step.pieces(text.as_deref().unwrap_or_default());
        body.extend(pieces.into_iter().map(|piece| delta(json!({ key: piece }), None).piece()));
    }
    for (at, tool) in step.tools.iter().enumerate() {
        let mut call = call(tool, at, serial);
        call["index"] = json!(at);
        // The name comes first and then the arguments, as in real streams.
        let arguments = std::mem::replace(&mut call["function"]["arguments"], json!(""));
        body.push(delta(json!({ "tool_calls": [call] }), None));
        let rest = json!({ "index": at, "function": { "arguments": arguments } });
        body.push(delta(json!({ "tool_calls": [rest] }), None).piece());
    }
    let mut last = chunk(json!([]));
    last["usage"] = usage(step);
    let done = Frame { event: None, data: "[DONE]".to_owned(), is_piece: false };
    Stream { body, end: vec![delta(json!({}), Some(finish(step))), Frame::unnamed(&last), done] }
}
