//! Caches compiled code on disk, so that an adapter is compiled once and not at every start.
//!
//! The key of a file is the content of the component, the engine that compiled it, and the version of wharf whose checks
//! it passed: only what was accepted as an adapter is kept, so it is not checked again. A file is written atomically. It is
//! not compressed: decompressing would cost four milliseconds at every start.
//!
//! Anyone who can write to this folder can make wharf run anything, like anyone who can write to the user's programs.
//! So only the user may write to it, or it is not used; and because a disk may fail, the digest of a file is checked
//! before it is used. The folder may contain other files, which are never touched.

use crate::disk::{Links, open_plain_file, others_may_write, private_folder};
use sha2::{Digest as _, Sha256};
use std::fs;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;
use wasmtime::Engine;
use wasmtime::component::Component;

/// How many files are kept: the author of an adapter compiles it often.
const KEPT: usize = 32;

/// The length of a SHA-256, which follows the code.
const DIGEST: usize = 32;

/// A folder of compiled components.
#[derive(Debug, Clone)]
pub(crate) struct Cache {
    folder: PathBuf,
}

impl Cache {
    pub(crate) fn new(folder: PathBuf) -> Cache {
        Cache { folder }
    }

    /// The component with this digest, if an engine like this one has compiled it before.
    pub(crate) fn find(&self, engine: &Engine, digest: &str) -> Option<Component> {
        let path = self.file(engine, digest);
        if why_not_ours(&self.folder).is_some() || !is_intact(&path).ok()? {
            return None;
        }
        // SAFETY: the file must contain the output of an engine, and must not change while it is mapped. It is in a
        // folder to which only the user may write, was written by `store` from the output of the engine, has the digest
        // that it was written with, and is never modified, only replaced by another file. Code of another version of
        // the engine or with other settings is refused by wasmtime itself.
        #[expect(unsafe_code, reason = "compiled code cannot be checked, only trusted")]
        let mapped = unsafe { Component::deserialize_file(engine, &path) };
        mapped.ok().or_else(|| {
            // A file system may forbid executing code that is mapped from it.
            let bytes = crate::disk::read_plain_file(&path, Links::Refuse, u64::MAX).ok()?;
            deserialize(engine, &bytes[..bytes.len().checked_sub(DIGEST)?]).ok()
        })
    }

    /// Keeps the code of a component for the next start. A failure costs only time.
    pub(crate) fn store(&self, engine: &Engine, digest: &str, code: &[u8]) {
        match self.write(&self.file(engine, digest), code) {
            Ok(()) => self.prune(),
            Err(error) => tracing::debug!("the compiled adapter is not kept: {error}"),
        }
    }

    fn file(&self, engine: &Engine, digest: &str) -> PathBuf {
        let mut hasher = DefaultHasher::new();
        engine.precompile_compatibility_hash().hash(&mut hasher);
        env!("CARGO_PKG_VERSION").hash(&mut hasher);
        self.folder.join(format!("{digest}-{:016x}", hasher.finish()))
    }

    /// Writes a temporary file and renames it, so that no process reads a part of it.
    fn write(&self, path: &Path, code: &[u8]) -> io::Result<()> {
        private_folder().recursive(true).create(&self.folder)?;
        if let Some(reason) = why_not_ours(&self.folder) {
            tracing::warn!("the cache is not used, so adapters are compiled at every start: {reason}");
            return Err(io::Error::other(reason));
        }
        let mut file = tempfile::NamedTempFile::new_in(&self.folder)?;
        file.write_all(code)?;
        file.write_all(&Sha256::digest(code))?;
        file.persist(path)?;
        Ok(())
    }

