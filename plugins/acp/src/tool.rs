//! Tool calls where an agent says less than the protocol lets it: names, results, and what was denied.

use crate::agent::Agent;
use wharf_adapter::acp::ToolFields;
use wharf_adapter::{Json, Text, ToolCall, ToolStatus};

/// The name of a tool.
pub(crate) fn name(agent: Agent, tool: &ToolFields<'_>) -> Option<String> {
    let of_agent = match agent {
        // `run_commands: echo one`
        Agent::Cline => tool.title.str().and_then(|title| Some(title.split_once(": ")?.0.to_owned())),
        // `run_shell_command__fca9a037`, `read_file-1763480000000`
        Agent::Gemini => tool.id.str().and_then(|id| {
            let name = id.rsplit_once("__").or_else(|| id.rsplit_once('-'))?.0;
            (!name.is_empty()).then(|| name.to_owned())
        }),
        // The title of a command is the command.
        Agent::Pi if tool.kind.is("execute") => Some("bash".to_owned()),
        _ => None,
    };
    of_agent.or_else(|| tool.usual_name())
}

/// Completes a call that was read the usual way.
pub(crate) fn complete(agent: Agent, tool: &ToolFields<'_>, call: &mut ToolCall) {
    match agent {
        Agent::Cline => complete_cline(tool, call),
        // The shell's own code is only in the text; the field is 1 for every failure.
        Agent::Pi if call.status == ToolStatus::Failed => {
            let text = tool.meta.at(&["terminal_output", "data"]).str();
            call.exit_code = text.as_deref().and_then(last_line_code).or(call.exit_code);
        }
        Agent::Claude | Agent::Kimi if call.status == ToolStatus::Failed && call.exit_code.is_none() => {
            call.exit_code = tool.output.str().as_deref().and_then(|text| code_in(agent, text));
        }
        Agent::Kilo | Agent::OpenCode if call.status == ToolStatus::Succeeded => {
            let text = tool.output.get("output").str().unwrap_or_default();
            if text.trim_end().ends_with("User aborted the command\n</shell_metadata>") {
                call.status = ToolStatus::Cancelled;
            }
        }
        _ => {}
    }
    if call.status == ToolStatus::Failed && result(tool).is_some_and(|result| is_denial(agent, &result)) {
        call.status = ToolStatus::Denied;
    }
}

/// Cline reports what it ran as a list, and a command that failed as completed.
fn complete_cline(tool: &ToolFields<'_>, call: &mut ToolCall) {
    let ended = matches!(call.status, ToolStatus::Succeeded | ToolStatus::Failed);
    let one = std::iter::once(tool.output).filter(|output| output.is_object());
    let results: Vec<Json<'_>> = tool.output.items().chain(one).collect();
    if !ended || results.is_empty() {
        return;
    }
    let texts: Vec<String> = results.iter().filter_map(|result| result.get("result").string()).collect();
    if !texts.is_empty() {
        call.output = Some(Text::Inline(texts.join("\n")));
    }
    if results.iter().any(|result| result.get("success").raw() == "false") {
        call.status = ToolStatus::Failed;
        let error = results.iter().find_map(|result| result.get("error").filled());
        call.exit_code = error.as_deref().and_then(last_line_code).or(call.exit_code);
    }
}

/// The code in `Command exited with code 3`, if the text ends so.
fn last_line_code(text: &str) -> Option<i32> {
    text.trim_end().rsplit('\n').next()?.strip_prefix("Command exited with code ")?.parse().ok()
}

/// The code of a command that failed, in the sentence that the agent puts before or after its output.
fn code_in(agent: Agent, text: &str) -> Option<i32> {
    if agent == Agent::Claude {
        text.lines().next()?.strip_prefix("Exit code ")?.parse().ok()
    } else {
        let last = text.trim_end().rsplit('\n').next()?;
        last.strip_prefix("Command failed with exit code: ")?.strip_suffix('.')?.parse().ok()
    }
}

/// What the agent says about a call that failed.
fn result(tool: &ToolFields<'_>) -> Option<String> {
    let shown = || tool.content.items().find_map(|item| item.at(&["content", "text"]).string());
    let text = tool.output.string().or_else(|| tool.output.get("error").string()).or_else(shown)?;
    let inner = Json::parse(&text).get("error").string();
    Some(inner.unwrap_or(text))
}

/// Whether this is the agent's own sentence about a permission that it was not given. Never by a part of a text, which a
/// tool may have printed.
fn is_denial(agent: Agent, text: &str) -> bool {
    match agent {
        Agent::Goose => text.starts_with("The user has declined to run this tool."),
        Agent::Kimi => {
            let reason = text.strip_prefix("Tool \"").and_then(|rest| rest.split_once("\" was not run because "));
            reason.is_some_and(|(_, reason)| reason == "the user rejected the approval request.")
        }
        Agent::Cline => text.starts_with("User rejected the tool call -- NOT"),
        Agent::Kilo | Agent::OpenCode => text == "The user rejected permission to use this specific tool call.",
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_that_prints_a_denial_was_not_denied() {
        for (agent, text, denied) in [
            (Agent::Goose, "The user has declined to run this tool. DO NOT attempt", true),
            (Agent::Goose, "log: The user has declined to run this tool.", false),
            (Agent::Kimi, "Tool \"Bash\" was not run because the user rejected the approval request.", true),
            (Agent::Kimi, "Tool \"Bash\" was not run because it is broken", false),
            (Agent::Other, "The user has declined to run this tool.", false),
        ] {
            assert_eq!(is_denial(agent, text), denied, "{text}");
        }
        assert_eq!(last_line_code("oops\n\n\nCommand exited with code 3"), Some(3));
        assert_eq!(last_line_code("Command exited with code 3\nno"), None);
    }
}
