//! An agent of no thoughts of its own: it writes what stands in the file `output` beside its executable, as fast as
//! the pipe takes it, and exits. Where there is no such file it exits at once.
//!
//! It takes no arguments, because an adapter makes those up; it looks beside itself, because a host passes on no
//! environment. More files beside it make it do more: `version` is what it answers to `--version`; with `pace`, a number
//! of microseconds, it writes a line at a time with that pause before each, and `@now` in a line becomes the monotonic
//! clock's nanoseconds; with `gate`, a FIFO, it waits after its output until somebody opens that for writing.

use std::fs::{self, File};
use std::io;
use std::path::PathBuf;

fn main() -> io::Result<()> {
    let beside = |name: &str| -> io::Result<PathBuf> { Ok(std::env::current_exe()?.with_file_name(name)) };
    if std::env::args().any(|argument| argument == "--version") {
        return copy(beside("version")?);
    }
    match fs::read_to_string(beside("pace")?) {
        Ok(pace) => say_slowly(&fs::read_to_string(beside("output")?)?, pace.trim())?,
        Err(_) => copy(beside("output")?)?,
    }
    let gate = beside("gate")?;
    if gate.exists() {
        File::open(gate)?;
    }
    Ok(())
}

/// From a file to standard output.
fn copy(path: PathBuf) -> io::Result<()> {
    match File::open(path) {
        Ok(file) => send(file),
        Err(why) if why.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(why) => Err(why),
    }
}

/// The kernel moves the file's pages into the pipe by itself, as many as it takes: the agent's own time shall not blur
/// what is measured. The standard library would copy them, 8 KiB at a time.
#[cfg(target_os = "linux")]
fn send(mut file: File) -> io::Result<()> {
    use rustix::io::Errno;
    use rustix::pipe::{SpliceFlags, splice};
    loop {
        match splice(&file, None, io::stdout(), None, 1 << 20, SpliceFlags::empty()) {
            Ok(0) => return Ok(()),
            Ok(_) | Err(Errno::INTR) => {}
            // No pipe: a file, a terminal.
            Err(Errno::INVAL) => return io::copy(&mut file, &mut io::stdout()).map(drop),
            Err(why) => return Err(why.into()),
        }
    }
}

#[cfg(not(target_os = "linux"))]
fn send(mut file: File) -> io::Result<()> {
    io::copy(&mut file, &mut io::stdout()).map(drop)
}

#[cfg(unix)]
fn say_slowly(output: &str, pace: &str) -> io::Result<()> {
    use std::io::Write as _;
    let pace = pace.parse().map_err(|why| io::Error::new(io::ErrorKind::InvalidData, format!("pace: {why}")))?;
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
fn say_slowly(_output: &str, _pace: &str) -> io::Result<()> {
    Err(io::Error::new(io::ErrorKind::Unsupported, "the pace is for the benchmark, which runs on Linux"))
}
