//! Checks whether a receipt and the files that it describes are unchanged since it was sealed. Never changes them.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::path::Path;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::value::RawValue;
use sha2::{Digest as _, Sha256};

use super::content::{EventsDigest, FORMAT, Receipt, RecordingDigest};
use super::measures::Measures;
use crate::error::{Error, Result};
use crate::record::folder::{EVENTS, RECEIPT, RECORDING};

/// The result of checking a receipt.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[non_exhaustive]
pub struct Verified {
    /// The content of the receipt, even if a check failed.
    pub receipt: Receipt,
    /// All checks, those of the receipt itself first.
    pub checks: Vec<Check>,
}

impl Verified {
    /// Whether nothing has changed.
    pub fn holds(&self) -> bool {
        self.checks.iter().all(Check::holds)
    }
}

/// One property of a file that was compared with the receipt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[non_exhaustive]
pub struct Check {
    /// The name of the file.
    pub file: &'static str,
    /// The value when the receipt was sealed.
    pub expected: String,
    /// The value now.
    pub found: String,
}

impl Check {
    /// Whether both values are equal.
    pub fn holds(&self) -> bool {
        self.expected == self.found
    }
}

impl fmt::Display for Check {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Check { file, expected, found } = self;
        if self.holds() {
            write!(formatter, "{file}: as sealed ({expected})")
        } else {
            write!(formatter, "{file}: changed since it was sealed (expected {expected}, found {found})")
        }
    }
}

/// Checks a receipt, and the other files in the folder of its run against it.
pub(super) fn verify(folder: &Path, text: &[u8]) -> Result<Verified> {
    let path = folder.join(RECEIPT);
    let refuse = |reason: String| Error::invalid(format!("cannot read the receipt {}: {reason}", path.display()));
    let (mut checks, receipt) = open_seal(text).map_err(refuse)?;
    let receipt = receipt.map_err(|reason| match checks.iter().find(|check| !check.holds()) {
        Some(failed) => refuse(format!("{reason}; {failed}")),
        None => refuse(reason),
    })?;
    checks.push(check_recording(receipt.recording.as_ref(), &folder.join(RECORDING)));
    checks.push(check_events(receipt.events.as_ref(), &folder.join(EVENTS)));
    Ok(Verified { receipt, checks })
}

/// The checks of the seal, and the content. The seal is checked first: the content may be unreadable because of the
/// change that broke the seal.
///
/// The members are compared as they are written. Parsing and writing them again would hide changes that make no
/// difference to JSON, and would depend on the serializer writing the same bytes forever.
pub(super) fn open_seal(text: &[u8]) -> Result<(Vec<Check>, Result<Receipt, String>), String> {
    let members: BTreeMap<String, &RawValue> =
        serde_json::from_slice(text).map_err(|error| format!("it is not a JSON object ({error})"))?;
    let sealed = members.get("sha256").ok_or("it is not sealed: it has no \"sha256\"")?.get();
    let unsealed = line_of(members.iter().filter(|(name, _)| *name != "sha256"));
    let expected = format!("sha256 {}", sealed.trim_matches('"'));
    let found = format!("sha256 {}", crate::digest::hex(&Sha256::digest(unsealed)));
    let canonical = "canonical JSON".to_owned();
    let form = if format!("{}\n", line_of(&members)).as_bytes() == text { &canonical } else { "not canonical" };
    let checks = vec![
        Check { file: RECEIPT, expected, found },
        Check { file: RECEIPT, found: form.to_owned(), expected: canonical },
    ];
    let format = members.get("format").map_or("unknown", |format| format.get());
    if format != FORMAT.to_string() {
        return Ok((checks, Err(format!("its format is version {format}, this wharf reads version {FORMAT}"))));
    }
    Ok((checks, serde_json::from_slice(text).map_err(|error| error.to_string())))
}

/// The canonical JSON of an object whose members are canonical.
fn line_of<'m>(members: impl IntoIterator<Item = (&'m String, &'m &'m RawValue)>) -> String {
    let member = |(name, value): (&String, &&RawValue)| format!("{}:{value}", serde_json::Value::from(name.as_str()));
    let members: Vec<String> = members.into_iter().map(member).collect();
    format!("{{{}}}", members.join(","))
}

fn check_recording(sealed: Option<&RecordingDigest>, path: &Path) -> Check {
    let shown = |bytes: u64, sha256: &str| format!("{bytes} bytes, sha256 {sha256}");
    Check {
        file: RECORDING,
        expected: sealed.map_or(ABSENT.to_owned(), |sealed| shown(sealed.bytes, &sealed.sha256)),
        found: describe(path, |found| shown(found.bytes, &found.sha256)),
    }
}

fn check_events(sealed: Option<&EventsDigest>, path: &Path) -> Check {
    let shown = |lines: u64, sha256: &str| format!("{lines} lines, sha256 {sha256}");
    Check {
        file: EVENTS,
        expected: sealed.map_or(ABSENT.to_owned(), |sealed| shown(sealed.count, &sealed.sha256)),
        found: describe(path, |found| shown(found.lines, &found.sha256)),
    }
}

const ABSENT: &str = "no such file";

fn describe(path: &Path, show: impl FnOnce(&Measures) -> String) -> String {
    match Measures::of(path) {
        Ok(measures) => show(&measures),
        Err(error) if error.kind() == io::ErrorKind::NotFound => ABSENT.to_owned(),
        Err(error) => format!("a file that cannot be read: {error}"),
    }
}
