//! What the host does on an adapter's behalf: the `host` interface. Every function asks [`Policy`] first, is open only
//! during the calls that may look outside, and has its answer noted for the recording.

use crate::bindings::host::{Command, FoundProgram, Output, Problem, Request, Response};
use crate::bindings::types::Level;
use crate::environment::Environment;
use crate::grants::Policy;
use crate::http::HttpClient;
use crate::instance::State;
use crate::program;
use std::collections::VecDeque;
use std::path::{Path, PathBuf};

/// The largest file that is read for an adapter.
const FILE_LIMIT: u64 = 16 << 20;

/// What an adapter may reach, and how.
pub(crate) struct Services {
    policy: Policy,
    environment: Environment,
    http: HttpClient,
    /// Where the run's own files are.
    launch_folder: Option<PathBuf>,
    /// What was answered and is not yet recorded, as JSON.
    answers: Vec<String>,
    /// In a replay: what the recording says was answered. Nothing else is done then.
    replayed: Option<VecDeque<String>>,
}

impl Services {
    pub(crate) fn new(policy: Policy, environment: Environment, http: HttpClient) -> Services {
        Services { policy, environment, http, launch_folder: None, answers: vec![], replayed: None }
    }

    /// Services that only repeat what a recording says.
    pub(crate) fn replaying(answers: VecDeque<String>) -> Services {
        let nothing = Environment::empty();
        Services { replayed: Some(answers), ..Services::new(Policy::default(), nothing, HttpClient::default()) }
    }

    pub(crate) fn set_launch_folder(&mut self, folder: &Path) {
        self.launch_folder = Some(folder.to_owned());
    }

    pub(crate) fn take_answers(&mut self) -> Vec<String> {
        std::mem::take(&mut self.answers)
    }

    fn find_program(&self, name: &str) -> Result<FoundProgram, Problem> {
        self.policy.program(name).map_err(denied)?;
        let path = self.environment.find_program(name).ok_or_else(|| Problem::NotFound(name.to_owned()))?;
        let real = std::fs::canonicalize(&path).unwrap_or_else(|_| path.clone());
        let text = |path: &Path| path.to_string_lossy().into_owned();
        Ok(FoundProgram { path: text(&path), real_path: text(&real) })
    }

    async fn run(&self, command: &Command) -> Result<Output, Problem> {
        self.policy.run_program(&command.program, |name| self.environment.program_path(name)).map_err(denied)?;
        program::run(command, &self.environment.for_agent(&self.policy)).await
    }

    async fn fetch(&self, request: Request) -> Result<Response, Problem> {
        let url = reqwest::Url::parse(&request.url)
            .map_err(|why| Problem::Failed(format!("{} is not a URL: {why}", request.url)))?;
        let granted = |name: &str| self.policy.variable(name).ok().and_then(|()| self.environment.get(name));
        self.policy.origin(&url, granted).map_err(denied)?;
        self.http.fetch(url, request).await
    }

    fn read_file(&self, path: &str) -> Result<Vec<u8>, Problem> {
        self.policy.file(path).map_err(denied)?;
        // The pattern must hold for where the path really leads, not only for how it is spelled.
        let real = std::fs::canonicalize(path).map_err(|why| not_read(path, &why))?;
        self.policy.file(&real.to_string_lossy()).map_err(denied)?;
        read_limited(&real)
    }

    fn read_launch_file(&self, name: &str) -> Result<Vec<u8>, Problem> {
        let folder = self.launch_folder.as_ref().ok_or_else(|| Problem::NotFound(name.to_owned()))?;
        if name.is_empty() || name.contains(['/', '\\']) || name.starts_with('.') {
            return Err(Problem::Denied(format!("{name:?} is not the name of a launch file")));
        }
        let path = folder.join(name);
        // The agent could have put a link there.
        match std::fs::symlink_metadata(&path) {
            Ok(found) if found.is_file() => read_limited(&path),
            Ok(_) => Err(Problem::Denied(format!("{name} is not a plain file any more"))),
            Err(why) => Err(not_read(name, &why)),
        }
    }

    fn variable(&self, name: &str) -> Result<Option<String>, Problem> {
        self.policy.variable(name).map_err(denied)?;
        Ok(self.environment.get(name))
    }
}

#[expect(clippy::needless_pass_by_value, reason = "it is what `map_err` hands over")]
fn denied(denial: crate::grants::Denial) -> Problem {
    Problem::Denied(denial.to_string())
}

