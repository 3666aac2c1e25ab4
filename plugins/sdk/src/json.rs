//! JSON without building values.
//!
//! An adapter picks the few fields it needs from a line; everything else is skipped, and long text is passed to the host
//! as a span of the chunk. Skipped parts are checked for balance (quotes, brackets, the end of the line), not for
//! grammar. Nothing here recurses, so nesting depth costs no stack.

mod escape;
mod object;

pub use crate::skip::Malformed;
pub use escape::{quote, unescape};
pub use object::{Object, array};

use crate::skip::{skip_spaces, skip_string, skip_value, skip_whitespace};
use crate::tape::{KeyPrefix, Tape, Value};
use crate::{Span, Text, scan};
use std::borrow::Cow;

/// A JSON value inside its text, or a missing value. A field or item of a missing value is missing too.
#[derive(Debug, Clone, Copy)]
pub struct Json<'a> {
    /// The whole text that contains it: the scanner reads blocks, which may extend beyond the value.
    source: &'a str,
    /// Where it starts in the source, after any whitespace.
    start: usize,
    /// Where it ends; equal to `start` if it is missing.
    end: usize,
    /// Whether the source is the chunk, so that a span of it means something to the host. False for a value from a
    /// file, a response or a literal.
    in_chunk: bool,
    /// The tape that it was read onto, and its index there.
    tape: Option<(&'a Tape, u16)>,
}

/// The missing value.
pub const MISSING: Json<'static> = Json { source: "", start: 0, end: 0, in_chunk: false, tape: None };

