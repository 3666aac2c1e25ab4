//! Whether a receipt, and the files that it speaks of, are as they were when it was sealed.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::path::Path;

use serde::Serialize;
use serde_json::value::RawValue;
use sha2::{Digest as _, Sha256};

use super::{EventsDigest, FORMAT, Measures, Receipt, RecordingDigest};
use crate::error::{Error, Result};
use crate::runs::{EVENTS, RECEIPT, RECORDING};

/// What was found out about a receipt.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Verified {
    /// What the receipt says, whether that is to be believed or not.
    pub receipt: Receipt,
    /// All that was looked at, the receipt itself first.
    pub checks: Vec<Check>,
}

impl Verified {
    /// Whether everything is as it was.
    pub fn holds(&self) -> bool {
        self.checks.iter().all(Check::holds)
    }
}

/// One thing that was looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Check {
    /// The file's name.
    pub file: &'static str,
    /// How it should be.
    pub expected: String,
    /// How it is.
    pub found: String,
}

impl Check {
    /// Whether it is as it should be.
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

/// Checks the receipt in the folder of a run, and the other files against it. An error means that there is no receipt
/// that could be read; anything else that is wrong is among the checks.
pub fn verify(folder: &Path) -> Result<Verified> {
    let path = folder.join(RECEIPT);
    let refuse = |why: String| Error::invalid(format!("cannot read the receipt {}: {why}", path.display()));
    let text = std::fs::read(&path).map_err(|why| {
        let error = refuse(why.to_string());
        if why.kind() == io::ErrorKind::NotFound {
            return error.hint("a run has its receipt once it has ended; where its host was killed it has none");
        }
        error
    })?;
    let (mut checks, receipt) = open_seal(&text).map_err(refuse)?;
    let receipt = receipt.map_err(|why| match checks.iter().find(|check| !check.holds()) {
        Some(broken) => refuse(format!("{why}; {broken}")),
        None => refuse(why),
    })?;
    checks.push(check_recording(receipt.recording.as_ref(), &folder.join(RECORDING)));
    checks.push(check_events(receipt.events.as_ref(), &folder.join(EVENTS)));
    Ok(Verified { receipt, checks })
}

/// The checks of the seal, and what is inside. The seal comes first: what is inside may make no sense because of what
/// broke the seal.
///
/// The members are taken as they are written. Reading and writing them again would hide changes that do not matter to
/// JSON, and lean on everything in between giving the same bytes for ever.
pub(super) fn open_seal(text: &[u8]) -> Result<(Vec<Check>, Result<Receipt, String>), String> {
    let members: BTreeMap<String, &RawValue> =
        serde_json::from_slice(text).map_err(|why| format!("it is no JSON object ({why})"))?;
    let sealed = members.get("sha256").ok_or("it is not sealed: it has no \"sha256\"")?.get();
    let unsealed = line_of(members.iter().filter(|(name, _)| *name != "sha256"));
    let expected = format!("sha256 {}", sealed.trim_matches('"'));
    let found = format!("sha256 {:x}", Sha256::digest(unsealed));
    let canonical = "canonical JSON".to_owned();
    let form = if format!("{}\n", line_of(&members)).as_bytes() == text { &canonical } else { "another form" };
    let checks = vec![
        Check { file: RECEIPT, expected, found },
        Check { file: RECEIPT, found: form.to_owned(), expected: canonical },
    ];
    let format = members.get("format").map_or("none", |format| format.get());
    if format != FORMAT.to_string() {
        return Ok((checks, Err(format!("its format is {format}, this wharf reads {FORMAT}"))));
    }
    Ok((checks, serde_json::from_slice(text).map_err(|why| why.to_string())))
}

/// The canonical JSON of an object whose members are canonical.
fn line_of<'m>(members: impl IntoIterator<Item = (&'m String, &'m &'m RawValue)>) -> String {
    let member = |(name, value): (&String, &&RawValue)| format!("{}:{value}", serde_json::Value::from(name.as_str()));
    let members: Vec<String> = members.into_iter().map(member).collect();
    format!("{{{}}}", members.join(","))
}

fn check_recording(sealed: Option<&RecordingDigest>, path: &Path) -> Check {
    let words = |bytes: u64, sha256: &str| format!("{bytes} bytes, sha256 {sha256}");
    Check {
        file: RECORDING,
        expected: sealed.map_or(ABSENT.to_owned(), |sealed| words(sealed.bytes, &sealed.sha256)),
        found: describe(path, |found| words(found.bytes, &found.sha256)),
    }
}

fn check_events(sealed: Option<&EventsDigest>, path: &Path) -> Check {
    let words = |lines: u64, sha256: &str| format!("{lines} lines, sha256 {sha256}");
    Check {
        file: EVENTS,
        expected: sealed.map_or(ABSENT.to_owned(), |sealed| words(sealed.count, &sealed.sha256)),
        found: describe(path, |found| words(found.lines, &found.sha256)),
    }
}

const ABSENT: &str = "no such file";

fn describe(path: &Path, words: impl FnOnce(&Measures) -> String) -> String {
    match Measures::of(path) {
        Ok(measures) => words(&measures),
        Err(why) if why.kind() == io::ErrorKind::NotFound => ABSENT.to_owned(),
        Err(why) => format!("a file that cannot be read: {why}"),
    }
}
