//! The two tools. They really do something, and nothing that could do harm: the one counts, the other looks.

use serde_json::{Value, json};
use std::fs;

/// A tool that the agent has.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Tool {
    /// How many words a text has. Nobody need allow it: it touches nothing.
    CountWords,
    /// How many entries a folder has. It looks at the machine, so it asks where somebody can answer.
    ListFolder,
}

/// What running a tool gave.
#[derive(Debug, PartialEq)]
pub(crate) struct Ran {
    /// What it printed.
    pub(crate) output: String,
    /// 0 where it worked.
    pub(crate) exit_code: i32,
}

impl Tool {
    /// As the events name it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Tool::CountWords => "count_words",
            Tool::ListFolder => "list_folder",
        }
    }

    /// The question to ask before it runs, if any.
    pub(crate) fn question(self) -> Option<&'static str> {
        match self {
            Tool::CountWords => None,
            Tool::ListFolder => Some("May I look into the folder?"),
        }
    }

    /// What it is run with of the agent's own accord.
    pub(crate) fn input(self, prompt: &str) -> Value {
        match self {
            Tool::CountWords => json!({ "text": prompt }),
            Tool::ListFolder => json!({ "path": "." }),
        }
    }

    /// Does it. The input may have been edited by anybody.
    pub(crate) fn run(self, input: &Value) -> Ran {
        let result = match self {
            Tool::CountWords => text(input, "text").map(|text| counted(count_words(text), "word", "words")),
            Tool::ListFolder => text(input, "path").and_then(list),
        };
        match result {
            Ok(output) => Ran { output, exit_code: 0 },
            Err(output) => Ran { output, exit_code: 1 },
        }
    }
}

/// Words are what white space parts.
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
            assert_eq!(tool.run(&input), Ran { output: output.to_owned(), exit_code }, "{input}");
        }
    }

    #[test]
    fn a_folder_is_listed_and_a_missing_one_is_an_error() {
        let folder = tempfile::tempdir().expect("a folder");
        for (name, output) in [("a", "1 entry"), ("b", "2 entries")] {
            fs::write(folder.path().join(name), "").expect("a file");
            let ran = Tool::ListFolder.run(&json!({"path": folder.path()}));
            assert_eq!(ran, Ran { output: output.to_owned(), exit_code: 0 });
        }
        let missing = Tool::ListFolder.run(&json!({"path": "no/such/folder"}));
        assert_eq!(missing.exit_code, 1);
        assert!(missing.output.starts_with("no/such/folder: "), "{missing:?}");
    }
}
