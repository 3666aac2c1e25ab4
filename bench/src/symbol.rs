//! The names of functions as a person reads them: demangled, without the compiler's hashes.
//!
//! perf demangles what it finds in programs, and the engine what it writes into its map. Left are hashes, and all of
//! the names in compiled code that is mapped from a file, which the engine has cut short: what there is of such a name is
//! shown. Of the newer mangling (`_R…`), which only the standard library has, nothing is read.

/// What stands for characters that a linker would not take.
const ESCAPES: [(&str, &str); 17] = [
    ("$LT$", "<"),
    ("$GT$", ">"),
    ("$RF$", "&"),
    ("$BP$", "*"),
    ("$LP$", "("),
    ("$RP$", ")"),
    ("$C$", ","),
    ("$SP$", "@"),
    ("$u20$", " "),
    ("$u27$", "'"),
    ("$u3b$", ";"),
    ("$u5b$", "["),
    ("$u5d$", "]"),
    ("$u7b$", "{"),
    ("$u7d$", "}"),
    ("$u7e$", "~"),
    ("..", "::"),
];

/// The name in a symbol.
pub(crate) fn read(symbol: &str) -> String {
    let name = without_index(symbol);
    match demangle(name) {
        Some(name) => name,
        None => without_hashes(name),
    }
}

/// `wasm[0]::function[7]::name` is the name, where there is one.
fn without_index(symbol: &str) -> &str {
    let index = symbol.strip_prefix("wasm[").and_then(|rest| rest.split_once("]::function["));
    index.and_then(|(_, rest)| rest.split_once("]::")).map_or(symbol, |(_, name)| name)
}

/// `_ZN4core3fmt5write17h0123456789abcdefE`: parts behind their lengths, the last of them the hash.
fn demangle(name: &str) -> Option<String> {
    let mut rest = name.strip_prefix("_ZN")?;
    let mut parts = vec![];
    while !rest.is_empty() && !rest.starts_with('E') {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let length: usize = rest[..digits].parse().ok()?;
        let (part, behind) = rest[digits..].split_at_checked(length).unwrap_or((&rest[digits..], ""));
        let is_hash = length == 17 && part.strip_prefix('h').is_some_and(is_hexadecimal);
        if !part.is_empty() && !is_hash {
            let part = part.strip_prefix('_').filter(|part| part.starts_with('$')).unwrap_or(part);
            parts.push(ESCAPES.iter().fold(part.to_owned(), |part, (escape, plain)| part.replace(escape, plain)));
        }
        rest = behind;
    }
    (!parts.is_empty()).then(|| parts.join("::"))
}

/// `alloc[0123456789abcdef]::fmt::format`, and `core::fmt::write::h0123456789abcdef`.
fn without_hashes(name: &str) -> String {
    let is_hash = |text: &str| text.len() == 16 && is_hexadecimal(text);
    let path = name.rsplit_once("::h").filter(|(_, hash)| is_hash(hash)).map_or(name, |(path, _)| path);
    let mut pieces = path.split('[');
    let mut out = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        match piece.split_once(']') {
            Some((hash, rest)) if is_hash(hash) => out.push_str(rest),
            _ => out.extend(["[", piece]),
        }
    }
    out
}

fn is_hexadecimal(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn symbols_are_read() {
        for (symbol, name) in [
            ("vfs_read", "vfs_read"),
            ("core::fmt::write::h0123456789abcdef", "core::fmt::write"),
            ("hash::hash", "hash::hash"),
            ("a::h0123", "a::h0123"),
            (
                "<alloc[60c8babfd1b21f68]::String as core[6d9e98711c484d2e]::Write>::put",
                "<alloc::String as core::Write>::put",
            ),
            ("<[u8; 4] as Read>::read", "<[u8; 4] as Read>::read"),
            ("_ZN13wharf_adapter4tape4Tape4read17h868d74b82a80f9a1E", "wharf_adapter::tape::Tape::read"),
            ("_ZN5tokio4task28_$u7b$$u7b$closure$u7d$$u7d$17h0123456789abcdefE", "tokio::task::{{closure}}"),
            ("_ZN1a17seventeen_lettersE", "a::seventeen_letters"),
            ("wasm[0]::function[417]::memcmp", "memcmp"),
            ("wasm[0]::function[164]", "wasm[0]::function[164]"),
            ("wasm[0]::array_to_wasm_trampoline[164]", "wasm[0]::array_to_wasm_trampoline[164]"),
            ("wasm[0]::function[9]::wharf:runtime/adapter@0.1.0#parse", "wharf:runtime/adapter@0.1.0#parse"),
        ] {
            assert_eq!(read(symbol), name, "{symbol}");
        }
    }

    #[test]
    fn of_a_name_that_was_cut_short_the_rest_is_read() {
        let whole = "_ZN50_$LT$a..Copilot$u20$as$u20$b..adapter..Adapter$GT$4line17h5123456789abcdefE";
        for (end, name) in [
            (whole.len(), "<a::Copilot as b::adapter::Adapter>::line"),
            (whole.len() - 15, "<a::Copilot as b::adapter::Adapter>::line"),
            (whole.len() - 18, "<a::Copilot as b::adapter::Adapter>::line"),
            (whole.len() - 21, "<a::Copilot as b::adapter::Adapter>::lin"),
        ] {
            assert_eq!(read(&whole[..end]), name, "{}", &whole[..end]);
        }
        for symbol in
            ["", "_ZN", "_ZNE", "_ZN99999999999999999999a", "_ZNx", "_ZN2éé", "_ZN1é", "_RNvC1a", "wasm[", "["]
        {
            assert_eq!(read(symbol).is_empty(), symbol.is_empty(), "{symbol}");
        }
    }
}
