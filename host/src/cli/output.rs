//! Standard output for lines of JSON: written at once where that does not wait, by another thread where it does.
//!
//! With `--json` one thread does everything, so that a line costs no switch of threads. It must not wait for whoever
//! reads the lines: clocks and signals would wait with it.

use std::io::{self, Write as _};

/// Writes lines.
pub(crate) struct Output {
    /// A file takes everything, and never waits for a reader.
    is_file: bool,
}

impl Output {
    pub(crate) fn new() -> Output {
        Output { is_file: is_file() }
    }

    /// Writes it all. Gives whether anybody still reads.
    pub(crate) async fn write(&self, mut bytes: Vec<u8>) -> bool {
        if self.is_file {
            return write_waiting(&bytes).is_ok();
        }
        match write_now(&bytes) {
            Ok(written) if written == bytes.len() => return true,
            Ok(written) => drop(bytes.drain(..written)),
            Err(why) if why.kind() == io::ErrorKind::BrokenPipe => return false,
            // It would wait, or this system cannot tell.
            Err(_) => {}
        }
        let writing = tokio::task::spawn_blocking(move || write_waiting(&bytes));
        matches!(writing.await, Ok(Ok(())))
    }
}

fn write_waiting(bytes: &[u8]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(bytes).and_then(|()| out.flush())
}

#[cfg(target_os = "linux")]
fn is_file() -> bool {
    rustix::fs::fstat(io::stdout())
        .is_ok_and(|stat| rustix::fs::FileType::from_raw_mode(stat.st_mode) == rustix::fs::FileType::RegularFile)
}

/// As much as can be written without waiting.
#[cfg(target_os = "linux")]
fn write_now(bytes: &[u8]) -> io::Result<usize> {
    // "Wherever it is now": pipes have no places.
    const HERE: u64 = u64::MAX;
    let flags = rustix::io::ReadWriteFlags::NOWAIT;
    Ok(rustix::io::pwritev2(io::stdout(), &[io::IoSlice::new(bytes)], HERE, flags)?)
}

#[cfg(not(target_os = "linux"))]
fn is_file() -> bool {
    false
}

#[cfg(not(target_os = "linux"))]
fn write_now(_bytes: &[u8]) -> io::Result<usize> {
    Err(io::ErrorKind::Unsupported.into())
}
