//! Rust source as tokens, without comments, texts and test code. Enough to find imports; not a parser of Rust.

use std::path::{Path, PathBuf};

/// All source files below a folder that are not tests, with their text.
pub(super) fn files(folder: &Path) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    let entries = std::fs::read_dir(folder).expect("a folder");
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.sort();
    for path in paths {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        if name == "tests" || name.ends_with("_tests") {
            continue;
        }
        if path.is_dir() {
            found.extend(files(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = std::fs::read_to_string(&path).expect("readable");
            found.push((path, text));
        }
    }
    found
}

/// Names, `::` and single characters. Comments, literals and items for tests are left out.
pub(super) fn tokens(source: &str) -> Vec<String> {
    let mut tokens = Vec::new();
    let mut rest = source;
    while let Some(first) = rest.chars().next() {
        let length = skipped(rest);
        if length > 0 {
            rest = &rest[length..];
        } else if first.is_alphanumeric() || first == '_' {
            let end = rest.find(|next: char| !next.is_alphanumeric() && next != '_').unwrap_or(rest.len());
            tokens.push(rest[..end].to_owned());
            rest = &rest[end..];
        } else {
            let end = if rest.starts_with("::") { 2 } else { first.len_utf8() };
            tokens.push(rest[..end].to_owned());
            rest = &rest[end..];
        }
    }
    without_tests(&tokens)
}

/// The length of the whitespace, comment or literal at the start; 0 if there is none.
fn skipped(rest: &str) -> usize {
    let first = rest.chars().next().expect("not empty");
    if first.is_whitespace() {
        return first.len_utf8();
    }
    if rest.starts_with("//") {
        return rest.find('\n').unwrap_or(rest.len());
    }
    for prefix in ["r", "br"] {
        let quotes = rest.strip_prefix(prefix).map_or(0, |rest| rest.len() - rest.trim_start_matches('#').len());
        let open = prefix.len() + quotes;
        if rest.starts_with(prefix) && rest[open..].starts_with('"') {
            let close = format!("\"{}", "#".repeat(quotes));
            let inside = &rest[open + 1..];
            return open + 1 + inside.find(&close).expect("a raw string ends") + close.len();
        }
    }
    match rest.strip_prefix('b').unwrap_or(rest).chars().next() {
        Some('"') => quoted(rest, '"'),
        // A lifetime is not a literal: it has no closing quote after one character.
        Some('\'') => {
            let start = usize::from(rest.starts_with('b')) + 1;
            let mut inside = rest[start..].chars();
            let escaped = inside.next() == Some('\\');
            if escaped || inside.next() == Some('\'') { quoted(rest, '\'') } else { 0 }
        }
        _ => 0,
    }
}

/// The length of a literal with escapes.
fn quoted(rest: &str, quote: char) -> usize {
    let mut escaped = false;
    let start = rest.find(quote).expect("it starts with a quote") + 1;
    for (at, character) in rest[start..].char_indices() {
        match character {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            _ if character == quote => return start + at + 1,
            _ => {}
        }
    }
    panic!("a literal does not end: {rest:.40}")
}

/// Removes `#[cfg(test)]` and `#[cfg(all(test, …))]` with the item after them.
fn without_tests(tokens: &[String]) -> Vec<String> {
    let mut kept: Vec<String> = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        let attribute: Vec<&str> = tokens[at..].iter().take(7).map(String::as_str).collect();
        let is_test =
            matches!(attribute[..], ["#", "[", "cfg", "(", "test", ..] | ["#", "[", "cfg", "(", "all", "(", "test"]);
        if is_test {
            at = end_of_item(tokens, at);
        } else {
            kept.push(tokens[at].clone());
            at += 1;
        }
    }
    kept
}

/// Where the item ends whose attributes start here: after its `;` or its block. The last variant of an enum and the last
/// arm of a match have neither: they end with what they are in.
fn end_of_item(tokens: &[String], mut at: usize) -> usize {
    let mut depth = 0_usize;
    while at < tokens.len() {
        match tokens[at].as_str() {
            "(" | "[" | "{" => depth += 1,
            "}" if depth == 1 => return at + 1,
            "}" if depth == 0 => return at,
            ")" | "]" | "}" => depth -= 1,
            ";" if depth == 0 => return at + 1,
            _ => {}
        }
        at += 1;
    }
    at
}

#[test]
fn only_code_that_is_not_a_test_is_left() {
    let source = r##"
        //! crate::comment
        use a::B; // crate::comment
        const TEXT: &str = "crate::text \" "; const RAW: &str = r#"crate::raw"#;
        fn f<'a>(x: &'a str) -> char { if x == "" { '"' } else { b'\''.into() } }
        #[cfg(test)]
        use crate::test;
        #[cfg(all(test, unix))]
        #[path = "x.rs"]
        mod tests { fn g() { crate::test() } }
        enum E { A, #[cfg(test)] B(crate::test) }
        fn last() {}
    "##;
    let text = tokens(source).join(" ");
    assert!(text.starts_with("use a :: B ;") && text.ends_with("fn last ( ) { }"), "{text}");
    assert!(!text.contains("crate"), "{text}");
}
