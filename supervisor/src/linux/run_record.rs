//! The folder of live runs: one small file each, written before the agent starts and removed when its tree is gone.
//! What a later host finds there with no living host behind it is an orphan.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::super::Reaped;
use super::cgroup::Cgroup;
use super::pseudofile;
use super::table::{Entry, Identity};
use super::tree::Tree;

/// How long the killing of one orphaned run may take.
const LIMIT: Duration = Duration::from_secs(5);

/// What is written of a run.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
pub(super) struct Record {
    pub(super) run: String,
    pub(super) place: Place,
    pub(super) host_pid: i32,
    pub(super) host_start: u64,
    /// Absent when the host died right at the start.
    pub(super) agent_pid: Option<i32>,
    pub(super) agent_start: Option<u64>,
    pub(super) cgroup: Option<PathBuf>,
}

impl Record {
    pub(super) fn host(&self) -> Identity {
        Identity { pid: self.host_pid, start: self.host_start }
    }

    pub(super) fn agent(&self) -> Option<Identity> {
        Some(Identity { pid: self.agent_pid?, start: self.agent_start? })
    }
}

/// Where process numbers and start times mean what they say.
#[derive(Clone, Debug, Default, Serialize, Deserialize, PartialEq, Eq)]
pub(super) struct Place {
    /// The kernel's id of this boot.
    boot: String,
    /// The namespace of process numbers: a container shares the boot and perhaps the folder, but not the numbers.
    namespace: String,
}

impl Place {
    /// Of this process. It never changes, so it is read once; only what could not be read is read again.
    pub(super) fn here() -> Self {
        static HERE: OnceLock<Place> = OnceLock::new();
        if let Some(here) = HERE.get() {
            return here.clone();
        }
        let boot = pseudofile::read_text("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        let namespace = fs::read_link("/proc/self/ns/pid").unwrap_or_default();
        let here = Self { boot: boot.trim_end().to_owned(), namespace: namespace.to_string_lossy().into_owned() };
        if !here.boot.is_empty() && !here.namespace.is_empty() {
            return HERE.get_or_init(|| here).clone();
        }
        here
    }
}

/// The file of one live run.
#[derive(Debug)]
pub(super) struct Note {
    path: PathBuf,
}

impl Note {
    pub(super) fn new(registry: &Path, run: &str) -> Self {
        Self { path: registry.join(format!("{run}.json")) }
    }

    /// Writes it beside and moves it into place, so that nobody ever reads half of one.
    pub(super) fn write(&self, record: &Record) -> io::Result<()> {
        let draft = self.path.with_extension("new");
        let content = serde_json::to_vec(record)?;
        match (fs::write(&draft, &content), self.path.parent()) {
            // The folder is nearly always there, so it is not asked for beforehand.
            (Err(error), Some(folder)) if error.kind() == io::ErrorKind::NotFound => {
                fs::create_dir_all(folder)?;
                fs::write(&draft, &content)?;
            }
            (result, _) => result?,
        }
        fs::rename(&draft, &self.path)
    }

    /// Removes it, and what is left of it where a full disk took a part. One that is gone already is as well.
    pub(super) fn remove(&self) {
        fs::remove_file(self.path.with_extension("new")).ok();
        fs::remove_file(&self.path).ok();
    }
}

/// What to do about a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    /// Its host lives, or cannot be seen from here.
    Leave,
    /// Nothing of it can be left.
    Discard,
    /// Its host is gone.
    Reap,
}

fn fate(record: &Record, here: &Place, holder: Option<&Entry>) -> Fate {
    if record.place.boot != here.boot {
        return Fate::Discard;
    }
    if record.place.namespace != here.namespace {
        return Fate::Leave;
    }
    match holder {
        Some(entry) if entry.living && entry.identity() == record.host() => Fate::Leave,
        _ => Fate::Reap,
    }
}

/// See [`super::super::reap_orphans`].
pub(in super::super) fn reap_orphans(registry: &Path) -> Vec<Reaped> {
    let here = Place::here();
    let mut files: Vec<PathBuf> =
        fs::read_dir(registry).into_iter().flatten().flatten().map(|item| item.path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "json"));
    files.sort();
    files.iter().filter_map(|path| reap(path, &here)).collect()
}

