//! The parameters of our requests to `app-server`.

use crate::attachments;
use crate::permissions::Permissions;
use wharf_adapter::json::{Object, array, quote};
use wharf_adapter::{Settings, Turn};

/// Which effort names Codex takes is up to the model: all are passed on.
pub(crate) use wharf_adapter::Effort;

/// `initialize`.
pub(crate) fn initialize() -> Object {
    let client = Object::new().str("name", "wharf").str("title", "Wharf").str("version", env!("CARGO_PKG_VERSION"));
    let capabilities = Object::new().bool("experimentalApi", false);
    Object::new().object("clientInfo", client).object("capabilities", capabilities)
}

/// `thread/start`, and with a thread's id `thread/resume` and `thread/fork`. The sandbox is that of each turn: a thread with
/// a wider one makes Codex trust the workspace from then on, and start its MCP servers and hooks. Measured with 0.142.0
/// and 0.169.0.
pub(crate) fn thread(settings: &mut Settings<'_>) -> Object {
    Object::new()
        .str("cwd", &settings.turn().workspace)
        .str("approvalPolicy", Permissions::of(settings.turn()).policy)
        .str("sandbox", "read-only")
        .maybe_str("model", settings.model())
        .maybe_str("developerInstructions", settings.system_prompt())
}

/// `turn/start`, without the thread's id.
pub(crate) fn turn(turn: &Turn) -> Object {
    let text = Object::new().str("type", "text").str("text", &turn.prompt).finish();
    let inputs = std::iter::once(text).chain(attachments::inputs(&turn.attachments));
    let permissions = Permissions::of(turn);
    let mut sandbox = Object::new().str("type", permissions.sandbox_type());
    if permissions.sandbox == "workspace-write" {
        sandbox = sandbox.raw("writableRoots", &array(turn.extra_dirs.iter().map(|folder| quote(folder))));
    }
    let effort = turn.effort.as_deref().and_then(Effort::parse);
    let request = Object::new()
        .raw("input", &array(inputs))
        .str("approvalPolicy", permissions.policy)
        .object("sandboxPolicy", sandbox)
        .maybe_str("model", turn.model.as_deref())
        .maybe_str("effort", effort.map(Effort::name));
    match &turn.output_schema {
        Some(schema) => request.raw("outputSchema", schema),
        None => request,
    }
}

/// `turn/steer`: a message in the middle of a turn.
pub(crate) fn steer(thread: &str, turn: &str, message: &str) -> Object {
    let input = Object::new().str("type", "text").str("text", message).finish();
    Object::new().str("threadId", thread).str("expectedTurnId", turn).raw("input", &array([input]))
}

/// `thread/list`: the last thread of a workspace, of whichever client.
pub(crate) fn latest(workspace: &str) -> Object {
    Object::new()
        .number("limit", 1)
        .str("sortKey", "updated_at")
        .str("cwd", workspace)
        .raw("modelProviders", "[]")
        .raw("sourceKinds", r#"["cli","vscode","exec","appServer"]"#)
}
