//! The server over a real socket, as an agent uses it.

use serde_json::{Value, json};
use std::io::ErrorKind;
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use wharf_mock_model::{End, Scenario, Server, Step};

async fn serve(steps: Vec<Step>) -> Server {
    Server::start(Scenario { steps, ..Scenario::default() }, None).await.expect("a server")
}

/// Sends a request and reads the answer until the connection is closed (true) or nothing has arrived for a while (false).
async fn exchange(server: &Server, method: &str, path: &str, body: &Value) -> (String, bool) {
    let address = server.url().replace("http://", "");
    let mut stream = TcpStream::connect(&address).await.expect("a connection");
    let body = body.to_string();
    let head = format!("{method} {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\nx-test: yes\r\n");
    let request = format!("{head}content-length: {}\r\n\r\n{body}", body.len());
    stream.write_all(request.as_bytes()).await.expect("sent");
    let mut answer = vec![];
    let mut buffer = [0; 4096];
    loop {
        match tokio::time::timeout(Duration::from_secs(1), stream.read(&mut buffer)).await {
            Err(_) => return (String::from_utf8_lossy(&answer).into_owned(), false),
            Ok(Ok(0)) => return (String::from_utf8_lossy(&answer).into_owned(), true),
            Ok(Ok(count)) => answer.extend_from_slice(&buffer[..count]),
            Ok(Err(error)) if error.kind() == ErrorKind::ConnectionReset => {
                return (String::from_utf8_lossy(&answer).into_owned(), true);
            }
            Ok(Err(error)) => panic!("{error}"),
        }
    }
}

fn question(streamed: bool) -> Value {
    json!({ "model": "m", "stream": streamed, "tools": [{ "name": "bash" }], "messages": [{ "role": "user", "content": "hi" }] })
}

/// The end of a chunked body.
const LAST_CHUNK: &str = "\r\n0\r\n\r\n";

#[tokio::test]
async fn streams_end_as_the_scenario_defines() {
    for (end, closes, is_complete) in
        [(End::Finished, true, true), (End::Dropped, true, false), (End::Stalled, false, false)]
    {
        let server = serve(vec![Step { end, ..Step::text("Ahoy") }]).await;
        for path in ["/v1/messages?beta=true", "/v1/chat/completions", "/responses"] {
            let (answer, closed) = exchange(&server, "POST", path, &question(true)).await;
            assert!(answer.starts_with("HTTP/1.1 200") && answer.contains("Ahoy"), "{end:?} {path}: {answer}");
            assert_eq!((closed, answer.ends_with(LAST_CHUNK)), (closes, is_complete), "{end:?} {path}: {answer}");
        }
    }
}

#[tokio::test]
async fn failures_have_their_status_and_headers() {
    let headers = [("retry-after".to_owned(), "7".to_owned())].into();
    let server = serve(vec![Step { headers, ..Step::status(429) }, Step::text("later")]).await;
    let (answer, _) = exchange(&server, "POST", "/v1/messages", &question(true)).await;
    assert!(answer.starts_with("HTTP/1.1 429") && answer.contains("retry-after: 7\r\n"), "{answer}");
    let (answer, _) = exchange(&server, "POST", "/v1/messages", &question(false)).await;
    assert!(answer.starts_with("HTTP/1.1 200") && answer.contains("later"), "{answer}");
}

#[tokio::test]
async fn side_requests_take_no_step_and_every_request_is_recorded() {
    let server = serve(vec![Step::text("the answer")]).await;
    let side_request = json!({ "messages": [{ "role": "user", "content": "name this" }] });
    let (answer, _) = exchange(&server, "POST", "/v1/chat/completions", &side_request).await;
    assert!(!answer.contains("the answer"), "{answer}");
    let (models, _) = exchange(&server, "GET", "/v1/models?limit=1000", &Value::Null).await;
    assert!(models.contains("mock-model"), "{models}");
    let (not_found, _) = exchange(&server, "GET", "/telemetry", &Value::Null).await;
    assert!(not_found.starts_with("HTTP/1.1 404"), "{not_found}");
    let recorded = server.requests();
    let paths: Vec<(&str, bool)> =
        recorded.iter().map(|request| (request.path.as_str(), request.is_side_request)).collect();
    assert_eq!(paths, [("/v1/chat/completions", true), ("/v1/models", false), ("/telemetry", false)]);
    assert_eq!((recorded[0].body == side_request, recorded[0].headers["x-test"].as_str()), (true, "yes"));
}
