//! JSON without building values.
//!
//! An adapter asks a line for the few fields it needs; everything else is skipped over, and long text is handed to the
//! host as a span of the chunk. What is skipped is checked for balance (quotes, brackets, the end of the line), not
//! for grammar. Nothing here recurses, so depth costs nothing.

use crate::tape::{Head, Tape, Value, skip_spaces};
use crate::{Span, Text, scan};
use std::borrow::Cow;
use std::fmt::Write as _;

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

    #[inline(never)]
    fn has_key(self, value: &Value, key: &str) -> bool {
        scan::same(key.as_bytes(), &self.source.as_bytes()[value.key.0..value.key.1])
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

/// A walk over the fields of an object.
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
        let mut at = skip_blanks(bytes, self.at);
        match bytes.get(at) {
            Some(b'}') if at + 1 == end => return Ok(None),
            Some(b',') if !self.first => at = skip_blanks(bytes, at + 1),
            Some(b'"') if self.first => {}
            _ => return Err(Malformed),
        }
        self.first = false;
        if bytes.get(at) != Some(&b'"') {
            return Err(Malformed);
        }
        let key_end = skip_string(bytes, at).ok_or(Malformed)?;
        let colon = skip_blanks(bytes, key_end);
        if bytes.get(colon) != Some(&b':') {
            return Err(Malformed);
        }
        let start = skip_blanks(bytes, colon + 1);
        // What ends behind the object began in it and was never closed: the scanner saw it end in another line.
        let value_end = skip_value(bytes, start, end).filter(|value_end| *value_end < end).ok_or(Malformed)?;
        self.at = value_end;
        Ok(Some((&self.object.source[at + 1..key_end - 1], self.object.part(start, value_end))))
    }
}

/// The end of the line that begins at `start`: the place of its newline, or the end of the text.
pub(crate) fn find_newline(text: &str, start: usize) -> usize {
    scan::newline(text.as_bytes(), start).unwrap_or(text.len())
}

#[inline]
fn skip_blanks(bytes: &[u8], mut at: usize) -> usize {
    // Agents write no blanks between tokens, as a rule.
    while bytes.get(at).is_some_and(|byte| *byte <= b' ' && matches!(byte, b' ' | b'\t' | b'\n' | b'\r')) {
        at += 1;
    }
    at
}

/// From an opening quote to behind the closing one.
#[inline(never)]
fn skip_string(bytes: &[u8], start: usize) -> Option<usize> {
    scan::string_end(bytes, start + 1)
}

/// From a value's first byte to behind its last one.
fn skip_value(bytes: &[u8], start: usize, limit: usize) -> Option<usize> {
    match *bytes.get(start)? {
        b'"' => skip_string(bytes, start),
        b'{' | b'[' => skip_nested(bytes, start, limit, false),
        _ => skip_scalar(bytes, start),
    }
}

/// From the first byte of what is no string, object or array, to behind its last one.
pub(crate) fn skip_scalar(bytes: &[u8], start: usize) -> Option<usize> {
    match *bytes.get(start)? {
        b't' => literal(bytes, start, b"true"),
        b'f' => literal(bytes, start, b"false"),
        b'n' => literal(bytes, start, b"null"),
        b'-' | b'0'..=b'9' => {
            let mut at = start + 1;
            while let Some(b'0'..=b'9' | b'.' | b'e' | b'E' | b'+' | b'-') = bytes.get(at) {
                at += 1;
            }
            Some(at)
        }
        _ => None,
    }
}

fn literal(bytes: &[u8], start: usize, word: &[u8]) -> Option<usize> {
    bytes[start..].starts_with(word).then_some(start + word.len())
}

/// Gives up at `limit` or, in a line, at the newline: a bracket that is never closed must not be looked for in all the
/// lines that follow.
pub(crate) fn skip_nested(bytes: &[u8], start: usize, limit: usize, in_line: bool) -> Option<usize> {
    let mut depth = 0usize;
    let mut at = start;
    while at < limit {
        match *bytes.get(at)? {
            b'"' => {
                at = skip_string(bytes, at)?;
                continue;
            }
            b'\n' if in_line => return None,
            b'{' | b'[' => depth += 1,
            b'}' | b']' => {
                depth -= 1;
                if depth == 0 {
                    return Some(at + 1);
                }
            }
            _ => {}
        }
        at += 1;
    }
    None
}

