//! The example agent: repeats its prompt, and does everything that an agent does on the way.
//!
//! It is the counterpart of the echo adapter and prints plain JSON lines: one turn from stdin to stdout, with a thought,
//! two harmless tools, an answer in parts, and its usage. With `--duplex` stdin stays open for permissions, messages and
//! a cancellation. The host runs it as the hidden command `wharf echo-agent`, so that Wharf can be tried without another
//! agent and without a network.
//!
//! - `options`: the command line, parsed before anything else
//! - `inbox`: reads stdin
//! - `tool`: the two tools
//! - `turn`: the turn itself

mod inbox;
mod options;
mod tool;
mod turn;

use inbox::Inbox;
use options::{Invocation, Options};
use std::io::{self, BufRead, BufReader, Write};
use std::process::ExitCode;
use turn::{Stop, Turn};

/// Runs the agent on this process's stdin and stdout. `args` does not include the program's name.
pub fn main(args: impl Iterator<Item = String>) -> ExitCode {
    // Without `lock`: in duplex another thread reads it.
    let stdin = BufReader::new(io::stdin());
    ExitCode::from(run(args, stdin, &mut io::stdout().lock(), &mut io::stderr()))
}

/// Runs the agent on any streams. Returns its exit code: 0, 1 for a failed turn, 2 for a wrong command line.
pub fn run(
    args: impl Iterator<Item = String>,
    stdin: impl BufRead + Send + 'static,
    stdout: &mut dyn Write,
    stderr: &mut dyn Write,
) -> u8 {
    let result = match options::parse(args) {
        Err(message) => return print_error(stderr, &message, 2),
        Ok(Invocation::Version) => writeln!(stdout, "echo-agent {}", env!("CARGO_PKG_VERSION"))
            .and_then(|()| stdout.flush())
            .map_err(Stop::from),
        Ok(Invocation::Turn(options)) => run_turns(options, stdin, stdout),
    };
    match result {
        Ok(()) => 0,
        // The reader closed the pipe: that is not a failure.
        Err(Stop::Output(error)) if error.kind() == io::ErrorKind::BrokenPipe => 0,
        Err(Stop::Output(error)) => print_error(stderr, &format!("cannot write the output: {error}"), 1),
        Err(Stop::CannotStart(message)) => print_error(stderr, &message, 1),
        // Already reported on stdout.
        Err(Stop::Cancelled) => 1,
    }
}

fn run_turns(
    mut options: Options,
    mut stdin: impl BufRead + Send + 'static,
    stdout: &mut dyn Write,
) -> Result<(), Stop> {
    let system = match &options.system {
        Some(file) => Some(
            std::fs::read_to_string(file)
                .map_err(|error| Stop::CannotStart(format!("cannot read the system prompt {file}: {error}")))?,
        ),
        None => None,
    };
    let (mut prompt, mut inbox) = if options.duplex {
        let mut inbox = Inbox::open(stdin);
        (inbox.prompt().unwrap_or_default(), inbox)
    } else {
        let mut bytes = Vec::new();
        stdin.read_to_end(&mut bytes).map_err(|error| Stop::CannotStart(format!("cannot read the prompt: {error}")))?;
        ((String::from_utf8_lossy(&bytes).into_owned(), None), Inbox::closed())
    };
    options.session.get_or_insert_with(turn::new_session);
    // One turn for each prompt, until the host closes the stream.
    loop {
        let (text, model) = prompt;
        let text = text.trim();
        if text.is_empty() {
            return Err(Stop::CannotStart("the prompt is empty; it is read from stdin".to_owned()));
        }
        options.model = model.unwrap_or(options.model);
        inbox = Turn::new(&options, text, system.as_deref(), inbox, stdout).run()?;
        match inbox.prompt() {
            Some(next) => prompt = next,
            None => return Ok(()),
        }
    }
}

/// A failure to write to stderr is ignored: there is no other place to report it.
fn print_error(stderr: &mut dyn Write, message: &str, code: u8) -> u8 {
    let _ = writeln!(stderr, "echo-agent: {message}");
    code
}
