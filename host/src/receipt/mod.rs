//! The receipt of a run: who ran what, how it ended, what it used, and the digests of what is kept of it.
//!
//! # Canonical JSON
//! A receipt is one JSON object on one line of UTF-8 that ends with one `\n`: the members of every object sorted by the
//! bytes of their names, no blanks between tokens, absent values written as `null`. In strings, `"` and `\` are escaped
//! by `\`; of the control characters below U+0020, five are written `\b \t \n \f \r` and the others `\u00` with two
//! lower-case digits; everything else stands for itself. Integers are plain decimal digits; other numbers are the
//! shortest decimals that give the same 64-bit float again, always with a point or an exponent (`0.33`, `1.0`, `1e+16`).
//!
//! # The seal
//! `sha256` is the SHA-256, in lower-case hexadecimal, of the canonical JSON without that member and without the line's
//! end. To check it without wharf, cut `"sha256":"…",` out of the line and digest the rest. `format` is the version of
//! all this.
//!
//! The seal tells whether a file was damaged or edited since. It is no signature: whoever can write the files can seal
//! them anew. Keep the digest elsewhere to rule that out.

#[cfg(test)]
mod tests;
mod verify;

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write as _};
use std::path::Path;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::error::{Error, Result};
use crate::event::{Failure, FileChange, Outcome, ReportTool, Usage};
use crate::recording::Summary;
use crate::runs::RECEIPT;

pub use verify::{Check, Verified, verify};

/// The version of the receipt's format that this wharf writes and reads.
pub(crate) const FORMAT: u64 = 1;

/// What a receipt says. The members `format` and `sha256` come with the seal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Receipt {
    /// The run's id.
    pub run: String,
    /// The version of wharf.
    pub wharf: String,
    /// The adapter.
    pub adapter: ReceiptAdapter,
    /// The agent's program; null when none was found.
    pub program: Option<ReceiptProgram>,
    /// The arguments, without secrets.
    pub args: Vec<String>,
    /// The folder that the agent worked in.
    pub workspace: String,
    /// When the run began.
    #[serde(with = "utc")]
    pub started: Timestamp,
    /// When it ended.
    #[serde(with = "utc")]
    pub ended: Timestamp,
    /// How the turn ended.
    pub outcome: Outcome,
    /// Which cap or clock, what is needed, why it was refused.
    pub detail: Option<String>,
    /// What went wrong.
    pub error: Option<Failure>,
    /// What the turn used; null when nothing is known.
    pub usage: Option<Usage>,
    /// The tools that ran.
    pub tools: Vec<ReportTool>,
    /// Files that the agent says it changed.
    pub files: Vec<FileChange>,
    /// Processes that had to be killed.
    pub killed: Vec<String>,
    /// The recording; null when none was kept.
    pub recording: Option<RecordingDigest>,
    /// The events; null when none were kept.
    pub events: Option<EventsDigest>,
}

/// The adapter of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReceiptAdapter {
    /// Its id.
    pub id: String,
    /// Its version.
    pub version: String,
    /// The SHA-256 of the component.
    pub digest: String,
}

/// The agent's program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReceiptProgram {
    /// Where it is.
    pub path: String,
    /// Its version, where it is known.
    pub version: Option<String>,
    /// The SHA-256 of the file, where it could be read.
    pub digest: Option<String>,
}

/// What a recording came to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
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

/// What the file of events came to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventsDigest {
    /// How many lines it has.
    pub count: u64,
    /// The SHA-256 of the file.
    pub sha256: String,
}

impl EventsDigest {
    /// Of a file of events that is complete.
    pub fn of(path: &Path) -> io::Result<EventsDigest> {
        let Measures { lines, sha256, .. } = Measures::of(path)?;
        Ok(EventsDigest { count: lines, sha256 })
    }
}

/// The SHA-256 of a file, in hexadecimal.
pub(crate) fn file_sha256(path: &Path) -> io::Result<String> {
    Ok(Measures::of(path)?.sha256)
}

impl Receipt {
    /// Fixes the receipt in its canonical form, and adds the digest of that.
    pub fn seal(self) -> SealedReceipt {
        let mut value = serde_json::to_value(&self).expect("a receipt has only texts as keys");
        value["format"] = Value::from(FORMAT);
        let sha256 = format!("{:x}", Sha256::digest(canonical(&mut value)));
        value["sha256"] = Value::from(sha256.as_str());
        let text = canonical(&mut value) + "\n";
        SealedReceipt { receipt: self, sha256, text }
    }
}

/// A receipt that is not changed any more.
#[derive(Debug, Clone, PartialEq)]
pub struct SealedReceipt {
    receipt: Receipt,
    sha256: String,
    text: String,
}

impl SealedReceipt {
    /// What it says.
    pub fn receipt(&self) -> &Receipt {
        &self.receipt
    }

    /// Its digest.
    pub fn sha256(&self) -> &str {
        &self.sha256
    }

    /// The line that is the file.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Writes it into the folder of its run. It appears there whole or not at all, since a run with a receipt counts as
    /// one that has ended.
    pub fn write(&self, folder: &Path) -> Result<()> {
        let path = folder.join(RECEIPT);
        let unfinished = path.with_extension("json.new");
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let write = || {
            let mut file = options.open(&unfinished)?;
            file.write_all(self.text.as_bytes())?;
            file.sync_all()?;
            fs::rename(&unfinished, &path)
        };
        write().map_err(|why| Error::system(format!("cannot write the receipt {}", path.display()), why))
    }
}

/// Sorted whatever `serde_json` was built with: another crate may ask it to keep the order.
fn canonical(value: &mut Value) -> String {
    value.sort_all_objects();
    value.to_string()
}

/// What can be said of a file without knowing what is in it.
#[derive(Debug, PartialEq, Eq)]
struct Measures {
    bytes: u64,
    /// The last one may lack its end.
    lines: u64,
    sha256: String,
}

impl Measures {
    /// Holds a piece of the file at a time, which may be of any size.
    fn of(path: &Path) -> io::Result<Measures> {
        let mut file = File::open(path)?;
        let mut digest = Sha256::new();
        let mut buffer = vec![0; 1 << 16];
        let (mut bytes, mut lines, mut last) = (0, 0, b'\n');
        loop {
            let length = match file.read(&mut buffer) {
                Err(why) if why.kind() == io::ErrorKind::Interrupted => continue,
                length => length?,
            };
            let piece = &buffer[..length];
            let Some(end) = piece.last() else { break };
            last = *end;
            bytes += length as u64;
            lines += memchr::memchr_iter(b'\n', piece).count() as u64;
            digest.update(piece);
        }
        lines += u64::from(last != b'\n');
        Ok(Measures { bytes, lines, sha256: format!("{:x}", digest.finalize()) })
    }
}

/// Times as RFC 3339 in UTC.
mod utc {
    use jiff::Timestamp;
    use serde::{Deserialize as _, Deserializer, Serializer, de};

    pub(super) fn serialize<S: Serializer>(time: &Timestamp, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(time)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Timestamp, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}
