//! The stage of a scenario: a workspace of its own, a mock model, and `wharf` in a clean environment.

use crate::agent::{Agent, Login};
use crate::ran::{Ran, text};
use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use tokio::runtime::Handle;
use wharf_mock_model::{Request, Scenario, Server, Step};

/// Seconds after which any run is hopeless.
const LIMIT: &str = "150";

/// Where one scenario happens.
#[derive(Debug)]
pub(crate) struct Stage<'a> {
    pub(crate) agent: &'a Agent,
    folder: PathBuf,
    /// Where the agent works.
    pub(crate) workspace: PathBuf,
    handle: &'a Handle,
    drift: &'a Mutex<BTreeMap<String, u64>>,
}

/// A `wharf run` that goes on.
#[derive(Debug)]
pub(crate) struct Running {
    pub(crate) child: Child,
    /// The lines of its stdout so far.
    pub(crate) lines: Arc<Mutex<String>>,
    stdout: JoinHandle<()>,
    stderr: JoinHandle<String>,
}

/// The model, for as long as a scenario needs it.
#[derive(Debug)]
pub(crate) struct Model(Server);

impl Model {
    pub(crate) fn url(&self) -> String {
        self.0.url()
    }

    /// What the agent asked the model in the turn, its asides left out.
    pub(crate) fn asked(&self) -> Vec<Request> {
        self.0.requests().into_iter().filter(|request| request.is_inference && !request.is_aside).collect()
    }

    /// Whether this stands in the last thing that the agent asked.
    pub(crate) fn was_told(&self, words: &str) -> bool {
        let mut all = vec![];
        if let Some(request) = self.asked().last() {
            texts(&request.body, &mut all);
        }
        all.iter().any(|text| text.contains(words))
    }
}

/// All texts of a JSON value.
fn texts(value: &serde_json::Value, into: &mut Vec<String>) {
    match value {
        serde_json::Value::String(text) => into.push(text.clone()),
        serde_json::Value::Array(items) => items.iter().for_each(|item| texts(item, into)),
        serde_json::Value::Object(fields) => fields.values().for_each(|field| texts(field, into)),
        _ => {}
    }
}

