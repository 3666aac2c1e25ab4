//! The tool calls that have not ended.

use wharf_adapter::{Calls, ChangeKind, Effects, Event, FileChange, Json, Text, ToolCall, ToolStatus};

/// One tool call between its start and its end.
#[derive(Debug)]
struct Running {
    /// Whether its result ends with the exit code of a shell.
    shell: bool,
    /// Whether its output comes in increments, so that the cumulative form repeats it.
    incremental: bool,
    /// The cumulative output so far, if it comes in that form.
    output: String,
}

/// All tool calls that have not ended.
#[derive(Debug, Default)]
pub(crate) struct Tools(Calls<Running>);

impl Tools {
    /// Handles `tool.execution_start`.
    pub(crate) fn start(&mut self, data: Json<'_>, parent: Option<String>, out: &mut Effects) -> Option<()> {
        let [id, name, title, input] = data.select(["toolCallId", "toolName", "toolTitle", "arguments"]).ok()?;
        let id = id.string()?;
        let shell = matches!(name.name(), Some("bash" | "powershell" | "shell"));
        out.tool(ToolCall {
            parent: parent.map(Into::into),
            name: name.string(),
            title: title.string(),
            input: input.verbatim(),
            ..ToolCall::new(&id, ToolStatus::Running)
        });
        self.0.open(&id, Running { shell, incremental: false, output: String::new() });
        Some(())
    }

    /// Handles `tool.execution_complete`.
    pub(crate) fn complete(&mut self, data: Json<'_>, parent: Option<String>, out: &mut Effects) -> Option<()> {
        let [id, success, result, error, shell, edits] =
            data.select(["toolCallId", "success", "result", "error", "shellExecution", "fileEdits"]).ok()?;
        let id = id.string()?;
        let content = result.get("content");
        let is_shell = self.0.close(&id).is_some_and(|running| running.shell);
        let exit_code =
            shell.get("exitCode").i32().or_else(|| content.name().filter(|_| is_shell).and_then(trailing_exit_code));
        let status = match (success.is_true(), error.get("code").name()) {
            (true, _) => ToolStatus::Succeeded,
            (false, Some("denied" | "rejected")) => ToolStatus::Denied,
            (false, _) => ToolStatus::Failed,
        };
        let output = content.text().or_else(|| error.get("message").text());
        out.tool(ToolCall { parent: parent.map(Into::into), output, exit_code, ..ToolCall::new(&id, status) });
        for edit in edits.items() {
            let Some(path) = edit.get("path").string() else { continue };
            let kind = match edit.get("kind").name() {
                Some("create") => ChangeKind::Created,
                Some("edit" | "update" | "modify") => ChangeKind::Edited,
                Some("delete") => ChangeKind::Deleted,
                Some("move" | "rename") => ChangeKind::Moved,
                _ => ChangeKind::Other,
            };
            out.emit(Event::FileChange(FileChange { path, kind, added: None, removed: None }));
        }
        Some(())
    }

    /// Handles `tool.shell_output`: an increment of the output.
    pub(crate) fn increment(&mut self, data: Json<'_>, parent: Option<&str>, out: &mut Effects) -> Option<()> {
        let [id, text] = data.pick(["toolCallId", "text"]).ok()?;
        let id = id.str()?;
        if let Some(running) = self.0.get_mut(&id) {
            running.incremental = true;
        }
        if let Some(text) = text.text() {
            out.tool_output(&id, parent, text);
        }
        Some(())
    }

    /// Handles `tool.execution_partial_result`: all output so far, or the end of it. Only a continuation of the last one
    /// can be reported; the result has the whole output anyway.
    pub(crate) fn cumulative(&mut self, data: Json<'_>, parent: Option<&str>, out: &mut Effects) -> Option<()> {
        let [id, output] = data.pick(["toolCallId", "partialOutput"]).ok()?;
        let id = id.str()?;
        let running = self.0.get_mut(&id)?;
        if running.incremental {
            return Some(());
        }
        let output = output.str()?;
        if let Some(added) = output.strip_prefix(running.output.as_str()).filter(|added| !added.is_empty()) {
            out.tool_output(&id, parent, Text::Inline(added.to_owned()));
        }
        running.output = output.into_owned();
        Some(())
    }

    /// The turn was aborted: open calls will not be completed.
    pub(crate) fn abort(&mut self, out: &mut Effects) {
        self.0.cancel(out);
    }
}

/// The code in "…<exited with exit code 3>" (1.0.35) or "…<shellId: 0 completed with exit code 3>".
pub(crate) fn trailing_exit_code(content: &str) -> Option<i32> {
    let (before, code) = content.trim_end().strip_suffix('>')?.rsplit_once(' ')?;
    let before = before.strip_suffix(" with exit code")?;
    let tag = &before[before.rfind('<')?..];
    (tag == "<exited" || tag.starts_with("<shellId: ")).then(|| code.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_exit_code_is_at_the_end_of_a_shells_output() {
        for (content, code) in [
            ("out\\n<exited with exit code 3>", Some(3)),
            ("hi\\n<shellId: 0 completed with exit code 0>", Some(0)),
            ("<exited with exit code -1>", Some(-1)),
            ("<exited with exit code 3> and more", None),
            ("he exited with exit code 3>", None),
            ("<command started in background with shellId: 0>", None),
            ("", None),
        ] {
            assert_eq!(trailing_exit_code(content), code, "{content}");
        }
    }
}
