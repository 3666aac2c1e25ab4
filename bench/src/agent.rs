//! An agent without a model: it writes the file `output` in the folder of its executable as fast as the pipe accepts it,
//! and exits. Without that file it exits at once.
//!
//! It ignores its arguments, because the adapter chooses them, and its environment, because the host filters it. More
//! files in that folder control it: `version` is the output for `--version`. With `pace`, a number of microseconds, it
//! writes line by line with that pause before each, and replaces `@now` by the nanoseconds of the monotonic clock. With
//! `gate`, a FIFO, it waits after its output until that is opened for writing.

use std::fs::{self, File};
use std::io;
use std::path::PathBuf;

fn main() -> io::Result<()> {
    let sibling = |name: &str| -> io::Result<PathBuf> { Ok(std::env::current_exe()?.with_file_name(name)) };
    if std::env::args().any(|arg| arg == "--version") {
        return copy(sibling("version")?);
    }
    match fs::read_to_string(sibling("pace")?) {
        Ok(pace) => write_slowly(&fs::read_to_string(sibling("output")?)?, pace.trim())?,
        Err(_) => copy(sibling("output")?)?,
    }
    let gate = sibling("gate")?;
    if gate.exists() {
        File::open(gate)?;
    }
    Ok(())
}

/// Copies a file to stdout, if it exists.
fn copy(path: PathBuf) -> io::Result<()> {
    match File::open(path) {
        Ok(file) => send(file),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

/// The kernel moves the file's pages into the pipe, so that the agent adds little time to what is measured. The standard
/// library would copy 8 KiB at a time.
#[cfg(target_os = "linux")]
fn send(mut file: File) -> io::Result<()> {
    use rustix::io::Errno;
    use rustix::pipe::{SpliceFlags, splice};
    loop {
        match splice(&file, None, io::stdout(), None, 1 << 20, SpliceFlags::empty()) {
            Ok(0) => return Ok(()),
            Ok(_) | Err(Errno::INTR) => {}
            // stdout is not a pipe but a file or a terminal.
            Err(Errno::INVAL) => return io::copy(&mut file, &mut io::stdout()).map(drop),
            Err(error) => return Err(error.into()),
        }
    }
}

#[cfg(not(target_os = "linux"))]
fn send(mut file: File) -> io::Result<()> {
    io::copy(&mut file, &mut io::stdout()).map(drop)
}

#[cfg(unix)]
fn write_slowly(output: &str, pace: &str) -> io::Result<()> {
    use std::io::Write as _;
    let pace = pace.parse().map_err(|error| io::Error::new(io::ErrorKind::InvalidData, format!("pace: {error}")))?;
    let pause = std::time::Duration::from_micros(pace);
    let mut stdout = io::stdout().lock();
    for line in output.split_inclusive('\n') {
        std::thread::sleep(pause);
        let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
        let line = line.replace("@now", &format!("{}{:09}", now.tv_sec, now.tv_nsec));
        stdout.write_all(line.as_bytes())?;
        stdout.flush()?;
    }
    Ok(())
}

#[cfg(not(unix))]
fn write_slowly(_output: &str, _pace: &str) -> io::Result<()> {
    Err(io::Error::new(io::ErrorKind::Unsupported, "`pace` is for the benchmark, which runs on Linux only"))
}
