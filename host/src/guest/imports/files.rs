//! Files that are read for an adapter: plain files only, of a limited size.

use super::types::{Content, HostError, Result};
use super::variables::Environment;
use crate::disk::{Links, open_plain_file, read_at_most};
use std::fs::File;
use std::path::{Path, PathBuf};
use wharf_core::policy::Grants;

/// The largest file that is read.
const FILE_LIMIT: u64 = 16 << 20;

/// A file that the user granted.
pub(super) fn read_granted(path: &str, grants: &Grants, environment: &Environment) -> Result<Content> {
    let folder = |name: &str| grants.variable(name).ok().and_then(|()| environment.get(name));
    grants.file(path, folder)?;
    // The pattern must match where the path really leads, not only how it is spelled. What is opened is what is asked
    // about: between two looks at a path, a link in it may change.
    let file = open_plain_file(Path::new(path), Links::Follow);
    let real = match &file {
        Ok(file) => path_of(file, path),
        // What is beyond the grant is denied all the same, whatever it is.
        Err(_) => std::fs::canonicalize(path),
    };
    let real = real.map_err(|error| not_read(path, &error))?;
    check_real(&real, grants, folder)?;
    read_limited(file.map_err(|error| not_read(path, &error))?, path)
}

/// Whether a file may be read, by the path that it really has.
fn check_real(real: &Path, grants: &Grants, folder: impl Fn(&str) -> Option<String>) -> Result<()> {
    let real_folder = |name: &str| {
        let folder = folder(name)?;
        let real = std::fs::canonicalize(&folder).ok();
        Some(real.and_then(|real| real.to_str().map(str::to_owned)).unwrap_or(folder))
    };
    Ok(grants.file(&real.to_string_lossy(), real_folder)?)
}

/// Where an open file is.
#[cfg(target_os = "linux")]
fn path_of(file: &File, _path: &str) -> std::io::Result<PathBuf> {
    use std::os::fd::AsRawFd as _;
    std::fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd()))
}

/// Where an open file is.
#[cfg(target_vendor = "apple")]
fn path_of(file: &File, _path: &str) -> std::io::Result<PathBuf> {
    use std::os::unix::ffi::OsStringExt as _;
    let path = rustix::fs::getpath(file)?;
    Ok(PathBuf::from(std::ffi::OsString::from_vec(path.into_bytes())))
}

/// Where an open file is. Other systems do not tell: it is where the path leads, if that is still the same file.
#[cfg(all(unix, not(any(target_os = "linux", target_vendor = "apple"))))]
fn path_of(file: &File, path: &str) -> std::io::Result<PathBuf> {
    use std::os::unix::fs::MetadataExt as _;
    let real = std::fs::canonicalize(path)?;
    let (opened, found) = (file.metadata()?, std::fs::symlink_metadata(&real)?);
    if (opened.dev(), opened.ino()) != (found.dev(), found.ino()) {
        return Err(std::io::Error::other("it was replaced while it was being opened"));
    }
    Ok(real)
}

/// Where an open file is. Windows does not tell, so a link that changes at the right moment goes unseen there; to create
/// one takes a privilege.
#[cfg(not(unix))]
fn path_of(_file: &File, path: &str) -> std::io::Result<PathBuf> {
    std::fs::canonicalize(path)
}

/// One of the run's own launch files.
pub(super) fn read_launch_file(name: &str, folder: Option<&Path>) -> Result<Content> {
    let folder = folder.ok_or_else(|| HostError::NotFound(name.to_owned()))?;
    if name.is_empty() || name.contains(['/', '\\']) || name.starts_with('.') {
        return Err(HostError::Denied(format!("{name:?} is not the name of a launch file")));
    }
    let path = folder.join(name);
    // The agent could have put a link or a pipe there.
    match open_plain_file(&path, Links::Refuse) {
        Ok(file) => read_limited(file, name),
        Err(error) if error.kind() == std::io::ErrorKind::InvalidInput => {
            Err(HostError::Denied(format!("{name} is no longer a plain file")))
        }
        Err(error) => Err(not_read(name, &error)),
    }
}