fn reap(path: &Path, here: &Place) -> Option<Reaped> {
    let file = File::open(path).ok()?;
    match file.try_lock() {
        // A filesystem without locks: killing twice does no harm, the report may name a process twice.
        Ok(()) | Err(TryLockError::Error(_)) => {}
        Err(TryLockError::WouldBlock) => return None,
    }
    // Read by its path, not by the descriptor: whoever had the lock before us may have removed it.
    let record: Record = serde_json::from_slice(&fs::read(path).ok()?).ok()?;
    // The file's name is the run's id, or somebody has put it there who is not us.
    if path.file_stem()? != record.run.as_str() {
        return None;
    }
    let holder = Entry::of(record.host_pid).ok();
    match fate(&record, here, holder.as_ref()) {
        Fate::Leave => return None,
        Fate::Discard => {
            fs::remove_file(path).ok();
            return None;
        }
        Fate::Reap => {}
    }
    let cgroup = record.cgroup.as_deref().and_then(|path| Cgroup::of_dead_host(path, &record.run));
    let tree = Tree::unattended(&record, cgroup, Some(Note { path: path.to_owned() }));
    let swept = tree.sweep(LIMIT);
    Some(Reaped { run: record.run, swept })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(boot: &str, namespace: &str) -> Place {
        Place { boot: boot.into(), namespace: namespace.into() }
    }

    fn record() -> Record {
        Record {
            run: "r".into(),
            place: place("b", "n"),
            host_pid: 7,
            host_start: 70,
            agent_pid: Some(8),
            agent_start: Some(80),
            cgroup: None,
        }
    }

    #[test]
    fn only_the_runs_of_gone_hosts_are_reaped() {
        let host = Entry { pid: 7, parent: 1, session: 7, start: 70, living: true, ending: false };
        let table = [
            (place("b", "n"), Some(host), Fate::Leave),
            (place("b", "n"), Some(Entry { living: false, ..host }), Fate::Reap),
            (place("b", "n"), Some(Entry { start: 71, ..host }), Fate::Reap),
            (place("b", "n"), None, Fate::Reap),
            (place("b", "other"), None, Fate::Leave),
            (place("later", "n"), Some(host), Fate::Discard),
            (place("later", "other"), None, Fate::Discard),
        ];
        for (here, holder, expected) in table {
            assert_eq!(fate(&record(), &here, holder.as_ref()), expected, "{here:?} {holder:?}");
        }
    }

    #[test]
    fn a_note_is_read_as_it_was_written() {
        let folder = tempfile::tempdir().expect("a folder");
        let note = Note::new(&folder.path().join("live"), "r");
        note.write(&record()).expect("written");
        let read: Record = serde_json::from_slice(&fs::read(&note.path).expect("there")).expect("whole");
        assert_eq!(read, record());
        note.remove();
        assert_eq!(fs::read_dir(folder.path().join("live")).expect("there").count(), 0);
    }

    #[test]
    fn garbage_and_misnamed_files_are_left_alone() {
        let folder = tempfile::tempdir().expect("a folder");
        let gone = Record { place: Place::here(), host_pid: i32::MAX, ..record() };
        let whole = serde_json::to_vec(&gone).expect("plain data");
        for (name, content) in [("a.json", &b"{"[..]), ("b.json", b""), ("other.json", &whole), ("r.txt", &whole)] {
            fs::write(folder.path().join(name), content).expect("written");
        }
        assert_eq!(reap_orphans(folder.path()), []);
        assert_eq!(fs::read_dir(folder.path()).expect("there").count(), 4);
        assert_eq!(reap_orphans(&folder.path().join("missing")), []);
    }

    #[test]
    fn an_entry_in_another_hands_is_left_to_them() {
        let folder = tempfile::tempdir().expect("a folder");
        let note = Note::new(folder.path(), "r");
        note.write(&Record { place: Place::here(), host_pid: i32::MAX, ..record() }).expect("written");
        let held = File::open(&note.path).expect("there");
        held.try_lock().expect("free");
        assert_eq!(reap_orphans(folder.path()), []);
        drop(held);
        let reaped = reap_orphans(folder.path());
        assert_eq!(reaped.len(), 1);
        assert_eq!(reaped[0].run, "r");
        assert!(!note.path.exists());
    }
}
