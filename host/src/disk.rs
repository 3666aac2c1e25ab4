//! Files and folders: plain ones only, of a limited size, private ones, and atomic writes.
//!
//! A path in a project, in the data folder or in the cache may lead to anything: a pipe that nobody writes to, a device
//! without end, a link. Such a file is opened without waiting, and refused unless it is a plain file.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::path::Path;

/// What to do if the last part of a path is a symbolic link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Links {
    /// The target must be a plain file.
    Follow,
    /// The link is refused.
    Refuse,
}

/// A builder of folders that only their owner may enter.
pub(crate) fn private_folder() -> DirBuilder {
    #[cfg_attr(not(unix), expect(unused_mut, reason = "modes exist on Unix only"))]
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder
}

/// Makes `options` never wait for the other end of a pipe.
fn never_wait(options: &mut OpenOptions, links: Links) {
    #[cfg(unix)]
    {
        use rustix::fs::OFlags;
        let link = if links == Links::Refuse { OFlags::NOFOLLOW } else { OFlags::empty() };
        std::os::unix::fs::OpenOptionsExt::custom_flags(options, (OFlags::NONBLOCK | link).bits().cast_signed());
    }
    #[cfg(not(unix))]
    let _ = (options, links);
}

/// Opens a plain file with these options. Anything else is an error, at once.
pub(crate) fn open_plain_file_with(options: &mut OpenOptions, path: &Path, links: Links) -> io::Result<File> {
    #[cfg(not(unix))]
    if links == Links::Refuse && std::fs::symlink_metadata(path).is_ok_and(|found| found.is_symlink()) {
        return Err(not_plain("a link"));
    }
    never_wait(options, links);
    let file = match options.open(path) {
        #[cfg(unix)]
        Err(error)
            if links == Links::Refuse && error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error()) =>
        {
            return Err(not_plain("a link"));
        }
        // A pipe without a reader, a socket.
        #[cfg(unix)]
        Err(error) if error.raw_os_error() == Some(rustix::io::Errno::NXIO.raw_os_error()) => {
            return Err(not_plain("a pipe or a socket"));
        }
        result => result?,
    };
    let kind = file.metadata()?.file_type();
    match kind {
        _ if kind.is_file() => Ok(file),
        _ if kind.is_dir() => Err(not_plain("a folder")),
        _ => Err(not_plain("a pipe or a device")),
    }
}

fn not_plain(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, format!("it is {what}, not a plain file"))
}

/// Opens a plain file to read it.
pub(crate) fn open_plain_file(path: &Path, links: Links) -> io::Result<File> {
    open_plain_file_with(OpenOptions::new().read(true), path, links)
}

/// The content of a plain file of at most `limit` bytes.
pub(crate) fn read_plain_file(path: &Path, links: Links, limit: u64) -> io::Result<Vec<u8>> {
    let file = open_plain_file(path, links)?;
    // A file with holes may be larger than all memory, and costs its writer nothing.
    if file.metadata()?.len() > limit {
        return Err(too_large(limit));
    }
    read_at_most(file, limit)
}

/// Reads to the end, which must come after at most `limit` bytes.
pub(crate) fn read_at_most(source: impl io::Read, limit: u64) -> io::Result<Vec<u8>> {
    let mut content = Vec::new();
    source.take(limit.saturating_add(1)).read_to_end(&mut content)?;
    if content.len() as u64 > limit {
        return Err(too_large(limit));
    }
    Ok(content)
}

fn too_large(limit: u64) -> io::Error {
    io::Error::new(io::ErrorKind::FileTooLarge, format!("it has more than {limit} bytes"))
}

/// Writes a file under another name in the same folder and renames it: another process sees all of it or nothing. Only
/// its owner may read it.
pub(crate) fn write_atomically(path: &Path, content: &[&[u8]]) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    content.iter().try_for_each(|part| file.write_all(part))?;
    file.persist(path)?;
    Ok(())
}

/// Why other users could have written a file or folder, or could replace it. None if only this user and root could, or if
/// it does not exist.
///
/// A group may write if it is the user's own one, with the number of the user: on many systems each user has such a group,
/// and new files are writable for it.
#[cfg(unix)]
pub(crate) fn others_may_write(path: &Path) -> Option<String> {
    use std::os::unix::fs::MetadataExt as _;
    let found = std::fs::metadata(path).ok()?;
    let (uid, gid) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    writers((found.uid(), found.gid(), found.mode()), (uid, gid)).map(|who| format!("{} {who}", path.display()))
}

