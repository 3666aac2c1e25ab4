//! The testbed of a scenario: its own workspace, a mock model, and `wharf` in a clean environment.

use crate::agent::{Agent, Login, Place};
use crate::offers::Offers;
use crate::process::{interrupt, wait_for};
use crate::run_result::{RunResult, text};
use crate::subject::Subject;
use crate::{NotPassed, ScenarioResult};
use std::cell::Cell;
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::rc::Rc;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::runtime::Handle;
use wharf_mock_model::{Request, Scenario, Server, Step};

/// The time limit of a run, in seconds.
const LIMIT: &str = "150";

/// An address at which no model answers.
const NOWHERE: &str = "http://127.0.0.1:9";

/// The files and the model of one scenario.
#[derive(Debug)]
pub(crate) struct Testbed<'a> {
    pub(crate) subject: &'a Subject,
    pub(crate) agent: &'static dyn Agent,
    folder: PathBuf,
    /// The agent's working directory.
    pub(crate) workspace: PathBuf,
    home: PathBuf,
    handle: &'a Handle,
    /// Whether a run said that this transport accepts no API key.
    refused_key: Rc<Cell<bool>>,
}

/// A `wharf run` that has not exited yet.
#[derive(Debug)]
pub(crate) struct Running {
    pub(crate) child: Child,
    /// The lines of its stdout so far.
    pub(crate) lines: Arc<Mutex<String>>,
    stdout: JoinHandle<()>,
    stderr: JoinHandle<String>,
}

/// The mock model of one scenario. It stops when dropped.
#[derive(Debug)]
pub(crate) struct Model(Server);

impl Model {
    pub(crate) fn url(&self) -> String {
        self.0.url()
    }

    /// Everything that the agent sent to the model's address.
    pub(crate) fn all_requests(&self) -> Vec<Request> {
        self.0.requests()
    }

    /// The agent's requests to the model in the turn, without side requests.
    pub(crate) fn requests(&self) -> Vec<Request> {
        self.0.requests().into_iter().filter(|request| request.is_inference && !request.is_side_request).collect()
    }

    /// Checks the usage in the report against the model's own count. An agent that counts its side requests too is right:
    /// they are paid for.
    fn check_usage(&self, result: &RunResult) -> Result<(), String> {
        let (counted, side, usage) = (self.0.usage(), self.0.side_usage(), &result.report["usage"]);
        let figures = [("input", counted.input, side.input), ("output", counted.output, side.output)];
        let is_it =
            |extra: bool| figures.iter().all(|(name, turn, side)| usage[*name] == turn + if extra { *side } else { 0 });
        let cached = usage["cache_read"].is_null() || usage["cache_read"] == counted.cached;
        let message = format!("the model counted {counted:?} and {side:?} aside, but the report says {usage}");
        result.check((is_it(false) || is_it(true)) && cached, &message)?;
        Ok(())
    }

    /// Whether the agent's last request contains this text.
    pub(crate) fn received(&self, expected: &str) -> bool {
        let mut all = vec![];
        if let Some(request) = self.requests().last() {
            texts(&request.body, &mut all);
        }
        all.iter().any(|text| text.contains(expected))
    }
}

/// Collects all strings in a JSON value.
fn texts(value: &serde_json::Value, into: &mut Vec<String>) {
    match value {
        serde_json::Value::String(text) => into.push(text.clone()),
        serde_json::Value::Array(items) => items.iter().for_each(|item| texts(item, into)),
        serde_json::Value::Object(fields) => fields.values().for_each(|field| texts(field, into)),
        _ => {}
    }
}

