//! An agent of no thoughts of its own: it writes what stands in the file `output` beside its executable, as fast as
//! the pipe takes it, and exits. Where there is no such file it exits at once.
//!
//! It takes no arguments, because an adapter makes those up; it looks beside itself, because a host passes on no
//! environment. `version` beside it is what it answers to `--version`.

use std::fs::File;
use std::io;
use std::os::fd::AsFd as _;
use std::path::PathBuf;

fn main() -> io::Result<()> {
    let beside = |name: &str| -> io::Result<Option<File>> {
        let path: PathBuf = std::env::current_exe()?.with_file_name(name);
        match File::open(path) {
            Err(why) if why.kind() == io::ErrorKind::NotFound => Ok(None),
            opened => opened.map(Some),
        }
    };
    let wanted = if std::env::args().any(|argument| argument == "--version") { "version" } else { "output" };
    if let Some(mut file) = beside(wanted)? {
        // From file to file, which the kernel does by itself where it can: the agent's own time shall not blur what is
        // measured, and the standard output of the library would cut it into small writes.
        io::copy(&mut file, &mut File::from(io::stdout().as_fd().try_clone_to_owned()?))?;
    }
    Ok(())
}
