//! The host: what an orchestrator holds. A facade over the rooms; it does nothing by itself.

use crate::agents::{Agents, InstalledAgent};
use crate::config::{Config, ModelChoice};
use crate::dirs::Dirs;
use crate::error::{Error, ErrorKind, Result};
use crate::guest::{Adapter, AdapterEntry, Catalog, CompileLimits, Engine, Environment, HttpClient, Instance, Limits};
use crate::install::Installer;
use crate::launch::{
    Explained, Launcher, Preflight, RunOptions, environment_for, package_of, remove_launch_folders, usable,
};
use crate::record::{RecordedRun, Runs, remember_torn_runs};
use crate::replay::{self, Capture, Replayed};
use crate::run::Run;
use crate::sessions::{Sessions, UsageGroup, UsageQuery};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::Semaphore;
use wharf_core::model::{Binary, Diagnosis, Event, EventKind, Failure, ModelList, Plan, Retry, Turn};
use wharf_core::policy::Grants;
use wharf_supervisor::ReapedRun;

/// Runs agents through adapters. Cheap to clone; one a process is enough for any number of runs.
///
/// ```no_run
/// # async fn example() -> wharf::Result<()> {
/// use wharf::event::{EventKind, Outcome};
///
/// let host = wharf::Host::from_env()?;
/// let adapter = host.adapter("echo").await?;
/// let mut run = host.start(&adapter, wharf::Turn::new("Say hello"), wharf::RunOptions::default()).await?;
/// while let Some(event) = run.next().await {
///     if let EventKind::Report(report) = event.kind {
///         assert_eq!(report.outcome, Outcome::Completed);
///     }
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Host(Arc<Inner>);

struct Inner {
    launcher: Launcher,
    /// Opened once for all runs.
    sessions: Arc<Mutex<Option<Arc<Sessions>>>>,
}

/// What would be started, without starting it.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Explanation {
    /// The agent, as it was found before, or without starting it; none if that is not possible.
    pub binary: Option<Binary>,
    /// The turn with everything filled in.
    pub turn: Turn,
    /// What would be started, and how; none if the agent is not known.
    pub plan: Option<Plan>,
    /// What the adapter would do first to find its agent: `run: claude --version`. It was not done, so the version and
    /// what depends on it may be missing.
    pub probes: Vec<String>,
    /// Why the agent or the plan is not known without these probes.
    pub unknown: Option<String>,
    /// The names of the variables that the agent would get.
    pub environment: Vec<String>,
    /// What a person should know about the settings: a model that may be another agent's.
    pub notices: Vec<String>,
}

impl Host {
    /// The host of this user: their configuration, the project's in the current folder, their data.
    pub fn from_env() -> Result<Host> {
        let dirs = Dirs::from_env()?;
        let current = std::env::current_dir().unwrap_or_default();
        let config = Config::load(&dirs.config, &current)?;
        Host::new(dirs, config)
    }

    /// A host with this configuration, which keeps its files in these folders.
    pub fn new(dirs: Dirs, config: Config) -> Result<Host> {
        let passed = config.environment.iter().map(|passed| (passed.name.clone(), passed.secrecy()));
        let environment = Environment::of_process(passed.collect());
        let mut compile = CompileLimits::default();
        compile.seconds = config.limits.compile_seconds.unwrap_or(compile.seconds);
        compile.bytes = config.limits.compile_bytes.unwrap_or(compile.bytes);
        let limits = Limits { compile, ..Limits::default() };
        let engine = Engine::new(Some(&dirs.cache.join("compiled")), limits)?;
        if config.limits.runs == Some(0) {
            return Err(Error::new(ErrorKind::Config, "the limit of live runs is 0: no run could start")
                .with_hint("set `limits.runs` to at least 1, or leave it out"));
        }
        let live = config.limits.runs.unwrap_or(Semaphore::MAX_PERMITS).min(Semaphore::MAX_PERMITS);
        let live = Arc::new(Semaphore::new(live));
        let launcher = Launcher { engine, dirs, config, environment, http: HttpClient::default(), live };
        Ok(Host(Arc::new(Inner { launcher, sessions: Arc::default() })))
    }

    /// The same host, but an adapter's program is this one instead of what the adapter would find. The limit of live
    /// runs counts for both together.
    #[must_use]
    pub fn with_program(&self, adapter: &Adapter, program: PathBuf) -> Host {
        let Launcher { engine, dirs, config, environment, http, live } = &self.0.launcher;
        let mut config = config.clone();
        if let Some(key) = adapter.config_keys().first() {
            config.programs.insert(key.clone(), program);
        }
        let launcher = Launcher {
            engine: engine.clone(),
            dirs: dirs.clone(),
            config,
            environment: environment.clone(),
            http: http.clone(),
            live: live.clone(),
        };
        Host(Arc::new(Inner { launcher, sessions: self.0.sessions.clone() }))
    }