fn not_read(path: &str, why: &std::io::Error) -> Problem {
    match why.kind() {
        std::io::ErrorKind::NotFound => Problem::NotFound(path.to_owned()),
        _ => Problem::Failed(format!("reading {path}: {why}")),
    }
}

fn read_limited(path: &Path) -> Result<Vec<u8>, Problem> {
    use std::io::Read as _;
    let shown = path.to_string_lossy();
    // What is no plain file (a pipe that nobody writes to) would hold us up for ever.
    let mut options = std::fs::OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, rustix::fs::OFlags::NONBLOCK.bits().cast_signed());
    let file = options.open(path).map_err(|why| not_read(&shown, &why))?;
    if !file.metadata().is_ok_and(|found| found.is_file()) {
        return Err(Problem::Failed(format!("{shown} is not a plain file")));
    }
    let mut content = Vec::new();
    file.take(FILE_LIMIT + 1).read_to_end(&mut content).map_err(|why| not_read(&shown, &why))?;
    if content.len() as u64 > FILE_LIMIT { Err(Problem::TooLarge) } else { Ok(content) }
}

impl State {
    /// The services, in a call that may look outside.
    fn open(&mut self, function: &str) -> wasmtime::Result<&mut Services> {
        let (call, open) = self.call;
        if !open {
            return Err(wasmtime::Error::msg(format!(
                "it called host.{function} during {call}, where the host is closed"
            )));
        }
        self.services.as_mut().ok_or_else(|| wasmtime::Error::msg("nothing is granted here"))
    }

    /// An answer of the host, taken from the recording in a replay, noted for it otherwise.
    fn answer<T: Recorded>(&mut self, function: &str, fresh: Option<T>) -> wasmtime::Result<T> {
        let services = self.open(function)?;
        match (fresh, &mut services.replayed) {
            (Some(fresh), _) => {
                services
                    .answers
                    .push(serde_json::json!({ "function": function, "answer": fresh.to_json() }).to_string());
                Ok(fresh)
            }
            (None, Some(replayed)) => {
                let next = replayed.pop_front().and_then(|text| serde_json::from_str::<serde_json::Value>(&text).ok());
                let same = next.filter(|next| next["function"] == function);
                let answer = same.and_then(|next| T::from_json(&next["answer"]));
                Ok(answer.unwrap_or_else(T::unrecorded))
            }
            (None, None) => Ok(T::unrecorded()),
        }
    }

    fn is_replay(&self) -> bool {
        self.services.as_ref().is_some_and(|services| services.replayed.is_some())
    }
}

impl crate::bindings::types::Host for State {}

impl crate::bindings::host::Host for State {
    async fn find_program(&mut self, name: String) -> wasmtime::Result<Result<FoundProgram, Problem>> {
        let fresh = if self.is_replay() { None } else { Some(self.open("find-program")?.find_program(&name)) };
        self.answer("find-program", fresh)
    }

    async fn run(&mut self, command: Command) -> wasmtime::Result<Result<Output, Problem>> {
        let fresh = if self.is_replay() { None } else { Some(self.open("run")?.run(&command).await) };
        self.answer("run", fresh)
    }

    async fn fetch(&mut self, request: Request) -> wasmtime::Result<Result<Response, Problem>> {
        let fresh = if self.is_replay() { None } else { Some(self.open("fetch")?.fetch(request).await) };
        self.answer("fetch", fresh)
    }

    async fn read_file(&mut self, path: String) -> wasmtime::Result<Result<Vec<u8>, Problem>> {
        let fresh = if self.is_replay() { None } else { Some(self.open("read-file")?.read_file(&path)) };
        self.answer("read-file", fresh)
    }

    async fn read_launch_file(&mut self, name: String) -> wasmtime::Result<Result<Vec<u8>, Problem>> {
        let fresh = if self.is_replay() { None } else { Some(self.open("read-launch-file")?.read_launch_file(&name)) };
        self.answer("read-launch-file", fresh)
    }

    async fn variable(&mut self, name: String) -> wasmtime::Result<Result<Option<String>, Problem>> {
        let fresh = if self.is_replay() { None } else { Some(self.open("variable")?.variable(&name)) };
        self.answer("variable", fresh)
    }

    async fn log(&mut self, level: Level, message: String) -> wasmtime::Result<()> {
        self.open("log")?;
        crate::log::line(level.into(), &message);
        Ok(())
    }
}

