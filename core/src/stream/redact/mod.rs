//! Keeps the values of granted variables out of everything that is recorded.
//!
//! What counts as a secret is one rule, [`is_secret`]. Every occurrence is replaced by `[redacted:NAME]`, in a complete
//! text or in a stream, where an occurrence may be split over any number of reads. Occurrences that overlap are
//! replaced together by the name of the first (the longest, if several start at the same byte), so that no byte of any
//! of them is left; occurrences that only touch are replaced one by one.
//!
//! It does not find a secret that is encoded in any other way than JSON does. A secret that is a part of the text
//! `[redacted:NAME]` stays visible there.
//!
//! Each secret has its own substring searcher. An Aho-Corasick automaton was measured and rejected: on 64 KiB of text
//! it is about as fast for one secret without occurrences, slower with occurrences, and takes 10 to 27 times as long
//! for two to eight secrets.

#[cfg(test)]
mod tests;
mod vocabulary;

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

use memchr::memchr_iter;
use memchr::memmem::Finder;

/// Shorter values are likely to be ordinary words: replacing them would damage the recording and hide nothing.
const SHORTEST_SECRET: usize = 8;

/// Variables whose names end like this hold settings, not secrets.
const SETTING_SUFFIXES: [&str; 8] = ["MODEL", "URL", "HOME", "DIR", "PATH", "TYPE", "REGION", "API"];

/// Whether a variable's value must be kept out of recordings and logs.
///
/// It must, unless it is shorter than 8 bytes (surrounding whitespace does not count), is a number or a boolean, or the
/// name ends in MODEL, URL, HOME, DIR, PATH, TYPE, REGION or API. A word of the formats that wharf writes ("workspace",
/// "completed") is not a secret either. A URL that contains a login is always a secret. If in doubt, a value is a secret.
pub fn is_secret(name: &str, value: &str) -> bool {
    let value = value.trim();
    let name = name.to_ascii_uppercase();
    let is_setting = SETTING_SUFFIXES.iter().any(|suffix| name.ends_with(suffix));
    let ordinary = is_number(value) || vocabulary::contains(value);
    value.len() >= SHORTEST_SECRET && !ordinary && (!is_setting || has_login(value))
}

/// Whether a value is a URL that contains a login.
pub fn has_login(value: &str) -> bool {
    value.contains("://") && value.contains('@')
}

/// Whether it is a plain decimal number. An exponent is not accepted: `12345678e9012345` is more likely a hexadecimal
/// key. Booleans need no check, because they are too short.
fn is_number(value: &str) -> bool {
    let digits = value.strip_prefix(['-', '+']).unwrap_or(value);
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    whole.bytes().chain(fraction.bytes()).all(|byte| byte.is_ascii_digit())
}

/// The secrets of one run.
#[derive(Clone, Default)]
pub struct Secrets {
    /// Sorted by length, longest first, without duplicates.
    needles: Vec<Needle>,
}

/// One text to search for.
#[derive(Clone)]
struct Needle {
    finder: Finder<'static>,
    placeholder: String,
}

impl Needle {
    fn text(&self) -> &[u8] {
        self.finder.needle()
    }
}

impl fmt::Debug for Secrets {
    /// Never the secrets themselves.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_list().entries(self.needles.iter().map(|needle| &needle.placeholder)).finish()
    }
}

impl Secrets {
    /// The secrets among some variables, given as names and values: see [`is_secret`]. Each is searched for as it is
    /// and as JSON escapes it. If two variables have the same value, the first one's name is used.
    pub fn new<N: AsRef<str>, V: AsRef<str>>(variables: impl IntoIterator<Item = (N, V)>) -> Secrets {
        let mut needles: Vec<Needle> = Vec::new();
        for (name, value) in variables {
            let (name, value) = (name.as_ref(), value.as_ref().trim());
            if !is_secret(name, value) {
                continue;
            }
            let quoted = serde_json::Value::from(value).to_string();
            let escaped = &quoted[1..quoted.len() - 1];
            for text in [value, escaped] {
                if needles.iter().all(|needle| needle.text() != text.as_bytes()) {
                    let finder = Finder::new(text).into_owned();
                    needles.push(Needle { finder, placeholder: format!("[redacted:{name}]") });
                }
            }
        }
        needles.sort_by_key(|needle| std::cmp::Reverse(needle.text().len()));
        Secrets { needles }
    }

    /// Whether there is nothing to redact.
    pub fn is_empty(&self) -> bool {
        self.needles.is_empty()
    }

    /// Whether the bytes contain a secret.
    pub fn are_in(&self, bytes: &[u8]) -> bool {
        self.needles.iter().any(|needle| needle.finder.find(bytes).is_some())
    }

