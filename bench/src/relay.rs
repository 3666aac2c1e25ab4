//! What stands between an agent and a reader that is not wharf.
//!
//! [`copy`] is the least that can be done: 64 KiB in, 64 KiB out. [`sidecar`] is the host of an adapter that is a process
//! instead of a component: whole lines, as many as were there and at most 64 KiB of them, go to it as one JSON-RPC
//! request, and the events of its answer are written as they stand, without being looked into. It is spared what wharf
//! does besides: it records, redacts, checks and supervises nothing.

use crate::{Result, failed};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, BufRead as _, BufReader, BufWriter, Read as _, Write as _};
use std::os::fd::AsFd as _;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

/// How much is read and sent at once.
const BATCH: usize = 64 << 10;

/// The agent, and what it writes.
fn start(agent: &Path) -> Result<(Child, ChildStdout)> {
    let mut child = Command::new(agent).stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?;
    let stdout = child.stdout.take().expect("it was asked for");
    Ok((child, stdout))
}

/// Our stdout without the buffer of `Stdout`, which cuts what is written at lines.
fn output() -> io::Result<File> {
    Ok(File::from(io::stdout().as_fd().try_clone_to_owned()?))
}

/// From the agent to our stdout.
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

#[derive(Deserialize)]
struct Answer<'a> {
    #[serde(borrow)]
    result: Events<'a>,
}

#[derive(Deserialize)]
struct Events<'a> {
    #[serde(borrow)]
    events: Vec<&'a RawValue>,
}

/// From the agent through a sidecar, started with these words, to our stdout.
pub(crate) fn sidecar(agent: &Path, words: &[&OsStr]) -> Result<()> {
    let Some((program, arguments)) = words.split_first() else { return Err(failed("`relay` needs a sidecar")) };
    let (mut child, mut stdout) = start(agent)?;
    let mut sidecar = Command::new(program).args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let mut requests = BufWriter::with_capacity(BATCH, sidecar.stdin.take().expect("it was asked for"));
    let mut answers = BufReader::with_capacity(BATCH, sidecar.stdout.take().expect("it was asked for"));
    let mut out = BufWriter::with_capacity(BATCH, output()?);
    let mut answer = String::new();
    let mut id = 0_u64;
    let mut exchange = |lines: &[u8]| -> Result<()> {
        let text = String::from_utf8_lossy(lines);
        id += 1;
        write!(requests, r#"{{"jsonrpc":"2.0","id":{id},"method":"parse-chunk","params":{{"text":"#)?;
        serde_json::to_writer(&mut requests, &text)?;
        requests.write_all(b"}}\n")?;
        requests.flush()?;
        answer.clear();
        if answers.read_line(&mut answer)? == 0 {
            return Err(failed("the sidecar ended before its answer"));
        }
        for event in serde_json::from_str::<Answer<'_>>(&answer)?.result.events {
            out.write_all(event.get().as_bytes())?;
            out.write_all(b"\n")?;
        }
        Ok(out.flush()?)
    };
    let mut waiting = Vec::new();
    let mut buffer = vec![0; BATCH];
    loop {
        let count = stdout.read(&mut buffer)?;
        if count == 0 {
            break;
        }
        // Only the new bytes are looked through: a line may be much longer than what is read at once.
        let whole = buffer[..count].iter().rposition(|byte| *byte == b'\n');
        let Some(end) = whole else {
            waiting.extend_from_slice(&buffer[..count]);
            continue;
        };
        waiting.extend_from_slice(&buffer[..=end]);
        exchange(&waiting)?;
        waiting.clear();
        waiting.extend_from_slice(&buffer[end + 1..count]);
    }
    if !waiting.is_empty() {
        exchange(&waiting)?;
    }
    drop(requests);
    child.wait()?;
    sidecar.wait()?;
    Ok(())
}