/// An answer that can be written into a recording and read back.
trait Recorded: Sized {
    fn to_json(&self) -> serde_json::Value;
    fn from_json(value: &serde_json::Value) -> Option<Self>;
    /// What a replay answers where the recording has nothing.
    fn unrecorded() -> Self;
}

impl<T: Answered> Recorded for Result<T, Problem> {
    fn to_json(&self) -> serde_json::Value {
        match self {
            Ok(answer) => serde_json::json!({ "ok": answer.to_value() }),
            Err(Problem::Denied(why)) => serde_json::json!({ "denied": why }),
            Err(Problem::NotFound(what)) => serde_json::json!({ "not-found": what }),
            Err(Problem::TimedOut) => serde_json::json!({ "timed-out": null }),
            Err(Problem::TooLarge) => serde_json::json!({ "too-large": null }),
            Err(Problem::Failed(why)) => serde_json::json!({ "failed": why }),
        }
    }

    fn from_json(value: &serde_json::Value) -> Option<Self> {
        let (kind, value) = value.as_object()?.iter().next()?;
        let text = || value.as_str().unwrap_or_default().to_owned();
        Some(match kind.as_str() {
            "ok" => Ok(T::from_value(value)?),
            "denied" => Err(Problem::Denied(text())),
            "not-found" => Err(Problem::NotFound(text())),
            "timed-out" => Err(Problem::TimedOut),
            "too-large" => Err(Problem::TooLarge),
            _ => Err(Problem::Failed(text())),
        })
    }

    fn unrecorded() -> Self {
        Err(Problem::Failed("the recording has no answer to this".to_owned()))
    }
}

/// The good half of an answer.
trait Answered: Sized {
    fn to_value(&self) -> serde_json::Value;
    fn from_value(value: &serde_json::Value) -> Option<Self>;
}

/// Bytes as text where they are text, else as numbers.
fn bytes_to_value(bytes: &[u8]) -> serde_json::Value {
    std::str::from_utf8(bytes).map_or_else(|_| serde_json::json!(bytes), serde_json::Value::from)
}

fn bytes_from_value(value: &serde_json::Value) -> Option<Vec<u8>> {
    match value {
        serde_json::Value::String(text) => Some(text.clone().into_bytes()),
        other => serde_json::from_value(other.clone()).ok(),
    }
}

impl Answered for Vec<u8> {
    fn to_value(&self) -> serde_json::Value {
        bytes_to_value(self)
    }
    fn from_value(value: &serde_json::Value) -> Option<Self> {
        bytes_from_value(value)
    }
}

impl Answered for Option<String> {
    fn to_value(&self) -> serde_json::Value {
        // The value of a variable never reaches a file; that it was set is enough for a replay.
        serde_json::json!(self.as_ref().map(|_| "[redacted]"))
    }
    fn from_value(value: &serde_json::Value) -> Option<Self> {
        serde_json::from_value(value.clone()).ok()
    }
}

impl Answered for FoundProgram {
    fn to_value(&self) -> serde_json::Value {
        serde_json::json!({ "path": self.path, "real_path": self.real_path })
    }
    fn from_value(value: &serde_json::Value) -> Option<Self> {
        let text = |key: &str| Some(value[key].as_str()?.to_owned());
        Some(FoundProgram { path: text("path")?, real_path: text("real_path")? })
    }
}

impl Answered for Output {
    fn to_value(&self) -> serde_json::Value {
        serde_json::json!({
            "code": self.code, "timed_out": self.timed_out,
            "stdout": bytes_to_value(&self.stdout), "stderr": bytes_to_value(&self.stderr),
        })
    }
    fn from_value(value: &serde_json::Value) -> Option<Self> {
        Some(Output {
            code: serde_json::from_value(value["code"].clone()).ok()?,
            timed_out: value["timed_out"].as_bool()?,
            stdout: bytes_from_value(&value["stdout"])?,
            stderr: bytes_from_value(&value["stderr"])?,
        })
    }
}

impl Answered for Response {
    fn to_value(&self) -> serde_json::Value {
        serde_json::json!({ "status": self.status, "headers": self.headers, "body": bytes_to_value(&self.body) })
    }
    fn from_value(value: &serde_json::Value) -> Option<Self> {
        Some(Response {
            status: u16::try_from(value["status"].as_u64()?).ok()?,
            headers: serde_json::from_value(value["headers"].clone()).ok()?,
            body: bytes_from_value(&value["body"])?,
        })
    }
}

impl Default for Services {
    /// Services that reach nothing.
    fn default() -> Services {
        Services::new(Policy::default(), Environment::empty(), HttpClient::default())
    }
}
