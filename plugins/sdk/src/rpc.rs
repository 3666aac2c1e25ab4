//! JSON-RPC 2.0 between an adapter and its agent.
//!
//! [`Message::read`] says what a line from the agent is. [`Rpc`] writes ours: it numbers the requests, keeps what each is
//! for until its response comes, and queues those that must wait. Two agents deviate from the standard, and both ways are
//! options of [`Rpc`]: messages without the member `jsonrpc`, and a `Content-Length` header before each message instead of
//! a line. The host reads both framings; only the header of what we write is ours.

use crate::json::Object;
use crate::{Effects, Framing, Json, Malformed};
use std::collections::VecDeque;

/// The code for a method that the receiver does not have.
pub const METHOD_NOT_FOUND: i32 = -32_601;

/// A message from the agent.
#[derive(Debug, Clone, Copy)]
pub enum Message<'a> {
    /// The agent waits for a response with this id.
    Request {
        /// A number or a string.
        id: Json<'a>,
        /// What is requested.
        method: &'a str,
        /// Missing if there are none.
        params: Json<'a>,
    },
    /// Nobody waits for a response.
    Notification {
        /// What happened.
        method: &'a str,
        /// Missing if there are none.
        params: Json<'a>,
    },
    /// The response to one of our requests.
    Response {
        /// The id of the request.
        id: Json<'a>,
        /// The result, or the error object.
        result: Result<Json<'a>, Json<'a>>,
    },
}

impl<'a> Message<'a> {
    /// What a line is. The member `jsonrpc` is not required.
    pub fn read(line: Json<'a>) -> Result<Message<'a>, Malformed> {
        let [id, method, params, result, error] = line.pick(["id", "method", "params", "result", "error"])?;
        match method.name() {
            Some(method) if id.is_missing() => Ok(Message::Notification { method, params }),
            Some(method) => Ok(Message::Request { id, method, params }),
            None if !error.is_null() => Ok(Message::Response { id, result: Err(error) }),
            None if !result.is_missing() => Ok(Message::Response { id, result: Ok(result) }),
            None => Err(Malformed),
        }
    }
}

/// Our side of a connection. `T` is what a request is for.
#[derive(Debug)]
pub struct Rpc<T> {
    has_version: bool,
    framing: Framing,
    last_id: u64,
    /// The requests that have no response yet, oldest first.
    in_flight: Vec<(u64, T)>,
    /// What is requested next, one at a time.
    queue: VecDeque<T>,
}

impl<T> Default for Rpc<T> {
    fn default() -> Rpc<T> {
        Rpc::new()
    }
}

impl<T> Rpc<T> {
    /// As the standard has it, one message a line.
    pub fn new() -> Rpc<T> {
        Rpc { has_version: true, framing: Framing::Lines, last_id: 0, in_flight: vec![], queue: VecDeque::new() }
    }

    /// Without the member `jsonrpc`.
    #[must_use]
    pub fn without_version(mut self) -> Rpc<T> {
        self.has_version = false;
        self
    }

    /// With a `Content-Length` header before each message. The launch must have the same framing.
    #[must_use]
    pub fn content_length(mut self) -> Rpc<T> {
        self.framing = Framing::ContentLength;
        self
    }

    /// Sends a request at once.
    pub fn request(&mut self, method: &str, params: Object, what: T, out: &mut Effects) {
        self.last_id += 1;
        self.in_flight.push((self.last_id, what));
        let request = self.message().number("id", self.last_id).str("method", method).object("params", params);
        self.write(&request.finish(), out);
    }

    /// Sends a notification.
    pub fn notify(&self, method: &str, params: Object, out: &mut Effects) {
        self.write(&self.message().str("method", method).object("params", params).finish(), out);
    }

    /// Answers a request of the agent; `id` is its JSON.
    pub fn respond(&self, id: &str, result: Object, out: &mut Effects) {
        self.write(&self.message().raw("id", id).object("result", result).finish(), out);
    }

    /// Answers a request of the agent with an error.
    pub fn refuse(&self, id: &str, code: i32, message: &str, out: &mut Effects) {
        let error = Object::new().raw("code", &code.to_string()).str("message", message);
        self.write(&self.message().raw("id", id).object("error", error).finish(), out);
    }

    /// A response came: what its request was for, unless it is not one of ours or had a response already.
    pub fn answered(&mut self, id: Json<'_>) -> Option<T> {
        let id = id.u64()?;
        let at = self.in_flight.iter().position(|(known, _)| *known == id)?;
        Some(self.in_flight.remove(at).1)
    }

    /// Queues a request until those before it were answered. [`Rpc::next_queued`] takes it for sending.
    pub fn queue(&mut self, what: T) {
        self.queue.push_back(what);
    }

