//! A sandbox for one test: the folders of a user in a temporary folder, and an environment with nothing else in it.

use crate::{Finished, Script, echo_agent, fake_agent, faulty_guest, processes, target_folder};
use serde_json::Value;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;
use wharf::{Config, Dirs, Host, Turn};

/// A sandbox for one test. Its folder has `home`, `data`, `adapters`, `tmp`, `workspace` and `config.toml`.
#[derive(Debug)]
pub struct Sandbox {
    folder: TempDir,
    cache: PathBuf,
    /// Absent in tests of the library.
    binary: Option<PathBuf>,
}

/// Compiled adapters, shared by all tests: otherwise each test would compile them again.
pub fn shared_cache() -> PathBuf {
    target_folder().join("tmp/shared-test-cache")
}

impl Default for Sandbox {
    fn default() -> Sandbox {
        Sandbox::new()
    }
}

impl Sandbox {
    /// A sandbox for a test of the library.
    pub fn new() -> Sandbox {
        let folder = tempfile::Builder::new().prefix("wharf-test-").tempdir().expect("a temporary folder");
        for name in ["home", "data", "adapters", "tmp", "workspace"] {
            fs::create_dir(folder.path().join(name)).expect("a folder");
        }
        Sandbox { folder, cache: shared_cache(), binary: None }
    }

    /// A sandbox for a test of this `wharf` binary.
    pub fn with_binary(binary: impl Into<PathBuf>) -> Sandbox {
        Sandbox { binary: Some(binary.into()), ..Sandbox::new() }
    }

    /// With its own cache, for a test that looks at what is compiled.
    #[must_use]
    pub fn with_own_cache(mut self) -> Sandbox {
        self.cache = self.path("cache");
        self
    }

    /// A path in its folder.
    pub fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The name of its folder, which is on the command line of every process of its agents.
    pub fn tag(&self) -> &str {
        self.folder.path().file_name().and_then(OsStr::to_str).expect("a name in ASCII")
    }

    /// Writes a file in its folder.
    pub fn write(&self, name: impl AsRef<Path>, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, content).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        path
    }

    /// Every file below one of its folders, with the content.
    pub fn files(&self, folder: &str) -> BTreeMap<PathBuf, Vec<u8>> {
        files_in(&self.path(folder))
    }

    /// Installs the adapter that misbehaves, with what it needs.
    pub fn install_faulty(&self) {
        fs::copy(faulty_guest(), self.path("adapters/faulty.wasm")).expect("a copy");
        self.write("config.toml", "[grants.faulty]\nprograms = [\"wharf-fake-agent\"]\n");
    }

    /// The id of the only run in its data folder, recorded or still running.
    #[track_caller]
    pub fn only_run(&self) -> String {
        let names = fs::read_dir(self.path("data/runs")).into_iter().flatten().flatten();
        let names = names.filter(|entry| entry.path().is_dir()).map(|entry| entry.file_name());
        let names: Vec<String> = names.map(|name| name.into_string().expect("ASCII")).collect();
        assert_eq!(names.len(), 1, "{names:?}");
        names[0].clone()
    }
}

/// Commands.
impl Sandbox {
    /// A program in the workspace, with nothing on stdin.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("HOME", self.path("home")).env("TMPDIR", self.path("tmp"));
        command.env("WHARF_DATA", self.path("data")).env("WHARF_CONFIG", self.path("config.toml"));
        command.env("WHARF_ADAPTERS", self.path("adapters")).env("WHARF_CACHE", &self.cache);
        command.current_dir(self.path("workspace")).stdin(Stdio::null());
        command
    }

    /// A command of wharf.
    pub fn wharf<A: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = A>) -> Command {
        let binary = self.binary.as_ref().expect("a test of the binary");
        let mut command = self.command(binary);
        command.args(args);
        command
    }

    /// `wharf run --json` of a script, with more arguments. The prompt is "go", unless `--file` is among them.
    pub fn run_command(&self, script: &Script, more: &[&str]) -> Command {
        let file = self.write("script", script.file(self.tag()));
        let option = format!("script={}", file.display());
        let agent = fake_agent().to_str().expect("UTF-8");
        let mut args = vec!["run", "--json", "--option", &option, "--program", agent];
        if !more.contains(&"--adapter") {
            args.extend(["--adapter", "echo"]);
        }
        args.extend(more);
        if !more.contains(&"--file") {
            args.push("go");
        }
        self.wharf(args)
    }

    /// Runs a command of wharf until it exits.
    pub fn call<A: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = A>) -> Finished {
        Finished::of(&mut self.wharf(args))
    }

    /// The same, for one whose stdout may be any bytes.
    pub fn output(&self, args: &[&str]) -> Output {
        self.wharf(args).output().expect("the program starts")
    }

    /// What a command of wharf prints. It must succeed.
    #[track_caller]
    pub fn text(&self, args: &[&str]) -> String {
        self.call(args).success().stdout
    }

    /// The same as JSON.
    #[track_caller]
    pub fn json(&self, args: &[&str]) -> Value {
        self.call(args).success().json()
    }

    /// Runs a script until wharf exits, and checks the run as [`check_run`](Sandbox::check_run) does.
    #[track_caller]
    pub fn run(&self, script: &Script, more: &[&str]) -> Finished {
        let finished = Finished::of(&mut self.run_command(script, more));
        self.check_run(&finished, script);
        finished
    }
}

