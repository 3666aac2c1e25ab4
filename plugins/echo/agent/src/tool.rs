//! The two tools. They really do something, and nothing harmful: one counts words, the other lists a folder.

use serde_json::{Value, json};
use std::fs;

/// A tool of the agent.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Tool {
    /// Counts the words of a text. Needs no permission: it touches nothing.
    CountWords,
    /// Counts the entries of a folder. It reads from the machine, so in duplex it asks for permission.
    ListFolder,
}

/// The result of a tool.
#[derive(Debug, PartialEq)]
pub(crate) struct ToolResult {
    /// The text that it printed.
    pub(crate) output: String,
    /// 0 on success.
    pub(crate) exit_code: i32,
}

impl Tool {
    /// The name in events.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Tool::CountWords => "count_words",
            Tool::ListFolder => "list_folder",
        }
    }

    /// The question to ask before it runs, if it needs permission.
    pub(crate) fn question(self) -> Option<&'static str> {
        match self {
            Tool::CountWords => None,
            Tool::ListFolder => Some("May I look into the folder?"),
        }
    }

    /// The input that the agent chooses.
    pub(crate) fn input(self, prompt: &str) -> Value {
        match self {
            Tool::CountWords => json!({ "text": prompt }),
            Tool::ListFolder => json!({ "path": "." }),
        }
    }

    /// Runs the tool. The user may have edited the input.
    pub(crate) fn run(self, input: &Value) -> ToolResult {
        let result = match self {
            Tool::CountWords => text(input, "text").map(|text| counted(count_words(text), "word", "words")),
            Tool::ListFolder => text(input, "path").and_then(list),
        };
        match result {
            Ok(output) => ToolResult { output, exit_code: 0 },
            Err(output) => ToolResult { output, exit_code: 1 },
        }
    }
}

/// Counts words separated by whitespace.
pub(crate) fn count_words(text: &str) -> usize {
    text.split_whitespace().count()
}

fn text<'a>(input: &'a Value, key: &str) -> Result<&'a str, String> {
    input[key].as_str().ok_or_else(|| format!("the input has no text {key:?}"))
}

fn list(path: &str) -> Result<String, String> {
    let entries = fs::read_dir(path).map_err(|error| format!("{path}: {error}"))?;
    Ok(counted(entries.count(), "entry", "entries"))
}

fn counted(number: usize, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tools_do_what_they_say() {
        for (tool, input, output, exit_code) in [
            (Tool::CountWords, json!({"text": "one"}), "1 word", 0),
            (Tool::CountWords, json!({"text": " one\ttwo\n three "}), "3 words", 0),
            (Tool::CountWords, json!({"text": 3}), "the input has no text \"text\"", 1),
            (Tool::ListFolder, json!(["src"]), "the input has no text \"path\"", 1),
        ] {
            assert_eq!(tool.run(&input), ToolResult { output: output.to_owned(), exit_code }, "{input}");
        }
    }

    #[test]
    fn a_folder_is_listed_and_a_missing_one_is_an_error() {
        let folder = tempfile::tempdir().expect("a folder");
        for (name, output) in [("a", "1 entry"), ("b", "2 entries")] {
            fs::write(folder.path().join(name), "").expect("a file");
            let result = Tool::ListFolder.run(&json!({"path": folder.path()}));
            assert_eq!(result, ToolResult { output: output.to_owned(), exit_code: 0 });
        }
        let missing = Tool::ListFolder.run(&json!({"path": "no/such/folder"}));
        assert_eq!(missing.exit_code, 1);
        assert!(missing.output.starts_with("no/such/folder: "), "{missing:?}");
    }
}