impl<'a> Json<'a> {
    /// The value in a text that is not the chunk. Blank text is a missing value.
    pub fn parse(text: &'a str) -> Json<'a> {
        let text = text.trim();
        Json { source: text, start: 0, end: text.len(), in_chunk: false, tape: None }
    }

    /// Reads the value that starts at `start` onto the tape. Returns it, and where its line ends. Returns `None` if the
    /// value does not fit on the tape, is malformed or is followed by something else: then [`Json::whole`] decides.
    #[inline]
    pub(crate) fn read(chunk: &'a str, start: usize, tape: &'a mut Tape) -> Option<(Json<'a>, usize)> {
        let bytes = chunk.as_bytes();
        let end = tape.read(bytes, start).ok().flatten()?;
        let line_end = skip_spaces(bytes, end);
        matches!(bytes.get(line_end), None | Some(b'\n')).then_some(())?;
        Some((Json { source: chunk, start, end, in_chunk: true, tape: Some((tape, 0)) }, line_end))
    }

    /// The value in `chunk[start..end]`, a whole line: for a line with more values than fit on a tape, or with
    /// whitespace around it that JSON does not allow.
    pub(crate) fn whole(chunk: &'a str, start: usize, end: usize, tape: &mut Tape) -> Result<Json<'a>, Malformed> {
        let line = &chunk[start..end];
        let start = end - line.trim_ascii_start().len();
        let end = start + line.trim_ascii().len();
        let value_end = tape.read(chunk.as_bytes(), start)?;
        let whole = value_end.is_none_or(|value_end| value_end == end);
        if whole { Ok(Json { source: chunk, start, end, in_chunk: true, tape: None }) } else { Err(Malformed) }
    }

    /// The JSON text of the value.
    pub fn raw(self) -> &'a str {
        &self.source[self.start..self.end]
    }

    /// Whether the value does not exist.
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

    /// Some fields of an object, in one pass over it. Fields that it does not have are missing. If a field occurs twice,
    /// the last one counts.
    pub fn pick<const N: usize>(self, keys: [&str; N]) -> Result<[Json<'a>; N], Malformed> {
        let mut found = [MISSING; N];
        match self.tape.filter(|(tape, index)| tape.value(*index).open) {
            Some((tape, index)) if self.is_object() => self.pick_from(tape, index, keys, &mut found),
            Some(_) => return Err(Malformed),
            None => self.pick_into(&keys, &mut found)?,
        }
        Ok(found)
    }

    /// The same as [`Json::pick`], for objects that are rare: slower, and the component contains its code once, and not for
    /// every number of keys.
    pub fn select<const N: usize>(self, keys: [&str; N]) -> Result<[Json<'a>; N], Malformed> {
        let mut found = [MISSING; N];
        self.select_into(&keys, &mut found)?;
        Ok(found)
    }

    #[inline(never)]
    fn select_into(self, keys: &[&str], found: &mut [Json<'a>]) -> Result<(), Malformed> {
        match self.values() {
            Some(values) if self.is_object() => {
                for (key, value) in values {
                    if let Some(slot) = keys.iter().position(|wanted| scan::same(wanted.as_bytes(), key)) {
                        found[slot] = value;
                    }
                }
                Ok(())
            }
            Some(_) => Err(Malformed),
            None => self.pick_into(keys, found),
        }
    }

    /// From a value that is on the tape. Generic over the number of keys, so that they are compared without a loop: in
    /// a guest every iteration checks the time limit.
    fn pick_from<const N: usize>(self, tape: &'a Tape, index: u16, keys: [&str; N], found: &mut [Json<'a>; N]) {
        let prefixes = keys.map(|key| KeyPrefix::of(key.as_bytes()));
        for (at, value) in tape.values_in(index) {
            for slot in 0..N {
                let (key, is_short) = (keys[slot], keys[slot].len() <= KeyPrefix::BYTES);
                if prefixes[slot] == value.prefix && (is_short || self.has_key(value, key)) {
                    found[slot] = Json { start: value.start, end: value.end, tape: Some((tape, at)), ..self };
                    break;
                }
            }
        }
    }

    /// Whether a value whose key has the same prefix has this key.
    #[inline(never)]
    fn has_key(self, value: &Value, key: &str) -> bool {
        let (wanted, found) = (key.as_bytes(), &self.source.as_bytes()[value.key.0..value.key.1]);
        match (wanted.last_chunk::<8>(), found.last_chunk::<8>()) {
            // Together with the prefix, these are all bytes of a key of up to 15 bytes.
            (Some(wanted_end), Some(found_end)) if wanted.len() <= KeyPrefix::BYTES + 8 => wanted_end == found_end,
            _ => scan::same(wanted, found),
        }
    }

    /// From a value that is not on the tape. Not generic over the number of keys, so that a component contains it once.
    fn pick_into(self, keys: &[&str], found: &mut [Json<'a>]) -> Result<(), Malformed> {
        let mut fields = Fields::of(self)?;
        while let Some((key, value)) = fields.step()? {
            if let Some(slot) = keys.iter().position(|wanted| scan::same(wanted.as_bytes(), key.as_bytes())) {
                found[slot] = value;
            }
        }
        Ok(())
    }

    /// One field of an object; missing if this is not an object. Not inlined: there are hundreds of calls, and those for
    /// every line use [`Json::pick`].
    #[inline(never)]
    #[must_use]
    pub fn get(self, key: &str) -> Json<'a> {
        self.pick([key]).map_or(MISSING, |[value]| value)
    }

    /// The first of these fields that the object has, for values that have several names.
    #[inline(never)]
    #[must_use]
    pub fn first_of(self, keys: &[&str]) -> Json<'a> {
        keys.iter().map(|key| self.get(key)).find(|value| !value.is_null()).unwrap_or(MISSING)
    }