/// The library.
impl Sandbox {
    /// The folders of wharf.
    pub fn dirs(&self) -> Dirs {
        let mut dirs = Dirs::below(self.folder.path());
        dirs.cache.clone_from(&self.cache);
        dirs
    }

    /// A host whose echo adapter and faulty adapter run the fake agent.
    pub fn host(&self) -> Host {
        self.host_with(|_| {})
    }

    /// The same with a changed configuration.
    pub fn host_with(&self, change: impl FnOnce(&mut Config)) -> Host {
        let mut config =
            Config::load(&self.path("config.toml"), &self.path("workspace")).expect("a valid configuration");
        let guest = fs::canonicalize(faulty_guest()).expect("the faulty guest is built");
        for adapter in ["echo", "faulty", guest.to_str().expect("UTF-8")] {
            config.programs.insert(adapter.to_owned(), fake_agent().to_owned());
        }
        change(&mut config);
        Host::new(self.dirs(), config).expect("a host")
    }

    /// A host whose echo adapter runs the real echo agent.
    pub fn echo_host(&self) -> Host {
        self.host_with(|config| {
            config.programs.insert("echo".to_owned(), echo_agent().to_owned());
        })
    }

    /// A turn of the library that follows a script, which is written to a file of this name.
    pub fn turn(&self, name: &str, script: &Script) -> Turn {
        let file = self.write(name, script.file(self.tag()));
        let script = file.to_str().expect("UTF-8");
        Turn::new("go").with_workspace(self.path("workspace")).with_option("script", script)
    }
}

/// What holds after every run.
impl Sandbox {
    /// After a run: no process and no temporary file is left, every byte is recorded, a replay gives the same events,
    /// and the receipt holds.
    #[track_caller]
    pub fn check_run(&self, finished: &Finished, script: &Script) {
        self.expect_nothing_left();
        self.expect_recorded(finished.run_id(), script.written());
        self.expect_replay(finished.run_id());
        let _ = self.call(["receipt", finished.run_id(), "--verify"]).success();
    }

    /// The recording has exactly these bytes of stdout.
    #[track_caller]
    pub fn expect_recorded(&self, run: &str, stdout: &[u8]) {
        let output = self.output(&["show", run, "--stdout"]);
        assert!(output.status.success(), "{output:?}");
        let same = output.stdout.iter().zip(stdout).take_while(|(recorded, written)| recorded == written).count();
        let (recorded, written) = (output.stdout.len(), stdout.len());
        assert!(output.stdout == stdout, "{recorded} bytes recorded, {written} written, the first {same} are the same");
    }

    /// A replay gives the recorded events, in chunks of any size.
    #[track_caller]
    pub fn expect_replay(&self, run: &str) {
        let size = |stream| self.output(&["show", run, stream]).stdout.len();
        let bytes = size("--stdout") + size("--stderr");
        for chunk in ["1", "7", "4096", "all"] {
            // A few bytes at a time take too long for a long stream, and show nothing that a short one does not.
            if bytes > 200_000 && chunk.len() < 2 {
                continue;
            }
            let args = ["replay", run, "--diff", "--chunk", chunk];
            let output = self.output(if chunk == "all" { &args[..3] } else { &args });
            let diff = String::from_utf8_lossy(&output.stdout);
            let shown = diff.get(..diff.len().min(2000)).unwrap_or(&diff);
            assert!(output.status.success(), "{args:?}: {}{shown}", String::from_utf8_lossy(&output.stderr));
        }
    }

    /// The processes of this sandbox's agents, by their command lines.
    pub fn processes(&self) -> Vec<String> {
        let mut lines = processes::processes_with(self.tag());
        lines.retain(|line| line.contains("wharf-fake-agent") && !line.contains(" run "));
        lines
    }

    /// The process ids of this sandbox's agents that follow a script, without what those started.
    pub fn agents(&self) -> Vec<u32> {
        let is_agent = |line: &str| line.contains("wharf-fake-agent --") && line.contains("--script");
        let lines = processes::command_lines().filter(|(_, line)| line.contains(self.tag()) && is_agent(line));
        lines.filter(|(_, line)| !line.contains(" run ")).map(|(id, _)| id).collect()
    }

    /// No process is left.
    #[track_caller]
    pub fn expect_no_process(&self) {
        assert_eq!(self.processes(), Vec::<String>::new());
    }

    /// No process is left, and no temporary file.
    #[track_caller]
    pub fn expect_nothing_left(&self) {
        self.expect_no_process();
        let left: Vec<_> = fs::read_dir(self.path("tmp")).expect("a folder").filter_map(Result::ok).collect();
        assert!(left.is_empty(), "{left:?}");
    }
}

/// Every file below a folder, with its content.
pub fn files_in(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut files = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten() {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if let Ok(content) = fs::read(&path) {
                // A file may be removed while the folder is read.
                files.insert(path, content);
            }
        }
    }
    files
}

/// The files below a folder that contain a text.
pub fn files_containing(folder: &Path, text: &[u8]) -> Vec<PathBuf> {
    let files = files_in(folder).into_iter();
    let found = files.filter(|(_, content)| content.windows(text.len()).any(|window| window == text));
    found.map(|(path, _)| path).collect()
}
