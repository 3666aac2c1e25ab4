//! The host: what an orchestrator holds. It finds adapters, asks them about their runtimes, and starts turns.

use crate::adapter::Adapter;
use crate::ask::AskRules;
use crate::bindings::types;
use crate::catalog::{self, Entry};
use crate::config::{Config, seconds};
use crate::conversation::{Conversation, Opening};
use crate::driver::{Clocks, Driver};
use crate::engine::{Engine, Limits};
use crate::environment::Environment;
use crate::error::{Error, ErrorKind, Result};
use crate::event::{ErrorClass, Failure, Report, Retry, Usage};
use crate::frame::DEFAULT_FRAME_LIMIT;
use crate::grants::Policy;
use crate::http::HttpClient;
use crate::info::{Binary, ModelList};
use crate::instance::Instance;
use crate::journal::Journal;
use crate::keep::Keeper;
use crate::places::Places;
use crate::prepare::{Plan, plan, refused};
use crate::recording::Kind;
use crate::redact::Secrets;
use crate::replay::{self, AdapterRecord, Capture, LaunchRecord, Replayed};
use crate::resolved::{Remembered, Resolved};
use crate::run::{self, Loop, Run};
use crate::services::Services;
use crate::sessions::Sessions;
use crate::turn::{SessionChoice, Turn};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use wharf_supervisor::{Order, Process, Reaped, SpawnError, SpawnErrorKind};

/// How long what an agent left behind may take to end by itself, before it is killed.
const SWEPT_AFTER: Duration = Duration::from_millis(200);

/// Runs agents through adapters. Cheap to clone; one a process is enough for any number of runs.
///
/// ```no_run
/// # async fn example() -> wharf::Result<()> {
/// let host = wharf::Host::of_user()?;
/// let adapter = host.adapter("echo").await?;
/// let mut run = host.start(&adapter, wharf::Turn::new("Say hello"), wharf::RunOptions::default()).await?;
/// while let Some(event) = run.next().await {
///     if let wharf::Event::Report(report) = event {
///         assert_eq!(report.outcome, wharf::Outcome::Completed);
///     }
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Host(Arc<Inner>);

#[derive(Clone)]
struct Inner {
    engine: Engine,
    places: Places,
    config: Config,
    environment: Environment,
    http: HttpClient,
    /// Opened once for all runs.
    sessions: Arc<Mutex<Option<Arc<Sessions>>>>,
}

/// How one run differs from what the configuration says.
#[derive(Debug, Clone, Default)]
pub struct RunOptions {
    /// The clocks, instead of the configured ones.
    pub clocks: Option<Clocks>,
    /// What is answered without asking a person.
    pub rules: AskRules,
    /// Do not record this run.
    pub unrecorded: bool,
    /// Pass events on as lines of JSON only: for those who hand them on as they are. [`Run::next_batch`] gives them;
    /// the only event beside them is the report.
    pub lines_only: bool,
    /// The longest frame, instead of the configured one.
    pub frame_limit: Option<usize>,
    /// Keep the agent's process when its turn has ended, for [`Run::next_turn`], until [`Run::no_next_turn`]. Only where
    /// its stdin stays open, as with [`Turn::messages`].
    pub stays: bool,
}

/// What would be started, without starting it.
#[derive(Debug, Clone)]
pub struct Explanation {
    /// The runtime, as it was found.
    pub binary: Binary,
    /// The turn with everything filled in.
    pub turn: Turn,
    /// What would be started, and how.
    pub plan: Plan,
    /// The names of the variables that the agent would get.
    pub environment: Vec<String>,
}

impl Host {
    /// The host of this user: their configuration, the project's in the current folder, their data.
    pub fn of_user() -> Result<Host> {
        let places = Places::of_user();
        let here = std::env::current_dir().unwrap_or_default();
        let config = Config::load(&places.config, &here)?;
        Host::new(places, config)
    }

