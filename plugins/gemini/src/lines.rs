//! Reads `--output-format stream-json`: one process per turn, one event a line.
//!
//! The result's status decides about the turn, not the exit code. An error that the result does not explain is explained by
//! stderr and the exit code: such a turn ends when the process has exited, or after a while if it does not.

use crate::failure::Cause;
use crate::reply::Reply;
use crate::stderr::Stderr;
use crate::{tools, usage};
use wharf_adapter::{
    Calls, ChangeKind, Effects, Event, FileChange, Json, LogLevel, Malformed, Outcome, SessionInfo, Text, TextPart,
    ToolCall, ToolStatus,
};

/// How long the process may take to exit after an error that only its exit explains.
const EXIT_MILLIS: u32 = 5_000;
/// The number of that timer.
const EXIT_TIMER: u32 = 1;

/// What the command line of the turn says about its session.
#[derive(Debug, Default)]
pub(crate) struct TurnSettings {
    /// The session to resume.
    pub(crate) resume: Option<String>,
    /// Whether the most recent session is resumed, if there is one.
    pub(crate) continues: bool,
    /// Whether a new session is started although another one was requested.
    pub(crate) starts_over: bool,
    pub(crate) version: Option<String>,
    /// Whether tools that need a permission are withheld from the model.
    pub(crate) withholds: bool,
}

/// How far the turn is.
#[derive(Debug, Default)]
enum Stage {
    #[default]
    Running,
    /// It failed with this, which does not explain itself.
    Unexplained(Cause),
    Ended,
}

/// An open tool call.
#[derive(Debug, Default)]
struct Call {
    /// The file that it changes if it succeeds.
    change: Option<FileChange>,
    /// Whether its tool is withheld from the model, which called it all the same.
    is_withheld: bool,
}

/// The state between two lines.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    pub(crate) settings: TurnSettings,
    pub(crate) reply: Reply,
    calls: Calls<Call>,
    /// The last error that the CLI reported before the result.
    error: Option<String>,
    session: Option<SessionInfo>,
    stage: Stage,
}

impl Lines {
    /// Handles a line.
    pub(crate) fn line(&mut self, line: Json<'_>, stderr: &Stderr, out: &mut Effects) -> Result<(), Malformed> {
        let [kind, stamp, role, content, delta] = line.pick(["type", "timestamp", "role", "content", "delta"])?;
        match kind.name().ok_or(Malformed)? {
            "init" => self.init(line, stderr, out)?,
            "message" if role.is("assistant") => {
                if !delta.is_true() {
                    self.reply.close(out);
                }
                self.reply.add(content, stamp, out);
            }
            "message" => {
                out.emit(Event::Prompt(TextPart { id: "prompt".into(), parent: None, text: content.text_or_empty() }));
            }
            "tool_use" => self.tool_use(line, out)?,
            "tool_result" => self.tool_result(line, out)?,
            "error" => self.error(line, out)?,
            "result" => self.result(line, stderr, out)?,
            other => out.unknown(other),
        }
        Ok(())
    }

    fn init(&mut self, line: Json<'_>, stderr: &Stderr, out: &mut Effects) -> Result<(), Malformed> {
        let [id, model] = line.select(["session_id", "model"])?;
        let id = id.string().ok_or(Malformed)?;
        let settings = &self.settings;
        let resumed = match settings.resume.as_deref() {
            Some(requested) => Some(requested == id || !is_uuid(requested)),
            None if settings.continues => Some(!stderr.starts_over),
            None => settings.starts_over.then_some(false),
        };
        let (model, agent_version) = (model.string(), settings.version.clone());
        let session = SessionInfo { id: Some(id), resumed, model, agent_version };
        self.session = Some(session.clone());
        out.emit(Event::Session(session));
        Ok(())
    }

    /// Stderr says that there was nothing to continue, perhaps after the session was reported.
    pub(crate) fn starts_over(&mut self, out: &mut Effects) {
        if let Some(session) = self.session.as_mut().filter(|session| session.resumed == Some(true)) {
            session.resumed = Some(false);
            out.emit(Event::Session(session.clone()));
        }
    }

    fn tool_use(&mut self, line: Json<'_>, out: &mut Effects) -> Result<(), Malformed> {
        let [id, name, input] = line.select(["tool_id", "tool_name", "parameters"])?;
        let id = id.string().ok_or(Malformed)?;
        self.reply.close(out);
        let kind = match name.name() {
            Some("replace") => Some(ChangeKind::Edited),
            // Whether the file is new is not said.
            Some("write_file") => Some(ChangeKind::Other),
            _ => None,
        };
        let path = input.get("file_path").string();
        let change = kind.zip(path).map(|(kind, path)| FileChange { path, kind, added: None, removed: None });
        let is_withheld = self.settings.withholds && name.name().is_some_and(tools::needs_permission);
        self.calls.open(&id, Call { change, is_withheld });
        let mut call = ToolCall::new(&*id, ToolStatus::Running);
        tools::describe(name.name().unwrap_or_default(), input, &mut call);
        out.tool(ToolCall { name: name.string(), input: input.verbatim(), ..call });
        Ok(())
    }

