//! The names of tools over ACP.
//!
//! Updates name the tool in their metadata. The permission requests of 0.15.10 do not, and may come before any update: there
//! the input shows which tool it is.

use wharf_adapter::acp::ToolFields;

/// The tools that ask for permission, by their kind and a field that only their input has.
const BY_INPUT: [(&str, &str, &str); 8] = [
    ("execute", "command", "run_shell_command"),
    ("edit", "old_string", "edit"),
    ("edit", "content", "write_file"),
    ("fetch", "url", "web_fetch"),
    ("think", "questions", "ask_user_question"),
    ("think", "todos", "todo_write"),
    ("switch_mode", "plan", "exit_plan_mode"),
    ("other", "subagent_type", "agent"),
];

/// The name of a tool.
pub(super) fn of(tool: &ToolFields<'_>) -> Option<String> {
    let by_input = || {
        let kind = tool.kind.name()?;
        let known = BY_INPUT.iter().find(|(known, field, _)| *known == kind && !tool.input.get(field).is_missing())?;
        Some(known.2.to_owned())
    };
    tool.meta.get("toolName").string().or_else(by_input).or_else(|| tool.usual_name())
}
