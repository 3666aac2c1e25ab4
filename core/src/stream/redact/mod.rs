//! Keeps the values of variables out of everything that is recorded, reported or logged.
//!
//! What counts as a secret is one rule, [`is_secret`], unless the user says otherwise ([`Secrecy`]). Every occurrence is
//! replaced by `[redacted:NAME]`, in a complete text or in a stream, where an occurrence may be split over any number of
//! reads. Occurrences that overlap are replaced together by the name of the first (the longest, if several start at the
//! same byte), so that no byte of any of them is left; occurrences that only touch are replaced one by one.
//!
//! A secret is found in all its [forms](forms), and not if it is encoded in any other way. A secret that is a part of
//! the text `[redacted:NAME]` stays visible there.
//!
//! Each secret has its own substring searcher, for the part that all its forms have in common: a secret costs one pass
//! over the text, however many forms it has. An Aho-Corasick automaton was measured and rejected: on 64 KiB of text it
//! is about as fast for one secret without occurrences, slower with occurrences, and takes 10 to 27 times as long for
//! two to eight secrets.

mod forms;
mod rule;
#[cfg(test)]
mod tests;
mod vocabulary;

pub use rule::{Secrecy, has_login, is_secret};

use std::borrow::Cow;
use std::cmp::Reverse;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use forms::{Encoding, anchor};
use memchr::memchr_iter;
use memchr::memmem::Finder;
use serde_json::Value;

/// The shortest common part of all forms that is searched for. A shorter one would be found too often.
const SHORTEST_ANCHOR: usize = 4;

/// The secrets of one run. Cheap to clone.
#[derive(Clone, Default)]
pub struct Secrets {
    needles: Arc<[Needle]>,
}

/// One secret: what to search for, and what may be around it.
struct Needle {
    /// For the part that all forms have in common.
    finder: Finder<'static>,
    forms: Vec<Form>,
    placeholder: String,
}

/// One form of a secret.
struct Form {
    text: String,
    /// Where the common part starts.
    anchor: usize,
}

impl Needle {
    /// The needles of a text. Without a common part, each form is searched for by itself.
    fn all(name: &str, text: &str) -> Vec<Needle> {
        let common = anchor(text);
        let anchored = common.len() >= SHORTEST_ANCHOR;
        let mut forms: Vec<Form> = Vec::new();
        // What no writer changes has one form.
        let encodings = if common.len() == text.len() { vec![Encoding::Json(vec![])] } else { Encoding::all() };
        for encoding in encodings {
            let form = encoding.write(text);
            if forms.iter().all(|other| other.text != form) {
                let anchor = if anchored { encoding.write(&text[..common.start]).len() } else { 0 };
                forms.push(Form { text: form, anchor });
            }
        }
        let needle = |common: &str, forms| Needle {
            finder: Finder::new(common).into_owned(),
            forms,
            placeholder: format!("[redacted:{name}]"),
        };
        if anchored {
            return vec![needle(&text[common], forms)];
        }
        forms.into_iter().map(|form| needle(&form.text.clone(), vec![form])).collect()
    }

    /// Where the secret is, in any form.
    fn occurrences<'t>(&'t self, bytes: &'t [u8]) -> impl Iterator<Item = Range<usize>> + 't {
        let mut from = 0;
        let anchors = std::iter::from_fn(move || {
            let at = from + self.finder.find(&bytes[from..])?;
            from = at + 1;
            Some(at)
        });
        anchors.flat_map(move |at| {
            self.forms.iter().filter_map(move |form| {
                let start = at.checked_sub(form.anchor)?;
                bytes[start..].starts_with(form.text.as_bytes()).then(|| start..start + form.text.len())
            })
        })
    }
}

impl fmt::Debug for Secrets {
    /// Never the secrets themselves.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_list().entries(self.needles.iter().map(|needle| &needle.placeholder)).finish()
    }
}

impl Secrets {
    /// The secrets among some variables, given as names and values: see [`is_secret`]. If two variables have the same
    /// value, the first one's name is used.
    pub fn new<N: AsRef<str>, V: AsRef<str>>(variables: impl IntoIterator<Item = (N, V)>) -> Secrets {
        Secrets::marked(variables.into_iter().map(|(name, value)| (name, value, Secrecy::ByRule)))
    }

    /// The same, if the user has said of some variables whether they are secret.
    pub fn marked<N: AsRef<str>, V: AsRef<str>>(variables: impl IntoIterator<Item = (N, V, Secrecy)>) -> Secrets {
        let mut needles: Vec<Needle> = Vec::new();
        for (name, value, secrecy) in variables {
            let (name, value) = (name.as_ref(), value.as_ref().trim());
            if !rule::counts_as_secret(name, value, secrecy) {
                continue;
            }
            for text in std::iter::once(value).chain(rule::logins(value)) {
                if needles.iter().all(|needle| needle.forms[0].text != text) {
                    needles.extend(Needle::all(name, text));
                }
            }
        }
        Secrets { needles: needles.into() }
    }

    /// Whether there is nothing to redact.
    pub fn is_empty(&self) -> bool {
        self.needles.is_empty()
    }

    /// Whether the bytes contain a secret.
    pub fn are_in(&self, bytes: &[u8]) -> bool {
        self.needles.iter().any(|needle| needle.occurrences(bytes).next().is_some())
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

    /// Removes the secrets from every text and every name in a value. Returns whether there were any.
    pub fn redact_value(&self, value: &mut Value) -> bool {
        match value {
            Value::String(text) => match self.redact(text) {
                Cow::Borrowed(_) => false,
                Cow::Owned(clean) => {
                    *text = clean;
                    true
                }
            },
            // Every item must be redacted, so no short circuit.
            Value::Array(items) => items.iter_mut().fold(false, |any, item| self.redact_value(item) | any),
            Value::Object(fields) => {
                let names: Vec<String> = fields.keys().cloned().collect();
                let mut any = false;
                for name in names {
                    if let Some(mut field) = fields.remove(&name) {
                        any |= self.redact_value(&mut field);
                        let clean = self.redact(&name).into_owned();
                        any |= clean != name;
                        fields.insert(clean, field);
                    }
                }
                any
            }
            _ => false,
        }
    }

    /// What to replace, in order and without overlaps. The first `covered` bytes were replaced before, and are a
    /// separate region.
    fn find(&self, bytes: &[u8], covered: usize) -> Vec<Region> {
        let mut occurrences: Vec<(usize, Reverse<usize>, usize)> = Vec::new();
        for (index, needle) in self.needles.iter().enumerate() {
            occurrences.extend(needle.occurrences(bytes).map(|range| (range.start, Reverse(range.end), index)));
        }
        // By position, then longest first.
        occurrences.sort_unstable();
        let mut regions: Vec<Region> = Vec::new();
        if covered > 0 {
            regions.push(Region { range: 0..covered, needle: None });
        }
        for (start, Reverse(end), index) in occurrences {
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
        let tail_start = |form: &Form| {
            let text = form.text.as_bytes();
            let from = (bytes.len() + 1).saturating_sub(text.len());
            let mut starts = memchr_iter(text[0], &bytes[from..]).map(|at| from + at);
            starts.find(|start| text.starts_with(&bytes[*start..]))
        };
        self.needles.iter().flat_map(|needle| &needle.forms).filter_map(tail_start).min().unwrap_or(bytes.len())
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
