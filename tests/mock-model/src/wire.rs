//! The formats in which agents talk to models. Each says the same step in its own words; none of them does any I/O.

mod chat;
mod messages;
mod responses;

use crate::scenario::Step;
use serde_json::{Value, json};

/// Which format a request is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wire {
    /// `OpenAI`'s chat completions.
    Chat,
    /// `OpenAI`'s responses.
    Responses,
    /// Anthropic's messages.
    Messages,
}

/// One event of a stream.
#[derive(Debug, PartialEq)]
pub(crate) struct Frame {
    /// Its name, where the format has one.
    pub(crate) event: Option<String>,
    /// Its data.
    pub(crate) data: String,
    /// Whether it is a piece of something longer: there the step's pause is made.
    pub(crate) is_piece: bool,
}

/// A stream: what comes before its end, and its end, which a dropped or stalled one never gets to.
#[derive(Debug, Default)]
pub(crate) struct Stream {
    pub(crate) body: Vec<Frame>,
    pub(crate) end: Vec<Frame>,
}

impl Frame {
    fn unnamed(data: &Value) -> Frame {
        Frame { event: None, data: data.to_string(), is_piece: false }
    }

    /// Named by the `type` of its data, as Anthropic and the responses do.
    fn named(data: &Value) -> Frame {
        let event = data["type"].as_str().map(str::to_owned);
        Frame { event, data: data.to_string(), is_piece: false }
    }

    fn piece(self) -> Frame {
        Frame { is_piece: true, ..self }
    }

    /// As it is sent.
    pub(crate) fn bytes(&self) -> String {
        match &self.event {
            Some(event) => format!("event: {event}\ndata: {}\n\n", self.data),
            None => format!("data: {}\n\n", self.data),
        }
    }
}

impl Wire {
    /// By the path that was posted to.
    pub(crate) fn of(path: &str) -> Option<Wire> {
        [(Wire::Chat, "/chat/completions"), (Wire::Responses, "/responses"), (Wire::Messages, "/v1/messages")]
            .into_iter()
            .find_map(|(wire, ending)| path.ends_with(ending).then_some(wire))
    }

    /// The step as a stream. `serial` keeps ids of different answers apart.
    pub(crate) fn stream(self, request: &Value, step: &Step, serial: &str) -> Stream {
        match self {
            Wire::Chat => chat::stream(request, step, serial),
            Wire::Responses => responses::stream(request, step, serial),
            Wire::Messages => messages::stream(request, step, serial),
        }
    }

    /// The step in one piece.
    pub(crate) fn whole(self, request: &Value, step: &Step, serial: &str) -> Value {
        match self {
            Wire::Chat => chat::whole(request, step, serial),
            Wire::Responses => responses::whole(request, step, serial),
            Wire::Messages => messages::whole(request, step, serial),
        }
    }

    /// The body of a failure.
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
            Wire::Messages => json!({ "type": "error", "error": error, "request_id": "req_mock" }),
            Wire::Chat | Wire::Responses => json!({ "error": error }),
        }
    }
}

/// All that the user says in a request, tools' results apart. The same place in each format, but for its name.
pub(crate) fn said_by_user(request: &Value) -> String {
    let turns = request["messages"].as_array().or_else(|| request["input"].as_array());
    let users = turns.into_iter().flatten().filter(|turn| turn["role"] == "user");
    let mut said: Vec<&str> = users.flat_map(|turn| texts(&turn["content"])).collect();
    said.extend(request["input"].as_str());
    said.join("\n")
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
    fn routes() {
        for (path, wire) in [
            ("/v1/chat/completions", Some(Wire::Chat)),
            ("/chat/completions", Some(Wire::Chat)),
            ("/v1/responses", Some(Wire::Responses)),
            ("/v1/messages", Some(Wire::Messages)),
            ("/v1/messages/count_tokens", None),
            ("/telemetry", None),
        ] {
            assert_eq!(Wire::of(path), wire, "{path}");
        }
    }

    #[test]
    fn what_the_user_said_has_no_tools_results_in_it() {
        for (request, said) in [
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
            assert_eq!(said_by_user(&request), said, "{request}");
        }
    }

    #[test]
    fn a_failure_is_what_its_provider_would_say() {
        let mut step = Step::status(429);
        step.error.insert("code".to_owned(), json!("slow_down"));
        let of_anthropic = Wire::Messages.failure(&step, 429);
        assert_eq!(
            (&of_anthropic["type"], &of_anthropic["error"]["type"]),
            (&json!("error"), &json!("rate_limit_error"))
        );
        assert_eq!(Wire::Chat.failure(&step, 429)["error"]["code"], "slow_down");
    }

    #[test]
    fn every_format_streams_what_it_says_whole() {
        let step = Step {
            thinking: Some("hm, hm, hm".to_owned()),
            text: Some("Hello, harbour ⚓".to_owned()),
            ..Step::tool("bash", json!({ "command": "true" }))
        };
        for (wire, pointer) in [
            (Wire::Chat, "/choices/0/message/content"),
            (Wire::Responses, "/output/1/content/0/text"),
            (Wire::Messages, "/content/1/text"),
        ] {
            let whole = wire.whole(&json!({ "model": "m" }), &step, "1");
            assert_eq!(whole.pointer(pointer), Some(&json!("Hello, harbour ⚓")), "{wire:?}: {whole}");
            assert!(whole.to_string().contains("command") && whole.to_string().contains("hm, hm, hm"), "{whole}");
            let stream = wire.stream(&json!({ "model": "m" }), &step, "1");
            let pieces: Vec<&Frame> = stream.body.iter().filter(|frame| frame.is_piece).collect();
            assert!(pieces.len() >= 5, "{wire:?}: {pieces:?}");
            assert!(pieces.iter().any(|frame| frame.data.contains("arbour ⚓")), "{wire:?}: {pieces:?}");
            assert!(!stream.end.is_empty());
        }
    }
}
