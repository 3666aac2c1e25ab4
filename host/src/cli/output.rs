//! Standard output for lines of JSON, and what is said beside it: written at once where that does not wait.
//!
//! With `--json` one thread does everything, so that a line costs no switch of threads. It must not wait for whoever
//! reads the lines, or the talk on stderr: clocks and signals would wait with it.

use std::io;

/// Writes it all, on a thread of its own from where it would wait. A reader that is gone is an error.
pub(crate) async fn write(mut bytes: Vec<u8>) -> io::Result<()> {
    match write_now(io::stdout(), &bytes) {
        Ok(written) if written == bytes.len() => return Ok(()),
        Ok(written) => drop(bytes.drain(..written)),
        // It would wait, or this system cannot tell.
        Err(why) if matches!(why.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Unsupported) => {}
        Err(why) => return Err(why),
    }
    if is_file() {
        // A file takes everything, and waits for no reader.
        return write_waiting(&bytes);
    }
    tokio::task::spawn_blocking(move || write_waiting(&bytes))
        .await
        .unwrap_or_else(|_| Err(io::ErrorKind::Other.into()))
}

/// Says it on stderr, as far as that takes it without waiting. Gives whether it was said; what is left of it is lost.
pub(crate) fn talk_now(text: &str) -> bool {
    match write_now(io::stderr(), text.as_bytes()) {
        Err(why) if why.kind() == io::ErrorKind::Unsupported => false,
        // Nobody reads it, or what is there: no talk is worth waiting for.
        _ => true,
    }
}

#[cfg(unix)]
fn write_waiting(mut bytes: &[u8]) -> io::Result<()> {
    // Not through the library's buffer, which would keep what could not be written.
    while !bytes.is_empty() {
        match rustix::io::write(io::stdout(), bytes) {
            Ok(count) => bytes = &bytes[count..],
            Err(rustix::io::Errno::INTR) => {}
            // Somebody else made it so that it does not wait.
            Err(rustix::io::Errno::AGAIN) => {
                let stdout = io::stdout();
                let mut events = [rustix::event::PollFd::new(&stdout, rustix::event::PollFlags::OUT)];
                let _ = rustix::event::poll(&mut events, None);
            }
            Err(why) => return Err(why.into()),
        }
    }
    Ok(())
}

#[cfg(not(unix))]
fn write_waiting(bytes: &[u8]) -> io::Result<()> {
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

/// As much as can be written without waiting.
#[cfg(target_os = "linux")]
fn write_now(to: impl std::os::fd::AsFd, bytes: &[u8]) -> io::Result<usize> {
    // "Wherever it is now": pipes have no places.
    const HERE: u64 = u64::MAX;
    match rustix::io::pwritev2(to, &[io::IoSlice::new(bytes)], HERE, rustix::io::ReadWriteFlags::NOWAIT) {
        Ok(written) => Ok(written),
        Err(rustix::io::Errno::AGAIN) => Err(io::ErrorKind::WouldBlock.into()),
        // A closed one takes everything, as the library has it.
        Err(rustix::io::Errno::BADF) => Ok(bytes.len()),
        Err(rustix::io::Errno::PIPE) => Err(io::ErrorKind::BrokenPipe.into()),
        // Whatever else is wrong, the usual way says it in its own words.
        Err(_) => Err(io::ErrorKind::Unsupported.into()),
    }
}

#[cfg(not(target_os = "linux"))]
fn write_now<T>(_to: T, _bytes: &[u8]) -> io::Result<usize> {
    Err(io::ErrorKind::Unsupported.into())
}