    /// A text without the secrets.
    pub fn redact<'t>(&self, text: &'t str) -> Cow<'t, str> {
        match self.redact_bytes(text.as_bytes()) {
            Cow::Borrowed(_) => Cow::Borrowed(text),
            Cow::Owned(bytes) => {
                Cow::Owned(String::from_utf8(bytes).expect("only complete characters were replaced, by other text"))
            }
        }
    }

    /// Bytes without the secrets.
    pub fn redact_bytes<'t>(&self, bytes: &'t [u8]) -> Cow<'t, [u8]> {
        let regions = self.find(bytes, 0);
        if regions.is_empty() {
            return Cow::Borrowed(bytes);
        }
        let mut out = Vec::with_capacity(bytes.len());
        self.write(bytes, bytes.len(), &regions, &mut out);
        Cow::Owned(out)
    }

    /// What to replace, in order and without overlaps. The first `covered` bytes were replaced before, and are a
    /// separate region.
    fn find(&self, bytes: &[u8], covered: usize) -> Vec<Region> {
        let mut occurrences: Vec<(usize, usize)> = Vec::new();
        for (index, needle) in self.needles.iter().enumerate() {
            let mut from = 0;
            while let Some(at) = needle.finder.find(&bytes[from..]) {
                occurrences.push((from + at, index));
                from += at + 1;
            }
        }
        // By position, then longest first, because the needles are in that order.
        occurrences.sort_unstable();
        let mut regions: Vec<Region> = Vec::new();
        if covered > 0 {
            regions.push(Region { range: 0..covered, needle: None });
        }
        for (start, index) in occurrences {
            let end = start + self.needles[index].text().len();
            match regions.last_mut() {
                Some(last) if start < last.range.end => last.range.end = last.range.end.max(end),
                _ => regions.push(Region { range: start..end, needle: Some(index) }),
            }
        }
        regions
    }

    /// Writes the bytes before `until` with the regions replaced. Returns how many of the bytes after it are replaced
    /// too, because a region extends beyond it.
    fn write(&self, bytes: &[u8], until: usize, regions: &[Region], out: &mut Vec<u8>) -> usize {
        let mut written = 0;
        for Region { range, needle } in regions {
            if let Some(index) = needle {
                if range.start >= until {
                    break;
                }
                out.extend_from_slice(&bytes[written..range.start]);
                out.extend_from_slice(self.needles[*index].placeholder.as_bytes());
            }
            written = range.end;
        }
        out.extend_from_slice(bytes.get(written..until).unwrap_or_default());
        written.saturating_sub(until)
    }

    /// Where the longest tail starts that is a proper prefix of a secret.
    fn incomplete_tail(&self, bytes: &[u8]) -> usize {
        let tail_start = |needle: &Needle| {
            let text = needle.text();
            let from = (bytes.len() + 1).saturating_sub(text.len());
            let mut starts = memchr_iter(text[0], &bytes[from..]).map(|at| from + at);
            starts.find(|start| text.starts_with(&bytes[*start..]))
        };
        self.needles.iter().filter_map(tail_start).min().unwrap_or(bytes.len())
    }
}

/// A part of a text that is replaced by one placeholder.
#[derive(Debug)]
struct Region {
    range: Range<usize>,
    /// The needle with the name. None if the placeholder was written before.
    needle: Option<usize>,
}

/// Redacts a stream. The result is the same as for the complete text, no matter how the stream is split into reads.
pub struct Redactor {
    secrets: Secrets,
    /// The tail of the stream while it is a proper prefix of a secret: the next bytes show whether it is one.
    held: Vec<u8>,
    /// How much of the tail belongs to an occurrence that is already replaced, and may overlap another one.
    covered: usize,
}

impl fmt::Debug for Redactor {
    /// Never what is held: it may be most of a secret.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Redactor").field("secrets", &self.secrets).finish_non_exhaustive()
    }
}

impl Redactor {
    /// A redactor at the start of a stream. Not needed if there are no secrets: see [`Secrets::is_empty`].
    pub fn new(secrets: &Secrets) -> Redactor {
        Redactor { secrets: secrets.clone(), held: Vec::new(), covered: 0 }
    }

    /// Takes the next bytes of the stream, and returns those that are known to be clean.
    pub fn push(&mut self, bytes: Vec<u8>) -> Vec<u8> {
        let bytes = if self.held.is_empty() { bytes } else { [std::mem::take(&mut self.held), bytes].concat() };
        let until = self.secrets.incomplete_tail(&bytes);
        // Most reads contain nothing secret, and are returned unchanged.
        if until == bytes.len() && self.covered == 0 && !self.secrets.are_in(&bytes) {
            return bytes;
        }
        let mut out = Vec::with_capacity(bytes.len());
        self.pass(&bytes, until, &mut out);
        out
    }

    /// The stream has ended: returns what was held.
    pub fn finish(&mut self) -> Vec<u8> {
        let held = std::mem::take(&mut self.held);
        let mut out = Vec::new();
        self.pass(&held, held.len(), &mut out);
        out
    }

    /// Writes what is before `until` and holds the rest.
    ///
    /// All occurrences that start before `until` are complete, so the names of their regions are known. Only the end of
    /// a region may still move, because of an occurrence that starts in what is held.
    fn pass(&mut self, bytes: &[u8], until: usize, out: &mut Vec<u8>) {
        let regions = self.secrets.find(bytes, self.covered);
        self.covered = self.secrets.write(bytes, until, &regions, out);
        self.held.extend_from_slice(&bytes[until..]);
    }
}
