//! The requests of the agent, in the order of their arrival.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Write as _};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// A recorded request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Request {
    /// The HTTP method, upper case.
    pub method: String,
    /// The path without the query.
    pub path: String,
    /// The headers, with names in lower case.
    pub headers: BTreeMap<String, String>,
    /// Whether it is a request for an answer of the model.
    pub is_inference: bool,
    /// Whether it is an inference request that takes no step of the scenario.
    pub is_side_request: bool,
    /// The names of the tools that the model is shown.
    pub tools: Vec<String>,
    /// The images and files in the conversation, in order.
    pub attachments: Vec<Attachment>,
    /// The body; null if it is not JSON.
    pub body: Value,
}

/// An image or a file that an agent sent to the model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attachment {
    /// Its media type: `image/png`.
    pub media_type: String,
    /// Its content in base64, as it came.
    pub base64: String,
}

/// All requests, in memory and, if a path is given, in a file of JSON lines.
#[derive(Debug)]
pub(crate) struct Record {
    requests: Mutex<Vec<Request>>,
    file: Option<File>,
}

impl Record {
    pub(crate) fn open(path: Option<&Path>) -> io::Result<Record> {
        Ok(Record { requests: Mutex::default(), file: path.map(File::create).transpose()? })
    }

    /// Adds a request and returns its number.
    pub(crate) fn add(&self, request: Request) -> usize {
        let mut requests = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(mut file) = self.file.as_ref() {
            // The file is for debugging; tests read the requests in memory.
            let _ = writeln!(file, "{}", serde_json::json!(request));
        }
        requests.push(request);
        requests.len()
    }

    pub(crate) fn requests(&self) -> Vec<Request> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
