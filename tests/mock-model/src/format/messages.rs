//! Anthropic's messages.

use super::{Frame, Stream};
use crate::scenario::Step;
use serde_json::{Value, json};

fn content(step: &Step, serial: &str) -> Vec<Value> {
    let thinking = step.thinking.iter();
    let thinking = thinking.map(|text| json!({ "type": "thinking", "thinking": text, "signature": "bW9jaw==" }));
    let text = step.text.iter().map(|text| json!({ "type": "text", "text": text }));
    let tools = step.tools.iter().enumerate().map(|(at, tool)| {
        json!({ "type": "tool_use", "id": format!("toolu_{serial}_{at}"), "name": tool.name, "input": tool.input })
    });
    thinking.chain(text).chain(tools).collect()
}

fn stop_reason(step: &Step) -> &'static str {
    if step.tools.is_empty() { "end_turn" } else { "tool_use" }
}

fn usage(step: &Step, output: u64) -> Value {
    json!({
        "input_tokens": step.input_tokens().saturating_sub(step.cached), "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": step.cached,
        "output_tokens": output, "service_tier": "standard",
    })
}

pub(super) fn complete(model: &str, step: &Step, serial: &str) -> Value {
    json!({
        "id": format!("msg_{serial}"), "type": "message", "role": "assistant", "model": model,
        "content": content(step, serial), "stop_reason": stop_reason(step), "stop_sequence": null,
        "usage": usage(step, step.output_tokens()),
    })
}

pub(super) fn stream(model: &str, step: &Step, serial: &str) -> Stream {
    let mut start = complete(model, step, serial);
    start["content"] = json!([]);
    start["stop_reason"] = Value::Null;
    start["usage"] = usage(step, 1);
    let mut body = vec![
        Frame::named(&json!({ "type": "message_start", "message": start })),
        Frame::named(&json!({ "type": "ping" })),
    ];
    for (index, block) in content(step, serial).into_iter().enumerate() {
        let delta = |delta: Value| {
            Frame::named(&json!({ "type": "content_block_delta", "index": index, "delta": delta })).piece()
        };
        let text = |key: &str| block[key].as_str().unwrap_or_default();
        let (empty, pieces): (Value, Vec<Frame>) = match block["type"].as_str() {
            Some("thinking") => {
                let pieces = step.pieces(text("thinking")).into_iter();
                let pieces = pieces.map(|piece| delta(json!({ "type": "thinking_delta", "thinking": piece })));
                let signature = delta(json!({ "type": "signature_delta", "signature": block["signature"] }));
                (json!({ "type": "thinking", "thinking": "", "signature": "" }), pieces.chain([signature]).collect())
            }
            Some("text") => {
                let pieces = step.pieces(text("text")).into_iter();
                let pieces = pieces.map(|piece| delta(json!({ "type": "text_delta", "text": piece })));
                (json!({ "type": "text", "text": "" }), pieces.collect())
            }
            _ => {
                let input = block["input"].to_string();
                let mut empty = block.clone();
                empty["input"] = json!({});
                (empty, vec![delta(json!({ "type": "input_json_delta", "partial_json": input }))])
            }
        };
        body.push(Frame::named(&json!({ "type": "content_block_start", "index": index, "content_block": empty })));
        body.extend(pieces);
        body.push(Frame::named(&json!({ "type": "content_block_stop", "index": index })));
    }
    let delta = json!({ "stop_reason": stop_reason(step), "stop_sequence": null });
    let usage = usage(step, step.output_tokens());
    let end = [json!({ "type": "message_delta", "delta": delta, "usage": usage }), json!({ "type": "message_stop" })];
    Stream { body, end: end.iter().map(Frame::named).collect() }
}
