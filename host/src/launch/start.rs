//! Starts a run: everything between a caller's turn and a live process.

use super::attachments;
use super::environment::{check_home, create_state_dir, environment_for};
use super::files::launch_folder;
use super::options::{RunOptions, WhenBusy};
use super::plan::{choose_transports, plan};
use super::program::{Chosen, Programs};
use super::resolve::{Remembered, Resolved};
use super::session::SessionUse;
use crate::agents::Agents;
use crate::config::Config;
use crate::dirs::Dirs;
use crate::error::{Error, ErrorKind, Result};
use crate::guest::{self, Adapter, Engine, Environment, HttpClient, Imports, Instance, Variable};
use crate::record::{Journal, Kind, LaunchRecord, RunRecord, Runs};
use crate::run::{self, Exchange, ModelNames, Parts, Run, RunClock, TurnContext};
use crate::sessions::Sessions;
use std::ffi::OsString;
use std::sync::Arc;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use wharf_core::model::{AgentId, Labels, Plan, RunStarted, SessionChoice, Turn, Usage};
use wharf_core::policy::Grants;
use wharf_core::stream::Secrets;
use wharf_core::stream::frame::DEFAULT_FRAME_LIMIT;
use wharf_core::turn::{Driver, DriverConfig};
use wharf_supervisor::{Process, SpawnError, SpawnErrorKind, SpawnSpec};

/// A turn that is ready to be started.
pub(crate) struct Prepared {
    pub(crate) turn: Turn,
    pub(crate) resolved: Resolved,
    pub(crate) plan: Plan,
    /// What is doubtful about its models.
    notices: Vec<String>,
    instance: Instance,
}

/// Starts runs: everything of a host that they share.
pub(crate) struct Launcher {
    pub(crate) engine: Engine,
    pub(crate) dirs: Dirs,
    pub(crate) config: Config,
    pub(crate) environment: Environment,
    pub(crate) http: HttpClient,
    /// One permit for each run that may be live.
    pub(crate) live: Arc<Semaphore>,
}

impl Launcher {
    /// What an adapter requests and what is granted to it.
    pub(crate) fn grants(&self, adapter: &Adapter, environment: &Environment) -> Result<Grants> {
        let named_program = self.chosen(adapter, environment)?.program;
        Ok(Grants {
            requested: adapter.info().access.clone(),
            granted: guest::grants(adapter, &self.config)?,
            named_program,
            home: environment.home(),
        })
    }

    /// The program of an adapter's agent, if something decides it.
    pub(crate) fn chosen(&self, adapter: &Adapter, environment: &Environment) -> Result<Chosen> {
        Programs { config: &self.config, agents: &self.agents(), environment }.choose(adapter)
    }

    /// The agents that were installed.
    pub(crate) fn agents(&self) -> Agents {
        Agents::new(self.dirs.agents())
    }

    /// The environment of an adapter's agent: the host's, with what the configuration passes to this agent, and where an
    /// installed one finds what it needs.
    pub(crate) fn environment_of(&self, adapter: &Adapter) -> Result<Environment> {
        let base = &self.environment;
        let settings = adapter.config_keys().first().and_then(|key| self.config.agents.get(key));
        let passed = settings.into_iter().flat_map(|settings| &settings.environment);
        let environment = base.passing(passed.map(|passed| (passed.name.clone(), passed.secrecy())));
        let programs = Programs { config: &self.config, agents: &self.agents(), environment: base };
        let companion = programs.companion(adapter)?.filter(|(name, _)| base.get(name).is_none());
        Ok(environment.with(companion.into_iter().map(|(name, path)| (name, Variable::plain(path))).collect()))
    }

    pub(crate) fn imports(&self, grants: &Grants, environment: &Environment) -> Imports {
        Imports::new(grants.clone(), environment.clone(), self.http.clone()).with_live_runs(self.dirs.live_runs())
    }

    pub(crate) fn remembered(&self, adapter: &Adapter, grants: &Grants, environment: &Environment) -> Remembered {
        Remembered::open(&self.dirs.cache, adapter, grants, environment)
    }