/// Whether two texts are the same, as `==` says; in a guest that calls a C function which goes byte by byte.
pub fn same(one: &str, other: &str) -> bool {
    scan::same(one.as_bytes(), other.as_bytes())
}

/// The inside of a JSON string, unescaped. What is not a valid escape becomes U+FFFD.
pub fn unescape(inside: &str) -> Cow<'_, str> {
    if !scan::contains(inside.as_bytes(), b'\\') {
        return Cow::Borrowed(inside);
    }
    let mut text = String::with_capacity(inside.len());
    let mut rest = inside;
    while let Some(at) = rest.find('\\') {
        text.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        let Some(kind) = rest.chars().next() else {
            break;
        };
        rest = &rest[kind.len_utf8()..];
        match kind {
            'n' => text.push('\n'),
            't' => text.push('\t'),
            'r' => text.push('\r'),
            'b' => text.push('\u{8}'),
            'f' => text.push('\u{c}'),
            'u' => text.push(unescape_unicode(&mut rest)),
            '"' | '\\' | '/' => text.push(kind),
            _ => text.push(char::REPLACEMENT_CHARACTER),
        }
    }
    text.push_str(rest);
    Cow::Owned(text)
}

fn unescape_unicode(rest: &mut &str) -> char {
    let Some(high) = hex4(rest) else {
        return char::REPLACEMENT_CHARACTER;
    };
    *rest = &rest[4..];
    if !(0xD800..0xDC00).contains(&high) {
        return char::from_u32(high).unwrap_or(char::REPLACEMENT_CHARACTER);
    }
    match rest.strip_prefix("\\u").and_then(hex4) {
        Some(low) if (0xDC00..0xE000).contains(&low) => {
            *rest = &rest[6..];
            char::from_u32(0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00)).unwrap_or(char::REPLACEMENT_CHARACTER)
        }
        _ => char::REPLACEMENT_CHARACTER,
    }
}

fn hex4(text: &str) -> Option<u32> {
    let digits = text.get(..4)?;
    if !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    u32::from_str_radix(digits, 16).ok()
}

/// A string as a JSON string, quotes and all.
pub fn quote(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quote_into(&mut quoted, text);
    quoted
}

fn quote_into(json: &mut String, text: &str) {
    json.push('"');
    for character in text.chars() {
        match character {
            '"' => json.push_str("\\\""),
            '\\' => json.push_str("\\\\"),
            '\n' => json.push_str("\\n"),
            '\r' => json.push_str("\\r"),
            '\t' => json.push_str("\\t"),
            control if control < ' ' => {
                let _ = write!(json, "\\u{:04x}", u32::from(control));
            }
            other => json.push(other),
        }
    }
    json.push('"');
}

/// Writes a JSON object: `Object::new().str("type", "user").raw("message", &inner).finish()`.
#[derive(Debug, Clone)]
pub struct Object(String);

impl Default for Object {
    fn default() -> Object {
        Object::new()
    }
}

impl Object {
    /// An empty object.
    pub fn new() -> Object {
        Object("{".to_owned())
    }

    fn key(&mut self, key: &str) {
        if self.0.len() > 1 {
            self.0.push(',');
        }
        quote_into(&mut self.0, key);
        self.0.push(':');
    }

    /// With a string.
    #[must_use]
    pub fn str(mut self, key: &str, value: &str) -> Object {
        self.key(key);
        quote_into(&mut self.0, value);
        self
    }

    /// With a string where there is one.
    #[must_use]
    pub fn maybe_str(self, key: &str, value: Option<&str>) -> Object {
        match value {
            Some(value) => self.str(key, value),
            None => self,
        }
    }

    /// With a value that is JSON already.
    #[must_use]
    pub fn raw(mut self, key: &str, json: &str) -> Object {
        self.key(key);
        self.0.push_str(json);
        self
    }

    /// With a number.
    #[must_use]
    pub fn number(self, key: &str, value: u64) -> Object {
        self.raw(key, &value.to_string())
    }

    /// With true or false.
    #[must_use]
    pub fn bool(self, key: &str, value: bool) -> Object {
        self.raw(key, if value { "true" } else { "false" })
    }

    /// With an object.
    #[must_use]
    pub fn object(self, key: &str, value: Object) -> Object {
        self.raw(key, &value.finish())
    }

    /// Its JSON.
    pub fn finish(mut self) -> String {
        self.0.push('}');
        self.0
    }
}