    /// A host with this configuration, which keeps its files in these places.
    pub fn new(places: Places, config: Config) -> Result<Host> {
        let environment = Environment::of_process(&config.environment);
        let engine = Engine::new(Some(&places.cache.join("compiled")), Limits::default())?;
        Ok(Host(Arc::new(Inner {
            engine,
            places,
            config,
            environment,
            http: HttpClient::default(),
            sessions: Arc::default(),
        })))
    }

    /// The same host, where an adapter's program is this one instead of what the adapter would find.
    #[must_use]
    pub fn with_program(&self, adapter: &Adapter, program: PathBuf) -> Host {
        let mut inner = Inner::clone(&self.0);
        inner.config.programs.insert(adapter.info().id.clone(), program);
        Host(Arc::new(inner))
    }

    /// The configuration.
    pub fn config(&self) -> &Config {
        &self.0.config
    }

    /// Where files are kept.
    pub fn places(&self) -> &Places {
        &self.0.places
    }

    /// The adapters that can be had by id.
    pub fn adapters(&self) -> Result<Vec<Entry>> {
        catalog::entries(&self.0.places.adapters, &self.0.config)
    }

    /// Load an adapter by its id, or by the path of its component.
    pub async fn adapter(&self, name: &str) -> Result<Adapter> {
        catalog::load(&self.0.engine, &self.0.places.adapters, &self.0.config, name).await
    }

    /// What an adapter asks for, and what is granted to it.
    pub fn policy(&self, adapter: &Adapter) -> Result<Policy> {
        let named = self.0.config.programs.get(&adapter.info().id);
        Ok(Policy {
            needs: adapter.info().needs.clone(),
            grants: catalog::grants(adapter, &self.0.config)?,
            named_program: named.map(|path| path.to_string_lossy().into_owned()),
            home: self.0.environment.home(),
        })
    }

    fn services(&self, policy: &Policy) -> Services {
        Services::new(policy.clone(), self.0.environment.clone(), self.0.http.clone())
    }

    /// Find an adapter's runtime, asking it anew. A failure is the runtime's, an error is ours or the adapter's.
    pub async fn resolve(&self, adapter: &Adapter) -> Result<Result<Binary, Failure>> {
        let policy = self.policy(adapter)?;
        let mut instance = Instance::start(adapter, Some(self.services(&policy))).await?;
        let around = types::Surroundings {
            program: policy.named_program.clone(),
            os: std::env::consts::OS.to_owned(),
            arch: std::env::consts::ARCH.to_owned(),
            home: self.0.environment.home(),
        };
        let found = instance.resolve_binary(&around).await?;
        if let Ok(binary) = &found {
            policy
                .run_program(&binary.program, |name| self.0.environment.program_path(name))
                .map_err(|denial| Error::adapter(format!("the adapter {} found {denial}", adapter.info().id)))?;
        }
        Ok(found)
    }

    /// Find an adapter's runtime; what was found a short while ago counts, where the program is still the same.
    async fn resolve_cached(&self, adapter: &Adapter) -> Result<Resolved> {
        let policy = self.policy(adapter)?;
        let variables = self.0.environment.granted_values(&policy);
        let remembered = Remembered::open(&self.0.places.cache, adapter, &policy, &variables);
        if let Some(resolved) = remembered.recall() {
            return Ok(resolved);
        }
        let binary = self.resolve(adapter).await?.map_err(|failure| {
            let error = refused(&adapter.info().id, "find its program", &failure);
            let hint = &adapter.info().install_hint;
            if error.to_do().is_none() && !hint.is_empty() { error.hint(hint.clone()) } else { error }
        })?;
        Ok(remembered.keep(binary))
    }

