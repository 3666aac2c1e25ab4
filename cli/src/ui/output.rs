//! Standard output for lines of JSON, and standard error beside it: written at once if that does not block.
//!
//! With `--json` one thread does everything, so that a line costs no switch of threads. It must not block on the reader
//! of the lines or of stderr: timeouts and signals would be blocked too.

use super::visible;
use std::io::{self, IsTerminal as _};
use std::sync::LazyLock;

/// Whether stdout is a terminal.
static TERMINAL: LazyLock<bool> = LazyLock::new(|| io::stdout().is_terminal());

/// Writes whole lines of JSON, on another thread if it would block. A reader that closed its end is an error. On a
/// terminal nothing in them is hidden or controls it.
pub(crate) async fn write_json_lines(mut bytes: Vec<u8>) -> io::Result<()> {
    if *TERMINAL {
        bytes = visible::json(&String::from_utf8_lossy(&bytes)).into_bytes();
    }
    match write_now(io::stdout(), &bytes) {
        Ok(written) if written == bytes.len() => return Ok(()),
        Ok(written) => drop(bytes.drain(..written)),
        // It would block, or this system cannot tell.
        Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Unsupported) => {}
        Err(error) => return Err(error),
    }
    if is_file() {
        // A file takes everything, and has no reader to wait for.
        return write_blocking(&bytes);
    }
    tokio::task::spawn_blocking(move || write_blocking(&bytes))
        .await
        .unwrap_or_else(|_| Err(io::ErrorKind::Other.into()))
}

/// Writes to stderr as much as it takes without blocking, and drops the rest. Returns whether this system can do that.
pub(super) fn print_stderr_now(text: &str) -> bool {
    match write_now(io::stderr(), text.as_bytes()) {
        Err(error) if error.kind() == io::ErrorKind::Unsupported => false,
        // Nobody reads it, or not fast enough: it is not worth blocking for.
        _ => true,
    }
}

#[cfg(unix)]
fn write_blocking(mut bytes: &[u8]) -> io::Result<()> {
    // Not through the library's buffer, which would keep what could not be written.
    while !bytes.is_empty() {
        match rustix::io::write(io::stdout(), bytes) {
            Ok(count) => bytes = &bytes[count..],
            Err(rustix::io::Errno::INTR) => {}
            // Another process made it non-blocking.
            Err(rustix::io::Errno::AGAIN) => {
                let stdout = io::stdout();
                let mut events = [rustix::event::PollFd::new(&stdout, rustix::event::PollFlags::OUT)];
                let _ = rustix::event::poll(&mut events, None);
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

#[cfg(not(unix))]
fn write_blocking(bytes: &[u8]) -> io::Result<()> {
    use std::io::Write as _;
    let mut out = io::stdout().lock();
    out.write_all(bytes).and_then(|()| out.flush())
}

#[cfg(unix)]
fn is_file() -> bool {
    rustix::fs::fstat(io::stdout())
        .is_ok_and(|stat| rustix::fs::FileType::from_raw_mode(stat.st_mode) == rustix::fs::FileType::RegularFile)
}

#[cfg(not(unix))]
fn is_file() -> bool {
    false
}

/// Writes as much as possible without blocking.
#[cfg(target_os = "linux")]
fn write_now(to: impl std::os::fd::AsFd, bytes: &[u8]) -> io::Result<usize> {
    // The current position: pipes have no others.
    const HERE: u64 = u64::MAX;
    match rustix::io::pwritev2(to, &[io::IoSlice::new(bytes)], HERE, rustix::io::ReadWriteFlags::NOWAIT) {
        Ok(written) => Ok(written),
        Err(rustix::io::Errno::AGAIN) => Err(io::ErrorKind::WouldBlock.into()),
        // A closed stream takes everything, as in the standard library.
        Err(rustix::io::Errno::BADF) => Ok(bytes.len()),
        Err(rustix::io::Errno::PIPE) => Err(io::ErrorKind::BrokenPipe.into()),
        // The ordinary write reports any other error.
        Err(_) => Err(io::ErrorKind::Unsupported.into()),
    }
}

#[cfg(not(target_os = "linux"))]
fn write_now<T>(_to: T, _bytes: &[u8]) -> io::Result<usize> {
    Err(io::ErrorKind::Unsupported.into())
}
