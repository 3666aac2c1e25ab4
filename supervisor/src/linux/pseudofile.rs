//! The small files in `/proc` and in cgroups, which the kernel writes while they are read.
//!
//! The standard library asks such a file for its size, is told 0, and feels its way forward in six to nine reads. A look
//! at the process table reads hundreds of them, so here each costs two: one for all there is, one for its end.

use std::io;

use rustix::fs::{Mode, OFlags, open};
use rustix::io::{read as read_once, retry_on_intr};
use rustix::path::Arg;

/// More than nearly all of them have. The kernel hands out no more than a page of most anyway.
const USUAL: usize = 4096;

/// The whole of a file, however large it is.
pub(super) fn read(path: impl Arg) -> io::Result<Vec<u8>> {
    let file = open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
    let mut content = Vec::with_capacity(USUAL);
    loop {
        if content.len() == content.capacity() {
            content.reserve(content.len());
        }
        let spare = || read_once(&file, rustix::buffer::spare_capacity(&mut content));
        if retry_on_intr(spare)? == 0 {
            return Ok(content);
        }
    }
}

/// The same as text. Bytes that are none are replaced: they stand in names, and one odd name must not hide the rest.
pub(super) fn read_text(path: impl Arg) -> io::Result<String> {
    read(path).map(|content| String::from_utf8_lossy(&content).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    #[test]
    fn files_of_any_size_are_read_whole() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("file");
        for size in [0, 1, USUAL - 1, USUAL, USUAL + 1, 2 * USUAL, 100_000] {
            let content: Vec<u8> = (0..=250_u8).cycle().take(size).collect();
            std::fs::write(&path, &content).expect("written");
            assert!(read(&path).expect("there") == content, "{size} bytes");
        }
        let error = read(folder.path().join("missing")).expect_err("not there");
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn an_environment_of_megabytes_is_read_to_its_last_variable() {
        let mut command = Command::new("sleep");
        command.arg("60").env_clear().stdout(Stdio::null());
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        for number in 0..10 {
            command.env(format!("A{number}"), "x".repeat(100_000));
        }
        let mut child = command.env("Z", "last").spawn().expect("sleep is everywhere");
        let content = read(format!("/proc/{}/environ", child.id())).expect("ours");
        child.kill().expect("ours");
        child.wait().expect("ours");
        assert!(content.len() > 1_000_000, "{}", content.len());
        assert!(content.ends_with(b"\0Z=last\0"));
    }
}