    /// The models that an adapter's runtime offers; a list of a short while ago counts, unless a fresh one is wanted.
    pub async fn models(&self, adapter: &Adapter, fresh: bool) -> Result<ModelList> {
        let policy = self.policy(adapter)?;
        let variables = self.0.environment.granted_values(&policy);
        let remembered = Remembered::open(&self.0.places.cache, adapter, &policy, &variables);
        if let Some(list) = remembered.recall_models().filter(|_| !fresh) {
            return Ok(list);
        }
        let binary = self.resolve_cached(adapter).await.ok().map(|resolved| resolved.binary);
        let mut instance = Instance::start(adapter, Some(self.services(&policy))).await?;
        let list = instance.list_models(binary.as_ref()).await?;
        remembered.keep_models(&list);
        Ok(list)
    }

    /// What a turn would start, without starting it.
    pub async fn explain(&self, adapter: &Adapter, turn: Turn) -> Result<Explanation> {
        let policy = self.policy(adapter)?;
        let (turn, binary, plan, _) = self.prepare(adapter, turn, &policy).await?;
        let mut environment: Vec<String> = self.0.environment.for_agent(&policy).into_keys().collect();
        environment.extend(plan.variables.iter().map(|(name, _)| name.clone()));
        environment.extend([wharf_supervisor::MARKER_RUN.to_owned(), wharf_supervisor::MARKER_HOST.to_owned()]);
        environment.sort();
        environment.dedup();
        Ok(Explanation { binary: binary.binary, turn, plan, environment })
    }

    async fn prepare(
        &self,
        adapter: &Adapter,
        turn: Turn,
        policy: &Policy,
    ) -> Result<(Turn, Resolved, Plan, Instance)> {
        let mut turn = turn;
        for (name, value) in self.0.config.options.get(&adapter.info().id).into_iter().flatten() {
            turn.options.entry(name.clone()).or_insert_with(|| value.clone());
        }
        let turn = turn.complete(&adapter.info().id, &adapter.info().options)?;
        let resolved = self.resolve_cached(adapter).await?;
        if resolved.binary.support == crate::info::Support::Refused {
            let version = resolved.binary.version.as_deref().unwrap_or("of an unknown version");
            let failure = Failure {
                class: ErrorClass::InvalidOption,
                message: format!("{} {version} is known not to work with it", resolved.binary.program),
                code: None,
                http_status: None,
                retry: Retry::AfterUserAction { action: adapter.info().install_hint.clone() },
            };
            return Err(refused(&adapter.info().id, "use its program", &failure));
        }
        let mut instance = Instance::start(adapter, Some(self.services(policy))).await?;
        let plan = plan(adapter, &mut instance, &turn, &resolved.binary, policy, &self.0.environment).await?;
        Ok((turn, resolved, plan, instance))
    }

