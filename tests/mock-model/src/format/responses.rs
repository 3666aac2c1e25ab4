//! `OpenAI`'s responses.

use super::{Frame, Stream};
use crate::scenario::Step;
use serde_json::{Value, json};

/// The completed items of the output.
fn output(step: &Step, serial: &str) -> Vec<Value> {
    let thinking = step.thinking.iter().map(|text| {
        let summary = json!([{ "type": "summary_text", "text": text }]);
        json!({ "id": format!("rs_{serial}"), "type": "reasoning", "summary": summary, "encrypted_content": "bW9jaw==" })
    });
    let text = step.text.iter().map(|text| {
        let content = json!([{ "type": "output_text", "text": text, "annotations": [] }]);
        json!({
            "id": format!("msg_{serial}"), "type": "message", "status": "completed", "role": "assistant",
            "content": content,
        })
    });
    let tools = step.tools.iter().enumerate().map(|(at, tool)| {
        let mut call = json!({
            "id": format!("fc_{serial}_{at}"), "type": "function_call", "status": "completed",
            "call_id": format!("call_{serial}_{at}"), "name": tool.name, "arguments": tool.input.to_string(),
        });
        if let Some(namespace) = &tool.namespace {
            call["namespace"] = json!(namespace);
        }
        call
    });
    thinking.chain(text).chain(tools).collect()
}

fn response(model: &str, serial: &str) -> Value {
    json!({
        "id": format!("resp_{serial}"), "object": "response", "created_at": 0, "status": "in_progress",
        "model": model, "output": [], "parallel_tool_calls": true, "tools": [], "tool_choice": "auto",
        "error": null, "incomplete_details": null, "usage": null,
    })
}

pub(super) fn complete(model: &str, step: &Step, serial: &str) -> Value {
    let (input, tokens) = (step.input_tokens(), step.output_tokens());
    let mut complete = response(model, serial);
    complete["status"] = json!("completed");
    complete["output"] = json!(output(step, serial));
    complete["usage"] = json!({
        "input_tokens": input, "input_tokens_details": { "cached_tokens": step.cached }, "output_tokens": tokens,
        "output_tokens_details": { "reasoning_tokens": step.reasoning }, "total_tokens": input + tokens,
    });
    complete
}

pub(super) fn stream(model: &str, step: &Step, serial: &str) -> Stream {
    let created = response(model, serial);
    let mut events = vec![
        json!({ "type": "response.created", "response": created }),
        json!({ "type": "response.in_progress", "response": created }),
    ];
    for (at, item) in output(step, serial).into_iter().enumerate() {
        events.extend(item_events(step, at, &item));
    }
    let count = events.len();
    events.push(json!({ "type": "response.completed", "response": complete(model, step, serial) }));
    let frames = events.into_iter().enumerate().map(|(number, mut event)| {
        event["sequence_number"] = json!(number);
        let is_piece = event["type"].as_str().is_some_and(|name| name.rsplit('.').next() == Some("delta"));
        Frame { is_piece, ..Frame::named(&event) }
    });
    let mut body: Vec<Frame> = frames.collect();
    let end = body.split_off(count);
    Stream { body, end }
}

fn item_events(step: &Step, at: usize, item: &Value) -> Vec<Value> {
    let id = &item["id"];
    // Every event names its item, in addition to its own fields.
    let event = |name: &str, fields: Value| {
        let mut event = json!({ "type": format!("response.{name}"), "item_id": id, "output_index": at });
        if let (Value::Object(event), Value::Object(fields)) = (&mut event, fields) {
            event.extend(fields);
        }
        event
    };
    let mut empty = item.clone();
    let mut events = vec![];
    match item["type"].as_str() {
        Some("reasoning") => {
            empty["summary"] = json!([]);
            let part = |text: &Value| json!({ "summary_index": 0, "part": { "type": "summary_text", "text": text } });
            let text = &item["summary"][0]["text"];
            events.push(event("reasoning_summary_part.added", part(&json!(""))));
            for piece in step.pieces(text.as_str().unwrap_or_default()) {
                events.push(event("reasoning_summary_text.delta", json!({ "summary_index": 0, "delta": piece })));
            }
            events.push(event("reasoning_summary_text.done", json!({ "summary_index": 0, "text": text })));
            events.push(event("reasoning_summary_part.done", part(text)));
        }
        Some("message") => {
            empty["status"] = json!("in_progress");
            empty["content"] = json!([]);
            let part = |text: &Value| json!({ "content_index": 0, "part": { "type": "output_text", "text": text, "annotations": [] } });
            let text = &item["content"][0]["text"];
            events.push(event("content_part.added", part(&json!(""))));
            for piece in step.pieces(text.as_str().unwrap_or_default()) {
                events.push(event("output_text.delta", json!({ "content_index": 0, "delta": piece })));
            }
            events.push(event("output_text.done", json!({ "content_index": 0, "text": text })));
            events.push(event("content_part.done", part(text)));
        }
        _ => {
            empty["status"] = json!("in_progress");
            empty["arguments"] = json!("");
            events.push(event("function_call_arguments.delta", json!({ "delta": item["arguments"] })));
            events.push(event("function_call_arguments.done", json!({ "arguments": item["arguments"] })));
        }
    }
    let added = json!({ "type": "response.output_item.added", "output_index": at, "item": empty });
    let done = json!({ "type": "response.output_item.done", "output_index": at, "item": item });
    std::iter::once(added).chain(events).chain([done]).collect()
}
