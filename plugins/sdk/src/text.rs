//! Searching text with little code: the search of the standard library is 5 KB of a component.

/// Where a text first contains another one.
#[inline(never)]
pub fn find(text: &str, part: &str) -> Option<usize> {
    let last = text.len().checked_sub(part.len())?;
    (0..=last).find(|at| text.as_bytes()[*at..].starts_with(part.as_bytes()))
}

/// Whether a text contains another one.
pub fn contains(text: &str, part: &str) -> bool {
    find(text, part).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_found_where_the_standard_library_finds_it() {
        for (text, part) in
            [("", ""), ("abc", ""), ("", "a"), ("aab", "ab"), ("näh", "äh"), ("abc", "abcd"), ("xyz", "z")]
        {
            assert_eq!(
                (find(text, part), contains(text, part)),
                (text.find(part), text.contains(part)),
                "{text} {part}"
            );
        }
    }
}
