//! Reading JSON over HTTP, through the host.

use crate::host::error_text;
use crate::{Host, ModelList, Request};

/// Why a request gave no JSON.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FetchError {
    /// The URL that was requested.
    pub url: String,
    /// The status, if the server answered.
    pub status: Option<u16>,
    /// What went wrong.
    pub reason: String,
}

/// The body of a GET request, which is JSON, for [`Json::parse`](crate::Json::parse). Any status but 200 is an error, and
/// so is an answer that is no JSON object or array.
pub fn fetch_json(host: &dyn Host, url: &str, headers: &[(&str, String)]) -> Result<String, FetchError> {
    let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
    let request = Request { method: "GET".to_owned(), url: url.to_owned(), headers, body: vec![], timeout_ms: 15_000 };
    let (status, reason) = match host.fetch(&request) {
        Ok(response) if response.status == 200 => {
            let body = String::from_utf8_lossy(&response.body).into_owned();
            if body.trim_start().starts_with(['{', '[']) {
                return Ok(body);
            }
            (Some(200), "it did not answer with JSON".to_owned())
        }
        Ok(response) => (Some(response.status), format!("it answered {}", response.status)),
        Err(error) => (None, error_text(&error)),
    };
    Err(FetchError { url: request.url, status, reason })
}

impl From<FetchError> for ModelList {
    fn from(error: FetchError) -> ModelList {
        let reason = format!("{}: {}", error.url, error.reason);
        match error.status {
            Some(401 | 403) => ModelList::NeedsAuth(reason),
            _ => ModelList::Unavailable(reason),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::FakeHost;

    #[test]
    fn only_json_with_status_200_is_an_answer() {
        let fetched = |status, body: &str| {
            let host = FakeHost::default().response("GET https://h/models", status, body);
            fetch_json(&host, "https://h/models", &[("authorization", "Bearer k".to_owned())]).map_err(ModelList::from)
        };
        assert_eq!(fetched(200, " {\"data\":[]}"), Ok(" {\"data\":[]}".to_owned()));
        assert!(matches!(fetched(200, "<html>"), Err(ModelList::Unavailable(_))));
        assert!(matches!(fetched(403, "{}"), Err(ModelList::NeedsAuth(reason)) if reason.contains("403")));
        assert!(
            matches!(fetched(500, "{}"), Err(ModelList::Unavailable(reason)) if reason.contains("https://h/models"))
        );
        let denied = fetch_json(&FakeHost::default(), "https://h/models", &[]);
        assert_eq!(denied.map_err(|error| error.status), Err(None));
    }
}
