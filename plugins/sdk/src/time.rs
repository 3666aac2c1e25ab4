//! Times in an agent's output: RFC 3339, and durations in text.

use crate::text::find;

/// A timestamp in seconds since 1970: "2026-11-15T23:41:44.813Z", "2026-11-16T00:41:44+01:00".
pub fn seconds(stamp: &str) -> Option<u64> {
    let number = |from: usize, to: usize| stamp.get(from..to)?.parse::<u64>().ok();
    let (year, month, day) = (number(0, 4)?, number(5, 7)?, number(8, 10)?);
    if year < 1970 || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    // With years that start in March, the leap day is the last day of a year.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days = year * 365 + year / 4 - year / 100 + year / 400 + (month * 153 + 2) / 5 + day - 1;
    let days = days.checked_sub(719_468)?;
    let local = days * 86_400 + number(11, 13)? * 3_600 + number(14, 16)? * 60 + number(17, 19)?;
    let fraction = stamp.bytes().skip(19).take_while(|byte| *byte == b'.' || byte.is_ascii_digit()).count();
    let zone = stamp.get(19 + fraction..)?;
    if matches!(zone, "Z" | "z") {
        return Some(local);
    }
    let (hours, minutes) = zone.get(1..)?.split_once(':')?;
    let offset = u64::from(hours.parse::<u8>().ok()?) * 3_600 + u64::from(minutes.parse::<u8>().ok()?) * 60;
    match zone.as_bytes()[0] {
        b'+' => local.checked_sub(offset),
        b'-' => local.checked_add(offset),
        _ => None,
    }
}

/// The duration after a phrase in a text, in seconds: "reset in 1 hour 30 minutes or …".
pub fn duration_after(text: &str, phrase: &str) -> Option<u64> {
    let mut words = text[find(text, phrase)? + phrase.len()..].split_whitespace().peekable();
    let mut total: Option<u64> = None;
    while let Some(word) = words.next() {
        let Ok(count) = word.parse::<u64>() else {
            if total.is_none() && matches!(word, "about" | "approximately") {
                continue;
            }
            break;
        };
        let unit = words.next().and_then(unit)?;
        total = Some(total.unwrap_or(0).checked_add(count.checked_mul(unit)?)?);
        words.next_if_eq(&"and");
    }
    total
}

/// The seconds of a unit, in whatever form: "hour", "hours,".
fn unit(word: &str) -> Option<u64> {
    [("second", 1), ("minute", 60), ("hour", 3_600), ("day", 86_400), ("week", 604_800)]
        .into_iter()
        .find(|(name, _)| word.starts_with(name))
        .map(|(_, seconds)| seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timestamps_are_parsed() {
        for (stamp, expected) in [
            ("1970-01-01T00:00:00.000Z", Some(0)),
            ("2000-02-29T12:00:00Z", Some(951_825_600)),
            ("2026-11-15T23:41:44.813Z", Some(1_794_786_104)),
            ("2026-11-16T00:41:44+01:00", Some(1_794_786_104)),
            ("2026-11-15T18:11:44.8-05:30", Some(1_794_786_104)),
            ("2026-11-15T23:41:44", None),
            ("2026-11-15T23:41:44é1:00", None),
            ("1970-01-01T00:00:00+99999999999999999:00", None),
            ("yesterday", None),
            ("", None),
        ] {
            assert_eq!(seconds(stamp), expected, "{stamp}");
        }
    }

    #[test]
    fn durations_are_read_from_text() {
        for (text, expected) in [
            ("your limit to reset in 1 hour or switch to", Some(3_600)),
            ("reset in 2 hours and 5 minutes.", Some(7_500)),
            ("reset in about 3 days. Learn more", Some(259_200)),
            ("reset in 45 seconds", Some(45)),
            ("reset in a while", None),
            ("reset in 5 moons", None),
            ("no phrase", None),
        ] {
            assert_eq!(duration_after(text, "reset in "), expected, "{text}");
        }
    }
}