impl<'a> Testbed<'a> {
    pub(crate) fn new(subject: &'a Subject, name: &str, handle: &'a Handle) -> Result<Testbed<'a>, String> {
        let folder = subject.work.join("scenarios").join(name.replace(|sign: char| !sign.is_alphanumeric(), "-"));
        let workspace = folder.join("workspace");
        let home = if subject.agent.shares_home() { subject.shared_home() } else { folder.join("home") };
        for folder in [&workspace, &folder.join("tmp"), &home] {
            fs::create_dir_all(folder).map_err(|error| format!("cannot create {}: {error}", folder.display()))?;
        }
        // The workspace has its own repository, or else agents look at the one that the target folder is in.
        let made = Command::new("git").args(["init", "--quiet"]).current_dir(&workspace).env_clear().status();
        made.map_err(|error| format!("cannot start git: {error}"))?;
        Ok(Testbed { subject, agent: subject.agent, folder, workspace, home, handle, refused_key: Rc::default() })
    }

    /// Whether a run said that this transport accepts no API key: nothing more is known of it then.
    pub(crate) fn refused_key(&self) -> bool {
        self.refused_key.get()
    }

    /// The same testbed with another home.
    pub(crate) fn at_home(&self, home: &Path) -> Testbed<'a> {
        let (folder, workspace) = (self.folder.clone(), self.workspace.clone());
        Testbed { folder, workspace, home: home.to_owned(), refused_key: Rc::clone(&self.refused_key), ..*self }
    }

    /// Creates a folder next to the workspace and returns its path.
    pub(crate) fn create(&self, name: &str) -> Result<PathBuf, String> {
        let path = self.folder.join(name);
        fs::create_dir_all(&path).map_err(|error| format!("cannot create {}: {error}", path.display()))?;
        Ok(path)
    }

    /// Starts a model with these steps.
    pub(crate) fn model(&self, steps: Vec<Step>) -> Result<Model, String> {
        self.model_of(Scenario { steps, ..Scenario::default() })
    }

    /// Starts a model with this scenario.
    pub(crate) fn model_of(&self, mut scenario: Scenario) -> Result<Model, String> {
        scenario.side_texts.extend(self.agent.side_texts().iter().map(|text| (*text).to_owned()));
        let record = self.folder.join("requests.jsonl");
        let server = self.handle.block_on(Server::start(scenario, Some(&record)));
        server.map(Model).map_err(|error| format!("cannot start the mock model: {error}"))
    }

    /// The folder of all of its files.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Writes a file next to the workspace and returns its path.
    pub(crate) fn write(&self, name: &str, content: &str) -> Result<String, String> {
        let path = self.folder.join(name);
        fs::write(&path, content).map_err(|error| format!("cannot write {}: {error}", path.display()))?;
        Ok(path.to_string_lossy().into_owned())
    }

    /// Where a run with this model address and these credentials takes place.
    fn place<'b>(&'b self, url: &'b str, login: Login) -> Place<'b> {
        self.subject.place(&self.home, url, login)
    }

    /// Writes the files that depend on the model's address: those of the agent's home and wharf's configuration.
    fn configure(&self, at: &Place<'_>) -> Result<(), String> {
        self.subject.write_files(at)?;
        self.write("config.toml", &self.subject.config(at)).map(|_| ())
    }

    /// A program in the clean environment, without arguments yet.
    pub(crate) fn command(&self, program: &Path, url: &str, login: Login) -> Result<Command, String> {
        let at = self.place(url, login);
        self.configure(&at)?;
        let mut command = Command::new(program);
        command.env_clear().envs(self.subject.environment(&self.folder, &at));
        command.current_dir(&self.workspace).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        Ok(command)
    }

    /// `wharf` in the clean environment, without arguments yet.
    pub(crate) fn wharf(&self, url: &str, login: Login) -> Result<Command, String> {
        self.command(&self.subject.wharf, url, login)
    }

    /// Starts the agent and the adapter once, so that they fill their caches, and asks what it offers.
    pub(crate) fn warm_up(&self) -> Result<Offers, String> {
        self.unpack(&self.subject.program())?;
        let mut doctor = self.wharf(NOWHERE, Login::Key)?;
        let output = doctor.args(["doctor", "--json", &self.subject.adapter()]).output();
        let output = output.map_err(|error| format!("cannot start {}: {error}", self.subject.wharf.display()))?;
        let found: serde_json::Value = serde_json::from_slice(&output.stdout).map_err(|error| {
            format!("doctor printed no JSON ({error}): {}", String::from_utf8_lossy(&output.stderr))
        })?;
        let found = found.as_array().and_then(|all| all.first()).unwrap_or(&found);
        if found["agent"]["program"].is_null() {
            return Err(format!("doctor found no program: {found}"));
        }
        let forced = (!self.subject.is_best_transport()).then_some(self.subject.transport);
        Ok(Offers::read(found, forced))
    }

    /// Starts an agent's program itself: the first start of some versions unpacks more than the doctor waits for.
    pub(crate) fn unpack(&self, program: &Path) -> Result<(), String> {
        let mut command = self.command(program, NOWHERE, Login::None)?;
        let output = command.args(["--no-auto-update", "--version"]).output();
        output.map(|_| ()).map_err(|error| format!("cannot start {}: {error}", program.display()))
    }

    /// Whether the adapter says that this version has it over this transport.
    pub(crate) fn has(&self, capability: &str) -> bool {
        matches!(self.subject.offers.get(), Some(Ok(offers)) if offers.has(capability))
    }

    /// Checks the usage in the report against the model's own count. Without any, the adapter must say so.
    pub(crate) fn check_usage(&self, model: &Model, result: &RunResult) -> ScenarioResult {
        if result.report["usage"]["input"].is_null() {
            return self.needs("token-usage").and_then(|()| Err("the report has no usage".to_owned().into()));
        }
        Ok(model.check_usage(result)?)
    }

    /// Not offered if the adapter says that this version lacks it over this transport.
    pub(crate) fn needs(&self, capability: &str) -> ScenarioResult {
        if self.has(capability) {
            return Ok(());
        }
        Err(NotPassed::NotOffered(format!("its adapter says that it lacks `{capability}`")))
    }

    /// The first arguments of every `wharf run`.
    fn run_args(&self, more: &[&str]) -> Vec<String> {
        let limit = if more.contains(&"--total-timeout") { vec![] } else { vec!["--total-timeout", LIMIT] };
        let args = [&["run", "--json"], limit.as_slice(), &["--adapter"]].concat();
        let args = args.into_iter().map(str::to_owned).chain([self.subject.adapter()]);
        args.chain(self.subject.transport_args()).collect()
    }

    /// Runs a turn.
    pub(crate) fn run(&self, model: &Model, args: &[&str]) -> Result<RunResult, String> {
        self.run_at(&model.url(), Login::Key, args)
    }

    /// Runs a turn with this model address and these credentials.
    pub(crate) fn run_at(&self, url: &str, login: Login, args: &[&str]) -> Result<RunResult, String> {
        self.start(url, login, args).and_then(|running| self.finish(running, url))
    }

    /// Starts a turn.
    pub(crate) fn start(&self, url: &str, login: Login, args: &[&str]) -> Result<Running, String> {
        let mut command = self.wharf(url, login)?;
        command.args(self.run_args(args)).args(args);
        if args.contains(&"--control") {
            command.stdin(Stdio::piped());
        }
        let mut child =
            command.spawn().map_err(|error| format!("cannot start {}: {error}", self.subject.wharf.display()))?;
        let stdout = child.stdout.take().expect("stdout is piped");
        let mut stderr = child.stderr.take().expect("stderr is piped");
        let lines = Arc::new(Mutex::new(String::new()));
        let into = Arc::clone(&lines);
        let stdout = std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                let mut into = into.lock().expect("no thread panics while it holds the lock");
                into.push_str(&line);
                into.push('\n');
            }
        });
        let stderr = std::thread::spawn(move || {
            let mut text = vec![];
            let _ = stderr.read_to_end(&mut text);
            String::from_utf8_lossy(&text).into_owned()
        });
        Ok(Running { child, lines, stdout, stderr })
    }

    /// Waits until the run exits, and checks that its recording replays to the same events.
    pub(crate) fn finish(&self, mut running: Running, url: &str) -> Result<RunResult, String> {
        let status = running.child.wait().map_err(|error| format!("cannot wait for wharf: {error}"))?;
        running.stdout.join().map_err(|_| "the reader of stdout panicked")?;
        let stderr = running.stderr.join().map_err(|_| "the reader of stderr panicked")?;
        let lines = running.lines.lock().expect("no thread panics while it holds the lock");
        let result = RunResult::new(&lines, stderr, status.code());
        if let Some(unknown) = result.report["drift"]["unknown"].as_object() {
            let mut drift = self.subject.drift.lock().expect("no thread panics while it holds the lock");
            for (native, count) in unknown {
                *drift.entry(native.clone()).or_default() += count.as_u64().unwrap_or(1);
            }
        }
        self.refused_key.set(self.refused_key.get() || result.needs_github_login());
        result.check(
            result.report["drift"]["malformed"].as_u64().unwrap_or(0) == 0,
            "the adapter reported malformed frames",
        )?;
        self.replay(&result, url)?;
        Ok(result)
    }

    /// Waits until something has happened in a run. A run that has ended before, or in which nothing happens, fails with its
    /// summary.
    pub(crate) fn wait_in(
        &self,
        running: Running,
        model: &Model,
        what: &str,
        has_happened: impl Fn(&Running) -> bool,
    ) -> Result<Running, String> {
        let look = || (has_happened(&running) || running.has_event("report")).then_some(());
        let waited = wait_for(what, Duration::from_mins(1), look);
        if waited.is_ok() && has_happened(&running) {
            return Ok(running);
        }
        // A run must not outlive its scenario. One that has exited cannot be interrupted.
        let _ = interrupt(running.child.id());
        let result = self.finish(running, &model.url())?;
        Err(format!("{}; {}", waited.err().unwrap_or_else(|| format!("it ended before {what}")), result.summary()))
    }

    fn replay(&self, result: &RunResult, url: &str) -> Result<(), String> {
        // A run that did not start has no recording.
        let Some(run) = result.report["run"].as_str() else { return Ok(()) };
        result.check_lines()?;
        let mut command = self.wharf(url, Login::Key)?;
        command.args(["replay", run, "--diff"]);
        if self.subject.adapter() != self.agent.id() {
            command.args(["--adapter", &self.subject.adapter()]);
        }
        let output = command.output().map_err(|error| format!("cannot start wharf replay: {error}"))?;
        if output.status.success() {
            return Ok(());
        }
        let diff: String = String::from_utf8_lossy(&output.stdout).chars().take(700).collect();
        Err(format!("the recording replays to different events: {diff} {}", String::from_utf8_lossy(&output.stderr)))
    }
}

impl Running {
    /// Sends a message to the agent.
    pub(crate) fn send_message(&mut self, text: &str) -> Result<(), String> {
        self.send_line(&serde_json::json!({ "type": "message", "text": text }))
    }

    /// Writes a line of the kind that `--control --json` reads.
    pub(crate) fn send_line(&mut self, line: &serde_json::Value) -> Result<(), String> {
        let stdin = self.child.stdin.as_mut().ok_or("stdin is not piped")?;
        writeln!(stdin, "{line}").map_err(|error| format!("cannot write to wharf's stdin: {error}"))
    }

    /// Whether there was an event of this type.
    pub(crate) fn has_event(&self, kind: &str) -> bool {
        let is_it = |line: &str| {
            serde_json::from_str::<serde_json::Value>(line).is_ok_and(|event| text(&event["type"]) == kind)
        };
        self.lines.lock().expect("no thread panics while it holds the lock").lines().any(is_it)
    }
}
