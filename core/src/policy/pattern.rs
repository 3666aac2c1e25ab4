//! Patterns of paths: `*` stays within a folder, `**` does not, `?` is one character, `~` is the home. Matched without a
//! regular expression and without recursion: an adapter wrote the pattern, and the work is at most its length times the
//! path's.

use std::path::Path;

/// The longest pattern, in bytes.
pub(super) const PATTERN_LIMIT: usize = 1 << 10;

/// How many items a list of requested access may have.
pub(super) const LIST_LIMIT: usize = 256;

/// Why this cannot be a pattern or a name in a list of access.
pub(super) fn check_item(item: &str) -> Result<(), String> {
    let shown: String = item.chars().take(40).collect();
    if item.is_empty() {
        return Err("it is empty".to_owned());
    }
    if item.len() > PATTERN_LIMIT {
        return Err(format!("{shown:?}… is longer than {PATTERN_LIMIT} bytes"));
    }
    if item.chars().any(char::is_control) {
        return Err(format!("{shown:?} contains a control character"));
    }
    Ok(())
}

/// Why this cannot be a pattern of paths.
pub(super) fn check_path_pattern(pattern: &str) -> Result<(), String> {
    check_item(pattern)?;
    match pattern.chars().find(|character| "{}[]".contains(*character)) {
        Some(special) => Err(format!("{pattern:?} contains {special:?}; a pattern has only `~`, `*`, `**` and `?`")),
        None => Ok(()),
    }
}

/// Whether a path matches a pattern. A path with `.` or `..` in it matches nothing.
pub(super) fn path_matches(pattern: &str, path: &str, home: Option<&str>) -> bool {
    let clean = Path::new(path).is_absolute() && !path.split(['/', '\\']).any(|part| part == "." || part == "..");
    if !clean || pattern.len() > PATTERN_LIMIT {
        return false;
    }
    let path = if cfg!(windows) { path.replace('\\', "/") } else { path.to_owned() };
    match (pattern.strip_prefix("~/"), home) {
        (Some(rest), Some(home)) => {
            let home = if cfg!(windows) { home.replace('\\', "/") } else { home.to_owned() };
            let below = path.strip_prefix(home.trim_end_matches('/')).and_then(|below| below.strip_prefix('/'));
            below.is_some_and(|below| segments_match(rest, below))
        }
        (Some(_), None) => false,
        (None, _) => segments_match(pattern, &path),
    }
}

/// Matches folder by folder; `**` as a whole segment stands for any number of them.
fn segments_match(pattern: &str, path: &str) -> bool {
    let pattern: Vec<&str> = pattern.split('/').collect();
    let path: Vec<&str> = path.split('/').collect();
    wildcard(&pattern, &path, |part| *part == "**", |part, segment| segment_matches(part, segment))
}

fn segment_matches(pattern: &str, segment: &str) -> bool {
    let pattern: Vec<char> = pattern.chars().collect();
    let segment: Vec<char> = segment.chars().collect();
    wildcard(&pattern, &segment, |part| *part == '*', |part, character| *part == '?' || part == character)
}

/// Matches a list with wildcards, going back only to the last wildcard: that is enough, and never exponential.
fn wildcard<P, T>(pattern: &[P], text: &[T], any: impl Fn(&P) -> bool, one: impl Fn(&P, &T) -> bool) -> bool {
    let (mut at, mut position) = (0, 0);
    let mut last: Option<(usize, usize)> = None;
    while position < text.len() {
        match pattern.get(at) {
            Some(part) if any(part) => {
                last = Some((at, position));
                at += 1;
            }
            Some(part) if one(part, &text[position]) => {
                at += 1;
                position += 1;
            }
            _ => match last {
                Some((wildcard, start)) => {
                    last = Some((wildcard, start + 1));
                    (at, position) = (wildcard + 1, start + 1);
                }
                None => return false,
            },
        }
    }
    pattern[at..].iter().all(any)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_matches() {
        for (pattern, path, matches) in [
            ("/usr/bin/gh", "/usr/bin/gh", true),
            ("/usr/bin/gh", "/usr/bin/ghx", false),
            ("/usr/*/gh", "/usr/bin/gh", true),
            ("/usr/*/gh", "/usr/local/bin/gh", false),
            ("/usr/**/gh", "/usr/local/bin/gh", true),
            ("/usr/**/gh", "/usr/gh", true),
            ("**/node_modules/@github/copilot-*/copilot", "/a/b/node_modules/@github/copilot-x/copilot", true),
            ("**/node_modules/x", "/node_modules/x", true),
            ("**/a/**/b", "/a/x/a/y/z/b", true),
            ("~/x/*.json", "/home/u/x/a.json", true),
            ("~/x/*.json", "/home/user/x/a.json", false),
            ("~/*", "/home/u/a/b", false),
            ("/a?c", "/abc", true),
            ("/a?c", "/a/c", false),
            ("/{a,b}", "/a", false),
            ("/**", "/a/b", true),
            ("/**", "/a/../b", false),
        ] {
            assert_eq!(path_matches(pattern, path, Some("/home/u")), matches, "{pattern} {path}");
        }
        assert!(!path_matches("~/a", "/home/u/a", None));
    }

    #[test]
    fn a_hostile_pattern_neither_panics_nor_takes_long() {
        for pattern in ["{".repeat(300), "{".repeat(200_000), "a".repeat(20 << 20), "[".repeat(1000)] {
            assert!(check_path_pattern(&pattern).is_err());
            assert!(!path_matches(&pattern, "/a", None));
        }
        assert!(path_matches("/a[1]/{x}", "/a[1]/{x}", None), "a user may grant a path with any characters");
        let begun = std::time::Instant::now();
        let pattern = format!("/{}b", "*a".repeat(500));
        assert!(!path_matches(&pattern, &format!("/{}", "a".repeat(4000)), None));
        let pattern = format!("{}b", "**/".repeat(300));
        assert!(!path_matches(&pattern, &"/a".repeat(2000), None));
        assert!(begun.elapsed() < std::time::Duration::from_secs(5), "{:?}", begun.elapsed());
    }
}