    /// Checks a turn, finds the agent, and lets the adapter build the command line.
    pub(crate) async fn prepare(
        &self,
        adapter: &Adapter,
        turn: Turn,
        grants: &Grants,
        environment: &Environment,
        keep_alive: bool,
    ) -> Result<Prepared> {
        let prepared = self.prepare_unredacted(adapter, turn, grants, environment, keep_alive).await;
        // A probe may print what it got, and an error may quote it.
        prepared.map_err(|error| error.redacted(&environment.secrets(grants)))
    }

    async fn prepare_unredacted(
        &self,
        adapter: &Adapter,
        turn: Turn,
        grants: &Grants,
        environment: &Environment,
        keep_alive: bool,
    ) -> Result<Prepared> {
        let (turn, notices) = self.complete_turn(adapter, turn)?;
        let resolved = self.resolve(adapter, grants, environment).await?;
        let imports = self.imports(grants, environment);
        let mut instance = Instance::start(adapter.component(), Some(imports)).await?;
        let transports = choose_transports(&adapter.info().id, &resolved.binary, &turn, keep_alive)?;
        let plan = plan(adapter, &mut instance, &turn, &resolved.binary, grants, environment, transports[0]).await?;
        Ok(Prepared { turn, resolved, plan, notices, instance })
    }

    /// The turn with the configured options and everything else filled in, and with the agent's own names for its models.
    /// Also what is doubtful about those.
    pub(super) fn complete_turn(&self, adapter: &Adapter, mut turn: Turn) -> Result<(Turn, Vec<String>)> {
        let info = adapter.info();
        let mut notices = Vec::new();
        for model in [&mut turn.model, &mut turn.fallback_model].into_iter().flatten() {
            let choice = self.config.models.choose(model, adapter.config_keys());
            *model = choice.model;
            notices.extend(choice.warning);
        }
        let mut turn = complete_folders(turn)?;
        attachments::complete(&mut turn.attachments)?;
        self.check_extra_args(adapter, &turn)?;
        let configured = adapter.config_keys().iter().filter_map(|key| self.config.options.get(key));
        for (name, value) in configured.flatten() {
            turn.options.entry(name.clone()).or_insert_with(|| value.clone());
        }
        let turn = turn.complete(&info.id, &info.options, || uuid::Uuid::new_v4().to_string())?;
        Ok((turn, notices))
    }

    /// Raw arguments can undo what the other settings of a turn say, so that the user's own file must allow them.
    fn check_extra_args(&self, adapter: &Adapter, turn: &Turn) -> Result<()> {
        let allowed = adapter.config_keys().iter().any(|key| self.config.extra_args.contains(key));
        if turn.extra_args.is_empty() || allowed {
            return Ok(());
        }
        let name = adapter.name();
        Err(Error::new(ErrorKind::Config, format!("extra arguments for the agent of {name} are not granted"))
            .with_hint(format!(
                "add `extra_args = [\"{name}\"]` to your configuration: they can undo other settings of a turn"
            )))
    }

    /// Starts a run.
    pub(crate) async fn start(
        &self,
        adapter: &Adapter,
        turn: Turn,
        options: RunOptions,
        sessions: Option<Arc<Sessions>>,
    ) -> Result<Run> {
        let permit = self.permit(options.when_busy).await?;
        let environment = environment_for(&self.environment_of(adapter)?, adapter, &options)?;
        let grants = self.grants(adapter, &environment)?;
        let secrets = environment.secrets(&grants);
        check_labels(&options.labels, &secrets)?;
        check_home(&options)?;
        create_state_dir(&options)?;
        let prepared = self.prepare(adapter, turn, &grants, &environment, options.keep_alive).await?;
        let started =
            self.launch(adapter, prepared, options, sessions, (environment, grants, secrets.clone()), permit).await;
        started.map_err(|error| error.redacted(&secrets))
    }

