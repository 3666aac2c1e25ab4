//! What is known of Qwen Code's tools: by their names, and by what their results say.

use wharf_adapter::{Json, ToolKind, text};

/// What a tool does.
pub(crate) fn kind(name: &str) -> ToolKind {
    match name {
        "list_directory" | "read_file" | "read_many_files" | "read_mcp_resource" | "zoom_image" => ToolKind::Read,
        "edit" | "notebook_edit" | "write_file" => ToolKind::Edit,
        "glob" | "grep_search" | "tool_search" => ToolKind::Search,
        "monitor" | "run_shell_command" => ToolKind::Execute,
        "web_fetch" | "web_search" => ToolKind::Fetch,
        "ask_user_question" | "exit_plan_mode" | "save_memory" | "todo_write" => ToolKind::Think,
        _ => ToolKind::Other,
    }
}

/// The MCP server that a tool belongs to: `lab` of `mcp__lab__echo`.
pub(crate) fn server(name: &str) -> Option<String> {
    let (server, _) = name.strip_prefix("mcp__")?.split_once("__")?;
    Some(server.to_owned())
}

/// The file that a tool names.
pub(crate) fn paths(input: Json<'_>) -> Vec<String> {
    let path = input.first_of(&["file_path", "absolute_path", "notebook_path", "path"]);
    path.filled().map(Into::into).into_iter().collect()
}

/// Whether the result of a tool says that the tool was denied: the tool as such, or what it was to do.
pub(crate) fn is_denial(head: &str) -> bool {
    head.starts_with("Qwen Code requires permission to use ")
        || (head.starts_with("This ") && text::contains(head, " invocation was denied by permission rules"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_shows_what_a_tool_does_and_whose_it_is() {
        assert_eq!((kind("run_shell_command"), server("run_shell_command")), (ToolKind::Execute, None));
        assert_eq!((kind("mcp__lab__echo"), server("mcp__lab__echo")), (ToolKind::Other, Some("lab".to_owned())));
        assert_eq!(server("mcp__lab"), None);
        assert_eq!(paths(Json::parse(r#"{"file_path":"/w/a","content":"x"}"#)), ["/w/a"]);
        assert!(paths(Json::parse(r#"{"command":"ls"}"#)).is_empty());
    }
}
