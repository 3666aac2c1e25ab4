//! The line that a command's shell gets. Codex shows a command as an array of words, joined and quoted for a shell:
//! `/bin/bash -lc 'touch a.txt'`.

/// The script if the command is one of a shell; otherwise the whole command.
pub(crate) fn script(command: &str) -> String {
    match words(command).as_deref() {
        Some([shell, flag, script]) if shell.ends_with("sh") && matches!(flag.as_str(), "-lc" | "-c") => script.clone(),
        _ => command.to_owned(),
    }
}

/// The words of a line, without their quotes; none if a quote is not closed.
fn words(line: &str) -> Option<Vec<String>> {
    let (mut words, mut word, mut chars) = (vec![], None::<String>, line.chars());
    while let Some(next) = chars.next() {
        match next {
            ' ' => words.extend(word.take()),
            '\'' => {
                let word = word.get_or_insert_default();
                loop {
                    match chars.next()? {
                        '\'' => break,
                        inside => word.push(inside),
                    }
                }
            }
            '"' => {
                let word = word.get_or_insert_default();
                loop {
                    match chars.next()? {
                        '"' => break,
                        '\\' => word.push(chars.next()?),
                        inside => word.push(inside),
                    }
                }
            }
            '\\' => word.get_or_insert_default().push(chars.next()?),
            plain => word.get_or_insert_default().push(plain),
        }
    }
    words.extend(word);
    Some(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_script_of_a_shell_is_what_it_gets() {
        for (command, line) in [
            ("/bin/bash -lc 'echo one; pwd'", "echo one; pwd"),
            ("/bin/bash -lc ls", "ls"),
            (r#"/bin/zsh -lc "echo \"a\" 'b'""#, "echo \"a\" 'b'"),
            (r#"/bin/bash -lc 'echo '"'"'a b'"'"''"#, "echo 'a b'"),
            ("touch 'a b'", "touch 'a b'"),
            ("/bin/bash -lc 'not closed", "/bin/bash -lc 'not closed"),
            ("/bin/bash -lc ls extra", "/bin/bash -lc ls extra"),
            ("", ""),
        ] {
            assert_eq!(script(command), line, "{command}");
        }
    }
}
