//! The folder of installed agents: `agents/NAME/VERSION`. A version appears and disappears by one rename, and who changes
//! the versions of an agent holds its lock.

use super::installed::InstalledAgent;
use super::version::{compare, is_version};
use crate::disk::{others_may_write, private_folder};
use crate::error::{Error, Result};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

/// What is being installed or removed. No version has such a name.
const UNFINISHED: &str = ".unfinished";

/// The file that is locked while the versions of an agent change.
const LOCK: &str = ".lock";

/// The installed agents.
#[derive(Debug, Clone)]
pub struct Agents {
    folder: PathBuf,
}

impl Agents {
    pub(crate) fn new(folder: PathBuf) -> Agents {
        Agents { folder }
    }

    /// All of them, by name, and the versions of one from the newest to the oldest.
    pub fn list(&self) -> Result<Vec<InstalledAgent>> {
        let mut all = Vec::new();
        for agent in names_in(&self.folder)?.into_iter().filter(|name| is_name(name)) {
            all.extend(self.versions(&agent)?);
        }
        Ok(all)
    }

    /// The versions of one agent, the newest first.
    pub fn versions(&self, agent: &str) -> Result<Vec<InstalledAgent>> {
        if !is_name(agent) {
            return Ok(vec![]);
        }
        let folder = self.folder_of(agent);
        // What another user could have put there is not run.
        if let Some(found) = others_may_write(&self.folder).or_else(|| others_may_write(&folder)) {
            return Err(Error::invalid(format!("the installed agents cannot be trusted: {found}"))
                .with_hint("make the folder yours and writable for you alone, with chown and chmod go-w"));
        }
        let names = names_in(&folder)?.into_iter().filter(|name| is_version(name));
        let mut versions: Vec<InstalledAgent> =
            names.filter_map(|version| InstalledAgent::read(agent, &version, &folder.join(&version))).collect();
        versions.sort_by(|a, b| compare(&b.version, &a.version));
        Ok(versions)
    }

    /// One version of an agent.
    pub fn find(&self, agent: &str, version: &str) -> Result<Option<InstalledAgent>> {
        Ok(self.versions(agent)?.into_iter().find(|installed| installed.version == version))
    }

    /// The newest installed version of an agent.
    pub fn newest(&self, agent: &str) -> Result<Option<InstalledAgent>> {
        Ok(self.versions(agent)?.into_iter().next())
    }

    /// Removes a version. Runs that use it may fail.
    pub fn remove(&self, installed: &InstalledAgent) -> Result<()> {
        let failed = |error| Error::system(format!("removing {}", installed.folder.display()), error);
        let change = self.change(&installed.agent, || {})?;
        // First away from its name: an interrupted removal leaves no half of it there.
        match fs::rename(&installed.folder, change.path()) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            renamed => renamed.and_then(|()| change.clear()).map_err(failed),
        }
    }

    /// Locks the versions of an agent, in order to change them. `waits` is called if another process is doing that, which
    /// is waited for. Blocks.
    pub(crate) fn change(&self, agent: &str, waits: impl FnOnce()) -> Result<Change> {
        let folder = self.folder_of(agent);
        let failed = |error| Error::system(format!("locking the agents in {}", folder.display()), error);
        private_folder().recursive(true).create(&folder).map_err(failed)?;
        let lock = File::options().create(true).append(true).open(folder.join(LOCK)).map_err(failed)?;
        if lock.try_lock().is_err() {
            waits();
            lock.lock().map_err(failed)?;
        }
        let change = Change { folder: folder.clone(), _lock: lock };
        // What a killed process left: nobody else works on it while the lock is ours.
        change.clear().map_err(failed)?;
        Ok(change)
    }

    fn folder_of(&self, agent: &str) -> PathBuf {
        self.folder.join(agent)
    }
}

/// The right to change the versions of one agent. What is not finished is removed when this is dropped.
#[derive(Debug)]
pub(crate) struct Change {
    folder: PathBuf,
    _lock: File,
}

impl Change {
    /// The folder to install to; it does not exist yet.
    pub(crate) fn path(&self) -> PathBuf {
        self.folder.join(UNFINISHED)
    }

    /// Where a version is when it is installed.
    pub(crate) fn path_of(&self, version: &str) -> PathBuf {
        self.folder.join(version)
    }

