//! The wire formats between agents and models. Each encodes the same step differently; none of them does any I/O.

mod chat;
mod gemini;
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
    /// Google's `generateContent` and `streamGenerateContent`.
    Gemini,
}

/// The end of the path of a stream of Gemini.
const STREAM_CONTENT: &str = ":streamGenerateContent";

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
        let ends = [
            (Format::Chat, "/chat/completions"),
            (Format::Responses, "/responses"),
            (Format::Messages, "/v1/messages"),
            (Format::Gemini, ":generateContent"),
            (Format::Gemini, STREAM_CONTENT),
        ];
        ends.into_iter().find_map(|(format, end)| path.ends_with(end).then_some(format))
    }

    /// Whether the answer is a stream.
    pub(crate) fn is_streamed(self, path: &str, request: &Value) -> bool {
        match self {
            Format::Gemini => path.ends_with(STREAM_CONTENT),
            _ => request["stream"] == true,
        }
    }

    /// The name of the model that is asked.
    pub(crate) fn model(self, path: &str, request: &Value) -> String {
        let in_path = path.rsplit('/').next().and_then(|last| last.split(':').next());
        match self {
            Format::Gemini => in_path.unwrap_or_default().to_owned(),
            _ => request["model"].as_str().unwrap_or_default().to_owned(),
        }
    }

    /// The step as a stream. `serial` makes the ids of different answers unique.
    pub(crate) fn stream(self, model: &str, step: &Step, serial: &str) -> Stream {
        match self {
            Format::Chat => chat::stream(model, step, serial),
            Format::Responses => responses::stream(model, step, serial),
            Format::Messages => messages::stream(model, step, serial),
            Format::Gemini => gemini::stream(model, step, serial),
        }
    }

    /// The step as one response.
    pub(crate) fn complete(self, model: &str, step: &Step, serial: &str) -> Value {
        match self {
            Format::Chat => chat::complete(model, step, serial),
            Format::Responses => responses::complete(model, step, serial),
            Format::Messages => messages::complete(model, step, serial),
            Format::Gemini => gemini::complete(model, step, serial),
        }
    }

    /// The body of a failure with this status.
    pub(crate) fn failure(self, step: &Step, status: u16) -> Value {
        if self == Format::Gemini {
            return gemini::failure(step, status);
        }
        let kind = match status {
            401 => "authentication_error",
            403 => "permission_error",
            404 => "not_found_error",
            429 => "rate_limit_error",
            529 => "overloaded_error",
            400..500 => "invalid_request_error",
            _ => "api_error",
        };
        let mut error = json!({ "type": kind, "message": message(status) });
        if let Value::Object(fields) = &mut error {
            fields.extend(step.error.clone());
        }
        match self {
            Format::Messages => json!({ "type": "error", "error": error, "request_id": "req_mock" }),
            Format::Chat | Format::Responses | Format::Gemini => json!({ "error": error }),
        }
    }
}

/// What a provider says of a failure. Some agents pass on nothing else.
fn message(status: u16) -> String {
    let what = match status {
        401 => "Incorrect API key provided",
        403 => "You are not allowed to use this model",
        404 => "The model does not exist",
        429 => "Rate limit reached, please try again later",
        500.. => "The server had an error while processing the request",
        _ => "The request is invalid",
    };
    format!("{what} (mock, {status})")
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
            ("/v1beta/models/mock-model:generateContent", Some(Format::Gemini)),
            ("/v1beta/models/mock-model:streamGenerateContent", Some(Format::Gemini)),
            ("/v1beta/models/mock-model:countTokens", None),
            ("/v1/messages/count_tokens", None),
            ("/telemetry", None),
        ] {
            assert_eq!(Format::for_path(path), format, "{path}");
        }
    }

    #[test]
    fn a_failure_has_the_form_of_its_provider() {
        let mut step = Step::status(429);
        step.error.insert("code".to_owned(), json!("slow_down"));
        let anthropic = Format::Messages.failure(&step, 429);
        assert_eq!((&anthropic["type"], &anthropic["error"]["type"]), (&json!("error"), &json!("rate_limit_error")));
        assert_eq!(Format::Chat.failure(&step, 429)["error"]["code"], "slow_down");
        let google = Format::Gemini.failure(&Step::status(429), 429);
        assert_eq!((&google["error"]["code"], &google["error"]["status"]), (&json!(429), &json!("RESOURCE_EXHAUSTED")));
    }

    /// As each provider documents it: whether cached tokens and those of the reasoning are part of the others.
    #[test]
    fn every_format_counts_in_its_own_way() {
        let step = Step { usage: Some((1000, 50)), cached: 600, reasoning: 20, ..Step::text("x") };
        for (format, figures) in [
            (Format::Chat, vec![("/usage/prompt_tokens", 1000), ("/usage/completion_tokens", 50)]),
            (Format::Chat, vec![("/usage/prompt_tokens_details/cached_tokens", 600)]),
            (Format::Responses, vec![("/usage/input_tokens", 1000), ("/usage/output_tokens", 50)]),
            (Format::Responses, vec![("/usage/output_tokens_details/reasoning_tokens", 20)]),
            (Format::Messages, vec![("/usage/input_tokens", 400), ("/usage/cache_read_input_tokens", 600)]),
            (
                Format::Gemini,
                vec![("/usageMetadata/promptTokenCount", 1000), ("/usageMetadata/thoughtsTokenCount", 20)],
            ),
            (
                Format::Gemini,
                vec![("/usageMetadata/candidatesTokenCount", 30), ("/usageMetadata/totalTokenCount", 1050)],
            ),
        ] {
            let complete = format.complete("m", &step, "1");
            for (pointer, figure) in figures {
                assert_eq!(complete.pointer(pointer), Some(&json!(figure)), "{format:?} {pointer}");
            }
        }
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
            (Format::Gemini, "/candidates/0/content/parts/1/text"),
        ] {
            let complete = format.complete("m", &step, "1");
            assert_eq!(complete.pointer(pointer), Some(&json!("Hello, harbour ⚓")), "{format:?}: {complete}");
            let text = complete.to_string();
            assert!(text.contains("command") && text.contains("hm, hm, hm"), "{text}");
            let stream = format.stream("m", &step, "1");
            let pieces: Vec<&Frame> = stream.body.iter().filter(|frame| frame.is_piece).collect();
            assert!(pieces.len() >= 5, "{format:?}: {pieces:?}");
            assert!(pieces.iter().any(|frame| frame.data.contains("arbour ⚓")), "{format:?}: {pieces:?}");
            assert!(!stream.end.is_empty());
        }
    }
}