    /// The same host, but an adapter's agent is this version of it, which was installed by [`Host::install_agent`].
    pub fn with_agent_version(&self, adapter: &Adapter, version: &str) -> Result<Host> {
        let package = package_of(adapter)
            .ok_or_else(|| Error::invalid(format!("wharf installs no agent of the adapter {}", adapter.name())))?;
        let agent = package.agent;
        let installed = self.agents().find(agent, version)?.ok_or_else(|| {
            Error::agent(format!("{agent} {version} is chosen, and is not installed"))
                .with_hint(format!("`wharf agent install {agent}@{version}`"))
        })?;
        Ok(self.with_program(adapter, installed.program))
    }

    /// The configuration in use.
    pub fn config(&self) -> &Config {
        &self.0.launcher.config
    }

    /// The folders in use.
    pub fn dirs(&self) -> &Dirs {
        &self.0.launcher.dirs
    }

    /// The adapters that can be loaded by id, and the agents of other names that they run.
    pub fn adapters(&self) -> Result<Vec<AdapterEntry>> {
        self.catalog(&self.agents()).entries()
    }

    /// Loads an adapter by its id, by the name of an agent (`[agents.NAME]`), or by the path of its component.
    pub async fn adapter(&self, name: &str) -> Result<Adapter> {
        self.catalog(&self.agents()).load(&self.0.launcher.engine, name).await
    }

    fn catalog<'a>(&'a self, agents: &'a Agents) -> Catalog<'a> {
        Catalog { folder: &self.dirs().adapters, config: self.config(), agents }
    }

    /// The agents that were installed by [`Host::install_agent`].
    pub fn agents(&self) -> Agents {
        self.0.launcher.agents()
    }

    /// Installs an agent from npm or PyPI into a folder of this host: this version, or the one that the registry
    /// recommends. Nothing global is touched. `progress` is called with a line about each step. Dropping the future ends
    /// the installation, and leaves nothing.
    pub async fn install_agent(
        &self,
        agent: &str,
        version: Option<&str>,
        progress: &(dyn Fn(&str) + Send + Sync),
    ) -> Result<InstalledAgent> {
        let installer = Installer {
            agents: self.agents(),
            cache: self.dirs().cache.join("packages"),
            live_runs: self.dirs().live_runs(),
            environment: self.0.launcher.environment.clone(),
            progress,
        };
        installer.install(agent, version).await
    }

    /// The installed versions of an adapter's agent, the newest first.
    pub fn installed(&self, adapter: &Adapter) -> Result<Vec<InstalledAgent>> {
        package_of(adapter).map_or(Ok(vec![]), |package| self.agents().versions(package.agent))
    }

    /// What a model's name or a shorthand (`[models]`) means for an adapter's agent.
    pub fn model(&self, adapter: &Adapter, name: &str) -> ModelChoice {
        self.config().models.choose(name, adapter.config_keys())
    }

    /// What an adapter requests, and what is granted to it.
    pub fn grants(&self, adapter: &Adapter) -> Result<Grants> {
        let launcher = &self.0.launcher;
        launcher.grants(adapter, &launcher.environment_of(adapter)?)
    }

    /// Checks an adapter's agent, without using what was found before: whether turns can work, and if not, why and what
    /// to do. An error means that the adapter failed, or that it took longer than the preflight may.
    pub async fn diagnose(&self, adapter: &Adapter, preflight: &Preflight) -> Result<Diagnosis> {
        let launcher = &self.0.launcher;
        let environment = launcher.environment_of(adapter)?;
        let grants = launcher.grants(adapter, &environment)?;
        launcher.preflight(adapter, &grants, &environment, preflight).await
    }

    /// The agent that [`Host::diagnose`] finds. An [`ErrorKind::Agent`] error means that it is missing or cannot be used.
    pub async fn resolve(&self, adapter: &Adapter) -> Result<Binary> {
        usable(&adapter.info().id, self.diagnose(adapter, &Preflight::default()).await?)
    }

    /// The models that an adapter's agent offers. A recent list is used, unless a fresh one is requested.
    pub async fn models(&self, adapter: &Adapter, fresh: bool) -> Result<ModelList> {
        let launcher = &self.0.launcher;
        let environment = &launcher.environment_of(adapter)?;
        let grants = launcher.grants(adapter, environment)?;
        let remembered = launcher.remembered(adapter, &grants, environment);
        if let Some(list) = remembered.recall_models().filter(|_| !fresh) {
            return Ok(list);
        }
        let binary = launcher.resolve(adapter, &grants, environment).await.ok().map(|resolved| resolved.binary);
        let imports = launcher.imports(&grants, environment);
        let mut instance = Instance::start(adapter.component(), Some(imports)).await?;
        let list = instance.list_models(binary.as_ref()).await?;
        remembered.keep_models(&list);
        Ok(list)
    }

