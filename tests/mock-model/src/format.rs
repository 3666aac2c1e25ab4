//! The wire formats between agents and models. Each encodes the same step differently; none of them does any I/O.

mod chat;
mod messages;
mod responses;

use crate::scenario::Step;
use serde_json::{Value, json};

/// The format of a request, and so of its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    /// `OpenAI`'s chat completions.
    Chat,
    /// `OpenAI`'s responses.
    Responses,
    /// Anthropic's messages.
    Messages,
}

/// An event of a stream.
#[derive(Debug, PartialEq)]
pub(crate) struct Frame {
    /// The name, if the format has names.
    pub(crate) event: Option<String>,
    pub(crate) data: String,
    /// Whether it is a piece of a longer text: the step's pause comes after it.
    pub(crate) is_piece: bool,
}

/// A stream. `end` is not sent if the stream is dropped or stalls.
#[derive(Debug, Default)]
pub(crate) struct Stream {
    pub(crate) body: Vec<Frame>,
    pub(crate) end: Vec<Frame>,
}

impl Frame {
    fn unnamed(data: &Value) -> Frame {
        Frame { event: None, data: data.to_string(), is_piece: false }
    }

    /// Named after the `type` of its data, as Anthropic's format and the responses format require.
    fn named(data: &Value) -> Frame {
        let event = data["type"].as_str().map(str::to_owned);
        Frame { event, data: data.to_string(), is_piece: false }
    }

    fn piece(self) -> Frame {
        Frame { is_piece: true, ..self }
    }

    /// The encoded event.
    pub(crate) fn bytes(&self) -> String {
        match &self.event {
            Some(event) => format!("event: {event}\ndata: {}\n\n", self.data),
            None => format!("data: {}\n\n", self.data),
        }
    }
}

impl Format {
    /// The format for a path, if it is an inference endpoint.
    pub(crate) fn for_path(path: &str) -> Option<Format> {
        [(Format::Chat, "/chat/completions"), (Format::Responses, "/responses"), (Format::Messages, "/v1/messages")]
            .into_iter()
            .find_map(|(format, suffix)| path.ends_with(suffix).then_some(format))
    }

    /// The step as a stream. `serial` makes the ids of different answers unique.
    pub(crate) fn stream(self, request: &Value, step: &Step, serial: &str) -> Stream {
        match self {
            Format::Chat => chat::stream(request, step, serial),
            Format::Responses => responses::stream(request, step, serial),
            Format::Messages => messages::stream(request, step, serial),
        }
    }

    /// The step as one response.
    pub(crate) fn complete(self, request: &Value, step: &Step, serial: &str) -> Value {
        match self {
            Format::Chat => chat::complete(request, step, serial),
            Format::Responses => responses::complete(request, step, serial),
            Format::Messages => messages::complete(request, step, serial),
        }
    }

    /// The body of a failure with this status.
    pub(crate) fn failure(self, step: &Step, status: u16) -> Value {
        let kind = match status {
            401 => "authentication_error",
            403 => "permission_error",
            404 => "not_found_error",
            429 => "rate_limit_error",
            529 => "overloaded_error",
            400..500 => "invalid_request_error",
            _ => "api_error",
        };
        let mut error = json!({ "type": kind, "message": format!("the mock model answers {status}") });
        if let Value::Object(fields) = &mut error {
            fields.extend(step.error.clone());
        }
        match self {
            Format::Messages => json!({ "type": "error", "error": error, "request_id": "req_mock" }),
            Format::Chat | Format::Responses => json!({ "error": error }),
        }
    }
}

/// The text of all user messages in a request, without tool results. The formats differ only in the name of the field.
pub(crate) fn user_text(request: &Value) -> String {
    let turns = request["messages"].as_array().or_else(|| request["input"].as_array());
    let messages = turns.into_iter().flatten().filter(|turn| turn["role"] == "user");
    let mut all: Vec<&str> = messages.flat_map(|turn| texts(&turn["content"])).collect();
    all.extend(request["input"].as_str());
    all.join("\n")
}

fn texts(content: &Value) -> Vec<&str> {
    let blocks = content.as_array().into_iter().flatten();
    content.as_str().into_iter().chain(blocks.filter_map(|block| block["text"].as_str())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::Step;

    #[test]
    fn paths_select_the_format() {
        for (path, format) in [
            ("/v1/chat/completions", Some(Format::Chat)),
            ("/chat/completions", Some(Format::Chat)),
            ("/v1/responses", Some(Format::Responses)),
            ("/v1/messages", Some(Format::Messages)),
            ("/v1/messages/count_tokens", None),
            ("/telemetry", None),
        ] {
            assert_eq!(Format::for_path(path), format, "{path}");
        }
    }

    #[test]
    fn user_text_has_no_tool_results() {
        for (request, text) in [
            (json!({ "messages": [{ "role": "user", "content": "a" }, { "role": "assistant", "content": "b" }] }), "a"),
            (
                json!({ "messages": [{ "role": "user", "content": [
                    { "type": "text", "text": "a" }, { "type": "tool_result", "content": "r" }] }] }),
                "a",
            ),
            (json!({ "input": [{ "role": "user", "content": [{ "type": "input_text", "text": "a" }] }] }), "a"),
            (json!({ "input": "a" }), "a"),
            (json!({}), ""),
        ] {
            assert_eq!(user_text(&request), text, "{request}");
        }
    }

    #[test]
    fn a_failure_has_the_form_of_its_provider() {
        let mut step = Step::status(429);
        step.error.insert("code".to_owned(), json!("slow_down"));
        let anthropic = Format::Messages.failure(&step, 429);
        assert_eq!((&anthropic["type"], &anthropic["error"]["type"]), (&json!("error"), &json!("rate_limit_error")));
        assert_eq!(Format::Chat.failure(&step, 429)["error"]["code"], "slow_down");
    }

    #[test]
    fn every_format_streams_the_same_content() {
        let step = Step {
            thinking: Some("hm, hm, hm".to_owned()),
            text: Some("Hello, harbour ⚓".to_owned()),
            ..Step::tool("bash", json!({ "command": "true" }))
        };
        for (format, pointer) in [
            (Format::Chat, "/choices/0/message/content"),
            (Format::Responses, "/output/1/content/0/text"),
            (Format::Messages, "/content/1/text"),
        ] {
            let complete = format.complete(&json!({ "model": "m" }), &step, "1");
            assert_eq!(complete.pointer(pointer), Some(&json!("Hello, harbour ⚓")), "{format:?}: {complete}");
            let text = complete.to_string();
            assert!(text.contains("command") && text.contains("hm, hm, hm"), "{text}");
            let stream = format.stream(&json!({ "model": "m" }), &step, "1");
            let pieces: Vec<&Frame> = stream.body.iter().filter(|frame| frame.is_piece).collect();
            assert!(pieces.len() >= 5, "{format:?}: {pieces:?}");
            assert!(pieces.iter().any(|frame| frame.data.contains("arbour ⚓")), "{format:?}: {pieces:?}");
            assert!(!stream.end.is_empty());
        }
    }
}