    /// Starts the process of a prepared turn, and the loop around it.
    async fn launch(
        &self,
        adapter: &Adapter,
        prepared: Prepared,
        options: RunOptions,
        sessions: Option<Arc<Sessions>>,
        (environment, grants, secrets): (Environment, Grants, Secrets),
        permit: OwnedSemaphorePermit,
    ) -> Result<Run> {
        let Prepared { turn, resolved, plan, notices, mut instance } = prepared;
        let mut record = RunRecord::new(&self.dirs.data, sessions.is_some(), &self.config.recording)?;
        let used_before = used_before(sessions.as_deref(), &adapter.info().id, &turn.session);

        let session = sessions.as_ref().map(|sessions| {
            SessionUse::new(sessions.clone(), Runs::new(self.dirs.runs()), &adapter.info().id, record.run())
        });
        if let Some(session) = &session {
            session.begin(&turn.session, options.session_busy).await?;
        }
        let folder = launch_folder(&plan, record.run())?;
        if let Some(imports) = instance.imports() {
            imports.set_launch_folder(folder.path());
            if sessions.is_some() {
                imports.keep_answers();
            }
        }
        let mut variables = environment.for_agent(&grants);
        for (name, value) in &plan.variables {
            variables.insert(name.clone(), OsString::from(value.resolve(folder.path())));
        }
        let args: Vec<String> = plan.args.iter().map(|arg| arg.resolve(folder.path())).collect();
        let launch = LaunchRecord {
            started: run_started(adapter, &turn, &resolved, &plan, &options, &record),
            wharf: env!("CARGO_PKG_VERSION").to_owned(),
            binary: resolved.binary.clone(),
            turn: turn.clone(),
            args: args.iter().map(|arg| secrets.redact(arg).into_owned()).collect(),
            environment: variables.keys().cloned().collect(),
            framing: plan.framing,
            exit_behavior: plan.exit_behavior,
            frame_limit: options.frame_limit.or(self.config.limits.frame_bytes).unwrap_or(DEFAULT_FRAME_LIMIT),
            used_before,
            prices: self.config.prices.with_list_prices(),
        };
        let clock = RunClock::start();
        let mut journal = Journal::new(record.files()?, secrets.clone());
        let text = serde_json::to_string(&launch).map_err(|error| Error::system("recording the launch", error))?;
        journal.record_text(Kind::Launch, clock.now(), &text);

        let mut spec = SpawnSpec::new(&plan.program, &turn.workspace, record.run());
        spec.args = args.into_iter().map(OsString::from).collect();
        spec.environment = variables.into_iter().map(|(name, value)| (OsString::from(name), value)).collect();
        spec.stdin = plan.stdin_open || !plan.stdin.is_empty();
        spec.registry = Some(self.dirs.live_runs());
        let process = Process::spawn(spec).await.map_err(|error| not_spawned(&adapter.info().id, &error))?;
        record.begin();

        let parts = Parts {
            exchange: self.exchange(adapter, instance, turn, &launch, &plan, options.clone()),
            journal,
            process,
            clock,
            started: Box::new(launch.started.clone()),
            prompt: plan.stdin,
            stdin_open: plan.stdin_open,
            stop_signal: plan.stop_signal,
            lines_only: options.lines_only,
            on_session: Box::new(move |id| session.iter().for_each(|session| session.named(&secrets.redact(id)))),
            model_names: self.model_names(adapter, notices),
        };
        let id = record.run().to_owned();
        Ok(run::start(id, &adapter.info().id, parts, move |ended| {
            // The launch files are removed when nothing can read them any more.
            drop(folder);
            let report = record.finish(ended, &launch, resolved.program_digest, sessions.as_deref());
            drop(permit);
            report
        }))
    }

    fn exchange(
        &self,
        adapter: &Adapter,
        instance: Instance,
        turn: Turn,
        launch: &LaunchRecord,
        plan: &Plan,
        options: RunOptions,
    ) -> Exchange {
        let driver = Driver::new(DriverConfig {
            timeouts: options.timeouts.unwrap_or_else(|| self.config.timeouts.timeouts()).with_stop(plan.stop_ms),
            rules: options.rules,
            exit_behavior: plan.exit_behavior,
            stdin_open: plan.stdin_open,
            keep_alive: options.keep_alive,
            session: turn.session.clone(),
            structured_output: turn.expects_structured_output(&plan.unsupported),
            unsupported: plan.unsupported.clone(),
            no_messages: plan.no_messages.clone(),
            used_before: launch.used_before.clone(),
            prices: launch.prices.clone(),
            timed: true,
            replay: false,
        });
        let context = TurnContext {
            adapter: adapter.clone(),
            turn,
            binary: launch.binary.clone(),
            transport: plan.transport.clone(),
            framing: plan.framing,
            frame_limit: launch.frame_limit,
        };
        Exchange::new(context, instance, driver)
    }

