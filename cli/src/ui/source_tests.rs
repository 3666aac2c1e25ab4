//! Who prints, checked in the sources: only the shell, and only `Text`. A caller that prints by itself, or a method that
//! takes plain text, would let foreign text reach the terminal.

use std::path::{Path, PathBuf};

/// What prints, or turns any text into one of ours.
const PRINTING: [&str; 11] = [
    "print!(",
    "println!(",
    "dbg!(",
    "stdout()",
    "stderr()",
    "Stdout",
    "Stderr",
    "anstream::",
    ".leak()",
    "/dev/tty",
    "rustix::stdio",
];

/// The only files that may: see their heads.
const PRINTERS: [&str; 2] = ["ui/shell.rs", "ui/output.rs"];

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
        let path = entry.path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

fn source_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

/// The functions of a file of this room that others can call: each from its name to the end of its arguments.
fn signatures(file: &str) -> Vec<String> {
    let source = std::fs::read_to_string(source_folder().join("ui").join(file)).expect("a source file");
    let source = source.split("#[cfg(test)]\nfn keep").next().unwrap_or_default();
    let source = source.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
    let starts = source.match_indices("fn ").filter(|(at, _)| {
        let line = source[..*at].rsplit('\n').next().unwrap_or_default();
        line.trim_start().starts_with("pub")
    });
    starts.map(|(at, _)| source[at..].split('{').next().unwrap_or_default().trim().to_owned()).collect()
}

#[test]
fn only_the_shell_prints() {
    let mut files = Vec::new();
    sources(&source_folder(), &mut files);
    assert!(files.len() > 20, "{files:?}");
    for path in files {
        let name = path.strip_prefix(source_folder()).expect("a source file").to_string_lossy().replace('\\', "/");
        if PRINTERS.contains(&name.as_str()) || name.ends_with("_tests.rs") {
            continue;
        }
        let source = std::fs::read_to_string(&path).expect("readable");
        for (number, line) in (1..).zip(source.lines()) {
            let code = line.split("//").next().unwrap_or_default();
            let found = PRINTING.iter().find(|printing| code.contains(**printing));
            assert_eq!(found, None, "{name}, line {number}: only the shell prints");
        }
    }
}

#[test]
fn the_shell_takes_no_plain_text() {
    let shell = signatures("shell.rs");
    assert!(shell.len() > 10, "{shell:?}");
    for signature in shell {
        let plain = ["str", "String", "Display", "Debug", "Arguments", "Cow", "char"];
        let words: Vec<&str> = signature.split(|next: char| !next.is_alphanumeric()).collect();
        assert!(!plain.iter().any(|word| words.contains(word)), "{signature}: text for people must be a `Text`");
        let unchanged = ["fn bytes(", "fn json_lines("].iter().any(|start| signature.starts_with(start));
        assert!(unchanged || !words.contains(&"u8"), "{signature}: bytes are for programs only");
    }
}

#[test]
fn a_text_takes_only_literals_unchanged() {
    let text = signatures("text.rs");
    assert!(text.len() > 8, "{text:?}");
    for signature in text.iter().filter(|signature| signature.contains("str")) {
        let own = signature.contains("&'static str");
        let made_visible = ["fn written(", "fn data("].iter().any(|start| signature.starts_with(start));
        assert!(own || made_visible || signature.contains("fn render("), "{signature}");
    }
}
