//! The folder of a run of the benchmark: agents with what they shall write, the loops, wharf's own places.
//!
//! Nothing of the user's is seen or touched: the environment is a clean one with made-up tokens, which wharf has to
//! look for in all that it passes on, as it would for real ones.

use crate::corpus::{self, Mix, Runtime};
use crate::{Result, failed};
use std::fs::{self, File};
use std::io::BufWriter;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Variables of the agents' environment: made-up tokens, in the form of real ones.
pub(crate) const TOKENS: [(&str, &str); 2] = [
    ("COPILOT_GITHUB_TOKEN", "github_pat_0123456789abcdefghij"),
    ("ANTHROPIC_API_KEY", "sk-ant-api03-0123456789abcdefghij"),
];

/// Programs that are not ours, as files of the stage.
const LOOPS: [(&str, &str); 4] = [
    ("events.js", include_str!("../loops/events.js")),
    ("node.js", include_str!("../loops/node.js")),
    ("sidecar.js", include_str!("../loops/sidecar.js")),
    ("python.py", include_str!("../loops/python.py")),
];

/// Where everything of a benchmark lies.
#[derive(Debug, Clone)]
pub(crate) struct Stage {
    folder: PathBuf,
    /// The wharf that is measured.
    pub(crate) wharf: PathBuf,
    agent: PathBuf,
}

impl Stage {
    /// A fresh one in this folder, with the programs that lie beside this one.
    pub(crate) fn new(folder: &Path) -> Result<Stage> {
        let beside = |name: &str| -> Result<PathBuf> {
            let path = std::env::current_exe()?.with_file_name(name);
            if path.is_file() {
                return Ok(path);
            }
            Err(failed(format!("{} is not there; `cargo xtask bench` builds it", path.display())))
        };
        for part in ["agents", "data", "cache", "work", "home", "loops", "tmp"] {
            remove(&folder.join(part))?;
            fs::create_dir_all(folder.join(part))?;
        }
        let folder = folder.canonicalize()?;
        for (name, text) in LOOPS {
            fs::write(folder.join("loops").join(name), text)?;
        }
        Ok(Stage { folder, wharf: beside("wharf")?, agent: beside("wharf-bench-agent")? })
    }

    /// The stage that another process of ours has set up in this folder.
    pub(crate) fn open(folder: &Path) -> Result<Stage> {
        let beside = |name: &str| std::env::current_exe().map(|path| path.with_file_name(name));
        Ok(Stage { folder: folder.canonicalize()?, wharf: beside("wharf")?, agent: beside("wharf-bench-agent")? })
    }

    /// The folder itself.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// An agent that writes a turn of this size.
    pub(crate) fn agent_of(&self, runtime: Runtime, mix: Mix, size: usize) -> Result<Agent> {
        let agent = self.agent(runtime, &format!("{}-{}-{size}", runtime.id(), mix.name()))?;
        let output = agent.folder().join("output");
        if !output.exists() {
            let mut file = BufWriter::new(File::create(&output)?);
            corpus::write(runtime, mix, size, &mut file)?;
            std::io::Write::flush(&mut file)?;
        }
        Ok(agent)
    }

    /// An agent by this name that writes nothing yet.
    pub(crate) fn agent(&self, runtime: Runtime, name: &str) -> Result<Agent> {
        let folder = self.folder.join("agents").join(name);
        let program = folder.join(runtime.id());
        if !program.exists() {
            fs::create_dir_all(&folder)?;
            fs::copy(&self.agent, &program)?;
            fs::set_permissions(&program, fs::Permissions::from_mode(0o755))?;
            fs::write(folder.join("version"), runtime.version())?;
        }
        Ok(Agent { runtime, program })
    }

    /// A loop's file.
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

    /// This program, for a part that runs in a process of its own.
    pub(crate) fn ourselves(&self, words: &[&str]) -> Result<Command> {
        let mut command = self.command(&std::env::current_exe()?);
        command.args(words);
        Ok(command)
    }

    /// `wharf run --json` around an agent.
    pub(crate) fn wharf_run(&self, agent: &Agent, recorded: bool) -> Command {
        let mut command = self.command(&self.wharf);
        command.args(["run", "--json", "--adapter", agent.runtime.id(), "--approve", "--program"]).arg(&agent.program);
        if !recorded {
            command.arg("--no-record");
        }
        command.arg("hello");
        command
    }

    /// Forget the runs, so that the next one finds the place as the first one did.
    pub(crate) fn forget_runs(&self) -> Result<()> {
        clear(&self.folder.join("data"))
    }

    /// Forget compiled code and what was found of runtimes.
    pub(crate) fn forget_cache(&self) -> Result<()> {
        clear(&self.folder.join("cache"))
    }

    /// Remove what is large.
    pub(crate) fn clean(&self) -> Result<()> {
        ["agents", "data", "tmp"].iter().try_for_each(|part| remove(&self.folder.join(part)))
    }
}

/// An agent of the stage.
#[derive(Debug, Clone)]
pub(crate) struct Agent {
    pub(crate) runtime: Runtime,
    pub(crate) program: PathBuf,
}

impl Agent {
    /// Where the files are that say what it does.
    pub(crate) fn folder(&self) -> &Path {
        self.program.parent().expect("it lies in a folder of its own")
    }

    /// How many bytes it writes.
    pub(crate) fn size(&self) -> Result<u64> {
        Ok(fs::metadata(self.folder().join("output"))?.len())
    }

    /// Remove it and what it would write.
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
        Err(why) if why.kind() != std::io::ErrorKind::NotFound => {
            Err(failed(format!("removing {}: {why}", folder.display())))
        }
        _ => Ok(()),
    }
}