fn not_read(path: &str, error: &std::io::Error) -> HostError {
    match error.kind() {
        std::io::ErrorKind::NotFound => HostError::NotFound(path.to_owned()),
        _ => HostError::Failed(format!("reading {path}: {error}")),
    }
}

fn read_limited(file: File, shown: &str) -> Result<Content> {
    match read_at_most(file, FILE_LIMIT) {
        Ok(content) => Ok(Content(content)),
        Err(error) if error.kind() == std::io::ErrorKind::FileTooLarge => Err(HostError::TooLarge),
        Err(error) => Err(not_read(shown, &error)),
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::collections::BTreeMap;
    use std::os::unix::fs::symlink;
    use std::sync::atomic::{AtomicBool, Ordering};
    use wharf_core::model::Access;

    #[test]
    fn a_link_that_changes_during_the_read_gives_no_file_beyond_the_grant() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = std::fs::canonicalize(folder.path()).expect("it exists");
        let (granted, secret) = (root.join("granted"), root.join("secret"));
        std::fs::create_dir(&granted).expect("created");
        std::fs::write(&secret, "secret").expect("written");
        std::fs::write(granted.join("file"), "granted").expect("written");
        let (link, next) = (granted.join("link"), root.join("next"));
        symlink(granted.join("file"), &link).expect("a link");
        let access = Access { files: vec![format!("{}/*", granted.display())], ..Access::default() };
        let grants = Grants { requested: access.clone(), granted: access, named_program: None, home: None };
        let environment = Environment::of_process(BTreeMap::new());
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    for target in [&secret, &granted.join("file")] {
                        symlink(target, &next).and_then(|()| std::fs::rename(&next, &link)).expect("a link");
                    }
                }
            });
            let path = link.to_str().expect("UTF-8");
            let read = || read_granted(path, &grants, &environment).is_ok_and(|Content(read)| read == b"secret");
            let leaks = (0..20_000).filter(|_| read()).count();
            done.store(true, Ordering::Relaxed);
            assert_eq!(leaks, 0);
        });
    }

    #[test]
    fn the_file_that_was_opened_decides_and_not_where_its_path_leads_later() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = std::fs::canonicalize(folder.path()).expect("it exists");
        let (granted, secret) = (root.join("granted"), root.join("secret"));
        std::fs::create_dir(&granted).expect("created");
        std::fs::write(&secret, "secret").expect("written");
        std::fs::write(granted.join("file"), "granted").expect("written");
        let access = Access { files: vec![format!("{}/*", granted.display())], ..Access::default() };
        let grants = Grants { requested: access.clone(), granted: access, named_program: None, home: None };
        let link = granted.join("link");
        let path = link.to_str().expect("UTF-8");
        // The link leads out of the grant while it is opened, and back into it when the path is looked at.
        symlink(&secret, &link).expect("a link");
        let opened = open_plain_file(&link, Links::Follow).expect("a file");
        std::fs::remove_file(&link).and_then(|()| symlink(granted.join("file"), &link)).expect("another link");
        let allowed = path_of(&opened, path).is_ok_and(|real| check_real(&real, &grants, |_| None).is_ok());
        assert!(!allowed);
        let opened = open_plain_file(&link, Links::Follow).expect("a file");
        let real = path_of(&opened, path).expect("a path");
        assert!(check_real(&real, &grants, |_| None).is_ok());
    }

    #[test]
    fn a_link_in_the_place_of_a_launch_file_is_denied() {
        let folder = tempfile::tempdir().expect("a folder");
        symlink("/etc/passwd", folder.path().join("prompt.txt")).expect("a link");
        let Err(HostError::Denied(reason)) = read_launch_file("prompt.txt", Some(folder.path())) else {
            panic!("denied");
        };
        assert!(reason.contains("no longer a plain file"), "{reason}");
    }
}