    /// Removes all but the latest of its own files.
    fn prune(&self) {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let files = entries.filter(|entry| entry.file_name().to_str().is_some_and(is_name));
        // The metadata of an entry is that of the link, if it is one.
        let files =
            files.filter_map(|entry| Some((entry.metadata().ok().filter(fs::Metadata::is_file)?, entry.path())));
        let mut files: Vec<(SystemTime, PathBuf)> =
            files.filter_map(|(found, path)| Some((found.modified().ok()?, path))).collect();
        files.sort();
        for (_, path) in files.iter().rev().skip(KEPT) {
            let _ = fs::remove_file(path);
        }
    }
}

/// A component from its code, which must come from an engine: from a file of the cache, or from the compiler.
pub(crate) fn deserialize(engine: &Engine, code: &[u8]) -> wasmtime::Result<Component> {
    // SAFETY: the code must be the output of an engine. It comes from a file that `find` trusts, or from the compiler,
    // which is this program, in this process or in a child that this process has started.
    #[expect(unsafe_code, reason = "compiled code cannot be checked, only trusted")]
    unsafe {
        Component::deserialize(engine, code)
    }
}

/// Whether a file has the name of compiled code: the digest of a component, and the hash of an engine.
fn is_name(name: &str) -> bool {
    let hex = |text: &str, length| {
        text.len() == length && text.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
    };
    name.split_once('-').is_some_and(|(digest, engine)| hex(digest, 64) && hex(engine, 16))
}

/// Why the folder cannot be trusted: it must be a folder of this user, in a folder in which nobody else can replace it.
fn why_not_ours(folder: &Path) -> Option<String> {
    match fs::symlink_metadata(folder) {
        Ok(found) if found.is_dir() => {}
        Ok(_) => return Some(format!("{} is not a folder", folder.display())),
        Err(error) => return Some(format!("{}: {error}", folder.display())),
    }
    others_may_write(folder).or_else(|| folder.parent().and_then(others_may_write))
}

