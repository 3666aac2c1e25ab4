//! The files that an agent says it changed, as the report lists them: each once, by its last change.

use super::room::Room;
use crate::model::FileChange;
use std::collections::HashMap;

/// The changed files of a run, as many as there is room for.
#[derive(Debug, Default)]
pub(super) struct Files {
    /// By path: when it was changed last, and the change without its path.
    changes: HashMap<String, (u64, FileChange)>,
    count: u64,
    room: Room,
    /// How many changes found no room.
    omitted: u64,
}

impl Files {
    pub(super) fn add(&mut self, change: &FileChange) {
        self.count += 1;
        let change_only = FileChange { path: String::new(), ..*change };
        if let Some(known) = self.changes.get_mut(&change.path) {
            *known = (self.count, change_only);
        } else if self.room.take(change.path.len()) {
            self.changes.insert(change.path.clone(), (self.count, change_only));
        } else {
            self.omitted += 1;
        }
    }

    /// The files in the order of their last changes.
    pub(super) fn list(&self) -> Vec<FileChange> {
        let mut list: Vec<_> = self.changes.iter().collect();
        list.sort_unstable_by_key(|(_, (at, _))| *at);
        list.into_iter().map(|(path, (_, change))| FileChange { path: path.clone(), ..*change }).collect()
    }

    pub(super) fn omitted(&self) -> u64 {
        self.omitted
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::FileChangeKind;

    fn changed(files: &mut Files, path: impl Into<String>, kind: FileChangeKind) {
        files.add(&FileChange::new(path, kind));
    }

    #[test]
    fn a_file_is_listed_once_by_its_last_change() {
        let mut files = Files::default();
        for (path, kind) in
            [("a", FileChangeKind::Created), ("b", FileChangeKind::Edited), ("a", FileChangeKind::Deleted)]
        {
            changed(&mut files, path, kind);
        }
        let listed = files.list();
        let listed: Vec<_> = listed.iter().map(|change| (change.path.as_str(), change.kind)).collect();
        assert_eq!(listed, [("b", FileChangeKind::Edited), ("a", FileChangeKind::Deleted)]);
    }

    /// If each of them were compared with the others, this would take minutes.
    #[test]
    fn half_a_million_changes_are_each_looked_at_once_and_a_part_is_kept() {
        let begun = std::time::Instant::now();
        let mut files = Files::default();
        for number in 0..500_000 {
            changed(&mut files, format!("src/{number}"), FileChangeKind::Created);
        }
        for number in 0..500_000 {
            changed(&mut files, format!("src/{}", number % 5000), FileChangeKind::Edited);
        }
        let listed = files.list();
        assert_eq!((listed.len(), files.omitted()), (10_000, 490_000));
        assert_eq!(listed.last().map(|change| change.path.as_str()), Some("src/4999"));
        assert!(begun.elapsed() < std::time::Duration::from_mins(1), "{:?}", begun.elapsed());
    }
}
