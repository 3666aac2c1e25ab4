//! Tool calls, as parts of messages have them: in the JSON lines, and in an exported session.

use crate::failure::is_denial;
use wharf_adapter::json::MISSING;
use wharf_adapter::{
    ChangeKind, Effects, Event, FileChange, Json, Malformed, Phase, PlanItem, PlanStatus, Subagent, ToolCall, ToolKind,
    ToolStatus,
};

/// Reports a tool call. Returns why it was denied, if it was.
pub(crate) fn report(part: Json<'_>, out: &mut Effects) -> Result<Option<String>, Malformed> {
    let [id, name, state] = part.pick(["callID", "tool", "state"])?;
    let id = id.str().ok_or(Malformed)?;
    let [status, input, output, error, title, metadata] =
        state.pick(["status", "input", "output", "error", "title", "metadata"])?;
    let reason = error.str().unwrap_or_default();
    let status = match status.name() {
        // Also for a command that failed: its exit code says so.
        Some("completed") => ToolStatus::Succeeded,
        Some("error") if is_denial(&reason) => ToolStatus::Denied,
        Some("error") if metadata.get("interrupted").is_true() => ToolStatus::Cancelled,
        Some("error") => ToolStatus::Failed,
        Some("pending") => ToolStatus::Pending,
        _ => ToolStatus::Running,
    };
    out.tool(ToolCall {
        name: name.string(),
        title: title.filled().map(std::borrow::Cow::into_owned),
        input: input.verbatim(),
        output: output.text().or_else(|| error.text()),
        exit_code: metadata.get("exit").i32(),
        kind: name.name().map(kind),
        paths: input.get("filePath").string().into_iter().collect(),
        denied_because: (status == ToolStatus::Denied).then(|| reason.clone().into_owned()),
        ..ToolCall::new(&*id, status)
    });
    if status == ToolStatus::Succeeded {
        changes(name, metadata, out);
        if name.is("todowrite") {
            plan(input, out);
        }
    }
    // It is written once it has ended.
    if name.is("task") {
        let error = Some(reason.clone().into_owned()).filter(|reason| !reason.is_empty());
        let [kind, title] = input.select(["subagent_type", "description"]).unwrap_or([MISSING; 2]);
        let (name, title) = (kind.string(), title.string());
        out.emit(Event::Subagent(Subagent { id: (&*id).into(), phase: Phase::Ended, name, title, error }));
    }
    let denied = (status == ToolStatus::Denied).then(|| format!("{}: {reason}", name.name().unwrap_or("a tool")));
    Ok(denied)
}

/// Reports the files that a tool has changed, by its metadata.
pub(crate) fn changes(name: Json<'_>, metadata: Json<'_>, out: &mut Effects) {
    let [path, exists, diff, files] =
        metadata.select(["filepath", "exists", "filediff", "files"]).unwrap_or([MISSING; 4]);
    let lines = |value: Json<'_>, key: &str| value.get(key).u64().and_then(|count| u32::try_from(count).ok());
    let mut change = |path: String, kind: ChangeKind, diff: Json<'_>| {
        let (added, removed) = (lines(diff, "additions"), lines(diff, "deletions"));
        out.emit(Event::FileChange(FileChange { path, kind, added, removed }));
    };
    // A read names its file too.
    let edits = matches!(name.name(), Some("write" | "edit" | "multiedit" | "patch" | "apply_patch"));
    let path = path.filled().or_else(|| diff.get("file").filled());
    if let Some(path) = path.filter(|_| edits) {
        let kind = if exists.bool() == Some(false) { ChangeKind::Created } else { ChangeKind::Edited };
        return change(path.into_owned(), kind, diff);
    }
    for file in files.items().filter(|_| edits) {
        let Some(path) = file.first_of(&["filePath", "relativePath", "file"]).string() else { continue };
        let kind = match file.get("type").name() {
            Some("add") => ChangeKind::Created,
            Some("delete") => ChangeKind::Deleted,
            Some("move") => ChangeKind::Moved,
            _ => ChangeKind::Edited,
        };
        change(path, kind, file);
    }
}

/// Reports the list of tasks that the model wrote.
fn plan(input: Json<'_>, out: &mut Effects) {
    let item = |todo: Json<'_>| {
        let status = match todo.get("status").name() {
            Some("in_progress") => PlanStatus::InProgress,
            Some("completed") => PlanStatus::Completed,
            Some("cancelled") => PlanStatus::Cancelled,
            _ => PlanStatus::Pending,
        };
        Some(PlanItem { text: todo.get("content").string()?, status })
    };
    let todos = input.get("todos");
    if todos.is_array() {
        out.emit(Event::Plan(todos.items().filter_map(item).collect()));
    }
}

/// What a tool does, by its name.
fn kind(name: &str) -> ToolKind {
    match name {
        "bash" => ToolKind::Execute,
        "read" => ToolKind::Read,
        "write" | "edit" | "multiedit" | "patch" | "apply_patch" => ToolKind::Edit,
        "glob" | "grep" | "list" | "lsp" => ToolKind::Search,
        "webfetch" | "websearch" => ToolKind::Fetch,
        "todowrite" | "todoread" => ToolKind::Think,
        _ => ToolKind::Other,
    }
}
