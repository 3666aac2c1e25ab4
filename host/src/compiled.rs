//! Compiled code on disk, so that an adapter is compiled once and not at every start.
//!
//! A file is found by the content of its component and by the engine that compiled it, and is whole or not there. It
//! is kept as the engine uses it: what is spared in space by compressing it costs four milliseconds at every start.
//!
//! Whoever can write to this folder can make wharf run anything, as whoever can write to the user's programs can. So it
//! is the user's alone; and because a disk may err, what is read is compared with its digest before it is used.

use sha2::{Digest as _, Sha256};
use std::fs::{self, DirBuilder, File};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;
use wasmtime::Engine;
use wasmtime::component::Component;

/// How many files are kept: whoever writes an adapter compiles it again and again.
const KEPT: usize = 32;

/// The length of a SHA-256, which stands behind the code.
const DIGEST: usize = 32;

/// A folder of compiled components.
#[derive(Debug, Clone)]
pub(crate) struct Compiled {
    folder: PathBuf,
}

impl Compiled {
    pub(crate) fn new(folder: PathBuf) -> Compiled {
        Compiled { folder }
    }

    /// The component with this digest, where it was compiled before by an engine like this one.
    pub(crate) fn find(&self, engine: &Engine, digest: &str) -> Option<Component> {
        let path = self.file(engine, digest);
        if !is_ours(&self.folder) || !is_whole(&path).ok()? {
            return None;
        }
        // SAFETY: the file must hold what an engine made, and not change while it is mapped. It stands in a folder of
        // the user's own, was written by `keep` from what the engine gave, has the digest that it was written with, and
        // is only ever replaced by another file. Code of an engine with another version or other settings is refused by
        // wasmtime itself.
        #[expect(unsafe_code, reason = "compiled code cannot be checked, only trusted")]
        let mapped = unsafe { Component::deserialize_file(engine, &path) };
        mapped.ok().or_else(|| {
            // A file system may forbid to execute what is mapped from it.
            let bytes = fs::read(&path).ok()?;
            let code = &bytes[..bytes.len().checked_sub(DIGEST)?];
            // SAFETY: as above.
            #[expect(unsafe_code, reason = "as above")]
            let copied = unsafe { Component::deserialize(engine, code) };
            copied.ok()
        })
    }

    /// Keep a component for the next start. That it could not be kept costs only time.
    pub(crate) fn keep(&self, engine: &Engine, digest: &str, component: &Component) {
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

    /// Beside its place first, so that nobody ever reads half of it.
    fn write(&self, path: &Path, code: &[u8]) -> io::Result<()> {
        let mut folder = DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut folder, 0o700);
        folder.recursive(true).create(&self.folder)?;
        if !is_ours(&self.folder) {
            // Whatever others may have put there goes first.
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

    /// Only the latest stay.
    fn prune(&self) {
        let made = |file: &File| file.metadata()?.modified();
        let files = fs::read_dir(&self.folder).into_iter().flatten().flatten().map(|entry| entry.path());
        let mut files: Vec<(SystemTime, PathBuf)> =
            files.filter_map(|path| Some((File::open(&path).and_then(|file| made(&file)).ok()?, path))).collect();
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

/// Whether nobody else can write to the folder: elsewhere it is the user's profile that sees to that.
#[cfg(not(unix))]
fn is_ours(_folder: &Path) -> bool {
    true
}

/// Whether a file ends with the digest of what stands before it. A piece at a time: it is larger than all else that a
/// start touches.
fn is_whole(path: &Path) -> io::Result<bool> {
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
        Component::new(engine, wat::parse_str("(component)").expect("text")).expect("it is the smallest one")
    }

    fn files(folder: &Path) -> Vec<PathBuf> {
        fs::read_dir(folder).expect("there").map(|entry| entry.expect("an entry").path()).collect()
    }

    #[test]
    fn what_was_kept_is_found_by_its_content_and_engine() {
        let folder = tempfile::tempdir().expect("a folder");
        let compiled = Compiled::new(folder.path().join("compiled"));
        let engine = engine();
        assert!(compiled.find(&engine, "a").is_none(), "nothing is there yet");
        compiled.keep(&engine, "a", &compile(&engine));
        assert!(compiled.find(&engine, "a").is_some());
        assert!(compiled.find(&engine, "b").is_none(), "another component");
        let other = Engine::new(wasmtime::Config::new().epoch_interruption(true)).expect("an engine");
        assert!(compiled.find(&other, "a").is_none(), "another engine");
    }

    #[test]
    fn what_was_damaged_is_not_used() {
        let folder = tempfile::tempdir().expect("a folder");
        let compiled = Compiled::new(folder.path().to_owned());
        let engine = engine();
        compiled.keep(&engine, "a", &compile(&engine));
        let [path] = &files(folder.path())[..] else { panic!("one file") };
        let whole = fs::read(path).expect("there");
        for at in [0, DIGEST, whole.len() / 2, whole.len() - 1] {
            let mut damaged = whole.clone();
            damaged[at] ^= 1;
            fs::write(path, &damaged).expect("written");
            assert!(compiled.find(&engine, "a").is_none(), "a bit at {at}");
            fs::write(path, &whole[..at]).expect("written");
            assert!(compiled.find(&engine, "a").is_none(), "cut at {at}");
        }
        fs::write(path, &whole).expect("written");
        assert!(compiled.find(&engine, "a").is_some());
    }

    #[cfg(unix)]
    #[test]
    fn what_others_could_have_written_is_not_used() {
        let folder = tempfile::tempdir().expect("a folder");
        let compiled = Compiled::new(folder.path().to_owned());
        let engine = engine();
        compiled.keep(&engine, "a", &compile(&engine));
        assert!(compiled.find(&engine, "a").is_some());
        let open = std::os::unix::fs::PermissionsExt::from_mode(0o777);
        fs::set_permissions(folder.path(), open).expect("it is ours");
        assert!(compiled.find(&engine, "a").is_none());
        compiled.keep(&engine, "b", &compile(&engine));
        assert!(compiled.find(&engine, "b").is_some(), "whoever keeps something there closes it");
        assert!(compiled.find(&engine, "a").is_none(), "and trusts nothing that was there before");
    }

    #[test]
    fn a_folder_that_cannot_be_written_costs_only_time() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("file");
        fs::write(&file, "").expect("written");
        let compiled = Compiled::new(file.join("below"));
        compiled.keep(&engine(), "a", &compile(&engine()));
        assert!(compiled.find(&engine(), "a").is_none());
    }

    #[test]
    fn only_the_latest_are_kept() {
        let folder = tempfile::tempdir().expect("a folder");
        let compiled = Compiled::new(folder.path().to_owned());
        let engine = engine();
        let component = compile(&engine);
        for number in 0..KEPT + 3 {
            compiled.keep(&engine, &number.to_string(), &component);
        }
        assert_eq!(files(folder.path()).len(), KEPT);
        assert!(compiled.find(&engine, &(KEPT + 2).to_string()).is_some(), "the last one");
    }
}