    /// A field by its path: `line.at(&["message", "id"])`.
    #[inline(never)]
    #[must_use]
    pub fn at(self, path: &[&str]) -> Json<'a> {
        path.iter().fold(self, |value, key| value.get(key))
    }

    /// The fields of an object, up to the first malformed one. Keys are not unescaped.
    pub fn fields(self) -> impl Iterator<Item = (&'a str, Json<'a>)> {
        Values::of(self, self.is_object())
    }

    /// The items of an array, up to the first malformed one.
    pub fn items(self) -> impl Iterator<Item = Json<'a>> {
        Values::of(self, self.is_array()).map(|(_, item)| item)
    }

    /// The text between the quotes of a string, not unescaped: for names, which have no escapes.
    pub fn name(self) -> Option<&'a str> {
        self.inside().map(|(start, end)| &self.source[start..end])
    }

    /// Where the text between the quotes of a string starts and ends.
    #[inline]
    fn inside(self) -> Option<(usize, usize)> {
        let bytes = self.source.as_bytes();
        let is_quote = |at: usize| bytes.get(at) == Some(&b'"');
        (self.start + 1 < self.end && is_quote(self.start) && is_quote(self.end - 1))
            .then(|| (self.start + 1, self.end - 1))
    }

    /// Whether it is a string with exactly this text.
    pub fn is(self, wanted: &str) -> bool {
        self.name().is_some_and(|name| scan::same(name.as_bytes(), wanted.as_bytes()))
    }

    /// A string, unescaped.
    #[inline(never)]
    pub fn str(self) -> Option<Cow<'a, str>> {
        self.name().map(unescape)
    }

    /// A string that is not empty, unescaped.
    #[inline(never)]
    pub fn filled(self) -> Option<Cow<'a, str>> {
        self.str().filter(|text| !text.is_empty())
    }

    /// A string, unescaped and owned.
    #[inline(never)]
    pub fn string(self) -> Option<String> {
        self.str().map(Cow::into_owned)
    }

    /// A string as text for an event: a span of the chunk, which the host reads and unescapes.
    #[inline]
    pub fn text(self) -> Option<Text> {
        if self.in_chunk {
            return self.inside().map(|(start, end)| Text::Quoted(span(start, end - start)));
        }
        self.string().map(Text::Inline)
    }

    /// A string as text for an event; empty if it is not a string.
    pub fn text_or_empty(self) -> Text {
        self.text().unwrap_or(Text::Inline(String::new()))
    }

    /// The value's JSON as text for an event.
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

    /// A whole number that is not negative. `12.0` counts as whole.
    pub fn u64(self) -> Option<u64> {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked by the guard")]
        self.raw().parse().ok().or_else(|| match self.f64() {
            Some(number) if number.fract() == 0.0 && (0.0..9.0e15).contains(&number) => Some(number as u64),
            _ => None,
        })
    }

    /// A whole number.
    pub fn i32(self) -> Option<i32> {
        self.raw().parse().ok()
    }

    /// Any number.
    pub fn f64(self) -> Option<f64> {
        self.first().filter(|byte| byte.is_ascii_digit() || *byte == b'-')?;
        self.raw().parse().ok()
    }

    /// A number of dollars, in millionths of a dollar, rounded.
    pub fn micros(self) -> Option<u64> {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked by the guard")]
        self.f64().filter(|dollars| (0.0..1.0e12).contains(dollars)).map(|dollars| (dollars * 1e6).round() as u64)
    }

    /// A boolean.
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

    /// The values inside an object or array that is on the tape, with their keys.
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

/// Steps through an object or an array. One type for both, on a tape or not, whose code a component contains once.
struct Values<'a> {
    of: Json<'a>,
    step: Step<'a>,
}

enum Step<'a> {
    /// The next value on the tape, and where those of the object or array end.
    Tape {
        tape: &'a Tape,
        at: u16,
        end: u16,
    },
    Fields(Fields<'a>),
    /// Where the next item starts.
    Items(usize),
    End,
}

