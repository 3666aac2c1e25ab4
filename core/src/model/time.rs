//! How times are written in JSON: a point in time as RFC 3339 text in UTC, a span as whole milliseconds. And how a user
//! writes a span: `90s`, `5m`, `1h30m`, or a number of seconds.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use std::borrow::Cow;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A point in time as RFC 3339 text in UTC: `2026-11-18T04:47:41.125Z`.
pub fn to_rfc3339(time: SystemTime) -> String {
    jiff::Timestamp::try_from(time).map_or_else(|_| "1970-01-01T00:00:00Z".to_owned(), |time| time.to_string())
}

/// A point in time to the millisecond. Nothing finer is written: many a parser takes no more digits.
pub fn whole_millis(time: SystemTime) -> SystemTime {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    UNIX_EPOCH + Duration::from_millis(millis(since))
}

/// The point in time that an RFC 3339 text names.
pub fn from_rfc3339(text: &str) -> Option<SystemTime> {
    text.parse::<jiff::Timestamp>().ok().map(SystemTime::from)
}

/// A point in time from the seconds since 1970 that agents and adapters count in.
pub fn from_unix_seconds(seconds: u64) -> SystemTime {
    // Beyond what a clock can hold, an agent is wrong; the year 9999 is as far as the text form goes.
    const LATEST: u64 = 253_402_207_200;
    UNIX_EPOCH + Duration::from_secs(seconds.min(LATEST))
}

/// The form of a time in a JSON Schema, for `#[schemars(with = …)]`. A pattern and not the format `date-time`: validators
/// refuse formats that they do not know.
#[derive(Debug)]
pub struct Rfc3339;

impl JsonSchema for Rfc3339 {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Rfc3339".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "pattern": r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?Z$" })
    }
}

/// The form of a span that a user writes, in a JSON Schema: for `#[schemars(with = …)]`.
#[derive(Debug)]
pub struct Span;

impl JsonSchema for Span {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Span".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        // Not a list of types: strict validators refuse one.
        json_schema!({ "anyOf": [{ "type": "number", "minimum": 0 }, { "type": "string" }] })
    }
}

/// The longest span that a user can set: longer than any turn, and short enough that no time overflows.
const LONGEST: Duration = Duration::from_hours(24 * 365);

/// A span as a user writes it, on the command line and in a file: a number of seconds, or `90s`, `5m`, `2h`, `1h30m`.
/// The error names the text and what is valid.
pub fn parse_span(text: &str) -> Result<Duration, String> {
    let invalid =
        || format!("{text:?} is not a duration: write a number of seconds, or a text such as 90s, 5m, 2h or 1h30m");
    if let Ok(seconds) = text.parse::<f64>() {
        return match Duration::try_from_secs_f64(seconds) {
            Ok(span) => Ok(span.min(LONGEST)),
            // Too large for a `Duration` is still a number of seconds.
            Err(_) if seconds > 0.0 => Ok(LONGEST),
            Err(_) => Err(invalid()),
        };
    }
    let span = jiff::fmt::friendly::SpanParser::new().parse_duration(text).map_err(|_| invalid())?;
    Duration::try_from(span).map(|span| span.min(LONGEST)).map_err(|_| invalid())
}

/// The day of a point in time, in UTC: `2026-11-18`.
pub fn utc_day(time: SystemTime) -> String {
    to_rfc3339(time).chars().take(10).collect()
}

/// The whole milliseconds of a span.
pub fn millis(span: Duration) -> u64 {
    // Not `as_millis`, which computes in 128 bits: this runs for every event.
    span.as_secs().saturating_mul(1000).saturating_add(u64::from(span.subsec_millis()))
}

/// For `#[serde(with = …)]`: a [`SystemTime`] as RFC 3339 text.
pub mod rfc3339 {
    use serde::{Deserialize, Deserializer, Serializer, de::Error as _};
    use std::time::SystemTime;

    #[expect(missing_docs, reason = "the functions that serde expects")]
    pub fn serialize<S: Serializer>(time: &SystemTime, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&super::to_rfc3339(*time))
    }

    #[expect(missing_docs, reason = "the functions that serde expects")]
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<SystemTime, D::Error> {
        let text = std::borrow::Cow::<str>::deserialize(deserializer)?;
        super::from_rfc3339(&text).ok_or_else(|| D::Error::custom(format!("{text:?} is not a time (RFC 3339)")))
    }
}

/// The same for an `Option`.
pub mod rfc3339_option {
    use serde::{Deserialize, Deserializer, Serialize as _, Serializer, de::Error as _};
    use std::time::SystemTime;

    #[expect(missing_docs, reason = "the functions that serde expects")]
    pub fn serialize<S: Serializer>(time: &Option<SystemTime>, serializer: S) -> Result<S::Ok, S::Error> {
        time.map(super::to_rfc3339).serialize(serializer)
    }

    #[expect(missing_docs, reason = "the functions that serde expects")]
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<SystemTime>, D::Error> {
        let text = Option::<String>::deserialize(deserializer)?;
        let parse = |text: String| {
            super::from_rfc3339(&text).ok_or_else(|| D::Error::custom(format!("{text:?} is not a time (RFC 3339)")))
        };
        text.map(parse).transpose()
    }
}

/// For `#[serde(with = …)]`: a [`Duration`] as whole milliseconds.
pub mod milliseconds {
    use serde::{Deserialize, Deserializer, Serializer};
    use std::time::Duration;

    #[expect(missing_docs, reason = "the functions that serde expects")]
    pub fn serialize<S: Serializer>(span: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(super::millis(*span))
    }

    #[expect(missing_docs, reason = "the functions that serde expects")]
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
        u64::deserialize(deserializer).map(Duration::from_millis)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_is_written_in_one_form_everywhere() {
        for (text, seconds) in [
            ("0", 0.0),
            ("90", 90.0),
            ("0.5", 0.5),
            ("90s", 90.0),
            ("5m", 300.0),
            ("2h", 7200.0),
            ("1h30m", 5400.0),
            ("1h 30m", 5400.0),
            ("500ms", 0.5),
            ("inf", 31_536_000.0),
            ("1e19", 31_536_000.0),
            ("99999999h", 31_536_000.0),
        ] {
            assert_eq!(parse_span(text), Ok(Duration::from_secs_f64(seconds)), "{text}");
        }
        for text in ["", " ", "-1", "-5m", "5m ago", "nan", "soon", "5x", "1y", "m"] {
            let error = parse_span(text).expect_err(text);
            assert!(error.contains(&format!("{text:?}")) && error.contains("1h30m"), "{error}");
        }
        assert_eq!(utc_day(from_unix_seconds(1_700_000_000)), "2023-11-14");
    }

    #[test]
    fn a_time_survives_its_text_form() {
        for seconds in [0, 1_700_000_000, u64::MAX] {
            let time = from_unix_seconds(seconds);
            assert_eq!(from_rfc3339(&to_rfc3339(time)), Some(time), "{seconds}");
        }
        assert_eq!(to_rfc3339(from_unix_seconds(1_700_000_000)), "2023-11-14T22:13:20Z");
        let fine = from_unix_seconds(1_700_000_000) + Duration::from_nanos(179_607_854);
        assert_eq!(to_rfc3339(whole_millis(fine)), "2023-11-14T22:13:20.179Z");
        assert_eq!(from_rfc3339("yesterday"), None);
    }
}