    /// The next queued request, unless one is in flight.
    pub fn next_queued(&mut self) -> Option<T> {
        if self.in_flight.is_empty() { self.queue.pop_front() } else { None }
    }

    /// Forgets what is queued.
    pub fn clear_queue(&mut self) {
        self.queue.clear();
    }

    /// The requests that have no response yet, oldest first.
    pub fn in_flight(&self) -> impl Iterator<Item = &T> {
        self.in_flight.iter().map(|(_, what)| what)
    }

    /// Whether nothing was requested yet: a capture is read without its requests.
    pub fn is_unused(&self) -> bool {
        self.last_id == 0
    }

    fn message(&self) -> Object {
        if self.has_version { Object::new().str("jsonrpc", "2.0") } else { Object::new() }
    }

    fn write(&self, message: &str, out: &mut Effects) {
        match self.framing {
            Framing::ContentLength => out.write(format!("Content-Length: {}\r\n\r\n{message}", message.len())),
            Framing::Lines | Framing::Raw => out.write_line(message),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Effect;

    fn written(out: Effects) -> Vec<String> {
        let texts = out.into_vec().into_iter().filter_map(|effect| match effect {
            Effect::Write(bytes) => String::from_utf8(bytes).ok(),
            _ => None,
        });
        texts.collect()
    }

    #[test]
    fn messages_are_recognized_by_their_members() {
        let kind = |text| match Message::read(Json::parse(text)) {
            Ok(Message::Request { method, .. }) => format!("request {method}"),
            Ok(Message::Notification { method, .. }) => format!("notification {method}"),
            Ok(Message::Response { result: Ok(result), .. }) => format!("result {}", result.raw()),
            Ok(Message::Response { result: Err(error), .. }) => format!("error {}", error.raw()),
            Err(Malformed) => "malformed".to_owned(),
        };
        for (text, expected) in [
            (r#"{"jsonrpc":"2.0","id":0,"method":"a","params":{}}"#, "request a"),
            (r#"{"id":"x","method":"a"}"#, "request a"),
            (r#"{"method":"a"}"#, "notification a"),
            (r#"{"id":1,"result":null}"#, "result null"),
            (r#"{"id":1,"error":{"code":1},"result":null}"#, r#"error {"code":1}"#),
            (r#"{"id":1,"error":null,"result":{}}"#, "result {}"),
            (r#"{"id":1}"#, "malformed"),
            (r#"{"id":1,"method":7}"#, "malformed"),
            ("[]", "malformed"),
        ] {
            assert_eq!(kind(text), expected, "{text}");
        }
    }

    #[test]
    fn a_response_belongs_to_one_request() {
        let (mut rpc, mut out) = (Rpc::new(), Effects::default());
        rpc.request("one", Object::new(), "first", &mut out);
        rpc.request("two", Object::new(), "second", &mut out);
        assert_eq!(written(out)[1], "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"two\",\"params\":{}}\n");
        assert_eq!(rpc.answered(Json::parse("2")), Some("second"));
        assert_eq!(rpc.answered(Json::parse("2")), None, "it was answered");
        assert_eq!(rpc.answered(Json::parse("\"1\"")), None, "it is not ours");
        assert_eq!(rpc.in_flight().collect::<Vec<_>>(), [&"first"]);
    }

    #[test]
    fn queued_requests_wait_for_the_ones_before_them() {
        let (mut rpc, mut out) = (Rpc::new(), Effects::default());
        rpc.queue("a");
        rpc.queue("b");
        let first = rpc.next_queued().expect("nothing is in flight");
        rpc.request(first, Object::new(), first, &mut out);
        assert_eq!(rpc.next_queued(), None);
        rpc.answered(Json::parse("1"));
        assert_eq!(rpc.next_queued(), Some("b"));
        rpc.queue("c");
        rpc.clear_queue();
        assert_eq!(rpc.next_queued(), None);
    }

    #[test]
    fn both_deviations_from_the_standard_are_written() {
        let mut out = Effects::default();
        Rpc::<()>::new().without_version().notify("initialized", Object::new(), &mut out);
        Rpc::<()>::new().content_length().respond("\"é\"", Object::new().str("a", "é"), &mut out);
        Rpc::<()>::new().refuse("7", METHOD_NOT_FOUND, "no", &mut out);
        let expected = [
            "{\"method\":\"initialized\",\"params\":{}}\n",
            "Content-Length: 47\r\n\r\n{\"jsonrpc\":\"2.0\",\"id\":\"é\",\"result\":{\"a\":\"é\"}}",
            "{\"jsonrpc\":\"2.0\",\"id\":7,\"error\":{\"code\":-32601,\"message\":\"no\"}}\n",
        ];
        assert_eq!(written(out), expected);
    }
}
