//! What the agent sent, in the order in which it came.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Write as _};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// One request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Request {
    /// Its method.
    pub method: String,
    /// Its path, without the query.
    pub path: String,
    /// Its headers, by their names in lower case.
    pub headers: BTreeMap<String, String>,
    /// Whether the model was asked something.
    pub is_inference: bool,
    /// Whether it offers no tools, and so took no step of the scenario.
    pub is_aside: bool,
    /// Its body; null where that is not JSON.
    pub body: Value,
}

/// All requests, in memory and, where one is named, in a file of JSON lines.
#[derive(Debug)]
pub(crate) struct Record {
    requests: Mutex<Vec<Request>>,
    file: Option<File>,
}

impl Record {
    pub(crate) fn open(path: Option<&Path>) -> io::Result<Record> {
        Ok(Record { requests: Mutex::default(), file: path.map(File::create).transpose()? })
    }

    /// Add a request, and give its number.
    pub(crate) fn add(&self, request: Request) -> usize {
        let mut requests = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(mut file) = self.file.as_ref() {
            // The file is for people; a test reads what is in memory.
            let _ = writeln!(file, "{}", serde_json::json!(request));
        }
        requests.push(request);
        requests.len()
    }

    pub(crate) fn requests(&self) -> Vec<Request> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
