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

/// Bytes as text if they are text, else as numbers.
mod bytes {
    use serde::{Deserialize, Deserializer, Serialize as _, Serializer};

    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Either {
        Text(String),
        Bytes(Vec<u8>),
    }

    pub(super) fn serialize<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
        match std::str::from_utf8(bytes) {
            Ok(text) => serializer.serialize_str(text),
            Err(_) => bytes.serialize(serializer),
        }
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
        Ok(match Either::deserialize(deserializer)? {
            Either::Text(text) => text.into_bytes(),
            Either::Bytes(bytes) => bytes,
        })
    }
}