/// On other systems the user's profile ensures that.
#[cfg(not(unix))]
pub(crate) fn others_may_write(_path: &Path) -> Option<String> {
    None
}

/// The same, from the owner, the group and the mode, for a user with this number and group.
#[cfg(unix)]
fn writers((owner, group, mode): (u32, u32, u32), (uid, gid): (u32, u32)) -> Option<String> {
    // In a sticky folder, nobody can replace the files of others. What is in it is checked by itself.
    let sticky = mode & 0o170_000 == 0o040_000 && mode & 0o1000 != 0;
    let private_group = group == gid && gid == uid;
    match () {
        () if owner != uid && owner != 0 => Some(format!("belongs to another user (number {owner})")),
        () if mode & 0o002 != 0 && !sticky => Some("can be written by every user".to_owned()),
        () if mode & 0o020 != 0 && !sticky && !private_group => {
            Some(format!("can be written by a group (number {group})"))
        }
        () => None,
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn only_plain_files_of_a_limited_size_are_read_and_nothing_waits() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = |name: &str| folder.path().join(name);
        std::fs::write(path("file"), "12345").expect("written");
        std::os::unix::fs::symlink(path("file"), path("link")).expect("a link");
        std::os::unix::fs::symlink("/dev/zero", path("zero")).expect("a link");
        let made = std::process::Command::new("mkfifo").arg(path("pipe")).status().expect("every system has mkfifo");
        assert!(made.success());
        let _socket = std::os::unix::net::UnixListener::bind(path("socket")).expect("a socket");
        for (name, links, limit, expected) in [
            ("file", Links::Refuse, 5, Ok("12345")),
            ("file", Links::Refuse, 4, Err("more than 4 bytes")),
            ("link", Links::Follow, 5, Ok("12345")),
            ("link", Links::Refuse, 5, Err("a link")),
            ("zero", Links::Follow, 5, Err("not a plain file")),
            ("zero", Links::Refuse, 5, Err("a link")),
            ("pipe", Links::Refuse, 5, Err("not a plain file")),
            ("socket", Links::Refuse, 5, Err("not a plain file")),
            (".", Links::Refuse, 5, Err("a folder")),
        ] {
            match (read_plain_file(&path(name), links, limit), expected) {
                (Ok(content), Ok(expected)) => assert_eq!(content, expected.as_bytes(), "{name}"),
                (Err(error), Err(expected)) => assert!(error.to_string().contains(expected), "{name}: {error}"),
                (result, _) => panic!("{name} {links:?} {limit}: {result:?}"),
            }
        }
        // Writing to a pipe without a reader would wait too.
        let error = open_plain_file_with(OpenOptions::new().append(true), &path("pipe"), Links::Refuse);
        assert!(error.expect_err("refused").to_string().contains("not a plain file"));
    }

    #[test]
    fn a_file_of_holes_is_refused_before_it_takes_any_memory() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("holes");
        File::create(&path).and_then(|file| file.set_len(64 << 30)).expect("a file of holes");
        let error = read_plain_file(&path, Links::Refuse, 32 << 30).expect_err("refused");
        assert_eq!(error.kind(), io::ErrorKind::FileTooLarge);
    }

    #[test]
    fn a_file_that_another_user_could_have_written_is_recognized() {
        const USER: (u32, u32) = (1000, 1000);
        for (found, user, expected) in [
            ((1000, 1000, 0o100_644), USER, None),
            ((0, 0, 0o100_644), USER, None),
            ((1000, 1000, 0o100_664), USER, None),
            ((1000, 100, 0o100_664), USER, Some("a group (number 100)")),
            ((1000, 100, 0o100_664), (1000, 100), Some("a group")),
            ((1000, 1000, 0o100_666), USER, Some("every user")),
            ((1001, 1000, 0o100_644), USER, Some("another user (number 1001)")),
            ((1000, 1000, 0o100_644), (0, 0), Some("another user")),
            ((1000, 1000, 0o040_777), USER, Some("every user")),
            ((0, 0, 0o041_777), USER, None),
            ((1000, 1000, 0o101_777), USER, Some("every user")),
        ] {
            let who = writers(found, user);
            assert_eq!(who.is_some(), expected.is_some(), "{found:?} {user:?}: {who:?}");
            assert!(who.unwrap_or_default().contains(expected.unwrap_or_default()), "{found:?} {user:?}");
        }
    }
}