impl<'a> Values<'a> {
    #[inline(never)]
    fn of(of: Json<'a>, is_right_kind: bool) -> Values<'a> {
        let on_tape = of.tape.filter(|(tape, index)| tape.value(*index).open);
        let step = match (is_right_kind, on_tape) {
            (false, _) => Step::End,
            (true, Some((tape, index))) => Step::Tape { tape, at: index + 1, end: tape.value(index).next },
            (true, None) if of.is_array() => Step::Items(skip_whitespace(of.source.as_bytes(), of.start + 1)),
            (true, None) => Fields::of(of).map_or(Step::End, Step::Fields),
        };
        Values { of, step }
    }

    /// The item of an array that starts at `at`, and where the next one starts.
    fn item(&self, at: usize) -> Option<(Json<'a>, usize)> {
        let bytes = self.of.source.as_bytes();
        if at >= self.of.end || bytes[at] == b']' {
            return None;
        }
        let end = skip_value(bytes, at, self.of.end).filter(|end| *end < self.of.end)?;
        let next = skip_whitespace(bytes, end);
        let next = if bytes.get(next) == Some(&b',') { skip_whitespace(bytes, next + 1) } else { next };
        Some((self.of.part(at, end), next))
    }
}

impl<'a> Iterator for Values<'a> {
    type Item = (&'a str, Json<'a>);

    #[inline(never)]
    fn next(&mut self) -> Option<(&'a str, Json<'a>)> {
        match &mut self.step {
            Step::Tape { tape, at, end } => {
                let (tape, index) = (*tape, (*at < *end).then_some(*at)?);
                let value = tape.value(index);
                *at = value.next;
                let found = Json { start: value.start, end: value.end, tape: Some((tape, index)), ..self.of };
                Some((self.of.source.get(value.key.0..value.key.1)?, found))
            }
            Step::Fields(fields) => fields.step().ok().flatten(),
            Step::Items(at) => {
                let at = *at;
                let (item, next) = self.item(at)?;
                self.step = Step::Items(next);
                Some(("", item))
            }
            Step::End => None,
        }
    }
}

/// Steps through the fields of an object that is not on a tape.
struct Fields<'a> {
    object: Json<'a>,
    at: usize,
    first: bool,
}

impl<'a> Fields<'a> {
    fn of(object: Json<'a>) -> Result<Fields<'a>, Malformed> {
        if object.is_object() { Ok(Fields { object, at: object.start + 1, first: true }) } else { Err(Malformed) }
    }

    fn step(&mut self) -> Result<Option<(&'a str, Json<'a>)>, Malformed> {
        let (bytes, end) = (self.object.source.as_bytes(), self.object.end);
        let mut at = skip_whitespace(bytes, self.at);
        match bytes.get(at) {
            Some(b'}') if at + 1 == end => return Ok(None),
            Some(b',') if !self.first => at = skip_whitespace(bytes, at + 1),
            Some(b'"') if self.first => {}
            _ => return Err(Malformed),
        }
        self.first = false;
        if bytes.get(at) != Some(&b'"') {
            return Err(Malformed);
        }
        let key_end = skip_string(bytes, at).ok_or(Malformed)?;
        let colon = skip_whitespace(bytes, key_end);
        if bytes.get(colon) != Some(&b':') {
            return Err(Malformed);
        }
        let start = skip_whitespace(bytes, colon + 1);
        // A value that ends after the object was never closed in it: the scanner found its end in another line.
        let value_end = skip_value(bytes, start, end).filter(|value_end| *value_end < end).ok_or(Malformed)?;
        self.at = value_end;
        Ok(Some((&self.object.source[at + 1..key_end - 1], self.object.part(start, value_end))))
    }
}

fn span(start: usize, length: usize) -> Span {
    // A chunk is far below 4 GiB: the host's frame limit is a u32 too.
    Span { start: u32::try_from(start).unwrap_or(u32::MAX), length: u32::try_from(length).unwrap_or(u32::MAX) }
}

/// The end of the line that starts at `start`: the position of its newline, or the end of the text.
pub(crate) fn find_newline(text: &str, start: usize) -> usize {
    scan::newline(text.as_bytes(), start).unwrap_or(text.len())
}

/// The same as `==`, but faster in a guest, where `==` calls a C function that compares byte by byte.
pub fn same(one: &str, other: &str) -> bool {
    scan::same(one.as_bytes(), other.as_bytes())
}

#[cfg(test)]
mod tests;
