//! JSON without building values.
//!
//! An adapter asks a line for the few fields it needs; everything else is skipped over, and long text is handed to the
//! host as a span of the chunk. What is skipped is checked for balance (quotes, brackets, the end of the line), not
//! for grammar. Nothing here recurses, so depth costs nothing.

mod escape;
mod object;
mod walk;

pub use escape::{quote, unescape};
pub use object::{Object, array};
pub(crate) use walk::{skip_nested, skip_scalar};

use crate::tape::{Head, Tape, Value, skip_spaces};
use crate::{Span, Text, scan};
use std::borrow::Cow;
use walk::{Fields, skip_blanks, skip_value};

/// The frame is not the JSON that was expected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Malformed;

/// A JSON value as it stands in its text, or a missing one. Looking into a missing value gives a missing value.
#[derive(Debug, Clone, Copy)]
pub struct Json<'a> {
    /// What it stands in, whole: the scanner looks at blocks, which may reach beyond the value.
    source: &'a str,
    /// Where it begins in there, without blanks before it.
    start: usize,
    /// Where it ends; where it begins, if it is missing.
    end: usize,
    /// Whether the source is the chunk, so that the host can be told a place in it. It is not where the value came from
    /// a file, a response, a literal.
    in_chunk: bool,
    /// What was read of it before, and the value's place in that.
    tape: Option<(&'a Tape, u16)>,
}

/// A missing value.
pub const MISSING: Json<'static> = Json { source: "", start: 0, end: 0, in_chunk: false, tape: None };

impl<'a> Json<'a> {
    /// The value in a text of its own, not of the chunk. Blank text is a missing value.
    pub fn parse(text: &'a str) -> Json<'a> {
        let text = text.trim();
        Json { source: text, start: 0, end: text.len(), in_chunk: false, tape: None }
    }

    /// The value that begins at `start` and has the rest of its line for itself, read onto a tape where it finds place
    /// there; and where the line ends. Nothing where it takes a look at the whole line to tell, which [`Json::whole`]
    /// is for.
    #[inline]
    pub(crate) fn read(chunk: &'a str, start: usize, tape: &'a mut Tape) -> Option<(Json<'a>, usize)> {
        let bytes = chunk.as_bytes();
        let end = tape.read(bytes, start).ok().flatten()?;
        let behind = skip_spaces(bytes, end);
        matches!(bytes.get(behind), None | Some(b'\n')).then_some(())?;
        Some((Json { source: chunk, start, end, in_chunk: true, tape: Some((tape, 0)) }, behind))
    }

    /// The value in `chunk[start..end]`, a whole line: for one that has more values than a tape takes, or other blanks
    /// around it than JSON knows.
    pub(crate) fn whole(chunk: &'a str, start: usize, end: usize, tape: &mut Tape) -> Result<Json<'a>, Malformed> {
        let line = &chunk[start..end];
        let start = end - line.trim_ascii_start().len();
        let end = start + line.trim_ascii().len();
        let behind = tape.read(chunk.as_bytes(), start)?;
        let whole = behind.is_none_or(|behind| behind == end);
        if whole { Ok(Json { source: chunk, start, end, in_chunk: true, tape: None }) } else { Err(Malformed) }
    }

    /// Its text as it stands.
    pub fn raw(self) -> &'a str {
        &self.source[self.start..self.end]
    }

    /// Whether there is no such value.
    pub fn is_missing(self) -> bool {
        self.start == self.end
    }

    /// Whether it is missing or `null`.
    pub fn is_null(self) -> bool {
        self.is_missing() || self.raw() == "null"
    }

    /// Whether it is an object.
    pub fn is_object(self) -> bool {
        self.first() == Some(b'{')
    }

    /// Whether it is an array.
    pub fn is_array(self) -> bool {
        self.first() == Some(b'[')
    }

    /// Whether it is a string.
    pub fn is_string(self) -> bool {
        self.first() == Some(b'"')
    }

    /// Some fields of an object, in one pass over it; those that it does not have are missing. Of a field that stands
    /// twice the last one counts.
    pub fn pick<const N: usize>(self, keys: [&str; N]) -> Result<[Json<'a>; N], Malformed> {
        let mut found = [MISSING; N];
        match self.tape.filter(|(tape, index)| tape.value(*index).open) {
            Some((tape, index)) if self.is_object() => self.pick_from(tape, index, keys, &mut found),
            Some(_) => return Err(Malformed),
            None => self.pick_into(&keys, &mut found)?,
        }
        Ok(found)
    }

    /// Where it was read before. One for each number of keys: with that known, they are compared without a loop, each
    /// round of which would be a look at the guest's clock.
    fn pick_from<const N: usize>(self, tape: &'a Tape, index: u16, keys: [&str; N], found: &mut [Json<'a>; N]) {
        let heads = keys.map(|key| Head::of(key.as_bytes()));
        for (at, value) in tape.values_in(index) {
            for slot in 0..N {
                if heads[slot] == value.head && (keys[slot].len() <= Head::TOLD || self.has_key(value, keys[slot])) {
                    found[slot] = Json { start: value.start, end: value.end, tape: Some((tape, at)), ..self };
                    break;
                }
            }
        }
    }

