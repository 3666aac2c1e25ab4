//! The order of versions, of npm and of PyPI alike: numbers count as numbers, and `1.0.0-rc.1` comes before `1.0.0`.

use std::cmp::Ordering;

/// Compares two versions, the older one first.
pub(crate) fn compare(a: &str, b: &str) -> Ordering {
    let (mut left, mut right) = (parts(a).into_iter(), parts(b).into_iter());
    loop {
        let order = match (left.next(), right.next()) {
            (None, None) => return a.cmp(b),
            (left, right) => left.unwrap_or(Part::End).cmp(&right.unwrap_or(Part::End)),
        };
        if order != Ordering::Equal {
            return order;
        }
    }
}

/// A part of a version. A word, as in `rc1`, makes it older than the same version without it.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Part<'a> {
    Word(&'a str),
    End,
    Number(u64),
}

/// Cut at everything that is no letter and no digit, and between letters and digits. What follows a `+` is no part of the
/// order.
fn parts(version: &str) -> Vec<Part<'_>> {
    let version = version.split('+').next().unwrap_or_default();
    let mut parts = Vec::new();
    for piece in version.split(|character: char| !character.is_ascii_alphanumeric()) {
        let mut rest = piece;
        while let Some(first) = rest.chars().next() {
            let is_number = first.is_ascii_digit();
            let end = rest.find(|character: char| character.is_ascii_digit() != is_number).unwrap_or(rest.len());
            let (part, after) = rest.split_at(end);
            parts.push(if is_number { Part::Number(part.parse().unwrap_or(u64::MAX)) } else { Part::Word(part) });
            rest = after;
        }
    }
    parts
}

/// Whether it is a version that is not for everybody yet.
pub(crate) fn is_preview(version: &str) -> bool {
    parts(version).iter().any(|part| matches!(part, Part::Word(_)))
}

/// Whether a text can be a version, and so the name of a folder.
pub(crate) fn is_version(text: &str) -> bool {
    let allowed = |character: char| character.is_ascii_alphanumeric() || ".-_+".contains(character);
    text.len() <= 64 && text.starts_with(|first: char| first.is_ascii_digit()) && text.chars().all(allowed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_ordered_by_their_numbers_and_previews_come_first() {
        let ordered =
            ["0.9", "1.0.0-alpha.2", "1.0.0-rc.1", "1.0.0rc2", "1.0.0", "1.0.9", "1.0.10", "1.0.102", "2.0.76"];
        for (at, version) in ordered.iter().enumerate() {
            for (other, earlier) in ordered[..at].iter().enumerate() {
                assert_eq!(compare(earlier, version), Ordering::Less, "{other} {earlier} {version}");
                assert_eq!(compare(version, earlier), Ordering::Greater, "{earlier} {version}");
            }
        }
        assert_eq!(compare("1.2.3", "1.2.3"), Ordering::Equal);
        assert!(is_preview("1.0.0-next.1") && !is_preview("1.0.0+build"));
    }

    #[test]
    fn a_version_is_the_name_of_one_folder() {
        for (text, valid) in [
            ("2.1.325", true),
            ("0.45.0-preview.1+x", true),
            ("..", false),
            ("1/../2", false),
            (".installing", false),
            ("latest", false),
            ("", false),
            ("1\u{1b}[2K", false),
        ] {
            assert_eq!(is_version(text), valid, "{text:?}");
        }
        assert!(!is_version(&"1".repeat(65)));
    }
}
