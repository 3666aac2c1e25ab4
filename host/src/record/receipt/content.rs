//! The content of a receipt, and its canonical form.

use std::io;
use std::path::Path;
use std::time::SystemTime;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::measures::Measures;
use crate::digest::hex;
use crate::disk::write_atomically;
use crate::error::{Error, Result};
use crate::record::event_file::EventsSummary;
use crate::record::folder::RECEIPT;
use crate::record::writer::Summary;
use wharf_core::model::{AdapterId, Failure, FileChange, Labels, Outcome, ReportTool, Usage, time};
use wharf_core::stream::Secrets;

/// The version of the receipt's format that this wharf writes and reads.
pub(crate) const FORMAT: u64 = 3;

/// The content of a receipt. The seal adds the members `format` and `sha256`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct Receipt {
    /// The run's id.
    pub run: String,
    /// The version of wharf.
    pub wharf: String,
    /// The adapter that ran it.
    pub adapter: AdapterId,
    /// The agent's program; null if none was found.
    pub program: Option<ReceiptProgram>,
    /// The command-line arguments, without secrets.
    pub args: Vec<String>,
    /// The folder that the agent worked in.
    pub workspace: String,
    /// The labels that the caller gave it.
    pub labels: Labels,
    /// When the run started.
    #[serde(with = "time::rfc3339")]
    #[schemars(with = "time::Rfc3339")]
    pub started: SystemTime,
    /// When the run ended.
    #[serde(with = "time::rfc3339")]
    #[schemars(with = "time::Rfc3339")]
    pub ended: SystemTime,
    /// How the turn ended.
    pub outcome: Outcome,
    /// Which limit or timeout, what is needed, why it was refused.
    pub detail: Option<String>,
    /// What failed.
    pub error: Option<Failure>,
    /// What the turn used; null if nothing is known.
    pub usage: Option<Usage>,
    /// The tools that ran.
    pub tools: Vec<ReportTool>,
    /// Files that the agent says it changed.
    pub files: Vec<FileChange>,
    /// Processes that were still running after the agent had exited, and were killed.
    pub killed: Vec<String>,
    /// The recording; null if none was kept.
    pub recording: Option<RecordingDigest>,
    /// The events; null if none were kept.
    pub events: Option<EventsDigest>,
}

/// A receipt as its file has it.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ReceiptFile {
    /// What it says.
    #[serde(flatten)]
    pub receipt: Receipt,
    /// The version of the format.
    pub format: u64,
    /// The SHA-256 of the canonical JSON without this member, in hexadecimal.
    pub sha256: String,
}

/// The agent's program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReceiptProgram {
    /// The absolute path.
    pub path: String,
    /// As the adapter found it; null if unknown.
    pub version: Option<String>,
    /// The SHA-256 of the file; null if it could not be read.
    pub sha256: Option<String>,
}

/// The size and digest of the recording.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RecordingDigest {
    /// The length of the file.
    pub bytes: u64,
    /// The SHA-256 of the file.
    pub sha256: String,
    /// How many bytes of the streams were not kept.
    pub dropped: u64,
}

impl From<Summary> for RecordingDigest {
    fn from(Summary { bytes, sha256, dropped }: Summary) -> RecordingDigest {
        RecordingDigest { bytes, sha256, dropped }
    }
}

/// The length and digest of the event file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EventsDigest {
    /// How many events, one per line.
    pub count: u64,
    /// The SHA-256 of the file.
    pub sha256: String,
    /// How many events were not kept.
    #[serde(default)]
    pub dropped: u64,
}

impl From<EventsSummary> for EventsDigest {
    fn from(EventsSummary { count, sha256, dropped }: EventsSummary) -> EventsDigest {
        EventsDigest { count, sha256, dropped }
    }
}

impl EventsDigest {
    /// The digest of an event file that is complete.
    pub fn of(path: &Path) -> io::Result<EventsDigest> {
        let Measures { lines, sha256, .. } = Measures::of(path)?;
        Ok(EventsDigest { count: lines, sha256, dropped: 0 })
    }
}

/// The members of a receipt that the host makes by itself. A secret cannot be in them, but they may happen to contain
/// the same characters, and would be useless without them.
const OWN_MEMBERS: [&str; 7] = ["run", "wharf", "started", "ended", "outcome", "recording", "events"];

impl Receipt {
    /// The receipt without secrets in any of its texts.
    pub(crate) fn redacted(self, secrets: &Secrets) -> Receipt {
        let Ok(mut value) = serde_json::to_value(&self) else { return self };
        let own = OWN_MEMBERS.map(|name| (name, value[name].take()));
        if !secrets.redact_value(&mut value) {
            return self;
        }
        for (name, member) in own {
            value[name] = member;
        }
        serde_json::from_value(value).unwrap_or_else(|_| self.without_texts())
    }

    /// What is left if a secret cannot be removed from it.
    fn without_texts(self) -> Receipt {
        let adapter = AdapterId { id: String::new(), version: String::new(), ..self.adapter };
        let program = self.program.map(|program| ReceiptProgram { path: String::new(), version: None, ..program });
        Receipt {
            adapter,
            program,
            args: vec![],
            workspace: String::new(),
            labels: Labels::new(),
            detail: None,
            error: None,
            usage: None,
            tools: vec![],
            files: vec![],
            killed: vec![],
            ..self
        }
    }

    /// Puts the receipt into its canonical form, and adds the digest of that.
    pub fn seal(self) -> SealedReceipt {
        let mut file = ReceiptFile { receipt: self, format: FORMAT, sha256: String::new() };
        let json = |file: &ReceiptFile| serde_json::to_value(file).expect("a receipt has only texts as keys");
        let mut unsealed = json(&file);
        unsealed.as_object_mut().map(|members| members.remove("sha256"));
        file.sha256 = hex(&Sha256::digest(canonical(&mut unsealed)));
        let text = canonical(&mut json(&file)) + "\n";
        SealedReceipt { receipt: file.receipt, sha256: file.sha256, text }
    }
}

/// A receipt in its final form.
#[derive(Debug, Clone, PartialEq)]
pub struct SealedReceipt {
    receipt: Receipt,
    sha256: String,
    pub(super) text: String,
}

impl SealedReceipt {
    /// The content of the receipt.
    pub fn receipt(&self) -> &Receipt {
        &self.receipt
    }

    /// The digest of the canonical JSON.
    pub fn sha256(&self) -> &str {
        &self.sha256
    }

    /// The text of the file: one line.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Writes it into the folder of its run, all of it or nothing, because a run with a receipt counts as ended.
    pub fn write(&self, folder: &Path) -> Result<()> {
        let path = folder.join(RECEIPT);
        write_atomically(&path, &[self.text.as_bytes()])
            .map_err(|error| Error::system(format!("writing the receipt {}", path.display()), error))
    }
}

/// Sorts explicitly: a feature of `serde_json` that another crate may enable keeps the order of insertion.
pub(super) fn canonical(value: &mut Value) -> String {
    value.sort_all_objects();
    value.to_string()
}
