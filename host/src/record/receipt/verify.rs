//! Checks whether a receipt and the files that it describes are unchanged since it was sealed. Never changes them.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::path::Path;

use schemars::JsonSchema;
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
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
    let members = members(text).map_err(|error| format!("it is not a JSON object ({error})"))?;
    let sealed = members.get("sha256").ok_or("it is not sealed: it has no \"sha256\"")?;
    let unsealed = line_of(members.iter().filter(|(name, _)| *name != "sha256"));
    let expected = format!("sha256 {}", sealed.trim_matches('"'));
    let found = format!("sha256 {}", crate::digest::hex(&Sha256::digest(unsealed)));
    let canonical = "canonical JSON".to_owned();
    let form = if format!("{}\n", line_of(&members)).as_bytes() == text { &canonical } else { "not canonical" };
    let checks = vec![
        Check { file: RECEIPT, expected, found },
        Check { file: RECEIPT, found: form.to_owned(), expected: canonical },
    ];
    let format = members.get("format").copied().unwrap_or("unknown");
    if format != FORMAT.to_string() {
        return Ok((checks, Err(format!("its format is version {format}, this wharf reads version {FORMAT}"))));
    }
    Ok((checks, serde_json::from_slice(text).map_err(|error| error.to_string())))
}

/// The members of an object, each as it is written.
///
/// `RawValue` of `serde_json` would do the same, but the feature for it gives a key of an agent's JSON a meaning.
fn members(text: &[u8]) -> Result<BTreeMap<String, &str>, String> {
    let mut rest = std::str::from_utf8(text).map_err(|error| error.to_string())?.trim_ascii();
    // All of it is checked before any of it is used.
    let _: IgnoredAny = serde_json::from_str(rest).map_err(|error| error.to_string())?;
    rest = rest.strip_prefix('{').ok_or("it does not start with a brace")?;
    let mut members = BTreeMap::new();
    while let (Some(name), after_name) = first::<String>(rest) {
        let value = after_name.trim_ascii_start().strip_prefix(':').unwrap_or(after_name).trim_ascii_start();
        let (_, after_value) = first::<IgnoredAny>(value);
        members.insert(name, &value[..value.len() - after_value.len()]);
        rest = after_value.trim_ascii_start().strip_prefix(',').unwrap_or(after_value);
    }
    Ok(members)
}

/// The first value in a text, and what comes after it.
fn first<'t, T: Deserialize<'t>>(text: &'t str) -> (Option<T>, &'t str) {
    let mut values = serde_json::Deserializer::from_str(text).into_iter();
    let value = values.next().and_then(Result::ok);
    (value, text.get(values.byte_offset()..).unwrap_or_default())
}

/// The canonical JSON of an object whose members are canonical.
fn line_of<'m>(members: impl IntoIterator<Item = (&'m String, &'m &'m str)>) -> String {
    let member = |(name, value): (&String, &&str)| format!("{}:{value}", serde_json::Value::from(name.as_str()));
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