/// Whether a file ends with the digest of everything before it. The file is read in pieces: it is larger than anything
/// else that is read at a start.
fn is_intact(path: &Path) -> io::Result<bool> {
    let mut file = open_plain_file(path, Links::Refuse)?;
    let Some(length) = file.metadata()?.len().checked_sub(DIGEST as u64) else { return Ok(false) };
    let mut code = (&mut file).take(length);
    let mut piece = vec![0; 64 << 10];
    let mut digest = Sha256::new();
    loop {
        match code.read(&mut piece)? {
            0 => break,
            count => digest.update(&piece[..count]),
        }
    }
    let mut expected = [0; DIGEST];
    file.read_exact(&mut expected)?;
    Ok(digest.finalize().as_slice() == expected)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn engine() -> Engine {
        Engine::default()
    }

    fn compile(engine: &Engine) -> Vec<u8> {
        engine.precompile_component(&wat::parse_str("(component)").expect("text")).expect("the smallest component")
    }

    fn files(folder: &Path) -> Vec<PathBuf> {
        let mut paths: Vec<PathBuf> =
            fs::read_dir(folder).expect("it exists").map(|entry| entry.expect("an entry").path()).collect();
        paths.sort();
        paths
    }

    #[test]
    fn a_stored_component_is_found_by_its_content_and_engine() {
        let folder = tempfile::tempdir().expect("a folder");
        let compiled = Cache::new(folder.path().join("compiled"));
        let engine = engine();
        assert!(compiled.find(&engine, "a").is_none(), "nothing is stored yet");
        compiled.store(&engine, "a", &compile(&engine));
        assert!(compiled.find(&engine, "a").is_some());
        assert!(compiled.find(&engine, "b").is_none(), "another component");
        let other = Engine::new(wasmtime::Config::new().epoch_interruption(true)).expect("an engine");
        assert!(compiled.find(&other, "a").is_none(), "another engine");
    }

    #[test]
    fn a_damaged_file_is_not_used() {
        let folder = tempfile::tempdir().expect("a folder");
        let compiled = Cache::new(folder.path().to_owned());
        let engine = engine();
        compiled.store(&engine, "a", &compile(&engine));
        let [path] = &files(folder.path())[..] else { panic!("one file") };
        let intact = fs::read(path).expect("it exists");
        for at in [0, DIGEST, intact.len() / 2, intact.len() - 1] {
            let mut damaged = intact.clone();
            damaged[at] ^= 1;
            fs::write(path, &damaged).expect("written");
            assert!(compiled.find(&engine, "a").is_none(), "a bit at {at}");
            fs::write(path, &intact[..at]).expect("written");
            assert!(compiled.find(&engine, "a").is_none(), "cut at {at}");
        }
        fs::write(path, &intact).expect("written");
        assert!(compiled.find(&engine, "a").is_some());
    }

    #[cfg(unix)]
    #[test]
    fn a_folder_that_others_can_write_to_is_neither_used_nor_changed() {
        let folder = tempfile::tempdir().expect("a folder");
        let compiled = Cache::new(folder.path().to_owned());
        let engine = engine();
        compiled.store(&engine, "a", &compile(&engine));
        assert!(compiled.find(&engine, "a").is_some());
        fs::write(folder.path().join("thesis.txt"), "years").expect("written");
        let open = std::os::unix::fs::PermissionsExt::from_mode(0o777);
        fs::set_permissions(folder.path(), open).expect("it is ours");
        assert!(compiled.find(&engine, "a").is_none());
        let before = files(folder.path());
        compiled.store(&engine, "b", &compile(&engine));
        assert!(compiled.find(&engine, "b").is_none());
        assert_eq!(files(folder.path()), before);
        let mode = fs::metadata(folder.path()).expect("it exists").permissions();
        assert_eq!(std::os::unix::fs::PermissionsExt::mode(&mode) & 0o777, 0o777, "its mode is not changed either");
    }

    #[cfg(unix)]
    #[test]
    fn the_cache_deletes_nothing_but_its_own_files() {
        let folder = tempfile::tempdir().expect("a folder");
        let real = folder.path().join("real");
        fs::create_dir(&real).expect("created");
        let own = |number: usize| real.join(format!("{number:064x}-{number:016x}"));
        let others =
            ["thesis.txt", "data.db", "0123-0123", &format!("{:064X}-{:016x}", 0xab, 1)].map(|name| real.join(name));
        for path in &others {
            fs::write(path, "years").expect("written");
        }
        let target = folder.path().join("target");
        fs::write(&target, "years").expect("written");
        std::os::unix::fs::symlink(&target, own(KEPT + 9)).expect("a link");
        for number in 0..KEPT + 3 {
            fs::write(own(number), "code").expect("written");
        }
        Cache::new(real.clone()).prune();
        assert!(others.iter().all(|path| path.exists()) && target.exists());
        assert_eq!(files(&real).len(), KEPT + others.len() + 1, "the link is no file of the cache");
        // A link to a folder is not used at all.
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(&real, &link).expect("a link");
        let before = files(&real);
        Cache::new(link).store(&engine(), "a", &compile(&engine()));
        assert_eq!(files(&real), before);
    }

    #[test]
    fn a_folder_that_cannot_be_written_is_not_an_error() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("file");
        fs::write(&file, "").expect("written");
        let compiled = Cache::new(file.join("below"));
        compiled.store(&engine(), "a", &compile(&engine()));
        assert!(compiled.find(&engine(), "a").is_none());
    }

    #[test]
    fn only_the_latest_are_kept() {
        let folder = tempfile::tempdir().expect("a folder");
        let compiled = Cache::new(folder.path().to_owned());
        let engine = engine();
        let code = compile(&engine);
        for number in 0..KEPT + 3 {
            compiled.store(&engine, &format!("{number:064x}"), &code);
        }
        assert_eq!(files(folder.path()).len(), KEPT);
        assert!(compiled.find(&engine, &format!("{:064x}", KEPT + 2)).is_some(), "the last one");
    }
}
