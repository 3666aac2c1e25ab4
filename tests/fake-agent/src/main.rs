//! The agent of the tests: it does what a script says, above all what a good agent would not.
//!
//! The script is a text file of one step a line (README.md lists them), parsed as a whole before the first step is
//! done, so that a wrong script fails before it has done half of it. It takes every flag of the echo adapter and looks
//! only at `--script`. Unix only: sessions, signals and daemons are what it is for.

#[cfg(unix)]
mod child;
#[cfg(unix)]
mod output;
#[cfg(unix)]
mod player;
#[cfg(unix)]
mod script;
#[cfg(unix)]
mod signal;

#[cfg(unix)]
fn main() -> std::process::ExitCode {
    use std::io::Write;
    let args: Vec<String> = std::env::args().skip(1).collect();
    match run(&args) {
        Ok(code) => std::process::ExitCode::from(code),
        Err(message) => {
            // Its stderr may be closed, which is nothing to panic about.
            let _ = writeln!(std::io::stderr(), "wharf-fake-agent: {message}");
            std::process::ExitCode::from(FAULT)
        }
    }
}

/// The exit code of an agent that could not follow its script: none that a script would choose.
#[cfg(unix)]
const FAULT: u8 = 99;

#[cfg(unix)]
fn run(args: &[String]) -> Result<u8, String> {
    use std::io::Write;
    if args.iter().any(|arg| arg == "--version") {
        let line = concat!("fake-agent ", env!("CARGO_PKG_VERSION"), "\n");
        std::io::stdout().write_all(line.as_bytes()).map_err(|error| format!("stdout: {error}"))?;
        return Ok(0);
    }
    if let Some(child) = child::from_args(args)? {
        return child.live();
    }
    let at = args.iter().position(|arg| arg == "--script").ok_or("it does nothing without --script FILE")?;
    let file = args.get(at + 1).ok_or("--script needs a file")?;
    let text = std::fs::read_to_string(file).map_err(|error| format!("cannot read the script {file}: {error}"))?;
    let steps = script::parse(&text).map_err(|error| format!("{file}:{error}"))?;
    player::Player::new()?.play(&steps)
}

#[cfg(not(unix))]
fn main() {}
