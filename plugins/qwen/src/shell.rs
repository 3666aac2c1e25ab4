//! What the results of the shell tool say.

use wharf_adapter::text;

/// The exit code in the long form of a result, which starts with "Command: " and has a line "Exit Code: 3". `head` may be
/// the inside of a JSON string: its newlines are then escaped.
pub(crate) fn exit_code(head: &str) -> Option<i32> {
    const MARK: &str = "Exit Code: ";
    let mut rest = head.strip_prefix("Command: ")?;
    // The last one: the command and its output come before it.
    let mut code = None;
    while let Some(at) = text::find(rest, MARK) {
        let before = &rest[..at];
        rest = &rest[at + MARK.len()..];
        if before.ends_with('\n') || before.ends_with("\\n") {
            let digits = rest.bytes().take_while(|byte| byte.is_ascii_digit() || *byte == b'-').count();
            code = rest[..digits].parse().ok().or(code);
        }
    }
    code
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_exit_code_is_the_last_one_that_starts_a_line() {
        for (head, code) in [
            ("Command: x\nDirectory: (root)\nOutput: oops\nError: (none)\nExit Code: 3\nSignal: 0", Some(3)),
            ("Command: x\\nOutput: (empty)\\nExit Code: 0\\nSignal: (none)", Some(0)),
            ("Command: x\nOutput: \nExit Code: 7\nis what it said\nExit Code: 1\nSignal: 0", Some(1)),
            ("Command: echo 'Exit Code: 9'\nExit Code: (none)\nSignal: 9", None),
            ("Exit Code: 3", None),
            ("Command: ", None),
        ] {
            assert_eq!(exit_code(head), code, "{head}");
        }
    }
}
