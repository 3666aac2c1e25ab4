//! What is under test: one version of one agent over one transport, with its files and its environment.

use crate::agent::{Agent, Login, Place, Quirks, numbers};
use crate::args::{Choice, Places, RunArgs};
use crate::install::Install;
use crate::offers::Offers;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock};

/// One version of one agent over one transport.
#[derive(Debug)]
pub(crate) struct Subject {
    pub(crate) agent: &'static dyn Agent,
    pub(crate) version: String,
    pub(crate) transport: &'static str,
    install: Install,
    pub(crate) work: PathBuf,
    cache: PathBuf,
    pub(crate) wharf: PathBuf,
    path: String,
    adapter: Option<PathBuf>,
    /// What its adapter says it can do, once it was asked.
    pub(crate) offers: OnceLock<Result<Offers, String>>,
    /// The native types that the adapter did not know, with their counts.
    pub(crate) drift: Mutex<std::collections::BTreeMap<String, u64>>,
}

impl Subject {
    pub(crate) fn new(choice: Choice, args: &RunArgs) -> Subject {
        Subject {
            wharf: args.wharf.clone(),
            // wharf runs in the workspaces of scenarios.
            adapter: args.adapter.as_deref().map(|path| std::path::absolute(path).unwrap_or_else(|_| path.to_owned())),
            ..Subject::without_wharf(choice, &args.places)
        }
    }

    /// For the agent's own program.
    pub(crate) fn without_wharf(choice: Choice, places: &Places) -> Subject {
        let Choice { agent, version, transport } = choice;
        Subject {
            install: Install::new(&places.folder, agent, &version),
            work: places.work.join(format!("{}-{version}-{transport}", agent.id())),
            cache: places.work.join("cache"),
            wharf: PathBuf::new(),
            path: places.path.clone(),
            adapter: None,
            offers: OnceLock::new(),
            drift: Mutex::default(),
            agent,
            version,
            transport,
        }
    }

    /// Empties the work folder and creates the home.
    pub(crate) fn prepare(&self) -> Result<(), String> {
        let failed = |error: std::io::Error| format!("cannot prepare {}: {error}", self.work.display());
        if self.work.exists() {
            fs::remove_dir_all(&self.work).map_err(failed)?;
        }
        fs::create_dir_all(self.shared_home()).map_err(failed)
    }

    pub(crate) fn shared_home(&self) -> PathBuf {
        self.work.join("home")
    }

    /// Its display name, version and transport.
    pub(crate) fn title(&self) -> String {
        format!("{} {} ({})", self.agent.name(), self.version, self.transport)
    }

    pub(crate) fn is_installed(&self) -> bool {
        self.install.exists()
    }

    /// Whether the host chooses the transport, as for users.
    pub(crate) fn is_best_transport(&self) -> bool {
        self.agent.transports().first() == Some(&self.transport)
    }

    /// The arguments of `wharf run` that choose the transport.
    pub(crate) fn transport_args(&self) -> Vec<String> {
        if self.is_best_transport() {
            return vec![];
        }
        vec!["--transport".to_owned(), self.transport.to_owned()]
    }

    pub(crate) fn quirks(&self) -> Quirks {
        self.agent.quirks(&self.version, self.transport)
    }

    /// The value of `--adapter`.
    pub(crate) fn adapter(&self) -> String {
        self.adapter.as_deref().map_or_else(|| self.agent.id().to_owned(), |path| path.to_string_lossy().into_owned())
    }

    /// Whether a component replaces the bundled adapter.
    pub(crate) fn replaces_adapter(&self) -> bool {
        self.adapter.is_some()
    }

    /// wharf's configuration file: a component that replaces the bundled adapter gets the bundled adapter's grants.
    pub(crate) fn config(&self, at: &Place<'_>) -> String {
        let mut config = self.agent.config(at);
        let grants = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../plugins").join(self.agent.adapter());
        if let (Some(path), Ok(grants)) = (&self.adapter, fs::read_to_string(grants.join("grants.toml"))) {
            let path = fs::canonicalize(path).unwrap_or_else(|_| path.clone());
            let _ = write!(config, "\n[grants.{:?}]\n{grants}", path.to_string_lossy());
        }
        config
    }

    /// Its program, as it is found in PATH.
    pub(crate) fn program(&self) -> PathBuf {
        self.install.program(self.agent.program())
    }

    /// A newer version of this agent that is installed in a folder beside it: its program.
    pub(crate) fn newer_program(&self) -> Option<PathBuf> {
        let prefix = format!("{}-", self.agent.id());
        let folders = fs::read_dir(self.install.folder.parent()?).ok()?.flatten().map(|entry| entry.path());
        let newer = folders.filter(|folder| {
            let name = folder.file_name().unwrap_or_default().to_string_lossy();
            name.strip_prefix(&prefix).is_some_and(|version| numbers(version) > numbers(&self.version))
        });
        newer.map(|folder| Install { folder }.program(self.agent.program())).find(|program| program.exists())
    }

    pub(crate) fn place<'a>(&self, home: &'a Path, url: &'a str, login: Login) -> Place<'a> {
        Place { url, login, home, program: self.program() }
    }

    /// The whole environment of `wharf`. The agent can inherit nothing else.
    pub(crate) fn environment(&self, folder: &Path, at: &Place<'_>) -> Vec<(&'static str, String)> {
        let text = |path: &Path| path.to_string_lossy().into_owned();
        let [bin, modules] = self.install.search_path();
        let path = format!("{}:{}:{}", bin.display(), modules.display(), self.path);
        let mut all = vec![
            ("PATH", path),
            ("HOME", text(at.home)),
            ("USER", "mock".to_owned()),
            ("SHELL", "/bin/bash".to_owned()),
            ("LANG", "C.UTF-8".to_owned()),
            ("TERM", "dumb".to_owned()),
            ("TMPDIR", text(&folder.join("tmp"))),
            ("WHARF_CONFIG", text(&folder.join("config.toml"))),
            ("WHARF_DATA", text(&folder.join("data"))),
            ("WHARF_CACHE", text(&self.cache)),
        ];
        all.extend(self.agent.variables(at));
        all
    }

    /// Writes the files of the agent's home.
    pub(crate) fn write_files(&self, at: &Place<'_>) -> Result<(), String> {
        for (name, content) in self.agent.files(at) {
            let path = at.home.join(name);
            let folder = path.parent().unwrap_or(at.home);
            fs::create_dir_all(folder)
                .and_then(|()| fs::write(&path, content))
                .map_err(|error| format!("cannot write {}: {error}", path.display()))?;
        }
        Ok(())
    }
}
