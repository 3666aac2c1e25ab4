//! The script as plain data: one step per line. README.md is the reference.

use crate::child::{Kind, Spec};
use crate::signal;
use rustix::process::Signal;
use std::path::PathBuf;
use std::time::Duration;

/// The part of a `delta` line before its text.
pub(crate) const DELTA_HEAD: &str = r#"{"type":"delta","id":"1","text":""#;
/// The part after its text.
pub(crate) const DELTA_TAIL: &str = "\"}\n";

/// A step of a script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Step {
    Stdout(Vec<u8>),
    Stderr(Vec<u8>),
    Chunk(usize),
    Repeat(u64, Box<Step>),
    BigLine(usize),
    FloodStdout(u64),
    FloodStderr(u64),
    CloseStdout,
    Sleep(Duration),
    Silence,
    WaitFile(PathBuf),
    ReadStdin,
    ReadLine,
    SayStdin,
    IgnoreSigterm,
    Tag(String),
    Child(Spec),
    WriteEnv(PathBuf),
    WriteFile(PathBuf, Vec<u8>),
    Exit(u8),
    Die(Signal),
}

/// Parses a script. The error starts with the line number.
pub(crate) fn parse(text: &str) -> Result<Vec<Step>, String> {
    let lines = text.lines().enumerate().map(|(index, line)| (index + 1, line.trim_start()));
    lines
        .filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
        .map(|(number, line)| step(line).map_err(|error| format!("{number}: {error}")))
        .collect()
}

fn step(line: &str) -> Result<Step, String> {
    let (name, rest) = line.split_once(' ').unwrap_or((line, ""));
    let bare = |step| if rest.trim().is_empty() { Ok(step) } else { Err(format!("{name} takes no argument: {line}")) };
    Ok(match name {
        "stdout" => Step::Stdout(unescape(rest)?),
        "stderr" => Step::Stderr(unescape(rest)?),
        "line" => {
            serde_json::from_str::<serde_json::Value>(rest)
                .map_err(|error| format!("{rest} is not JSON ({error}); `stdout` writes any text"))?;
            Step::Stdout(format!("{rest}\n").into_bytes())
        }
        "bytes" => Step::Chunk(number(rest)?),
        "repeat" => {
            let (times, repeated) = rest.split_once(' ').ok_or("repeat needs a number and a step")?;
            Step::Repeat(number(times)?, Box::new(step(repeated.trim_start())?))
        }
        "big-line" => {
            let bytes = number(rest)?;
            let minimum = DELTA_HEAD.len() + DELTA_TAIL.len();
            if bytes < minimum {
                return Err(format!("a delta line has at least {minimum} bytes"));
            }
            Step::BigLine(bytes)
        }
        "flood-stdout" => Step::FloodStdout(number(rest)?),
        "flood-stderr" => Step::FloodStderr(number(rest)?),
        "close-stdout" => bare(Step::CloseStdout)?,
        "sleep" => Step::Sleep(Duration::from_millis(number(rest)?)),
        "silence" => bare(Step::Silence)?,
        "wait-file" => Step::WaitFile(path(rest)?),
        "read-stdin" => bare(Step::ReadStdin)?,
        "read-line" => bare(Step::ReadLine)?,
        "say-stdin" => bare(Step::SayStdin)?,
        "ignore-sigterm" => bare(Step::IgnoreSigterm)?,
        "tag" => Step::Tag(single(rest)?),
        "setsid-child" => Step::Child(child(Kind::Session, rest)?),
        "daemon" => Step::Child(child(Kind::Daemon, rest)?),
        "clear-env-daemon" => Step::Child(Spec { clear_env: true, ..child(Kind::Daemon, rest)? }),
        "children" => {
            let (times, rest) = rest.split_once(' ').ok_or("children needs a number and seconds")?;
            Step::Repeat(number(times)?, Box::new(Step::Child(child(Kind::Plain, rest)?)))
        }
        "write-env" => Step::WriteEnv(path(rest)?),
        "write-file" => {
            let (file, text) = rest.split_once(' ').unwrap_or((rest, ""));
            Step::WriteFile(path(file)?, unescape(text)?)
        }
        "exit" => Step::Exit(number(rest)?),
        "die" => Step::Die(signal::parse(rest.trim()).ok_or_else(|| format!("{rest:?} is not a signal"))?),
        other => return Err(format!("unknown step {other:?}")),
    })
}