    /// Whether a value has this key, whose head it has.
    #[inline(never)]
    fn has_key(self, value: &Value, key: &str) -> bool {
        let (wanted, found) = (key.as_bytes(), &self.source.as_bytes()[value.key.0..value.key.1]);
        match (wanted.last_chunk::<8>(), found.last_chunk::<8>()) {
            // With the head, these are all bytes of a key that is not long.
            (Some(wanted_end), Some(found_end)) if wanted.len() <= Head::TOLD + 8 => wanted_end == found_end,
            _ => scan::same(wanted, found),
        }
    }

    /// Where it was not. Apart from `pick`, so that there is one of it in a component and not one for each number of
    /// keys.
    fn pick_into(self, keys: &[&str], found: &mut [Json<'a>]) -> Result<(), Malformed> {
        let mut fields = Fields::of(self)?;
        while let Some((key, value)) = fields.step()? {
            if let Some(slot) = keys.iter().position(|wanted| scan::same(wanted.as_bytes(), key.as_bytes())) {
                found[slot] = value;
            }
        }
        Ok(())
    }

    /// One field of an object.
    #[must_use]
    pub fn get(self, key: &str) -> Json<'a> {
        self.pick([key]).map_or(MISSING, |[value]| value)
    }

    /// A field of a field, and so on.
    #[must_use]
    pub fn at(self, path: &[&str]) -> Json<'a> {
        path.iter().fold(self, |value, key| value.get(key))
    }

    /// The fields of an object, up to the first that is malformed. Keys are as they stand, escapes and all.
    pub fn fields(self) -> impl Iterator<Item = (&'a str, Json<'a>)> {
        let mut read = self.values().filter(|_| self.is_object());
        let mut fields = Fields::of(self).ok().filter(|_| read.is_none());
        std::iter::from_fn(move || match &mut read {
            Some(values) => values.next().and_then(|(key, value)| Some((std::str::from_utf8(key).ok()?, value))),
            None => fields.as_mut()?.step().ok().flatten(),
        })
    }

    /// The items of an array, up to the first that is malformed.
    pub fn items(self) -> impl Iterator<Item = Json<'a>> {
        let bytes = self.source.as_bytes();
        let mut read = self.values().filter(|_| self.is_array());
        let mut at = if self.is_array() { skip_blanks(bytes, self.start + 1) } else { self.end };
        std::iter::from_fn(move || {
            if let Some(values) = &mut read {
                return values.next().map(|(_, item)| item);
            }
            if at >= self.end || bytes[at] == b']' {
                return None;
            }
            let end = skip_value(bytes, at, self.end).filter(|end| *end < self.end)?;
            let item = self.part(at, end);
            at = skip_blanks(bytes, end);
            if bytes.get(at) == Some(&b',') {
                at = skip_blanks(bytes, at + 1);
            }
            Some(item)
        })
    }

    /// A string as it stands between its quotes: for names, which need no escapes.
    pub fn name(self) -> Option<&'a str> {
        self.inside().map(|(start, end)| &self.source[start..end])
    }

    /// From where to where a string stands between its quotes.
    #[inline]
    fn inside(self) -> Option<(usize, usize)> {
        let bytes = self.source.as_bytes();
        let is_quote = |at: usize| bytes.get(at) == Some(&b'"');
        (self.start + 1 < self.end && is_quote(self.start) && is_quote(self.end - 1))
            .then(|| (self.start + 1, self.end - 1))
    }

    /// Whether it is this string.
    pub fn is(self, wanted: &str) -> bool {
        self.name().is_some_and(|name| scan::same(name.as_bytes(), wanted.as_bytes()))
    }

    /// A string, unescaped.
    pub fn str(self) -> Option<Cow<'a, str>> {
        self.name().map(unescape)
    }

    /// A string that is not empty, unescaped.
    pub fn filled(self) -> Option<Cow<'a, str>> {
        self.str().filter(|text| !text.is_empty())
    }

    /// A string, unescaped and owned.
    pub fn string(self) -> Option<String> {
        self.str().map(Cow::into_owned)
    }

    /// A string as text for an event: a span of the chunk, which the host cuts out and unescapes.
    #[inline]
    pub fn text(self) -> Option<Text> {
        if self.in_chunk {
            return self.inside().map(|(start, end)| Text::Quoted(span(start, end - start)));
        }
        self.string().map(Text::Inline)
    }

    /// A string as text for an event, empty where there is none.
    pub fn text_or_empty(self) -> Text {
        self.text().unwrap_or(Text::Inline(String::new()))
    }

    /// The value's own JSON as text for an event; nothing where it is missing.
    pub fn verbatim(self) -> Option<Text> {
        if self.is_missing() {
            return None;
        }
        Some(if self.in_chunk {
            Text::Verbatim(span(self.start, self.end - self.start))
        } else {
            Text::Inline(self.raw().to_owned())
        })
    }

    /// A number that is a whole one and not negative.
    pub fn u64(self) -> Option<u64> {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked by the guard")]
        self.raw().parse().ok().or_else(|| match self.f64() {
            Some(number) if number.fract() == 0.0 && (0.0..9.0e15).contains(&number) => Some(number as u64),
            _ => None,
        })
    }

    /// A number that is a whole one.
    pub fn i32(self) -> Option<i32> {
        self.raw().parse().ok()
    }

    /// A number.
    pub fn f64(self) -> Option<f64> {
        self.first().filter(|byte| byte.is_ascii_digit() || *byte == b'-')?;
        self.raw().parse().ok()
    }

    /// Dollars as millionths of a dollar, rounded.
    pub fn micros(self) -> Option<u64> {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked by the guard")]
        self.f64().filter(|dollars| (0.0..1.0e12).contains(dollars)).map(|dollars| (dollars * 1e6).round() as u64)
    }

    /// True or false.
    pub fn bool(self) -> Option<bool> {
        match self.raw() {
            "true" => Some(true),
            "false" => Some(false),
            _ => None,
        }
    }

    /// Whether it is `true`.
    pub fn is_true(self) -> bool {
        self.raw() == "true"
    }

    /// What is in an object or an array, with the keys, where that was read before.
    fn values(self) -> Option<impl Iterator<Item = (&'a [u8], Json<'a>)>> {
        let (tape, index) = self.tape.filter(|(tape, index)| tape.value(*index).open)?;
        Some(tape.values_in(index).map(move |(at, value)| {
            let found = Json { start: value.start, end: value.end, tape: Some((tape, at)), ..self };
            (&self.source.as_bytes()[value.key.0..value.key.1], found)
        }))
    }

    fn first(self) -> Option<u8> {
        self.source.as_bytes().get(self.start).copied().filter(|_| !self.is_missing())
    }

    fn part(self, start: usize, end: usize) -> Json<'a> {
        Json { start, end, tape: None, ..self }
    }
}

fn span(start: usize, length: usize) -> Span {
    // A chunk is far below 4 GiB: the host's frame limit is a u32 too.
    Span { start: u32::try_from(start).unwrap_or(u32::MAX), length: u32::try_from(length).unwrap_or(u32::MAX) }
}

/// The end of the line that begins at `start`: the place of its newline, or the end of the text.
pub(crate) fn find_newline(text: &str, start: usize) -> usize {
    scan::newline(text.as_bytes(), start).unwrap_or(text.len())
}

/// Whether two texts are the same, as `==` says; in a guest that calls a C function which goes byte by byte.
pub fn same(one: &str, other: &str) -> bool {
    scan::same(one.as_bytes(), other.as_bytes())
}

#[cfg(test)]
mod tests;