    /// Makes what was installed a version. A folder that is there without being complete is replaced.
    pub(crate) fn finish(self, version: &str) -> io::Result<()> {
        let target = self.path_of(version);
        match fs::remove_dir_all(&target) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        fs::rename(self.path(), target)
    }

    fn clear(&self) -> io::Result<()> {
        match fs::remove_dir_all(self.path()) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }
}

impl Drop for Change {
    fn drop(&mut self) {
        let _ = self.clear();
    }
}

/// Whether it can be the name of an agent, and so of a folder.
fn is_name(text: &str) -> bool {
    let plain = |character: char| character.is_ascii_lowercase() || character.is_ascii_digit() || character == '-';
    !text.is_empty() && text.len() <= 64 && text.chars().all(plain)
}

/// The names in a folder, in order; none if it does not exist.
fn names_in(folder: &Path) -> Result<Vec<String>> {
    let listing = match fs::read_dir(folder) {
        Ok(listing) => listing,
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(vec![]);
        }
        Err(error) => return Err(Error::system(format!("listing the agents in {}", folder.display()), error)),
    };
    let mut names: Vec<String> = listing
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter(|name| !name.starts_with('.'))
        .collect();
    names.sort();
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::super::installed::Manifest;
    use super::*;
    use crate::packages::Registry;
    use std::time::SystemTime;

    fn manifest(program: &str) -> Manifest {
        Manifest {
            registry: Registry::Npm,
            package: "p".to_owned(),
            program: program.into(),
            node: None,
            installed: SystemTime::UNIX_EPOCH,
            companion: None,
        }
    }

    fn install(agents: &Agents, version: &str, program: &str) {
        let change = agents.change("claude", || panic!("nobody else is here")).expect("the lock");
        fs::create_dir(change.path()).expect("a folder");
        manifest(program).write(&change.path()).expect("written");
        change.finish(version).expect("renamed");
    }

    #[test]
    fn versions_are_side_by_side_and_what_is_not_complete_is_none() {
        let folder = tempfile::tempdir().expect("a folder");
        let agents = Agents::new(folder.path().join("agents"));
        assert_eq!(agents.list().expect("no folder is no error"), []);
        install(&agents, "1.0.9", "bin/claude");
        install(&agents, "1.0.10", "bin/claude");
        install(&agents, "1.0.11", "../../outside");
        fs::create_dir(folder.path().join("agents/claude/3.0.0")).expect("a folder without its file");
        let versions = |agents: &Agents| -> Vec<String> {
            agents.list().expect("a list").into_iter().map(|installed| installed.version).collect()
        };
        assert_eq!(versions(&agents), ["1.0.10", "1.0.9"]);
        let newest = agents.newest("claude").expect("a list").expect("the newest");
        assert_eq!(newest.program, folder.path().join("agents/claude/1.0.10/bin/claude"));
        assert_eq!(agents.find("claude", "../claude/1.0.9").expect("a list"), None);
        agents.remove(&newest).expect("removed");
        agents.remove(&newest).expect("it is not there, which is what was requested");
        assert_eq!(versions(&agents), ["1.0.9"]);
    }

    #[test]
    fn what_an_interrupted_installation_left_is_removed_by_the_next() {
        let folder = tempfile::tempdir().expect("a folder");
        let agents = Agents::new(folder.path().to_owned());
        let left = {
            let change = agents.change("claude", || {}).expect("the lock");
            let left = change.path().join("half");
            fs::create_dir_all(&left).expect("a folder");
            // As if it were killed.
            std::mem::forget(change);
            left
        };
        assert_eq!(agents.list().expect("a list"), []);
        // The lock of a dead process is free; this one is not.
        fs::remove_file(folder.path().join("claude").join(LOCK)).expect("a file");
        drop(agents.change("claude", || {}).expect("the lock"));
        assert!(!left.exists());
    }

    #[test]
    fn who_comes_second_waits_for_the_first() {
        let folder = tempfile::tempdir().expect("a folder");
        let agents = Agents::new(folder.path().to_owned());
        let first = agents.change("claude", || panic!("nobody else is here")).expect("the lock");
        let (sender, receiver) = std::sync::mpsc::channel();
        let second = std::thread::spawn({
            let agents = agents.clone();
            move || drop(agents.change("claude", || sender.send(()).expect("heard")).expect("the lock"))
        });
        receiver.recv().expect("it waits");
        agents.change("copilot", || panic!("another agent has another lock")).expect("the lock");
        drop(first);
        second.join().expect("it gets the lock");
    }
}
