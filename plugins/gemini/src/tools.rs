//! The CLI's own tools: what kind each is, which files it touches, and how it changes them.

use wharf_adapter::{Diff, Json, ToolCall, ToolKind};

/// Completes a call by the name of its tool and its input.
pub(crate) fn describe(name: &str, input: Json<'_>, call: &mut ToolCall) {
    call.kind = call.kind.or_else(|| kind(name));
    // "mcp_SERVER_TOOL": the CLI itself takes the server for what comes before the first underscore.
    let server = name.strip_prefix("mcp_").and_then(|rest| rest.split_once('_'));
    call.mcp_server = server.map(|(server, _)| server.to_owned());
    let path = input.first_of(&["file_path", "absolute_path", "dir_path", "path"]).filled();
    let Some(path) = path.filter(|_| server.is_none()) else { return };
    let diff = match name {
        "write_file" => input.get("content").text().map(|new| (None, new)),
        "replace" => input.get("new_string").text().map(|new| (input.get("old_string").text(), new)),
        _ => None,
    };
    call.diffs = diff.into_iter().map(|(old, new)| Diff { path: path.to_string(), old, new }).collect();
    call.paths = vec![path.into_owned()];
}

/// Whether the CLI asks before it runs this tool. Without a person to ask, it does not offer the tool to the model.
pub(crate) fn needs_permission(name: &str) -> bool {
    matches!(name, "run_shell_command" | "write_file" | "replace" | "web_fetch" | "activate_skill")
}

fn kind(name: &str) -> Option<ToolKind> {
    Some(match name {
        "read_file" | "read_many_files" | "list_directory" | "read_mcp_resource" => ToolKind::Read,
        "glob" | "grep_search" | "search_file_content" => ToolKind::Search,
        "write_file" | "replace" => ToolKind::Edit,
        "run_shell_command" => ToolKind::Execute,
        "web_fetch" | "google_web_search" => ToolKind::Fetch,
        "write_todos" | "update_topic" => ToolKind::Think,
        _ if name.starts_with("mcp_") => ToolKind::Other,
        _ => return None,
    })
}
