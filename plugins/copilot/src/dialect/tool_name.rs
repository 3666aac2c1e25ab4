//! Finds the name of a tool.
//!
//! The protocol has kinds and titles, but no names. Copilot's own tools are recognized by their input or by their title;
//! any other title is the name of the tool. So a tool has the same name over both transports, and a rule works on both.

use wharf_adapter::Json;

/// Keys of the input that only one tool has.
const INPUTS: &[(&str, &str)] = &[("agent_type", "task"), ("file_text", "create"), ("old_str", "edit")];

/// The beginnings of the titles of tools that cannot be recognized by their input.
const TITLES: &[(&str, &str)] = &[
    ("Viewing ", "view"),
    ("Searching for ", "grep"),
    ("Finding files matching ", "glob"),
    ("Reading shell output", "read_bash"),
    ("Sending input to shell", "write_bash"),
    ("Stopping shell session", "stop_bash"),
    ("Using skill", "skill"),
    ("Web search", "web_search"),
    ("Fetching URL", "web_fetch"),
    ("Task completion", "task_complete"),
    // In permission requests.
    ("Create file", "create"),
    ("Edit file", "edit"),
];

/// The name of the tool, or its kind if the name is unknown.
pub(super) fn tool_name(kind: Option<&str>, title: &str, input: Json<'_>) -> Option<String> {
    let has = |key: &str| !input.get(key).is_missing();
    let known = INPUTS.iter().find(|(key, _)| has(key)).map(|(_, name)| *name);
    let shell = || (kind == Some("execute") && has("command")).then_some("bash");
    // Its title is its description, as with commands and sub-agents.
    let sql = || (has("query") && input.get("description").is(title)).then_some("sql");
    let titled = || TITLES.iter().find(|(begin, _)| title.starts_with(begin)).map(|(_, name)| *name);
    let named = || Some(title).filter(|title| is_name(title));
    known.or_else(shell).or_else(sql).or_else(titled).or_else(named).or(kind).map(str::to_owned)
}

fn is_name(title: &str) -> bool {
    !title.is_empty() && title.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All but the last two were captured from 1.0.102 and 1.0.35.
    #[test]
    fn a_tool_is_recognized_by_its_input_or_its_title() {
        for (kind, title, input, expected) in [
            ("execute", "Touch", r#"{"command":"touch x","description":"Touch"}"#, "bash"),
            ("execute", "Touch a file", r#"{"command":"touch x","commands":["touch x"]}"#, "bash"),
            ("edit", "Creating /w/c.txt", r#"{"path":"/w/c.txt","file_text":"x"}"#, "create"),
            ("edit", "Create file", r#"{"fileName":"/w/c.txt","diff":""}"#, "create"),
            ("edit", "Editing /w/c.txt", r#"{"path":"/w/c.txt","old_str":"x","new_str":"y"}"#, "edit"),
            ("edit", "Edit file", r#"{"fileName":"/w/c.txt","diff":""}"#, "edit"),
            ("edit", "apply_patch", r#"{"input":"*** Begin Patch"}"#, "apply_patch"),
            ("read", "Viewing /w/a.txt", r#"{"path":"/w/a.txt"}"#, "view"),
            ("read", "Searching for 'hello'", r#"{"pattern":"hello","path":"/w"}"#, "grep"),
            ("read", "Finding files matching *.txt", r#"{"pattern":"*.txt"}"#, "glob"),
            ("read", "Reading shell output", r#"{"shellId":"1"}"#, "read_bash"),
            ("execute", "Stopping shell session", r#"{"shellId":"1"}"#, "stop_bash"),
            ("execute", "list_bash", "{}", "list_bash"),
            ("other", "explore it", r#"{"agent_type":"explore","prompt":"p","description":"explore it"}"#, "task"),
            ("other", "count", r#"{"description":"count","query":"select 1"}"#, "sql"),
            ("other", "Using skill: probe", r#"{"skill":"probe"}"#, "skill"),
            ("other", "Task completion", "", "task_complete"),
            ("other", "lab-echo", r#"{"x":"1"}"#, "lab-echo"),
            ("other", "lab-search", r#"{"query":"x"}"#, "lab-search"),
            ("read", "Access paths outside trusted directories", r#"{"path":"/etc/hostname"}"#, "read"),
            ("think", "Something of tomorrow", "", "think"),
        ] {
            assert_eq!(tool_name(Some(kind), title, Json::parse(input)).as_deref(), Some(expected), "{title}");
        }
        assert_eq!(tool_name(None, "", Json::parse("")), None);
    }
}
