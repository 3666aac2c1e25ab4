//! What a tool would do if it is permitted, in the terms of the interface.
//!
//! Only what the agent says is used: the kind of the tool, its input, its files. A title is for people.

use super::ToolFields;
use crate::{Action, FileWrite, Json};

/// What is known about an open call: a permission request may say less.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Known<'a> {
    pub(super) kind: Option<&'a str>,
    /// JSON.
    pub(super) input: Option<&'a str>,
    /// The files that it changes.
    pub(super) changes: &'a [crate::FileChange],
}

impl ToolFields<'_> {
    /// What the call would do; nothing if the agent does not say.
    pub(super) fn actions(&self, name: Option<&str>, known: Known<'_>) -> Vec<Action> {
        let kind = self.kind.name().filter(|kind| *kind != "other").or(known.kind).unwrap_or("other");
        let input = if self.input.is_object() { self.input } else { Json::parse(known.input.unwrap_or_default()) };
        match kind {
            "execute" => commands(input),
            // Goose calls every tool `other` when it asks.
            "other" if matches!(name, Some("shell" | "bash" | "Bash")) => commands(input),
            "read" => self.files(input).into_iter().map(Action::Read).collect(),
            "edit" | "delete" | "move" => self.writes(input, known),
            "fetch" => input.get("url").filled().map(|url| Action::Fetch(url.into_owned())).into_iter().collect(),
            _ => vec![],
        }
    }

    fn files(&self, input: Json<'_>) -> Vec<String> {
        let located: Vec<String> =
            self.locations.items().filter_map(|location| location.get("path").string()).collect();
        if !located.is_empty() {
            return located;
        }
        input.first_of(&["path", "file_path", "filePath"]).string().into_iter().collect()
    }

    fn writes(&self, input: Json<'_>, known: Known<'_>) -> Vec<Action> {
        let diffs = self.diffs();
        if !diffs.is_empty() {
            let write = |diff: crate::Diff| FileWrite { path: diff.path.clone(), diff: Some(diff) };
            return diffs.into_iter().map(write).map(Action::Write).collect();
        }
        let mut files = self.files(input);
        if files.is_empty() {
            files = known.changes.iter().map(|change| change.path.clone()).collect();
        }
        files.into_iter().map(|path| Action::Write(FileWrite { path, diff: None })).collect()
    }
}

/// The shell lines in the input of a tool.
fn commands(input: Json<'_>) -> Vec<Action> {
    let one = input.first_of(&["command", "cmd"]);
    // Without a shell: a program and its arguments.
    let words: Vec<String> = one.items().filter_map(Json::string).collect();
    if !words.is_empty() {
        return vec![Action::Run(words.join(" "))];
    }
    let several = input.get("commands").items().filter_map(Json::string);
    one.filled().map(std::borrow::Cow::into_owned).into_iter().chain(several).map(Action::Run).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Captured from claude-agent-acp, goose, cline, codex-acp, kimi and qwen, shortened.
    #[test]
    fn a_permission_request_says_what_the_tool_would_do() {
        let run = |line: &str| Action::Run(line.to_owned());
        let write = |path: &str| Action::Write(FileWrite { path: path.to_owned(), diff: None });
        let none = Known::default();
        let streamed = Known { kind: Some("execute"), input: Some(r#"{"command":"ls"}"#), changes: &[] };
        for (call, known, actions) in [
            (r#"{"kind":"execute","rawInput":{"command":"ls"}}"#, none, vec![run("ls")]),
            (r#"{"kind":"execute","rawInput":{"commands":["ls","pwd"]}}"#, none, vec![run("ls"), run("pwd")]),
            (r#"{"kind":"edit","locations":[{"path":"/a"}]}"#, none, vec![write("/a")]),
            (r#"{"kind":"edit","rawInput":{"file_path":"/a"}}"#, none, vec![write("/a")]),
            (r#"{"title":"Bash"}"#, streamed, vec![run("ls")]),
            (r#"{"kind":"read","rawInput":{"path":"/a"}}"#, none, vec![Action::Read("/a".to_owned())]),
            (r#"{"kind":"fetch","rawInput":{"url":"https://h"}}"#, none, vec![Action::Fetch("https://h".to_owned())]),
            (r#"{"kind":"other","title":"ls -la"}"#, none, vec![]),
        ] {
            let fields = ToolFields::read(Json::parse(call)).expect("an object");
            assert_eq!(fields.actions(None, known), actions, "{call}");
        }
        let goose =
            ToolFields::read(Json::parse(r#"{"kind":"other","rawInput":{"command":"ls"}}"#)).expect("an object");
        assert_eq!(goose.actions(Some("shell"), none), [run("ls")]);
        assert_eq!(goose.actions(Some("deploy"), none), [], "another tool's command is no shell line");
    }
}
