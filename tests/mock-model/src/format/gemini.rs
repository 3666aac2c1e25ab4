//! Google's `generateContent` and `streamGenerateContent`.

use super::{Frame, Stream};
use crate::scenario::Step;
use serde_json::{Value, json};

fn usage(step: &Step) -> Value {
    let (input, output) = (step.input_tokens(), step.output_tokens());
    json!({
        "promptTokenCount": input, "cachedContentTokenCount": step.cached,
        "candidatesTokenCount": output.saturating_sub(step.reasoning), "thoughtsTokenCount": step.reasoning,
        "totalTokenCount": input + output,
    })
}

fn calls(step: &Step, serial: &str) -> Vec<Value> {
    let call = |(at, tool): (usize, &crate::scenario::Tool)| json!({ "functionCall": { "id": format!("call_{serial}_{at}"), "name": tool.name, "args": tool.input } });
    step.tools.iter().enumerate().map(call).collect()
}

/// A response, or a part of one in a stream.
fn response(model: &str, serial: &str, parts: &[Value], finish: Option<&str>) -> Value {
    let mut candidate = json!({ "index": 0, "content": { "role": "model", "parts": parts } });
    if let Some(finish) = finish {
        candidate["finishReason"] = json!(finish);
    }
    json!({ "responseId": format!("resp_{serial}"), "modelVersion": model, "candidates": [candidate] })
}

pub(super) fn complete(model: &str, step: &Step, serial: &str) -> Value {
    let thinking = step.thinking.iter().map(|text| json!({ "text": text, "thought": true }));
    let text = step.text.iter().map(|text| json!({ "text": text }));
    let parts: Vec<Value> = thinking.chain(text).chain(calls(step, serial)).collect();
    let mut complete = response(model, serial, &parts, Some("STOP"));
    complete["usageMetadata"] = usage(step);
    complete
}

/// With line separators escaped, as the API does it: Google's library takes them for the end of a line.
fn plain(mut frame: Frame) -> Frame {
    frame.data = frame.data.replace('\u{2028}', "\\u2028").replace('\u{2029}', "\\u2029");
    frame
}

pub(super) fn stream(model: &str, step: &Step, serial: &str) -> Stream {
    let frame = |part: Value| plain(Frame::unnamed(&response(model, serial, &[part], None))).piece();
    let thinking = step.pieces(step.thinking.as_deref().unwrap_or_default());
    let thinking = thinking.into_iter().map(|piece| frame(json!({ "text": piece, "thought": true })));
    let text = step.pieces(step.text.as_deref().unwrap_or_default());
    let text = text.into_iter().map(|piece| frame(json!({ "text": piece })));
    let calls = calls(step, serial).into_iter().map(frame);
    let mut last = response(model, serial, &[json!({ "text": "" })], Some("STOP"));
    last["usageMetadata"] = usage(step);
    Stream { body: thinking.chain(text).chain(calls).collect(), end: vec![Frame::unnamed(&last)] }
}

/// The time after which to retry is in the body, not only in the header.
pub(super) fn failure(step: &Step, status: u16) -> Value {
    let kind = match status {
        400 => "INVALID_ARGUMENT",
        401 => "UNAUTHENTICATED",
        403 => "PERMISSION_DENIED",
        404 => "NOT_FOUND",
        429 => "RESOURCE_EXHAUSTED",
        503 => "UNAVAILABLE",
        _ => "INTERNAL",
    };
    let mut error = json!({ "code": status, "message": super::message(status), "status": kind });
    if let Some(seconds) = step.headers.get("retry-after") {
        let delay = json!({ "@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": format!("{seconds}s") });
        error["details"] = json!([delay]);
    }
    if let Some(message) = step.error.get("message") {
        error["message"] = message.clone();
    }
    json!({ "error": error })
}
