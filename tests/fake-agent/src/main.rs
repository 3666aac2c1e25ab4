//! A fake agent for the tests: it runs a script, which can do what a well-behaved agent would not.
//!
//! The script is a text file with one step per line (README.md lists them). It is parsed completely before the first
//! step runs, so that an invalid script has no effects. Flags are searched by hand instead of with clap, because every
//! flag of the echo adapter must be accepted and ignored, except `--script` and `--version`. Unix only, because it is
//! about sessions, signals and daemons.

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
            // Stderr may be closed, which must not cause a panic.
            let _ = writeln!(std::io::stderr(), "wharf-fake-agent: {message}");
            std::process::ExitCode::from(SCRIPT_ERROR)
        }
    }
}

/// The exit code for an invalid script or a failed step. No script should use it.
#[cfg(unix)]
const SCRIPT_ERROR: u8 = 99;

#[cfg(unix)]
fn run(args: &[String]) -> Result<u8, String> {
    use std::io::Write;
    if args.iter().any(|arg| arg == "--version") {
        let line = concat!("fake-agent ", env!("CARGO_PKG_VERSION"), "\n");
        std::io::stdout().write_all(line.as_bytes()).map_err(|error| format!("stdout: {error}"))?;
        return Ok(0);
    }
    if let Some(child) = child::from_args(args)? {
        return child.run();
    }
    let at = args.iter().position(|arg| arg == "--script").ok_or("--script FILE is required")?;
    let file = args.get(at + 1).ok_or("--script needs a file")?;
    let text = std::fs::read_to_string(file).map_err(|error| format!("cannot read the script {file}: {error}"))?;
    let steps = script::parse(&text).map_err(|error| format!("{file}:{error}"))?;
    player::Player::new()?.run(&steps)
}

#[cfg(not(unix))]
fn main() {}
