//! The folder that the benchmark runs in: agents with their output, the loops, wharf's own folders.
//!
//! It never reads or changes the user's files. The environment is clean, with made-up tokens that wharf has to redact, as
//! it would real ones.

use crate::corpus::{self, AgentKind, Mix};
use crate::{Result, error};
use std::fs::{self, File};
use std::io::BufWriter;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Variables of the agents' environment: made-up tokens in the format of real ones.
pub(crate) const TOKENS: [(&str, &str); 2] = [
    ("COPILOT_GITHUB_TOKEN", "github_pat_0123456789abcdefghij"),
    ("ANTHROPIC_API_KEY", "sk-ant-api03-0123456789abcdefghij"),
];

/// The loops in other languages.
const LOOPS: [(&str, &str); 4] = [
    ("events.js", include_str!("../loops/events.js")),
    ("node.js", include_str!("../loops/node.js")),
    ("sidecar.js", include_str!("../loops/sidecar.js")),
    ("python.py", include_str!("../loops/python.py")),
];

/// The folder, and the programs that are measured.
#[derive(Debug, Clone)]
pub(crate) struct Stage {
    folder: PathBuf,
    /// The `wharf` that is measured.
    pub(crate) wharf: PathBuf,
    agent: PathBuf,
}

impl Stage {
    /// A new one in this folder, with the programs from the folder of this program.
    pub(crate) fn new(folder: &Path) -> Result<Stage> {
        let sibling = |name: &str| -> Result<PathBuf> {
            let path = std::env::current_exe()?.with_file_name(name);
            if path.is_file() {
                return Ok(path);
            }
            Err(error(format!("{} does not exist; `cargo xtask bench` builds it", path.display())))
        };
        for part in ["agents", "data", "cache", "work", "home", "loops", "tmp"] {
            remove(&folder.join(part))?;
            fs::create_dir_all(folder.join(part))?;
        }
        let folder = folder.canonicalize()?;
        for (name, text) in LOOPS {
            fs::write(folder.join("loops").join(name), text)?;
        }
        Ok(Stage { folder, wharf: sibling("wharf")?, agent: sibling("wharf-bench-agent")? })
    }

    /// The one that another process of the benchmark has set up in this folder.
    pub(crate) fn open(folder: &Path) -> Result<Stage> {
        let sibling = |name: &str| std::env::current_exe().map(|path| path.with_file_name(name));
        Ok(Stage { folder: folder.canonicalize()?, wharf: sibling("wharf")?, agent: sibling("wharf-bench-agent")? })
    }

    /// As an absolute path.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// An agent that writes a turn of this size.
    pub(crate) fn agent_with_turn(&self, kind: AgentKind, mix: Mix, size: usize) -> Result<Agent> {
        let agent = self.agent(kind, &format!("{}-{}-{size}", kind.id(), mix.name()))?;
        let output = agent.folder().join("output");
        if !output.exists() {
            let mut file = BufWriter::new(File::create(&output)?);
            corpus::write(kind, mix, size, &mut file)?;
            std::io::Write::flush(&mut file)?;
        }
        Ok(agent)
    }

    /// An agent in a folder of this name, without output.
    pub(crate) fn agent(&self, kind: AgentKind, name: &str) -> Result<Agent> {
        let folder = self.folder.join("agents").join(name);
        let program = folder.join(kind.id());
        if !program.exists() {
            fs::create_dir_all(&folder)?;
            fs::copy(&self.agent, &program)?;
            fs::set_permissions(&program, fs::Permissions::from_mode(0o755))?;
            fs::write(folder.join("version"), kind.version_output())?;
        }
        Ok(Agent { kind, program })
    }

    /// The file of a loop in another language.
    pub(crate) fn loop_file(&self, name: &str) -> PathBuf {
        self.folder.join("loops").join(name)
    }

    /// A command in the clean environment.
    pub(crate) fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.env_clear().current_dir(self.folder.join("work"));
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default()).envs(TOKENS);
        for (name, part) in [("HOME", "home"), ("TMPDIR", "tmp"), ("WHARF_DATA", "data"), ("WHARF_CACHE", "cache")] {
            command.env(name, self.folder.join(part));
        }
        command.env("WHARF_CONFIG", self.folder.join("no-such-file"));
        command
    }

    /// This program, for a part that runs in a separate process.
    pub(crate) fn this_program(&self, args: &[&str]) -> Result<Command> {
        let mut command = self.command(&std::env::current_exe()?);
        command.args(args);
        Ok(command)
    }

    /// `wharf run --json` with an agent.
    pub(crate) fn wharf_run(&self, agent: &Agent, recorded: bool) -> Command {
        let mut command = self.command(&self.wharf);
        command.args(["run", "--json", "--adapter", agent.kind.id(), "--approve", "--program"]).arg(&agent.program);
        if !recorded {
            command.arg("--no-record");
        }
        command.arg("hello");
        command
    }

    /// Deletes the runs, so that the next run starts like the first one.
    pub(crate) fn delete_runs(&self) -> Result<()> {
        clear(&self.folder.join("data"))
    }

    /// Deletes compiled adapters and the known versions of agents.
    pub(crate) fn delete_cache(&self) -> Result<()> {
        clear(&self.folder.join("cache"))
    }

    /// Deletes the large files.
    pub(crate) fn clean(&self) -> Result<()> {
        ["agents", "data", "tmp"].iter().try_for_each(|part| remove(&self.folder.join(part)))
    }
}

/// An agent's program, in a separate folder.
#[derive(Debug, Clone)]
pub(crate) struct Agent {
    pub(crate) kind: AgentKind,
    pub(crate) program: PathBuf,
}

impl Agent {
    /// Where the files are that control the agent.
    pub(crate) fn folder(&self) -> &Path {
        self.program.parent().expect("every agent is in a folder")
    }

    /// How many bytes the agent writes.
    pub(crate) fn size(&self) -> Result<u64> {
        Ok(fs::metadata(self.folder().join("output"))?.len())
    }

    /// Deletes the program and its output.
    pub(crate) fn remove(&self) -> Result<()> {
        remove(self.folder())
    }
}

fn clear(folder: &Path) -> Result<()> {
    remove(folder)?;
    Ok(fs::create_dir_all(folder)?)
}

fn remove(folder: &Path) -> Result<()> {
    match fs::remove_dir_all(folder) {
        Err(cause) if cause.kind() != std::io::ErrorKind::NotFound => {
            Err(error(format!("deleting {}: {cause}", folder.display())))
        }
        _ => Ok(()),
    }
}