    /// Start a turn. Bad input, a missing runtime and a faulty adapter are errors here; once the process is up,
    /// everything that happens is told by its events and its report.
    pub async fn start(&self, adapter: &Adapter, turn: Turn, options: RunOptions) -> Result<Run> {
        let policy = self.policy(adapter)?;
        let (turn, resolved, plan, mut instance) = self.prepare(adapter, turn, &policy).await?;
        let record = self.0.config.recording.enabled && !options.unrecorded;
        let mut keeper = Keeper::new(&self.0.places.data, record, &self.0.config.recording)?;
        let sessions = if record { Some(self.sessions()?) } else { None };
        let before = used_before(sessions.as_deref(), &turn.session);

        let folder = launch_folder(&plan, keeper.run())?;
        if let Some(services) = instance.services() {
            services.set_launch_folder(folder.path());
        }
        let mut environment = self.0.environment.for_agent(&policy);
        for (name, value) in &plan.variables {
            environment.insert(name.clone(), OsString::from(value.resolve(folder.path())));
        }
        let secrets = Secrets::new(self.0.environment.granted_values(&policy));
        let args: Vec<String> = plan.args.iter().map(|word| word.resolve(folder.path())).collect();
        let shown_args: Vec<String> = args.iter().map(|arg| secrets.redact(arg).into_owned()).collect();
        let frame_limit = options.frame_limit.or(self.0.config.limits.frame_bytes).unwrap_or(DEFAULT_FRAME_LIMIT);
        let mut journal = Journal::new(keeper.files()?, secrets);
        let launch = LaunchRecord {
            run: keeper.run().to_owned(),
            wharf: env!("CARGO_PKG_VERSION").to_owned(),
            adapter: AdapterRecord::of(adapter),
            binary: resolved.binary.clone(),
            turn: turn.clone(),
            args: shown_args.clone(),
            environment: environment.keys().cloned().collect(),
            framing: plan.framing,
            ends: plan.ends,
            ignored: plan.ignored.clone(),
            frame_limit,
            used_before: before.clone(),
        };
        journal.record_text(Kind::Launch, &serde_json::json!(launch).to_string());

        let order = Order {
            program: PathBuf::from(&plan.program),
            args: args.into_iter().map(OsString::from).collect(),
            workspace: turn.workspace.clone(),
            environment: environment.into_iter().map(|(name, value)| (OsString::from(name), value)).collect(),
            stdin: plan.stdin_open || !plan.stdin.is_empty(),
            run: keeper.run().to_owned(),
            registry: Some(self.registry()),
            cgroup: true,
        };
        let process = Process::spawn(order).await.map_err(|why| not_spawned(&adapter.info().id, &why))?;
        keeper.begin();
        let clocks = options.clocks.unwrap_or_else(|| self.clocks());
        let driver = Driver::new(clocks, options.rules, plan.ends, plan.ignored.clone(), before);
        let driver = driver.with_stdin(plan.stdin_open).staying(options.stays).passing_lines(options.lines_only);
        let opening = Opening {
            adapter: adapter.clone(),
            turn,
            binary: resolved.binary.clone(),
            framing: plan.framing.into(),
            frame_limit,
        };
        let conversation = Conversation::new(opening, instance, driver);
        let work = Loop {
            conversation,
            journal,
            process,
            stdin: plan.stdin,
            stdin_open: plan.stdin_open,
            lines_only: options.lines_only,
            swept_after: SWEPT_AFTER,
        };
        let id = keeper.run().to_owned();
        Ok(run::start(id, work, move |ended| async move {
            // Removed only now that nothing is left to read them.
            drop(folder);
            keeper.finish(ended, &launch, &resolved, sessions.as_deref())
        }))
    }

    /// What is remembered of sessions. The file is made where there is none, and opened again where it was removed.
    pub fn sessions(&self) -> Result<Arc<Sessions>> {
        let path = self.0.places.data.join("sessions.db");
        let mut open = self.0.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        match &*open {
            Some(sessions) if path.exists() => Ok(sessions.clone()),
            _ => Ok(open.insert(Arc::new(Sessions::open(&path)?)).clone()),
        }
    }

    /// The clocks that the configuration sets.
    pub fn clocks(&self) -> Clocks {
        let limits = &self.0.config.limits;
        let usual = Clocks::default();
        Clocks {
            first_output: seconds(limits.first_output).or(usual.first_output),
            idle: seconds(limits.idle).or(usual.idle),
            total: seconds(limits.total).or(usual.total),
            ask: seconds(limits.ask).unwrap_or(usual.ask),
            grace: seconds(limits.grace).unwrap_or(usual.grace),
        }
    }

    fn registry(&self) -> PathBuf {
        self.0.places.data.join("live")
    }

    /// End what is left of runs whose host was killed, and remove the files that they were started with.
    pub fn reap_orphans(&self) -> Vec<Reaped> {
        reap_orphans(&self.0.places)
    }

    /// The folder of the recorded runs.
    pub fn runs_folder(&self) -> PathBuf {
        self.0.places.data.join("runs")
    }

    /// What is remembered of sessions, if anything ever was: looking makes no file.
    pub fn known_sessions(&self) -> Result<Option<Arc<Sessions>>> {
        if self.0.places.data.join("sessions.db").exists() { self.sessions().map(Some) } else { Ok(None) }
    }

