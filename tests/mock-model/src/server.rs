//! The server: records each request and sends the scenario's answer.

use crate::catalog;
use crate::format::{Format, Stream};
use crate::reading;
use crate::record::{Record, Request};
use crate::scenario::{End, Position, Scenario, Step, Usage};
use http_body_util::channel::{Channel, Sender};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper::{Method, Response, StatusCode};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

type Body = BoxBody<Bytes, io::Error>;

/// A mock model that answers until it is dropped.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    shared: Arc<Shared>,
    task: JoinHandle<()>,
}

/// The state that all connections share.
#[derive(Debug)]
struct Shared {
    scenario: Scenario,
    position: Mutex<Position>,
    /// Of the steps, and of side requests.
    usage: [Mutex<Usage>; 2],
    record: Record,
    base: String,
}

impl Server {
    /// Starts on a free loopback port. Requests are also written to `record`, if it is given.
    pub async fn start(scenario: Scenario, record: Option<&Path>) -> io::Result<Server> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let address = listener.local_addr()?;
        let base = format!("http://{address}");
        let record = Record::open(record)?;
        let shared = Arc::new(Shared {
            scenario,
            position: Mutex::default(),
            usage: <[Mutex<Usage>; 2]>::default(),
            record,
            base,
        });
        let task = tokio::spawn(accept(listener, Arc::clone(&shared)));
        Ok(Server { address, shared, task })
    }

    /// Its URL, without a trailing slash.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The tokens of all answers so far, without side requests.
    pub fn usage(&self) -> Usage {
        *self.shared.usage[0].lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The tokens of the answers to side requests so far. Some agents count them as part of the turn, which they pay for.
    pub fn side_usage(&self) -> Usage {
        *self.shared.usage[1].lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// All requests so far.
    pub fn requests(&self) -> Vec<Request> {
        self.shared.record.requests()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    // A failed accept affects only one client, and some tests close the connection in the middle of an answer.
    loop {
        let Ok((stream, _)) = listener.accept().await else { continue };
        let shared = Arc::clone(&shared);
        tokio::spawn(async move {
            let service = service_fn(|request| answer(Arc::clone(&shared), request));
            let _ = hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
        });
    }
}

async fn answer(shared: Arc<Shared>, request: hyper::Request<Incoming>) -> Result<Response<Body>, Infallible> {
    let (head, body) = request.into_parts();
    let bytes = body.collect().await.map(http_body_util::Collected::to_bytes).unwrap_or_default();
    let path = head.uri.path().to_owned();
    let body: Value = serde_json::from_slice(&bytes).unwrap_or(Value::Null);
    let format = Format::for_path(&path).filter(|_| head.method == Method::POST);
    let tools = reading::tools(&body);
    let is_side_request = format.is_some() && shared.scenario.is_side_request(&String::from_utf8_lossy(&bytes), &tools);
    let headers = head.headers.iter();
    let headers =
        headers.map(|(name, value)| (name.to_string(), String::from_utf8_lossy(value.as_bytes()).into_owned()));
    let number = shared.record.add(Request {
        method: head.method.to_string(),
        path: path.clone(),
        headers: headers.collect(),
        is_inference: format.is_some(),
        is_side_request,
        tools,
        attachments: reading::attachments(&body),
        body: body.clone(),
    });
    Ok(match format {
        Some(format) => {
            let question = Question { format, path: &path, body: &body, is_side_request, number };
            infer(&shared, &question).await
        }
        None if head.method == Method::GET => match catalog::get(&path, &shared.base) {
            Some(found) => json_response(StatusCode::OK, &found),
            None => not_found(&path),
        },
        None if head.method == Method::HEAD => json_response(StatusCode::OK, &Value::Null),
        None if path.ends_with(":countTokens") => {
            json_response(StatusCode::OK, &json!({ "totalTokens": bytes.len() / 4 + 1 }))
        }
        None if path.ends_with("/count_tokens") => {
            json_response(StatusCode::OK, &json!({ "input_tokens": bytes.len() / 4 + 1 }))
        }
        None => not_found(&path),
    })
}

/// A request for an answer of the model.
struct Question<'a> {
    format: Format,
    path: &'a str,
    body: &'a Value,
    is_side_request: bool,
    number: usize,
}

/// An agent that asks again and again would otherwise fill the memory and the disk with its conversation.
const MOST_REQUESTS: usize = 300;

async fn infer(shared: &Shared, question: &Question<'_>) -> Response<Body> {
    let Question { format, path, body, is_side_request, number } = *question;
    let mut step = if number > MOST_REQUESTS {
        Step::status(400)
    } else if is_side_request {
        let answer = &shared.scenario.side_answer;
        Step::text(if answer.is_empty() { "Mock" } else { answer })
    } else {
        let mut position = shared.position.lock().unwrap_or_else(PoisonError::into_inner);
        let step = position.next(&shared.scenario, &reading::user_text(body)).cloned();
        step.unwrap_or_else(|| Step::text("The scenario has no steps."))
    };
    shared.usage[usize::from(is_side_request)].lock().unwrap_or_else(PoisonError::into_inner).add(&step);
    for tool in &mut step.tools {
        if let Some((namespace, name)) = reading::namespaced(body, &tool.name) {
            (tool.namespace, tool.name) = (Some(namespace.to_owned()), name.to_owned());
        }
    }
    let model = format.model(path, body);
    tokio::time::sleep(Duration::from_millis(step.delay)).await;
    // Ids must also differ between servers, because a resumed session has ids from an earlier server.
    let serial = format!("{}_{number}", shared.base.rsplit(':').next().unwrap_or_default());
    let mut response = if let Some(status) = step.status {
        json_response(StatusCode::from_u16(status).unwrap_or(StatusCode::BAD_GATEWAY), &format.failure(&step, status))
    } else if format.is_streamed(path, body) {
        let (sender, body) = Channel::new(16);
        tokio::spawn(send(sender, format.stream(&model, &step, &serial), step.clone()));
        let mut response = Response::new(body.boxed());
        response.headers_mut().insert("content-type", "text/event-stream".parse().expect("a valid header value"));
        response
    } else {
        json_response(StatusCode::OK, &format.complete(&model, &step, &serial))
    };
    for (name, value) in &step.headers {
        if let (Ok(name), Ok(value)) = (hyper::header::HeaderName::try_from(name), value.parse()) {
            response.headers_mut().insert(name, value);
        }
    }
    response
}

/// How long a stalled stream stays open: longer than any test runs.
const STALL: Duration = Duration::from_mins(30);

/// Aborting a body discards what hyper has not written yet, and hyper does not report when it has.
const BEFORE_DROP: Duration = Duration::from_millis(100);

async fn send(mut sender: Sender<Bytes, io::Error>, stream: Stream, step: Step) {
    let mut frames = stream.body;
    if step.end == End::Finished {
        frames.extend(stream.end);
    }
    for frame in frames {
        if sender.send_data(Bytes::from(frame.bytes())).await.is_err() {
            return;
        }
        if frame.is_piece && step.pause > 0 {
            tokio::time::sleep(Duration::from_millis(step.pause)).await;
        }
    }
    match step.end {
        End::Finished => {}
        End::Dropped => {
            tokio::time::sleep(BEFORE_DROP).await;
            sender.abort(io::ErrorKind::ConnectionAborted.into());
        }
        End::Stalled => tokio::time::sleep(STALL).await,
    }
}

fn json_response(status: StatusCode, body: &Value) -> Response<Body> {
    let bytes = if body.is_null() { Bytes::new() } else { Bytes::from(body.to_string()) };
    let mut response = Response::new(Full::new(bytes).map_err(|never| match never {}).boxed());
    *response.status_mut() = status;
    response.headers_mut().insert("content-type", "application/json".parse().expect("a valid header value"));
    response
}

fn not_found(path: &str) -> Response<Body> {
    json_response(
        StatusCode::NOT_FOUND,
        &json!({ "message": "Not Found", "error": { "message": format!("no {path} here") } }),
    )
}