    /// What a turn would start. Nothing is started: not the agent, and none of the adapter's probes.
    pub async fn explain(&self, adapter: &Adapter, turn: Turn, options: &RunOptions) -> Result<Explanation> {
        let launcher = &self.0.launcher;
        let environment = environment_for(&launcher.environment_of(adapter)?, adapter, options)?;
        let grants = launcher.grants(adapter, &environment)?;
        let explained = launcher.explain(adapter, turn, &grants, &environment).await?;
        let mut names: Vec<String> = environment.for_agent(&grants).into_keys().collect();
        names.extend(explained.plan.iter().flat_map(|plan| &plan.variables).map(|(name, _)| name.clone()));
        names.extend([wharf_supervisor::MARKER_RUN.to_owned(), wharf_supervisor::MARKER_HOST.to_owned()]);
        names.sort();
        names.dedup();
        let Explained { turn, notices, binary, plan, probes, unknown } = explained;
        Ok(Explanation { binary, turn, plan, probes, unknown, environment: names, notices })
    }

    /// Starts a turn. Invalid input, a missing agent and a faulty adapter are errors here; once the process has
    /// started, everything that happens is reported by its events.
    pub async fn start(&self, adapter: &Adapter, turn: Turn, options: RunOptions) -> Result<Run> {
        let record = self.config().recording.enabled && !options.unrecorded;
        let sessions = if record { Some(self.sessions()?) } else { None };
        self.0.launcher.start(adapter, turn, options, sessions).await
    }

    /// The remembered sessions. The file is created if it is missing, and opened again if it was removed.
    pub fn sessions(&self) -> Result<Arc<Sessions>> {
        let path = self.dirs().sessions();
        let mut open = self.0.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        match &*open {
            Some(sessions) if path.exists() => Ok(sessions.clone()),
            _ => Ok(open.insert(Arc::new(Sessions::open(&path)?)).clone()),
        }
    }

    /// The remembered sessions if there are any: unlike [`Host::sessions`] it never creates the file.
    pub fn known_sessions(&self) -> Result<Option<Arc<Sessions>>> {
        if self.dirs().sessions().exists() { self.sessions().map(Some) } else { Ok(None) }
    }

    /// The recorded runs.
    pub fn runs(&self) -> Runs {
        Runs::new(self.dirs().runs())
    }

    /// What the recorded runs have used, also those whose recordings were deleted since. Costs that are unknown are
    /// estimated by the configured prices, or by list prices.
    pub fn usage(&self, query: &UsageQuery) -> Result<Vec<UsageGroup>> {
        let mut query = query.clone();
        for (model, price) in &self.config().prices.with_list_prices().0 {
            query.prices.0.entry(model.clone()).or_insert(*price);
        }
        self.known_sessions()?.map_or(Ok(vec![]), |sessions| sessions.usage(&query))
    }

    /// Plays a recorded run to an adapter, so many bytes at once.
    pub async fn replay(&self, adapter: &Adapter, run: &RecordedRun, chunk: Option<usize>) -> Result<Replayed> {
        replay::recording(adapter, &run.recording_path(), chunk).await
    }

    /// Plays the file of a recording to an adapter, so many bytes at once.
    pub async fn replay_file(&self, adapter: &Adapter, path: &Path, chunk: Option<usize>) -> Result<Replayed> {
        replay::recording(adapter, path, chunk).await
    }

    /// Plays captured output to an adapter.
    pub async fn replay_capture(&self, adapter: &Adapter, capture: Capture) -> Result<Replayed> {
        replay::capture(adapter, capture).await
    }

    /// Kills what is left of runs whose host was killed, removes their launch files, and remembers their sessions.
    pub fn reap_orphans(&self) -> Vec<ReapedRun> {
        reap_orphans(self.dirs())
    }
}

/// Kills what is left of runs whose host was killed, removes their launch files, and remembers their sessions. For a program that does so before
/// it has a host.
pub fn reap_orphans(dirs: &Dirs) -> Vec<ReapedRun> {
    let reaped = wharf_supervisor::reap_orphans(&dirs.live_runs());
    for run in &reaped {
        remove_launch_folders(&run.run);
    }
    remember_torn_runs(&dirs.runs(), &dirs.sessions());
    reaped
}

/// The only event of a turn that could not be started, for a program that reads nothing but events.
pub fn not_started(error: &Error) -> Event {
    let mut failure = Failure::new(error.class(), error.to_string());
    failure.retry = match (error.kind(), error.hint()) {
        // The other run will end.
        (ErrorKind::Busy, _) => Retry::SameSession,
        (_, Some(action)) => Retry::AfterUserAction { action: action.to_owned() },
        (ErrorKind::InvalidInput | ErrorKind::Config, None) => Retry::Never,
        _ => Retry::Unknown,
    };
    let report = wharf_core::turn::outcome::not_started(failure);
    Event { seq: 1, at: Duration::ZERO, kind: EventKind::Report(Box::new(report)) }
}