impl<'a> Stage<'a> {
    pub(crate) fn new(
        agent: &'a Agent,
        name: &str,
        handle: &'a Handle,
        drift: &'a Mutex<BTreeMap<String, u64>>,
    ) -> Result<Stage<'a>, String> {
        let folder = agent.work.join("scenarios").join(name.replace(|sign: char| !sign.is_alphanumeric(), "-"));
        let workspace = folder.join("workspace");
        for folder in [&workspace, &folder.join("tmp")] {
            fs::create_dir_all(folder).map_err(|why| format!("{} cannot be made: {why}", folder.display()))?;
        }
        let stage = Stage { agent, folder, workspace, handle, drift };
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../plugins").join(agent.id()).join("grants.toml");
        stage.write("config.toml", &agent.config(fs::read_to_string(root).ok().as_deref()))?;
        Ok(stage)
    }

    /// A model that follows these steps.
    pub(crate) fn model(&self, steps: Vec<Step>) -> Result<Model, String> {
        let scenario = Scenario { steps, ..Scenario::default() };
        let record = self.folder.join("requests.jsonl");
        let server = self.handle.block_on(Server::start(scenario, Some(&record)));
        server.map(Model).map_err(|why| format!("the mock model cannot be started: {why}"))
    }

    /// A file beside the workspace.
    pub(crate) fn write(&self, name: &str, content: &str) -> Result<String, String> {
        let path = self.folder.join(name);
        fs::write(&path, content).map_err(|why| format!("{} cannot be written: {why}", path.display()))?;
        Ok(path.to_string_lossy().into_owned())
    }

    /// `wharf` with these words, in the clean environment.
    pub(crate) fn wharf(&self, url: &str, login: Login) -> Command {
        let mut command = Command::new(&self.agent.wharf);
        command.env_clear().envs(self.agent.environment(&self.folder, url, login));
        command.current_dir(&self.workspace).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Let the agent and the adapter make what they keep for later starts.
    pub(crate) fn warm_up(&self) -> Result<(), String> {
        let output = self.wharf("http://127.0.0.1:9", Login::None).args(["doctor", self.agent.id()]).output();
        output.map(|_| ()).map_err(|why| format!("{} cannot be started: {why}", self.agent.wharf.display()))
    }

    /// What every `wharf run` of the suite begins with.
    pub(crate) fn words(&self) -> Vec<String> {
        let words = ["run", "--json", "--limit-total", LIMIT, "--adapter"].map(str::to_owned);
        words.into_iter().chain([self.agent.adapter()]).collect()
    }

    /// Run a turn to its end.
    pub(crate) fn run(&self, model: &Model, words: &[&str]) -> Result<Ran, String> {
        self.run_at(&model.url(), Login::Key, words)
    }

    /// Run a turn to its end, with the model there and this login.
    pub(crate) fn run_at(&self, url: &str, login: Login, words: &[&str]) -> Result<Ran, String> {
        self.start(url, login, words).and_then(|running| self.end(running, url))
    }

    /// Start a turn.
    pub(crate) fn start(&self, url: &str, login: Login, words: &[&str]) -> Result<Running, String> {
        let mut command = self.wharf(url, login);
        command.args(self.words()).args(words);
        if words.contains(&"--messages") {
            command.stdin(Stdio::piped());
        }
        let mut child =
            command.spawn().map_err(|why| format!("{} cannot be started: {why}", self.agent.wharf.display()))?;
        let stdout = child.stdout.take().expect("stdout is piped");
        let mut stderr = child.stderr.take().expect("stderr is piped");
        let lines = Arc::new(Mutex::new(String::new()));
        let into = Arc::clone(&lines);
        let stdout = std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                let mut into = into.lock().expect("nobody panics with it");
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

    /// Wait for the end of a turn, and check that its recording gives the same events again.
    pub(crate) fn end(&self, mut running: Running, url: &str) -> Result<Ran, String> {
        let status = running.child.wait().map_err(|why| format!("wharf cannot be waited for: {why}"))?;
        running.stdout.join().map_err(|_| "the reader of stdout panicked")?;
        let stderr = running.stderr.join().map_err(|_| "the reader of stderr panicked")?;
        let lines = running.lines.lock().expect("nobody panics with it");
        let ran = Ran::new(&lines, stderr, status.code());
        if let Some(unknown) = ran.report["drift"]["unknown"].as_object() {
            let mut drift = self.drift.lock().expect("nobody panics with it");
            for (native, count) in unknown {
                *drift.entry(native.clone()).or_default() += count.as_u64().unwrap_or(1);
            }
        }
        ran.expect(
            ran.report["drift"]["malformed"].as_u64().unwrap_or(0) == 0,
            "the adapter met frames it cannot read",
        )?;
        self.replay(&ran, url)?;
        Ok(ran)
    }

    fn replay(&self, ran: &Ran, url: &str) -> Result<(), String> {
        // A turn that was never started has no recording.
        let Some(run) = ran.report["run"].as_str() else { return Ok(()) };
        let mut command = self.wharf(url, Login::Key);
        command.args(["replay", run, "--diff"]);
        if self.agent.adapter() != self.agent.id() {
            command.args(["--adapter", &self.agent.adapter()]);
        }
        let output = command.output().map_err(|why| format!("wharf replay cannot be started: {why}"))?;
        if output.status.success() {
            return Ok(());
        }
        let said: String = String::from_utf8_lossy(&output.stdout).chars().take(700).collect();
        Err(format!("its recording replays to other events: {said} {}", String::from_utf8_lossy(&output.stderr)))
    }
}

impl Running {
    /// Say something more to the agent.
    pub(crate) fn say(&mut self, text: &str) -> Result<(), String> {
        self.write(&serde_json::json!({ "type": "message", "text": text }))
    }

    /// One of the lines that `--messages --json` takes.
    pub(crate) fn write(&mut self, line: &serde_json::Value) -> Result<(), String> {
        let stdin = self.child.stdin.as_mut().ok_or("its stdin is not piped")?;
        writeln!(stdin, "{line}").map_err(|why| format!("nobody reads the message: {why}"))
    }

    /// Wait until the agent has said this.
    pub(crate) fn wait_for_event(&self, kind: &str) -> Result<(), String> {
        let look = || self.has_said(kind).then_some(());
        crate::process::wait_for(&format!("an event `{kind}`"), std::time::Duration::from_mins(1), look)
    }

    /// Whether the agent has said this.
    pub(crate) fn has_said(&self, kind: &str) -> bool {
        let is_it = |line: &str| {
            serde_json::from_str::<serde_json::Value>(line).is_ok_and(|event| text(&event["type"]) == kind)
        };
        self.lines.lock().expect("nobody panics with it").lines().any(is_it)
    }
}
