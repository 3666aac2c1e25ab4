//! HTTP on an adapter's behalf. Whether a request may be made was decided before; the connection stays within that: no
//! redirects, no proxy, public addresses only (or this machine, if the URL says so), a limit on size and time.

use super::types::{HostError, Request, Response};
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::redirect;
use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use url::Url;
use wharf_core::policy::{is_loopback, is_public};

/// The longest that a request may take, whatever the adapter requests.
const LONGEST: Duration = Duration::from_mins(1);

/// The largest body of a response.
const BODY_LIMIT: usize = 16 << 20;

/// Headers that decide where a request goes and how it is sent. An adapter that could set them could reach another
/// origin than the granted one.
const HOST_HEADERS: [&str; 9] = [
    "host",
    "connection",
    "content-length",
    "transfer-encoding",
    "upgrade",
    "te",
    "trailer",
    "proxy-authorization",
    "proxy-connection",
];

/// A client that is created when it is first needed: most runs need none.
#[derive(Clone, Default)]
pub(crate) struct HttpClient(Arc<OnceLock<Result<reqwest::Client, String>>>);

impl HttpClient {
    fn client(&self) -> Result<&reqwest::Client, HostError> {
        self.0.get_or_init(build).as_ref().map_err(|error| HostError::Failed(error.clone()))
    }

    pub(crate) async fn fetch(&self, url: Url, request: Request) -> Result<Response, HostError> {
        check_address(&url)?;
        let method = reqwest::Method::from_bytes(request.method.as_bytes())
            .map_err(|_| HostError::Failed(format!("{:?} is not a method", request.method)))?;
        let shown = format!("{method} {}", without_query(&url));
        let limit = Duration::from_millis(u64::from(request.timeout_ms)).clamp(Duration::from_millis(1), LONGEST);
        let mut builder = self.client()?.request(method, url).timeout(limit).body(request.body);
        for (name, value) in &request.headers {
            if HOST_HEADERS.contains(&name.to_ascii_lowercase().as_str()) {
                return Err(HostError::Denied(format!("the header {name} is set by the host")));
            }
            builder = builder.header(name, value);
        }
        let failed = |error: reqwest::Error| {
            if error.is_timeout() {
                HostError::TimedOut
            } else {
                HostError::Failed(format!("{shown}: {}", causes(&error)))
            }
        };
        let mut response = builder.send().await.map_err(failed)?;
        let status = response.status().as_u16();
        let headers = response.headers().iter();
        let headers =
            headers.filter_map(|(name, value)| Some((name.to_string(), value.to_str().ok()?.to_owned()))).collect();
        let mut body = Vec::new();
        while let Some(piece) = response.chunk().await.map_err(failed)? {
            if body.len() + piece.len() > BODY_LIMIT {
                return Err(HostError::TooLarge);
            }
            body.extend_from_slice(&piece);
        }
        Ok(Response { status, headers, body })
    }
}

fn build() -> Result<reqwest::Client, String> {
    use rustls_platform_verifier::BuilderVerifierExt as _;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let tls = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .and_then(rustls::ConfigBuilder::with_platform_verifier)
        .map_err(|error| format!("setting up TLS: {error}"))?
        .with_no_client_auth();
    reqwest::Client::builder()
        .tls_backend_preconfigured(tls)
        .redirect(redirect::Policy::none())
        .no_proxy()
        .dns_resolver(Arc::new(PublicOnly))
        .user_agent(concat!("wharf/", env!("CARGO_PKG_VERSION")))
        .build()
        .map_err(|error| format!("setting up HTTP: {}", causes(&error)))
}

/// A URL that names an address is not resolved, so it is checked here.
fn check_address(url: &Url) -> Result<(), HostError> {
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    match host.parse::<std::net::IpAddr>() {
        Ok(address) if !is_public(address) && !is_loopback(url) => {
            Err(HostError::Denied(format!("{address} is not a public address")))
        }
        _ => Ok(()),
    }
}

/// Resolves a name once and connects only to the addresses that passed: a name cannot lead into the local network, or
/// change between the check and the connection.
struct PublicOnly;

impl Resolve for PublicOnly {
    fn resolve(&self, name: Name) -> Resolving {
        Box::pin(async move {
            let host = name.as_str().to_owned();
            let found: Vec<SocketAddr> = tokio::net::lookup_host((host.as_str(), 0)).await?.collect();
            let passed: Vec<SocketAddr> = found
                .iter()
                .copied()
                .filter(|address| is_public(address.ip()) || (host == "localhost" && address.ip().is_loopback()))
                .collect();
            if passed.is_empty() && !found.is_empty() {
                return Err(format!("{host} resolves to {}, which is not a public address", found[0].ip()).into());
            }
            Ok(Box::new(passed.into_iter()) as Addrs)
        })
    }
}

fn without_query(url: &Url) -> String {
    format!("{}{}", url.origin().ascii_serialization(), url.path())
}

/// An error with its causes, without the URL: it may contain a secret.
fn causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        text = format!("{text}: {inner}");
        cause = inner.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    async fn serve_once(answer: Vec<u8>) -> u16 {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let port = listener.local_addr().expect("an address").port();
        tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.expect("a connection");
            let mut buffer = [0; 4096];
            let _ = stream.read(&mut buffer).await;
            let _ = stream.write_all(&answer).await;
        });
        port
    }

    async fn fetch(url: &str) -> Result<Response, HostError> {
        let request =
            Request { method: "GET".into(), url: url.into(), headers: vec![], body: vec![], timeout_ms: 5_000 };
        HttpClient::default().fetch(Url::parse(url).expect("a URL"), request).await
    }

    #[tokio::test]
    async fn a_response_comes_back_and_a_redirect_is_not_followed() {
        let port =
            serve_once(b"HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 2\r\n\r\nhi".to_vec())
                .await;
        let response = fetch(&format!("http://127.0.0.1:{port}/")).await.expect("a response");
        assert_eq!((response.status, response.body.as_slice()), (302, &b"hi"[..]));
    }

    #[tokio::test]
    async fn a_body_without_end_is_an_error() {
        let mut answer = b"HTTP/1.1 200 OK\r\n\r\n".to_vec();
        answer.resize(BODY_LIMIT + 10_000, b'x');
        let port = serve_once(answer).await;
        assert!(matches!(fetch(&format!("http://127.0.0.1:{port}/")).await, Err(HostError::TooLarge)));
    }

    #[tokio::test]
    async fn an_adapter_cannot_redirect_a_request_by_a_header() {
        let url = "http://127.0.0.1:1/";
        let headers = vec![("Host".to_owned(), "evil.example".to_owned())];
        let request = Request { method: "GET".into(), url: url.into(), headers, body: vec![], timeout_ms: 5_000 };
        let result = HttpClient::default().fetch(Url::parse(url).expect("a URL"), request).await;
        assert!(matches!(result, Err(HostError::Denied(_))));
    }

    #[tokio::test]
    async fn addresses_of_the_local_network_are_refused() {
        for url in ["https://169.254.169.254/latest", "https://10.0.0.1/", "https://[fd00::1]/"] {
            assert!(matches!(fetch(url).await, Err(HostError::Denied(_))), "{url}");
        }
    }
}
