//! Caches compiled code on disk, so that an adapter is compiled once and not at every start.
//!
//! The key of a file is the content of the component and the engine that compiled it. A file is written atomically. It
//! is not compressed: decompressing would cost four milliseconds at every start.
//!
//! Anyone who can write to this folder can make wharf run anything, like anyone who can write to the user's programs.
//! So only the user may write to it; and because a disk may fail, the digest of a file is checked before it is used.

use sha2::{Digest as _, Sha256};
use std::fs::{self, DirBuilder, File};
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
        if !is_ours(&self.folder) || !is_intact(&path).ok()? {
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
            let bytes = fs::read(&path).ok()?;
            let code = &bytes[..bytes.len().checked_sub(DIGEST)?];
            // SAFETY: as above.
            #[expect(unsafe_code, reason = "as above")]
            let copied = unsafe { Component::deserialize(engine, code) };
            copied.ok()
        })
    }

    /// Keeps a component for the next start. A failure costs only time.
    pub(crate) fn store(&self, engine: &Engine, digest: &str, component: &Component) {
        let Ok(code) = component.serialize() else { return };
        if self.write(&self.file(engine, digest), &code).is_ok() {
            self.prune();
        }
    }

    fn file(&self, engine: &Engine, digest: &str) -> PathBuf {
        let mut hasher = DefaultHasher::new();
        engine.precompile_compatibility_hash().hash(&mut hasher);
        self.folder.join(format!("{digest}-{:016x}", hasher.finish()))
    }

    /// Writes a temporary file and renames it, so that no process reads a part of it.
    fn write(&self, path: &Path, code: &[u8]) -> io::Result<()> {
        let mut folder = DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut folder, 0o700);
        folder.recursive(true).create(&self.folder)?;
        if !is_ours(&self.folder) {
            // Other users may have put files there: they are removed first.
            for entry in fs::read_dir(&self.folder)?.flatten() {
                let _ = fs::remove_file(entry.path());
            }
        }
        #[cfg(unix)]
        fs::set_permissions(&self.folder, std::os::unix::fs::PermissionsExt::from_mode(0o700))?;
        let mut file = tempfile::NamedTempFile::new_in(&self.folder)?;
        file.write_all(code)?;
        file.write_all(&Sha256::digest(code))?;
        file.persist(path)?;
        Ok(())
    }

    /// Removes all but the latest files.
    fn prune(&self) {
        let modified = |file: &File| file.metadata()?.modified();
        let files = fs::read_dir(&self.folder).into_iter().flatten().flatten().map(|entry| entry.path());
        let mut files: Vec<(SystemTime, PathBuf)> =
            files.filter_map(|path| Some((File::open(&path).and_then(|file| modified(&file)).ok()?, path))).collect();
        files.sort();
        for (_, path) in files.iter().rev().skip(KEPT) {
            let _ = fs::remove_file(path);
        }
    }
}

/// Whether nobody else can write to the folder.
#[cfg(unix)]
fn is_ours(folder: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let own = rustix::process::geteuid().as_raw();
    fs::metadata(folder).is_ok_and(|folder| folder.uid() == own && folder.mode() & 0o022 == 0)
}

/// Whether nobody else can write to the folder: on other systems the user's profile ensures that.
#[cfg(not(unix))]
fn is_ours(_folder: &Path) -> bool {
    true
}

/// Whether a file ends with the digest of everything before it. The file is read in pieces: it is larger than anything
/// else that is read at a start.
fn is_intact(path: &Path) -> io::Result<bool> {
    let mut file = File::open(path)?;
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

    fn compile(engine: &Engine) -> Component {
        Component::new(engine, wat::parse_str("(component)").expect("text")).expect("the smallest component")
    }

    fn files(folder: &Path) -> Vec<PathBuf> {
        fs::read_dir(folder).expect("it exists").map(|entry| entry.expect("an entry").path()).collect()
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
    fn a_file_that_others_could_have_written_is_not_used() {
        let folder = tempfile::tempdir().expect("a folder");
        let compiled = Cache::new(folder.path().to_owned());
        let engine = engine();
        compiled.store(&engine, "a", &compile(&engine));
        assert!(compiled.find(&engine, "a").is_some());
        let open = std::os::unix::fs::PermissionsExt::from_mode(0o777);
        fs::set_permissions(folder.path(), open).expect("it is ours");
        assert!(compiled.find(&engine, "a").is_none());
        compiled.store(&engine, "b", &compile(&engine));
        assert!(compiled.find(&engine, "b").is_some(), "storing something makes the folder private");
        assert!(compiled.find(&engine, "a").is_none(), "and removes everything that was in it");
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
        let component = compile(&engine);
        for number in 0..KEPT + 3 {
            compiled.store(&engine, &number.to_string(), &component);
        }
        assert_eq!(files(folder.path()).len(), KEPT);
        assert!(compiled.find(&engine, &(KEPT + 2).to_string()).is_some(), "the last one");
    }
}