    fn model_names(&self, adapter: &Adapter, notices: Vec<String>) -> ModelNames {
        let (models, keys) = (self.config.models.clone(), adapter.config_keys().to_vec());
        let choose = move |name: &str| {
            let choice = models.choose(name, &keys);
            (choice.model, choice.warning)
        };
        ModelNames { notices, choose: Box::new(choose) }
    }

    async fn permit(&self, when_busy: WhenBusy) -> Result<OwnedSemaphorePermit> {
        let busy = || {
            let limit = self.config.limits.runs.map(|runs| runs.to_string()).unwrap_or_default();
            Error::new(ErrorKind::Busy, format!("the limit of live runs ({limit}) is reached"))
                .with_hint("wait until one ends, or raise `limits.runs` in the configuration")
        };
        match when_busy {
            WhenBusy::Wait => self.live.clone().acquire_owned().await.map_err(|_| busy()),
            WhenBusy::Refuse => self.live.clone().try_acquire_owned().map_err(|_| busy()),
        }
    }
}

/// Labels are for finding runs, in every list and file: a secret in one would be everywhere.
fn check_labels(labels: &Labels, secrets: &Secrets) -> Result<()> {
    let secret = |text: &str| secrets.are_in(text.as_bytes());
    match labels.iter().find(|(name, value)| secret(name) || secret(value)) {
        Some((name, _)) if !secret(name) => {
            Err(Error::invalid(format!("the label `{name}` contains the value of a secret variable"))
                .with_hint("use another value"))
        }
        Some(_) => Err(Error::invalid("a label's name contains the value of a secret variable")),
        None => Ok(()),
    }
}

/// The turn with the absolute paths of its folders: the agent runs in the workspace, and would look for relative ones
/// there.
fn complete_folders(mut turn: Turn) -> Result<Turn> {
    let given = turn.workspace.display().to_string();
    turn.workspace = std::fs::canonicalize(&turn.workspace)
        .map_err(|error| Error::invalid(format!("the workspace {given} cannot be used: {error}")))?;
    if !turn.workspace.is_dir() {
        return Err(Error::invalid(format!("the workspace {given} is not a folder")));
    }
    for folder in &mut turn.extra_dirs {
        let given = folder.display().to_string();
        *folder = std::fs::canonicalize(&*folder)
            .map_err(|error| Error::invalid(format!("the folder {given} cannot be used: {error}")))?;
    }
    Ok(turn)
}

fn run_started(
    adapter: &Adapter,
    turn: &Turn,
    resolved: &Resolved,
    plan: &Plan,
    options: &RunOptions,
    record: &RunRecord,
) -> RunStarted {
    let agent = AgentId {
        program: resolved.binary.program.clone(),
        version: resolved.binary.version.clone(),
        transport: plan.transport.clone(),
    };
    let mut started = RunStarted::new(record.run(), record.started(), adapter.id(), agent);
    started.prompt.clone_from(&turn.prompt);
    started.workspace = turn.workspace.to_string_lossy().into_owned();
    started.labels.clone_from(&options.labels);
    started.settings = turn.settings();
    started.unsupported.clone_from(&plan.unsupported);
    started
}

/// What the session had used before, if the agent reported it.
fn used_before(sessions: Option<&Sessions>, adapter: &str, choice: &SessionChoice) -> Usage {
    let (SessionChoice::Resume(id) | SessionChoice::Fork(id)) = choice else { return Usage::default() };
    let entry = sessions.and_then(|sessions| sessions.find_of(Some(adapter), None, id).ok().flatten());
    entry.and_then(|entry| entry.session_usage).unwrap_or_default()
}

/// Why a process could not be started, and what to do.
fn not_spawned(adapter: &str, error: &SpawnError) -> Error {
    match error.kind() {
        SpawnErrorKind::ArgumentsTooLong => Error::invalid(error.to_string())
            .with_hint("shorten what goes onto the command line: options, tool rules, folders"),
        SpawnErrorKind::Workspace | SpawnErrorKind::Invalid => Error::invalid(error.to_string()),
        SpawnErrorKind::Registry | SpawnErrorKind::Resources => Error::new(ErrorKind::System, error.to_string()),
        _ => Error::agent(error.to_string())
            .with_hint(format!("`wharf doctor {adapter}` shows whether the agent can be used")),
    }
}
