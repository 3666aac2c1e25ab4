//! What an adapter requests of the host, and what it gets. Plain data; the answers are recorded in this form.

use serde::{Deserialize, Serialize};
use wharf_core::policy::Denial;

/// A program to run for an adapter.
#[derive(Clone)]
pub(crate) struct Command {
    pub(crate) program: String,
    pub(crate) args: Vec<String>,
    pub(crate) stdin: Vec<u8>,
    pub(crate) timeout_ms: u32,
}

/// What a program wrote, and how it exited.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Output {
    pub(crate) code: Option<i32>,
    #[serde(with = "bytes")]
    pub(crate) stdout: Vec<u8>,
    #[serde(with = "bytes")]
    pub(crate) stderr: Vec<u8>,
    pub(crate) timed_out: bool,
    /// The signal that killed it. For the host only.
    #[serde(skip)]
    pub(crate) signal: Option<i32>,
}

impl Output {
    /// Of a program that was stopped because it took too long.
    pub(super) fn timed_out() -> Output {
        Output { code: None, stdout: vec![], stderr: vec![], timed_out: true, signal: None }
    }
}

/// A request to send for an adapter.
pub(crate) struct Request {
    pub(crate) method: String,
    pub(crate) url: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
    pub(crate) timeout_ms: u32,
}

/// What a server answered.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    #[serde(with = "bytes")]
    pub(crate) body: Vec<u8>,
}

/// Where a program is.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct FoundProgram {
    pub(crate) path: String,
    pub(crate) real_path: String,
}

/// What a file contains.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Content(#[serde(with = "bytes")] pub(crate) Vec<u8>);

/// Why the host did not do something for an adapter.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum HostError {
    Denied(String),
    NotFound(String),
    TimedOut,
    TooLarge,
    Failed(String),
}

impl From<Denial> for HostError {
    fn from(denial: Denial) -> HostError {
        HostError::Denied(denial.to_string())
    }
}

pub(super) type Result<T> = std::result::Result<T, HostError>;

/// Bytes as text, if they are UTF-8; otherwise each byte as the character with its number. Secrets are found in both.
/// Older recordings have numbers.
mod bytes {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Either {
        Text(String),
        Other(Latin1),
        Bytes(Vec<u8>),
    }

    #[derive(Serialize, Deserialize)]
    struct Latin1 {
        latin1: String,
    }

    pub(super) fn serialize<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
        match std::str::from_utf8(bytes) {
            Ok(text) => serializer.serialize_str(text),
            Err(_) => Latin1 { latin1: bytes.iter().copied().map(char::from).collect() }.serialize(serializer),
        }
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
        Ok(match Either::deserialize(deserializer)? {
            Either::Text(text) => text.into_bytes(),
            // No other character is written. One that was put there by hand is lost.
            Either::Other(Latin1 { latin1 }) => latin1.chars().filter_map(|one| u8::try_from(one).ok()).collect(),
            Either::Bytes(bytes) => bytes,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wharf_core::stream::Secrets;

    #[test]
    fn output_that_is_not_utf8_hides_no_secret() {
        let bytes = [&[0xff, 0xe9, 0][..], b"token hunter2hunter2\n"].concat();
        let text = serde_json::to_string(&Content(bytes.clone())).expect("plain data");
        let read = |text: &str| serde_json::from_str::<Content>(text).expect("readable").0;
        assert_eq!(read(&text), bytes);
        let clean = Secrets::new([("KEY", "hunter2hunter2")]).redact(&text).into_owned();
        assert_eq!(read(&clean), [&[0xff, 0xe9, 0][..], b"token [redacted:KEY]\n"].concat());
        assert_eq!(read("[255,0]"), [255, 0], "as older recordings have it");
    }
}
