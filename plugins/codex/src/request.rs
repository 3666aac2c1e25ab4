//! The parameters of our requests to `app-server`.

use crate::attachments;
use crate::permissions::Permissions;
use wharf_adapter::json::{Object, array};
use wharf_adapter::{Settings, Turn};

/// Which effort names Codex takes is up to the model: all are passed on.
pub(crate) use wharf_adapter::Effort;

/// `initialize`.
pub(crate) fn initialize() -> Object {
    let client = Object::new().str("name", "wharf").str("title", "Wharf").str("version", env!("CARGO_PKG_VERSION"));
    let capabilities = Object::new().bool("experimentalApi", false);
    Object::new().object("clientInfo", client).object("capabilities", capabilities)
}

/// `thread/start`, and with a thread's id `thread/resume` and `thread/fork`.
pub(crate) fn thread(settings: &mut Settings<'_>) -> Object {
    let permissions = Permissions::of(settings.turn());
    Object::new()
        .str("cwd", &settings.turn().workspace)
        .str("approvalPolicy", permissions.policy)
        .str("sandbox", permissions.sandbox)
        .maybe_str("model", settings.model())
        .maybe_str("developerInstructions", settings.system_prompt())
}

/// `turn/start` of the first turn of a process, without the thread's id.
pub(crate) fn turn(turn: &Turn) -> Object {
    let text = Object::new().str("type", "text").str("text", &turn.prompt).finish();
    let inputs = std::iter::once(text).chain(attachments::inputs(&turn.attachments));
    let effort = turn.effort.as_deref().and_then(Effort::parse);
    let request = Object::new().raw("input", &array(inputs)).maybe_str("effort", effort.map(Effort::name));
    match &turn.output_schema {
        Some(schema) => request.raw("outputSchema", schema),
        None => request,
    }
}

/// `turn/start` of a later turn, which may have other settings.
pub(crate) fn next_turn(next: &Turn) -> Object {
    let permissions = Permissions::of(next);
    let sandbox = Object::new().str("type", permissions.sandbox_type());
    turn(next)
        .str("approvalPolicy", permissions.policy)
        .object("sandboxPolicy", sandbox)
        .maybe_str("model", next.model.as_deref())
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
