//! The loop that somebody would write without wharf, in Rust, with `serde_json`: typed, borrowed, one pass over a line.
//! Only what has no type, as the input of a tool, is a `Value`: the feature `raw_value` would be on for wharf too.
//!
//! For the corpora it writes the same lines as wharf, which the benchmark checks. It does nothing else: no recording, no
//! supervision, no redaction, no limits, no report.

mod claude;
mod copilot;

use crate::corpus::AgentKind;
use serde::Serialize;
use serde_json::Value;
use std::borrow::Cow;
use std::collections::HashMap;
use std::io::{self, BufRead as _, BufReader, BufWriter, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

type Str<'a> = Option<Cow<'a, str>>;

/// An event, in the vocabulary of `wharf run --json`.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub(crate) enum Event<'a> {
    RunStarted { agent: Program<'a> },
    Session { id: Str<'a>, resumed: Option<bool>, model: Str<'a>, agent_version: Str<'a> },
    TextDelta { id: Cow<'a, str>, parent: Str<'a>, text: Cow<'a, str> },
    Message { id: Cow<'a, str>, parent: Str<'a>, text: Cow<'a, str> },
    Tool(Tool<'a>),
    ToolOutput { id: Cow<'a, str>, parent: Str<'a>, text: Cow<'a, str> },
    Usage(Usage<'a>),
    Context { used: u64, window: u64 },
    Other { name: &'static str, payload: Value },
    TurnEnded(TurnEnd<'a>),
}

/// The agent's program: all that this loop knows of what it started.
#[derive(Serialize)]
pub(crate) struct Program<'a> {
    program: &'a Path,
}

/// A tool call that starts or ends.
#[derive(Serialize)]
pub(crate) struct Tool<'a> {
    id: Cow<'a, str>,
    parent: Str<'a>,
    name: Str<'a>,
    title: Str<'a>,
    status: &'static str,
    input: Option<Value>,
    output: Str<'a>,
    exit_code: Option<i32>,
    duration_ms: Option<u64>,
    #[serde(flatten)]
    rest: ToolRest,
}

/// What the agents of the corpora do not say about their tools.
#[derive(Serialize, Default)]
pub(crate) struct ToolRest {
    kind: Option<()>,
    mcp_server: Option<()>,
    paths: [(); 0],
    diffs: [(); 0],
    denied_because: Option<()>,
}

/// Figures of usage. Absent means unknown.
#[derive(Serialize, Default)]
pub(crate) struct Usage<'a> {
    scope: &'static str,
    source: &'static str,
    model: Str<'a>,
    input_includes_cached: bool,
    input: Option<u64>,
    input_uncached: Option<u64>,
    output: Option<u64>,
    cache_read: Option<u64>,
    cache_write: Option<u64>,
    reasoning: Option<u64>,
    cost: Option<Money>,
    cost_source: Option<&'static str>,
    units: Units,
    api_ms: Option<u64>,
    rounds: Option<u64>,
}

#[derive(Serialize)]
struct Money {
    micros: u64,
    currency: &'static str,
}

#[derive(Serialize, Default)]
struct Units {
    #[serde(rename = "premium-requests", skip_serializing_if = "Option::is_none")]
    premium_requests: Option<f64>,
}

/// How the agent says that the turn ended. Its errors are not in the corpora.
#[derive(Serialize)]
pub(crate) struct TurnEnd<'a> {
    outcome: &'static str,
    detail: Str<'a>,
    error: Option<()>,
    answer: Str<'a>,
    structured_output: Option<()>,
}

impl<'a> TurnEnd<'a> {
    fn new(failed: bool, answer: Str<'a>) -> TurnEnd<'a> {
        let outcome = if failed { "failed" } else { "completed" };
        TurnEnd { outcome, detail: None, error: None, answer, structured_output: None }
    }
}

/// A line of output.
#[derive(Serialize)]
struct Line<'l, 'a> {
    seq: u64,
    at: u64,
    #[serde(flatten)]
    event: &'l Event<'a>,
}

/// Runs the agent and writes a line for each event.
pub(crate) fn run(kind: AgentKind, agent: &Path) -> io::Result<()> {
    let started = Instant::now();
    let mut child = Command::new(agent).stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?;
    let stdout = child.stdout.take().expect("stdout is a pipe");
    let mut reader = BufReader::with_capacity(64 << 10, stdout);
    let mut writer = BufWriter::with_capacity(64 << 10, io::stdout().lock());
    let mut seq = 0;
    let mut write = |at: u64, event: &Event<'_>| -> io::Result<()> {
        seq += 1;
        serde_json::to_writer(&mut writer, &Line { seq, at, event })?;
        writer.write_all(b"\n")
    };
    write(0, &Event::RunStarted { agent: Program { program: agent } })?;
    let mut parser = Parser::new(kind);
    let mut written = Ok(());
    let mut line = Vec::new();
    loop {
        let buffered = reader.buffer().len();
        if reader.read_until(b'\n', &mut line)? == 0 {
            break;
        }
        // Once for each read of the pipe, as wharf does it.
        if line.len() > buffered {
            parser.at = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
        }
        let at = parser.at;
        parser.parse(&line, |event| {
            if written.is_ok() {
                written = write(at, event);
            }
        });
        line.clear();
    }
    written?;
    child.wait()?;
    writer.flush()
}

/// Reads lines of one agent, and knows what later lines refer to.
pub(crate) struct Parser {
    /// Milliseconds since the start: when the lines that are being parsed were read.
    at: u64,
    tools: Tools,
    agent: State,
}

enum State {
    Copilot(copilot::State),
    Claude(claude::State),
}

impl Parser {
    /// For the beginning of a turn.
    pub(crate) fn new(kind: AgentKind) -> Parser {
        let agent = match kind {
            AgentKind::Copilot => State::Copilot(copilot::State::default()),
            AgentKind::Claude => State::Claude(claude::State::default()),
        };
        Parser { at: 0, tools: Tools::default(), agent }
    }

    /// Parses one line. Anything that is not JSON is skipped.
    pub(crate) fn parse(&mut self, line: &[u8], emit: impl FnMut(&Event<'_>)) {
        match &mut self.agent {
            State::Copilot(state) => copilot::parse(state, (&mut self.tools, self.at), line, emit),
            State::Claude(state) => claude::parse(state, (&mut self.tools, self.at), line, emit),
        }
    }
}

/// The running tool calls, and when each started.
#[derive(Default)]
struct Tools(HashMap<String, u64>);

impl Tools {
    fn start(&mut self, id: &str, at: u64) {
        self.0.insert(id.to_owned(), at);
    }

    fn end(&mut self, id: &str, at: u64) -> Option<u64> {
        self.0.remove(id).map(|started| at - started)
    }
}