fn child(kind: Kind, rest: &str) -> Result<Spec, String> {
    let (seconds, holding) = match rest.trim().split_once(' ') {
        None => (rest, false),
        Some((seconds, "holding")) => (seconds, true),
        Some((_, other)) => return Err(format!("only `holding` can follow the seconds, not {other:?}")),
    };
    Ok(Spec { kind, seconds: number(seconds)?, holding, clear_env: false })
}

fn number<N: std::str::FromStr>(text: &str) -> Result<N, String> {
    text.trim().parse().map_err(|_| format!("{text:?} is not a number, or too large"))
}

fn single(rest: &str) -> Result<String, String> {
    let text = rest.trim();
    let is_single = !text.is_empty() && !text.contains(' ');
    if is_single { Ok(text.to_owned()) } else { Err(format!("a text without spaces is required, not {rest:?}")) }
}

fn path(rest: &str) -> Result<PathBuf, String> {
    if rest.trim().is_empty() { Err("a file is required".to_owned()) } else { Ok(PathBuf::from(rest.trim())) }
}

/// Replaces `\n`, `\r`, `\t`, `\\` and `\xHH`, which can be a part of a UTF-8 character.
fn unescape(text: &str) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('\\') {
        bytes.extend_from_slice(before.as_bytes());
        let (byte, length) = match after.as_bytes().first() {
            Some(b'n') => (b'\n', 1),
            Some(b'r') => (b'\r', 1),
            Some(b't') => (b'\t', 1),
            Some(b'\\') => (b'\\', 1),
            Some(b'x') => {
                let digits = after.get(1..3).filter(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit()));
                let byte = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
                (byte.ok_or_else(|| format!("\\x needs two hexadecimal digits: {text}"))?, 3)
            }
            _ => return Err(format!("a backslash escapes n, r, t, x or a backslash: {text}")),
        };
        bytes.push(byte);
        rest = &after[length..];
    }
    bytes.extend_from_slice(rest.as_bytes());
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(kind: Kind, seconds: u64) -> Spec {
        Spec { kind, seconds, holding: false, clear_env: false }
    }

    #[test]
    fn every_step_is_parsed() {
        let path = PathBuf::from;
        for (line, step) in [
            ("stdout a\\n", Step::Stdout(b"a\n".to_vec())),
            ("stdout  two spaces ", Step::Stdout(b" two spaces ".to_vec())),
            ("stdout", Step::Stdout(vec![])),
            ("stderr \\xc3", Step::Stderr(vec![0xc3])),
            ("line {\"a\": \"\\n\"}", Step::Stdout(b"{\"a\": \"\\n\"}\n".to_vec())),
            ("bytes 1", Step::Chunk(1)),
            ("repeat 3 sleep 5", Step::Repeat(3, Box::new(Step::Sleep(Duration::from_millis(5))))),
            ("repeat 2 repeat 3 silence", Step::Repeat(2, Box::new(Step::Repeat(3, Box::new(Step::Silence))))),
            ("big-line 20000000", Step::BigLine(20_000_000)),
            ("flood-stdout 5000000000", Step::FloodStdout(5_000_000_000)),
            ("flood-stderr 10", Step::FloodStderr(10)),
            ("close-stdout", Step::CloseStdout),
            ("silence", Step::Silence),
            ("wait-file /tmp/a b", Step::WaitFile(path("/tmp/a b"))),
            ("read-stdin", Step::ReadStdin),
            ("read-line ", Step::ReadLine),
            ("say-stdin", Step::SayStdin),
            ("ignore-sigterm", Step::IgnoreSigterm),
            ("tag t-1", Step::Tag("t-1".to_owned())),
            ("setsid-child 5", Step::Child(spec(Kind::Session, 5))),
            ("setsid-child 5 holding", Step::Child(Spec { holding: true, ..spec(Kind::Session, 5) })),
            ("daemon 5", Step::Child(spec(Kind::Daemon, 5))),
            ("clear-env-daemon 5", Step::Child(Spec { clear_env: true, ..spec(Kind::Daemon, 5) })),
            ("children 200 5", Step::Repeat(200, Box::new(Step::Child(spec(Kind::Plain, 5))))),
            ("write-env /tmp/env", Step::WriteEnv(path("/tmp/env"))),
            ("write-file a.txt some text\\n", Step::WriteFile(path("a.txt"), b"some text\n".to_vec())),
            ("write-file a.txt", Step::WriteFile(path("a.txt"), vec![])),
            ("exit 255", Step::Exit(255)),
            ("die SIGTERM", Step::Die(Signal::TERM)),
            ("die 9", Step::Die(Signal::KILL)),
        ] {
            assert_eq!(parse(line), Ok(vec![step]), "{line}");
        }
    }

    #[test]
    fn comments_and_empty_lines_are_skipped() {
        let steps = parse("# first\n\n  silence\r\n   # last\n");
        assert_eq!(steps, Ok(vec![Step::Silence]));
        assert_eq!(parse(""), Ok(vec![]));
    }

    #[test]
    fn an_error_has_the_line_number() {
        for (line, part) in [
            ("dance", "unknown step \"dance\""),
            ("line {", "not JSON"),
            ("line", "not JSON"),
            ("silence 5", "takes no argument"),
            ("bytes", "not a number"),
            ("bytes -1", "not a number"),
            ("exit 256", "not a number"),
            ("repeat 3", "needs a number and a step"),
            ("repeat x silence", "not a number"),
            ("repeat 2 dance", "unknown step \"dance\""),
            ("big-line 10", "at least"),
            ("children 3", "needs a number"),
            ("daemon 3 quietly", "`holding`"),
            ("daemon soon", "not a number"),
            ("tag", "without spaces"),
            ("tag a b", "without spaces"),
            ("write-file", "a file is required"),
            ("wait-file ", "a file is required"),
            ("die LATER", "not a signal"),
            ("die", "not a signal"),
            ("stdout \\", "backslash"),
            ("stdout \\q", "backslash"),
            ("stdout \\x4", "hexadecimal"),
            ("stdout \\x+f", "hexadecimal"),
            ("stdout \\xé", "hexadecimal"),
        ] {
            let error = parse(&format!("silence\n{line}\n")).expect_err(line);
            assert!(error.starts_with("2: ") && error.contains(part), "{line}: {error}");
        }
    }

    #[test]
    fn escapes_can_produce_any_byte() {
        for (text, bytes) in [
            ("é", "é".as_bytes()),
            ("\\xc3\\xa9", "é".as_bytes()),
            ("\\xFF\\x00", &[0xff, 0]),
            ("a\\\\n", b"a\\n"),
            ("\\r\\n\\t.", b"\r\n\t."),
        ] {
            assert_eq!(unescape(text).as_deref(), Ok(bytes), "{text}");
        }
    }

    #[test]
    fn the_readme_lists_every_step_by_an_example() {
        let rows = include_str!("../README.md").lines().filter_map(|line| line.strip_prefix("| `")?.split_once("` |"));
        let examples: Vec<&str> = rows.map(|(example, _)| example).collect();
        for example in &examples {
            parse(example).expect(example);
        }
        // The arms of `step`, taken from the source, so that a new step without an example fails here.
        let source = include_str!("script.rs").split("#[cfg(test)]").next().expect("split gives at least one part");
        let arms = source.lines().filter_map(|line| line.strip_prefix("        \"")?.split_once("\" =>"));
        let names: Vec<&str> = arms.map(|(name, _)| name).collect();
        assert!(names.contains(&"stdout") && names.contains(&"die"), "the arms were found: {names:?}");
        for name in names {
            assert!(examples.iter().any(|line| line.split(' ').next() == Some(name)), "{name} is not in the README");
        }
    }
}