    /// Play a recording to an adapter, so many bytes at once.
    pub async fn replay(&self, adapter: &Adapter, recording: &Path, chunk: Option<usize>) -> Result<Replayed> {
        replay::recording(adapter, recording, chunk).await
    }

    /// Play a bare capture to an adapter.
    pub async fn replay_capture(&self, adapter: &Adapter, capture: Capture) -> Result<Replayed> {
        replay::capture(adapter, capture).await
    }
}

/// End what is left of runs whose host was killed, and remove the files that they were started with. For a program that
/// does so before it has a host.
pub fn reap_orphans(places: &Places) -> Vec<Reaped> {
    let reaped = wharf_supervisor::reap_orphans(&places.data.join("live"));
    for run in &reaped {
        remove_launch_folders(&run.run);
    }
    reaped
}

/// Whose fault it is that a process could not be started, and what to do.
fn not_spawned(adapter: &str, why: &SpawnError) -> Error {
    match why.kind() {
        SpawnErrorKind::ArgumentsTooLong => Error::invalid(why.to_string())
            .hint("shorten what goes onto the command line: options, tool rules, folders"),
        SpawnErrorKind::Workspace | SpawnErrorKind::Invalid => Error::invalid(why.to_string()),
        SpawnErrorKind::Registry | SpawnErrorKind::Resources => Error::new(ErrorKind::System, why.to_string()),
        SpawnErrorKind::ProgramNotFound | SpawnErrorKind::NotExecutable | SpawnErrorKind::Other => {
            Error::runtime(why.to_string())
                .hint(format!("`wharf doctor {adapter}` tells whether the agent can be used"))
        }
    }
}

/// What the session had used before, as far as the runtime said.
fn used_before(sessions: Option<&Sessions>, choice: &SessionChoice) -> Usage {
    let (SessionChoice::Resume(id) | SessionChoice::Fork(id)) = choice else { return Usage::default() };
    let entry = sessions.and_then(|sessions| sessions.find(id).ok().flatten());
    entry.and_then(|entry| entry.session_usage).unwrap_or_default()
}

/// A private folder with the launch's files in it.
fn launch_folder(plan: &Plan, run: &str) -> Result<tempfile::TempDir> {
    let folder = tempfile::Builder::new()
        .prefix(&launch_prefix(run))
        .tempdir()
        .map_err(|why| Error::system("making a folder for the agent's files", why))?;
    for (name, content) in &plan.files {
        let path = folder.path().join(name);
        std::fs::write(&path, content).map_err(|why| Error::system(format!("writing {}", path.display()), why))?;
    }
    Ok(folder)
}

/// How the names of a run's private folders begin, by which those of a killed host are found.
fn launch_prefix(run: &str) -> String {
    format!("wharf-{run}-")
}

/// What a killed host could not remove: it may hold prompts and tokens.
fn remove_launch_folders(run: &str) {
    let prefix = launch_prefix(run);
    for entry in std::fs::read_dir(std::env::temp_dir()).into_iter().flatten().flatten() {
        if entry.file_name().to_string_lossy().starts_with(&prefix) {
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}

/// The report of a turn that could not be started, for whoever reads nothing but events.
pub fn not_started(error: &Error) -> Report {
    let class = match error.kind() {
        ErrorKind::Runtime => ErrorClass::NotFound,
        _ => ErrorClass::Protocol,
    };
    let retry = error.to_do().map_or(Retry::Unknown, |action| Retry::AfterUserAction { action: action.to_owned() });
    let failure = Failure { class, message: error.to_string(), code: None, http_status: None, retry };
    let mut driver =
        Driver::new(Clocks::default(), AskRules::default(), crate::driver::Ending::ByItself, vec![], Usage::default());
    driver.facts_mut().not_started = Some(failure);
    driver.report()
}