    /// A command that exits with another code than 0 counts as a success, and the code is not reported.
    fn tool_result(&mut self, line: Json<'_>, out: &mut Effects) -> Result<(), Malformed> {
        let [id, status, output, error] = line.select(["tool_id", "status", "output", "error"])?;
        let id = id.string().ok_or(Malformed)?;
        let call = self.calls.close(&id).unwrap_or_default();
        let status = match (status.is("success"), error.get("type").name()) {
            (true, _) => ToolStatus::Succeeded,
            (false, Some("tool_not_registered")) if call.is_withheld => ToolStatus::Denied,
            (false, Some("policy_violation")) => ToolStatus::Denied,
            (false, _) => ToolStatus::Failed,
        };
        let output = output.text().or_else(|| error.get("message").text());
        let denied_because = error.get("message").string().filter(|_| status == ToolStatus::Denied);
        out.tool(ToolCall { output, denied_because, ..ToolCall::new(&*id, status) });
        if let Some(change) = call.change.filter(|_| status == ToolStatus::Succeeded) {
            out.emit(Event::FileChange(change));
        }
        Ok(())
    }

    fn error(&mut self, line: Json<'_>, out: &mut Effects) -> Result<(), Malformed> {
        let [severity, message] = line.select(["severity", "message"])?;
        let message = message.string().ok_or(Malformed)?;
        let level = if severity.is("error") { LogLevel::Error } else { LogLevel::Warn };
        out.notice(level, message.clone());
        self.error = Some(message);
        Ok(())
    }

    fn result(&mut self, line: Json<'_>, stderr: &Stderr, out: &mut Effects) -> Result<(), Malformed> {
        let [status, error, figures] = line.select(["status", "error", "stats"])?;
        let status = status.name().ok_or(Malformed)?;
        usage::report(figures, out);
        if status == "success" {
            self.reply.close(out);
        }
        self.calls.cancel(out);
        let message = error.get("message").string().or_else(|| self.error.take());
        if let Some(outcome) = outcome(status, error.get("type").name(), message.as_deref().unwrap_or_default()) {
            self.end(outcome, out);
            return Ok(());
        }
        let cause = Cause::read(message.as_deref().unwrap_or("Gemini CLI reported an error without a reason"));
        // An error that came with the result is the reason why the process exits, and so has its exit code.
        if cause.is_clear() || error.is_missing() {
            self.end(Outcome::Failed(cause.failure(stderr.cause.as_ref(), None)), out);
        } else {
            self.stage = Stage::Unexplained(cause);
            out.set_timer(EXIT_TIMER, EXIT_MILLIS);
        }
        Ok(())
    }

    fn end(&mut self, outcome: Outcome, out: &mut Effects) {
        self.stage = Stage::Ended;
        out.turn_ended(outcome, None::<Text>);
    }

    /// Declares a failure that waited for an explanation: now there is one, or there will be none.
    fn explain(&mut self, stderr: &Stderr, exit: Option<i32>, out: &mut Effects) {
        if let Stage::Unexplained(cause) = &self.stage {
            let failure = cause.failure(stderr.cause.as_ref(), exit);
            self.end(Outcome::Failed(failure), out);
        }
    }

    /// A timer has expired.
    pub(crate) fn timer(&mut self, number: u32, stderr: &Stderr, out: &mut Effects) {
        if number == EXIT_TIMER {
            self.explain(stderr, None, out);
        }
    }

    /// The process has exited: nothing runs any more. A text that is still open is not complete.
    pub(crate) fn finish(&mut self, stderr: &Stderr, exit: Option<i32>, out: &mut Effects) {
        self.calls.cancel(out);
        self.explain(stderr, exit, out);
    }
}

/// The outcome that a result declares, unless it is a failure.
fn outcome(status: &str, kind: Option<&str>, message: &str) -> Option<Outcome> {
    let limit = |name: &str| Some(Outcome::Limit(name.to_owned()));
    match (status, kind) {
        (_, Some("FatalTurnLimitedError")) => limit("max-turns"),
        (_, Some("FatalCancellationError")) => Some(Outcome::Cancelled),
        ("success", _) => Some(match message {
            "Maximum session turns exceeded" => Outcome::Limit("max-turns".to_owned()),
            "Loop detected, stopping execution" => Outcome::Limit("loop".to_owned()),
            _ => Outcome::Completed,
        }),
        _ if message.starts_with("The model response was blocked") => Some(Outcome::Refused(message.to_owned())),
        _ if message.starts_with("Model response was truncated") => limit("max-tokens"),
        _ => None,
    }
}

fn is_uuid(id: &str) -> bool {
    let is_part =
        |(at, byte): (usize, u8)| if matches!(at, 8 | 13 | 18 | 23) { byte == b'-' } else { byte.is_ascii_hexdigit() };
    id.len() == 36 && id.bytes().enumerate().all(is_part)
}
