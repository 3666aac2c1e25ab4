//! Keeps the values of granted variables out of whatever is written down.
//!
//! What counts as a secret is one rule, [`is_secret`]. Every occurrence is replaced by `[redacted:NAME]`, in a text as
//! a whole or in a stream, where an occurrence may be split over any number of reads. Occurrences that overlap are
//! replaced together by the name of the first (the longest, where several begin at once), so that no byte of any of
//! them is left; occurrences that only touch are replaced one by one.
//!
//! What it does not do: find a secret that was encoded in another way than JSON does, or be cleverer than its own
//! placeholder (a secret that is a part of the text `[redacted:NAME]` will be seen there).

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

use memchr::memchr_iter;
use memchr::memmem::Finder;

/// Shorter values are too likely to be ordinary words: replacing them would spoil the recording and hide nothing.
const SHORTEST_SECRET: usize = 8;

/// Names that end so hold settings, not secrets.
const ORDINARY_ENDINGS: [&str; 8] = ["MODEL", "URL", "HOME", "DIR", "PATH", "TYPE", "REGION", "API"];

/// Whether a variable's value has to be kept out of recordings and logs.
///
/// It has, unless it is shorter than 8 bytes (white space around it does not count), is a number or a boolean, or the
/// name ends in MODEL, URL, HOME, DIR, PATH, TYPE, REGION or API. A URL with a login in it is a secret all the same. In
/// doubt a value is a secret.
pub(crate) fn is_secret(name: &str, value: &str) -> bool {
    let value = value.trim();
    let name = name.to_ascii_uppercase();
    let ordinary = ORDINARY_ENDINGS.iter().any(|ending| name.ends_with(ending));
    let has_login = value.contains("://") && value.contains('@');
    value.len() >= SHORTEST_SECRET && !is_number(value) && (!ordinary || has_login)
}

/// A plain decimal number. No exponent: `12345678e9012345` is rather the hexadecimal digits of a key. Booleans need no
/// test of their own, they are too short.
fn is_number(value: &str) -> bool {
    let digits = value.strip_prefix(['-', '+']).unwrap_or(value);
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    whole.bytes().chain(fraction.bytes()).all(|byte| byte.is_ascii_digit())
}

/// The secrets of one run.
#[derive(Clone, Default)]
pub(crate) struct Secrets {
    /// Longest first, each text once.
    needles: Vec<Needle>,
}

/// One text to look for.
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
    /// The secrets among some variables, given as names and values: see [`is_secret`]. Each is looked for as it stands
    /// and as JSON escapes it. Where two variables have the same value, the first gives the name.
    pub(crate) fn new<N: AsRef<str>, V: AsRef<str>>(variables: impl IntoIterator<Item = (N, V)>) -> Secrets {
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
    pub(crate) fn is_empty(&self) -> bool {
        self.needles.is_empty()
    }

    /// Whether one of them is in there.
    pub(crate) fn are_in(&self, bytes: &[u8]) -> bool {
        self.needles.iter().any(|needle| needle.finder.find(bytes).is_some())
    }

    /// A text without the secrets.
    pub(crate) fn redact<'t>(&self, text: &'t str) -> Cow<'t, str> {
        match self.redact_bytes(text.as_bytes()) {
            Cow::Borrowed(_) => Cow::Borrowed(text),
            Cow::Owned(bytes) => {
                Cow::Owned(String::from_utf8(bytes).expect("whole characters were replaced by other text"))
            }
        }
    }

    /// Bytes without the secrets.
    pub(crate) fn redact_bytes<'t>(&self, bytes: &'t [u8]) -> Cow<'t, [u8]> {
        let regions = self.find(bytes, 0);
        if regions.is_empty() {
            return Cow::Borrowed(bytes);
        }
        let mut out = Vec::with_capacity(bytes.len());
        self.write(bytes, bytes.len(), &regions, &mut out);
        Cow::Owned(out)
    }

    /// What to replace, in order and apart from each other. The first `covered` bytes have been replaced before, and
    /// make a region of their own.
    fn find(&self, bytes: &[u8], covered: usize) -> Vec<Region> {
        let mut occurrences: Vec<(usize, usize)> = Vec::new();
        for (index, needle) in self.needles.iter().enumerate() {
            let mut from = 0;
            while let Some(at) = needle.finder.find(&bytes[from..]) {
                occurrences.push((from + at, index));
                from += at + 1;
            }
        }
        // By place, then the longest first, since the needles are in that order.
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

    /// Writes the bytes before `until`, the regions replaced. Gives how many of the bytes after it are replaced too,
    /// because a region reaches beyond it.
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

    /// Where the longest tail begins that is a secret's beginning, but not all of it.
    fn unfinished(&self, bytes: &[u8]) -> usize {
        let begins = |needle: &Needle| {
            let text = needle.text();
            let from = (bytes.len() + 1).saturating_sub(text.len());
            let mut starts = memchr_iter(text[0], &bytes[from..]).map(|at| from + at);
            starts.find(|start| text.starts_with(&bytes[*start..]))
        };
        self.needles.iter().filter_map(begins).min().unwrap_or(bytes.len())
    }
}

/// A part of a text that is replaced as one.
#[derive(Debug)]
struct Region {
    range: Range<usize>,
    /// Which needle gives the name. None where the placeholder has been written before.
    needle: Option<usize>,
}

/// Redacts a stream. What comes out is the redaction of the whole, however the stream was cut.
pub(crate) struct Redactor {
    secrets: Secrets,
    /// The stream's tail, where it is a secret's beginning and more has to come before it can be told.
    held: Vec<u8>,
    /// How much of the tail belongs to an occurrence that is replaced already, and may overlap with another.
    covered: usize,
}

impl fmt::Debug for Redactor {
    /// Not what is held: it may be most of a secret.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Redactor").field("secrets", &self.secrets).finish_non_exhaustive()
    }
}

impl Redactor {
    /// At the beginning of a stream. Where there are no secrets it need not be used: see [`Secrets::is_empty`].
    pub(crate) fn new(secrets: &Secrets) -> Redactor {
        Redactor { secrets: secrets.clone(), held: Vec::new(), covered: 0 }
    }

    /// The next bytes of the stream; gives what can be told of them.
    pub(crate) fn push(&mut self, bytes: Vec<u8>) -> Vec<u8> {
        let bytes = if self.held.is_empty() { bytes } else { [std::mem::take(&mut self.held), bytes].concat() };
        let until = self.secrets.unfinished(&bytes);
        // Most have nothing to hide, and go on as they are.
        if until == bytes.len() && self.covered == 0 && !self.secrets.are_in(&bytes) {
            return bytes;
        }
        let mut out = Vec::with_capacity(bytes.len());
        self.pass(&bytes, until, &mut out);
        out
    }

    /// The stream has ended: gives what was held.
    pub(crate) fn finish(&mut self) -> Vec<u8> {
        let held = std::mem::take(&mut self.held);
        let mut out = Vec::new();
        self.pass(&held, held.len(), &mut out);
        out
    }

    /// Passes on what comes before `until` and holds the rest.
    ///
    /// All occurrences that begin before `until` are whole by now, so the names of their regions are settled; only
    /// their ends may still move, by an occurrence that begins in what is held.
    fn pass(&mut self, bytes: &[u8], until: usize, out: &mut Vec<u8>) {
        let regions = self.secrets.find(bytes, self.covered);
        self.covered = self.secrets.write(bytes, until, &regions, out);
        self.held.extend_from_slice(&bytes[until..]);
    }
}
