//! The small files in `/proc` and in cgroups, whose content the kernel generates while they are read.
//!
//! Their reported size is 0, so the standard library needs six to nine reads for one of them. A scan of the process table
//! reads hundreds. Here each takes two reads: one for the content, one for the end of the file.

use std::io;

use rustix::fs::{Mode, OFlags, open};
use rustix::io::{read as read_once, retry_on_intr};
use rustix::path::Arg;

/// Enough for nearly all of them. The kernel returns at most a page of most files anyway.
const INITIAL_CAPACITY: usize = 4096;

/// The complete content of a file of any size.
pub(super) fn read(path: impl Arg) -> io::Result<Vec<u8>> {
    let file = open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
    let mut content = Vec::with_capacity(INITIAL_CAPACITY);
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

/// The same as text. Invalid UTF-8 is replaced: it occurs in names, and one odd name must not hide the rest.
pub(super) fn read_text(path: impl Arg) -> io::Result<String> {
    read(path).map(|content| String::from_utf8_lossy(&content).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    #[test]
    fn files_of_any_size_are_read_completely() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("file");
        for size in [0, 1, INITIAL_CAPACITY - 1, INITIAL_CAPACITY, INITIAL_CAPACITY + 1, 2 * INITIAL_CAPACITY, 100_000]
        {
            let content: Vec<u8> = (0..=250_u8).cycle().take(size).collect();
            std::fs::write(&path, &content).expect("written");
            assert!(read(&path).expect("the file exists") == content, "{size} bytes");
        }
        let error = read(folder.path().join("missing")).expect_err("the file does not exist");
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
        let mut child = command.env("Z", "last").spawn().expect("every system has sleep");
        let content = read(format!("/proc/{}/environ", child.id())).expect("our child");
        child.kill().expect("our child");
        child.wait().expect("our child");
        assert!(content.len() > 1_000_000, "{}", content.len());
        assert!(content.ends_with(b"\0Z=last\0"));
    }
}