/// Values that are JSON already, as an array.
pub fn array<S: AsRef<str>>(items: impl IntoIterator<Item = S>) -> String {
    let mut json = "[".to_owned();
    for (number, item) in items.into_iter().enumerate() {
        if number > 0 {
            json.push(',');
        }
        json.push_str(item.as_ref());
    }
    json.push(']');
    json
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::Value as Parsed;

    #[test]
    fn fields_are_found_whatever_stands_around_them() {
        let line = Json::parse(r#" {"a":{"type":"no","x":"}\""},"n":[1,{"type":"no"}] , "type" : "yes","t":"a\nb"} "#);
        let [kind, text, none] = line.pick(["type", "t", "absent"]).expect("an object");
        assert_eq!(kind.name(), Some("yes"));
        assert_eq!(text.str().as_deref(), Some("a\nb"));
        assert!(none.is_missing() && none.get("deeper").is_missing() && none.str().is_none());
        assert_eq!(line.at(&["a", "x"]).str().as_deref(), Some("}\""));
        assert_eq!(line.get("n").items().count(), 2);
    }

    #[test]
    fn what_is_cut_or_trailed_is_malformed() {
        for bad in [
            "{",
            "{\"a\"",
            "{\"a\":",
            "{\"a\":1",
            "{\"a\":1}x",
            "{\"a\":1,}",
            "{,}",
            "{\"a\":x}",
            "[1]",
            "x",
            "{a:1}",
            "{\"a\":tru}",
        ] {
            assert_eq!(Json::parse(bad).pick(["a"]).err(), Some(Malformed), "{bad}");
            let mut tape = Tape::new();
            let picked = Json::read(bad, 0, &mut tape).and_then(|(line, _)| line.pick(["a"]).ok());
            assert!(picked.is_none(), "{bad}");
        }
    }

    #[test]
    fn a_value_of_a_chunk_gives_spans_and_a_detached_one_gives_text() {
        let chunk = "{}\n  {\"t\":\"x\\ny\",\"o\":{\"k\":1}}\n";
        let mut tape = Tape::new();
        let (line, end) = Json::read(chunk, 5, &mut tape).expect("it is well formed");
        assert_eq!(end, chunk.len() - 1);
        let Some(Text::Quoted(span)) = line.get("t").text() else { panic!("a span") };
        assert_eq!(&chunk[span.start as usize..(span.start + span.length) as usize], "x\\ny");
        let Some(Text::Verbatim(span)) = line.get("o").verbatim() else { panic!("a span") };
        assert_eq!(&chunk[span.start as usize..(span.start + span.length) as usize], "{\"k\":1}");
        assert_eq!(Json::parse(line.raw()).get("t").text(), Some(Text::Inline("x\ny".into())));
    }

    /// Lines are read onto a tape where they find place, other texts are not: both must agree.
    fn line<'a>(chunk: &'a str, start: usize, end: usize, tape: &'a mut Tape) -> Json<'a> {
        let mut other = Tape::new();
        match Json::read(chunk, start, tape) {
            Some((line, behind)) => {
                assert_eq!(behind, end);
                line
            }
            None => Json::whole(chunk, start, end, &mut other).expect("it is well formed"),
        }
    }

    #[test]
    fn what_a_line_leaves_open_does_not_end_in_the_next() {
        for bad in [r#"{"a":"x"#, r#"{"a":{"b":1"#, r#"{"a"#, r#"{"a":[1,"#, r#"{"a":1"#, r#"{"a":"x","b"#] {
            let chunk = format!("{bad}\n\"y\":1}}}}]\",\"a\":1}}\n");
            assert!(Json::read(&chunk, 0, &mut Tape::new()).is_none(), "{bad}");
            assert_eq!(Json::whole(&chunk, 0, bad.len(), &mut Tape::new()).err(), Some(Malformed), "{bad}");
        }
    }

    #[test]
    fn lone_surrogates_and_bad_escapes_are_replaced() {
        assert_eq!(unescape(r"\ud83d\ude00"), "\u{1F600}");
        assert_eq!(unescape(r"a\ud83dz"), "a\u{FFFD}z");
        assert_eq!(unescape(r"\ud83d\u0041"), "\u{FFFD}A");
        assert_eq!(unescape(r"\q\u12"), "\u{FFFD}\u{FFFD}12");
        assert_eq!(unescape("\\u+123"), "\u{FFFD}+123");
    }

    #[test]
    fn numbers() {
        assert_eq!(Json::parse("12").u64(), Some(12));
        assert_eq!(Json::parse("12.0").u64(), Some(12));
        assert_eq!(Json::parse("12.5").u64(), None);
        assert_eq!(Json::parse("-1").u64(), None);
        assert_eq!(Json::parse("NaN").f64(), None);
        assert_eq!(Json::parse("0.0123456").micros(), Some(12346));
    }

    #[test]
    fn objects_are_written() {
        let json = Object::new().str("a", "x\"\n\u{1}").number("n", 3).bool("b", true).object("o", Object::new());
        assert_eq!(json.finish(), r#"{"a":"x\"\n\u0001","n":3,"b":true,"o":{}}"#);
    }

    fn any_json() -> impl Strategy<Value = Parsed> {
        let leaf = prop_oneof![
            Just(Parsed::Null),
            any::<bool>().prop_map(Parsed::from),
            any::<i64>().prop_map(Parsed::from),
            "\\PC*|[\\x00-\\x7f]*".prop_map(Parsed::from),
        ];
        leaf.prop_recursive(4, 32, 6, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..6).prop_map(Parsed::from),
                prop::collection::hash_map("[a-z]{1,3}", inner, 0..6)
                    .prop_map(|map| Parsed::Object(map.into_iter().collect())),
            ]
        })
    }

    /// Every value, seen through the scanner, is what `serde_json` sees.
    fn agrees(scanned: Json<'_>, value: &Parsed) {
        match value {
            Parsed::Null => assert!(scanned.is_null()),
            Parsed::Bool(value) => assert_eq!(scanned.bool(), Some(*value)),
            Parsed::Number(value) => assert_eq!(scanned.raw(), value.to_string()),
            Parsed::String(value) => assert_eq!(scanned.str().as_deref(), Some(value.as_str())),
            Parsed::Array(items) => {
                assert_eq!(scanned.items().count(), items.len());
                scanned.items().zip(items).for_each(|(scanned, value)| agrees(scanned, value));
            }
            Parsed::Object(fields) => {
                assert_eq!(scanned.fields().count(), fields.len());
                fields.iter().for_each(|(key, value)| agrees(scanned.get(key), value));
            }
        }
    }

    proptest! {
        #[test]
        fn the_scanner_agrees_with_serde_json(value in any_json()) {
            agrees(Json::parse(&value.to_string()), &value);
            agrees(Json::parse(&serde_json::to_string_pretty(&value).expect("a value")), &value);
            // With more lines around it, and so long that it may not find place on a tape.
            let text = value.to_string();
            let chunk = format!("{{\"x\":\"\n{text}\n\"}}]");
            agrees(line(&chunk, 7, 7 + text.len(), &mut Tape::new()), &value);
            let many = Parsed::from(vec![value; 40]);
            let text = many.to_string();
            agrees(line(&text, 0, text.len(), &mut Tape::new()), &many);
        }

        #[test]
        fn a_line_is_malformed_exactly_when_serde_json_says_so(text in "[{}\\[\\]\",:1a ]{0,24}") {
            let trimmed = text.trim();
            let mut tape = Tape::new();
            let read = Json::read(trimmed, 0, &mut tape);
            prop_assert_eq!(read.is_some(), serde_json::from_str::<Parsed>(trimmed).is_ok(), "{}", trimmed);
        }

        #[test]
        fn nothing_makes_the_scanner_panic(text in "\\PC*|[{}\\[\\]\",:\\\\ua0-9 ]*") {
            let json = Json::parse(&text);
            let _ = (json.pick(["a"]), json.str(), json.f64(), json.items().count(), json.fields().count());
            for start in (0..=text.len()).filter(|start| text.is_char_boundary(*start)) {
                let mut tape = Tape::new();
                let _ = Json::read(&text, start, &mut tape).map(|(line, _)| line.pick(["a"]).is_ok());
                let _ = Json::whole(&text, start, text.len(), &mut tape).map(|line| line.pick(["a"]).is_ok());
            }
        }

        #[test]
        fn quoting_is_undone_by_serde_json(text in "\\PC*|[\\x00-\\x7f]*") {
            prop_assert_eq!(serde_json::from_str::<String>(&quote(&text)).expect("a string"), text);
        }
    }
}
