//! The files that Codex changes: `exec` has their paths and kinds, `app-server` also the diffs.

use wharf_adapter::{Action, ChangeKind, Diff, Effects, Event, FileChange, FileWrite, Json, Text, ToolKind};

/// One change of a patch.
#[derive(Debug)]
pub(crate) struct Change {
    path: String,
    kind: ChangeKind,
    /// The lines before and after, if there is a diff.
    lines: Option<(String, String)>,
    added: Option<u32>,
    removed: Option<u32>,
}

/// The changes of a patch.
pub(crate) fn read(changes: Json<'_>) -> Vec<Change> {
    changes.items().filter_map(Change::read).collect()
}

/// Reports each change of an applied patch.
pub(crate) fn report(changes: Vec<Change>, out: &mut Effects) {
    for Change { path, kind, added, removed, .. } in changes {
        out.emit(Event::FileChange(FileChange { path, kind, added, removed }));
    }
}

/// What kind of tool a patch is.
pub(crate) fn kind(changes: &[Change]) -> ToolKind {
    match changes {
        [Change { kind: ChangeKind::Deleted, .. }] => ToolKind::Delete,
        [Change { kind: ChangeKind::Moved, .. }] => ToolKind::Move,
        _ => ToolKind::Edit,
    }
}

/// The paths of a patch.
pub(crate) fn paths(changes: &[Change]) -> Vec<String> {
    changes.iter().map(|change| change.path.clone()).collect()
}

/// The diffs of a patch, if they are known.
pub(crate) fn diffs(changes: &[Change]) -> Vec<Diff> {
    changes.iter().filter_map(Change::diff).collect()
}

/// What an ask about a patch is about.
pub(crate) fn actions(changes: &[Change]) -> Vec<Action> {
    let write = |change: &Change| Action::Write(FileWrite { path: change.path.clone(), diff: change.diff() });
    changes.iter().map(write).collect()
}

impl Change {
    fn read(change: Json<'_>) -> Option<Change> {
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
        let mut change = Change { path: moved.or(path.string())?, kind, lines: None, added: None, removed: None };
        if let Some(diff) = diff.str() {
            change.set_diff(&diff);
        }
        Some(change)
    }

    /// A new or deleted file has its content for a diff, any other a unified one.
    fn set_diff(&mut self, diff: &str) {
        let count = |lines: usize| u32::try_from(lines).ok();
        let (old, new, removed, added) = match self.kind {
            ChangeKind::Created => (String::new(), diff.to_owned(), 0, diff.lines().count()),
            ChangeKind::Deleted => (diff.to_owned(), String::new(), diff.lines().count(), 0),
            _ => unified(diff),
        };
        self.lines = Some((old, new));
        (self.added, self.removed) = (count(added), count(removed));
    }

    fn diff(&self) -> Option<Diff> {
        let (old, new) = self.lines.as_ref()?;
        let old = (self.kind != ChangeKind::Created).then(|| Text::from(old));
        Some(Diff { path: self.path.clone(), old, new: Text::from(new) })
    }
}

/// The lines before and after, and how many were removed and added.
fn unified(diff: &str) -> (String, String, usize, usize) {
    let (mut old, mut new, mut removed, mut added) = (String::new(), String::new(), 0, 0);
    let push = |side: &mut String, line: &str| {
        side.push_str(line);
        side.push('\n');
    };
    for line in diff.lines() {
        if ["+++ ", "--- ", "@@", "\\"].iter().any(|header| line.starts_with(header)) {
            continue;
        }
        match line.as_bytes().first() {
            Some(b'-') => {
                push(&mut old, &line[1..]);
                removed += 1;
            }
            Some(b'+') => {
                push(&mut new, &line[1..]);
                added += 1;
            }
            _ => {
                let line = line.strip_prefix(' ').unwrap_or(line);
                push(&mut old, line);
                push(&mut new, line);
            }
        }
    }
    (old, new, removed, added)
}

#[cfg(test)]
mod tests {
    use super::*;
    use wharf_adapter::json::quote;

    #[test]
    fn a_diff_has_the_lines_before_and_after() {
        let diff = "@@ -1,2 +1,3 @@\n same\n-old\n+new\n+more\n";
        let json = format!(r#"[{{"path":"/a","kind":{{"type":"update","move_path":null}},"diff":{}}}]"#, quote(diff));
        let changes = read(Json::parse(&json));
        let [change] = changes.as_slice() else { panic!("one change") };
        assert_eq!((change.kind, change.added, change.removed), (ChangeKind::Edited, Some(2), Some(1)));
        let diff = change.diff().expect("a diff");
        assert_eq!((diff.old, diff.new), (Some(Text::from("same\nold\n")), Text::from("same\nnew\nmore\n")));
    }

    #[test]
    fn what_is_not_known_is_absent() {
        let changes =
            read(Json::parse(r#"[{"path":"/a","kind":"delete"},{"path":"/b","kind":"melt"},{"kind":"add"}]"#));
        assert_eq!(paths(&changes), ["/a", "/b"]);
        assert!(diffs(&changes).is_empty() && changes.iter().all(|change| change.added.is_none()));
        assert_eq!(changes[1].kind, ChangeKind::Other);
    }
}
