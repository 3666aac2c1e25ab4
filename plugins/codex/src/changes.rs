//! The files that Codex changes.

use wharf_adapter::{ChangeKind, Effects, Event, FileChange, Json};

/// Reports each change of an applied patch.
pub(crate) fn report(changes: Json<'_>, out: &mut Effects) {
    for change in changes.items() {
        if let Some(change) = read(change) {
            out.emit(Event::FileChange(change));
        }
    }
}

/// One change: `exec` has the path and a word for the kind, `app-server` also the diff.
fn read(change: Json<'_>) -> Option<FileChange> {
    let [path, kind, diff] = change.select(["path", "kind", "diff"]).ok()?;
    let moved = kind.get("move_path").string();
    let kind = if kind.is_object() { kind.get("type") } else { kind };
    let kind = match kind.name() {
        Some("add") => ChangeKind::Created,
        Some("delete") => ChangeKind::Deleted,
        Some("update") if moved.is_some() => ChangeKind::Moved,
        Some("update") => ChangeKind::Edited,
        _ => ChangeKind::Other,
    };
    let diff = diff.str();
    let count = |of: fn(&str) -> bool| {
        let lines = diff.as_deref()?.lines().filter(|line| of(line)).count();
        u32::try_from(lines).ok()
    };
    // A new or deleted file has its content for a diff.
    let (added, removed) = match kind {
        ChangeKind::Created => (count(|_| true), diff.as_ref().map(|_| 0)),
        ChangeKind::Deleted => (diff.as_ref().map(|_| 0), count(|_| true)),
        _ => (
            count(|line| line.starts_with('+') && !line.starts_with("+++ ")),
            count(|line| line.starts_with('-') && !line.starts_with("--- ")),
        ),
    };
    Some(FileChange { path: moved.or_else(|| path.string())?, kind, added, removed })
}
