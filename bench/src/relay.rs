//! What is between an agent and a reader that is not wharf.
//!
//! [`copy`] is the least that can be done: 64 KiB in, 64 KiB out. [`sidecar`] is the host of an adapter that is a process
//! instead of a component: whole lines, as many as one read of up to 64 KiB completes, go to it as one JSON-RPC request,
//! and the events of its response are written with `seq` and `at` in front, without being parsed. It does not record,
//! redact, check or supervise, which wharf does.

use crate::{Result, error};
use serde::de::IgnoredAny;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, BufRead as _, BufReader, BufWriter, Read as _, Write as _};
use std::os::fd::AsFd as _;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Instant;

/// How much is read and sent at once.
const BATCH: usize = 64 << 10;

/// Starts the agent with its stdout as a pipe.
fn start(agent: &Path) -> Result<(Child, ChildStdout)> {
    let mut child = Command::new(agent).stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?;
    let stdout = child.stdout.take().expect("stdout is a pipe");
    Ok((child, stdout))
}

/// This process's stdout without the buffer of `Stdout`, which splits what is written at lines.
fn output() -> io::Result<File> {
    Ok(File::from(io::stdout().as_fd().try_clone_to_owned()?))
}

/// Copies the agent's output.
pub(crate) fn copy(agent: &Path) -> Result<()> {
    let (mut child, mut stdout) = start(agent)?;
    let mut buffer = vec![0; BATCH];
    let mut out = output()?;
    loop {
        let count = stdout.read(&mut buffer)?;
        if count == 0 {
            break;
        }
        out.write_all(&buffer[..count])?;
    }
    child.wait()?;
    Ok(())
}

/// What the events of a response come after.
const EVENTS: &str = "\"events\":[";

/// The events of a response, each as it is written. One pass, as with `RawValue`, whose feature would be on for wharf
/// too.
fn events(response: &str) -> Result<Vec<&str>> {
    let start = response.find(EVENTS).ok_or_else(|| error("the sidecar sent no events"))? + EVENTS.len();
    let mut rest = &response[start..];
    let mut events = Vec::new();
    while rest.starts_with('{') {
        let mut values = serde_json::Deserializer::from_str(rest).into_iter::<IgnoredAny>();
        values.next().transpose()?;
        let (event, after) = rest.split_at(values.byte_offset());
        events.push(event);
        rest = after.strip_prefix(',').unwrap_or(after);
    }
    Ok(events)
}

/// The connection to the sidecar, and the output.
struct Exchange {
    started: Instant,
    requests: BufWriter<ChildStdin>,
    responses: BufReader<ChildStdout>,
    response: String,
    out: BufWriter<File>,
    id: u64,
    seq: u64,
}

impl Exchange {
    /// Sends whole lines, and writes the events of the response.
    fn send(&mut self, lines: &[u8]) -> Result<()> {
        let at = self.started.elapsed().as_millis();
        let text = String::from_utf8_lossy(lines);
        self.id += 1;
        let requests = &mut self.requests;
        write!(requests, r#"{{"jsonrpc":"2.0","id":{},"method":"parse-chunk","params":{{"at":{at},"text":"#, self.id)?;
        serde_json::to_writer(&mut *requests, &text)?;
        requests.write_all(b"}}\n")?;
        requests.flush()?;
        self.response.clear();
        if self.responses.read_line(&mut self.response)? == 0 {
            return Err(error("the sidecar exited before its response"));
        }
        for event in events(&self.response)? {
            self.seq += 1;
            write!(self.out, r#"{{"seq":{},"at":{at},"#, self.seq)?;
            self.out.write_all(&event.as_bytes()[1..])?;
            self.out.write_all(b"\n")?;
        }
        Ok(self.out.flush()?)
    }
}

/// Sends the agent's output through a sidecar, and writes the events.
pub(crate) fn sidecar(agent: &Path, command: &[OsString]) -> Result<()> {
    let started = Instant::now();
    let Some((program, args)) = command.split_first() else { return Err(error("`relay` needs a sidecar")) };
    let (mut child, mut stdout) = start(agent)?;
    let mut sidecar = Command::new(program).args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let mut exchange = Exchange {
        started,
        requests: BufWriter::with_capacity(BATCH, sidecar.stdin.take().expect("stdin is a pipe")),
        responses: BufReader::with_capacity(BATCH, sidecar.stdout.take().expect("stdout is a pipe")),
        response: String::new(),
        out: BufWriter::with_capacity(BATCH, output()?),
        id: 0,
        seq: 1,
    };
    let program = serde_json::to_string(agent)?;
    writeln!(exchange.out, r#"{{"seq":1,"at":0,"type":"run-started","agent":{{"program":{program}}}}}"#)?;
    let mut pending = Vec::new();
    let mut buffer = vec![0; BATCH];
    loop {
        let count = stdout.read(&mut buffer)?;
        if count == 0 {
            break;
        }
        // Only the new bytes are searched: a line may be much longer than one read.
        let Some(end) = buffer[..count].iter().rposition(|byte| *byte == b'\n') else {
            pending.extend_from_slice(&buffer[..count]);
            continue;
        };
        pending.extend_from_slice(&buffer[..=end]);
        exchange.send(&pending)?;
        pending.clear();
        pending.extend_from_slice(&buffer[end + 1..count]);
    }
    if !pending.is_empty() {
        exchange.send(&pending)?;
    }
    // Closes the pipe: the sidecar exits.
    drop(exchange);
    child.wait()?;
    sidecar.wait()?;
    Ok(())
}
