//! What the integration tests share: a machine of their own for each, the real binary, and the guests and the agent
//! that are built for them.

#![allow(dead_code, reason = "each test program uses its own part")]

use serde_json::Value;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;
use wharf::{Config, Host, Places};

/// The binary under test.
pub(crate) const WHARF: &str = env!("CARGO_BIN_EXE_wharf");

/// The repository's root.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().expect("the repository is there")
}

/// A machine of its own: the folders of a user in a temporary one, and an environment with nothing else in it.
pub(crate) struct Machine {
    folder: tempfile::TempDir,
}

impl Machine {
    pub(crate) fn new() -> Machine {
        let machine = Machine { folder: tempfile::tempdir().expect("a temporary folder") };
        for name in ["home", "adapters", "workspace"] {
            fs::create_dir(machine.path(name)).expect("a folder");
        }
        machine
    }

    /// A path in its folder: home, data, cache, config.toml, adapters, workspace, or anything a test likes.
    pub(crate) fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn write(&self, name: impl AsRef<Path>, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, content).expect("the file can be written");
        path
    }

    /// The command, in the workspace, with nothing on stdin.
    pub(crate) fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default()).env("HOME", self.path("home"));
        for (name, path) in [("DATA", "data"), ("CACHE", "cache"), ("CONFIG", "config.toml"), ("ADAPTERS", "adapters")]
        {
            command.env(format!("WHARF_{name}"), self.path(path));
        }
        command.current_dir(self.path("workspace")).stdin(Stdio::null());
        command
    }

    pub(crate) fn wharf<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Command {
        let mut command = self.command(WHARF);
        command.args(args);
        command
    }

    /// Run the binary to its end.
    pub(crate) fn run<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Ran {
        Ran::of(&mut self.wharf(args))
    }

    /// The library on the same folders. The echo adapter's agent is the binary, as it is for the binary itself, and
    /// that of the faulty one is the scripted agent.
    pub(crate) fn host(&self) -> Host {
        let config: PathBuf = self.path("config.toml");
        let mut config = Config::load(&config, &self.path("workspace")).expect("the configuration is good");
        config.programs.insert("echo".to_owned(), PathBuf::from(WHARF));
        config.programs.insert("faulty".to_owned(), fake_agent().to_owned());
        let [config_file, data, cache, adapters] =
            ["config.toml", "data", "cache", "adapters"].map(|name| self.path(name));
        Host::new(Places { config: config_file, data, cache, adapters }, config).expect("a host")
    }

    /// Every file below a folder, with its content.
    pub(crate) fn files(&self, folder: &str) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut files = BTreeMap::new();
        let mut folders = vec![self.path(folder)];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(&folder).into_iter().flatten() {
                let path = entry.expect("an entry").path();
                if path.is_dir() {
                    folders.push(path);
                } else {
                    files.insert(path.clone(), fs::read(&path).expect("the file can be read"));
                }
            }
        }
        files
    }
}

/// How the binary ended, and what it said.
#[derive(Debug)]
pub(crate) struct Ran {
    /// None when a signal ended it.
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Ran {
    pub(crate) fn of(command: &mut Command) -> Ran {
        command.output().expect("the program starts").into()
    }

    /// It must have ended well.
    pub(crate) fn good(self) -> Ran {
        assert_eq!(self.code, Some(0), "{self:?}");
        self
    }

    /// Stdout as one JSON value.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|why| panic!("stdout is no JSON ({why}): {self:?}"))
    }

    /// Stdout as one JSON value a line.
    pub(crate) fn events(&self) -> Vec<Value> {
        let event = |line: &str| serde_json::from_str(line).unwrap_or_else(|why| panic!("{why}: {line}"));
        self.stdout.lines().map(event).collect()
    }

    /// The last line of `--json`.
    pub(crate) fn report(&self) -> Value {
        let report = self.events().pop().unwrap_or_else(|| panic!("there is no report: {self:?}"));
        assert_eq!(report["type"], "report", "{self:?}");
        report
    }
}

impl From<Output> for Ran {
    fn from(output: Output) -> Ran {
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
        Ran { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
    }
}

/// Where guests and agents are built: beside the other targets, so that no cargo waits for another's lock.
fn target_folder() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("it is in the target folder").join("adapters")
}

fn build(args: &[&str]) {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.current_dir(root()).args(["build", "--quiet", "--locked", "--target-dir"]).arg(target_folder()).args(args);
    // What was set for the host is not for them.
    cargo.env_remove("RUSTFLAGS").env_remove("CARGO_ENCODED_RUSTFLAGS").stdin(Stdio::null());
    let ran = Ran::of(&mut cargo);
    assert_eq!(ran.code, Some(0), "{args:?} cannot be built: {}", ran.stderr);
}

/// A component of a package of this workspace, by the name of its file: `wharf_faulty_guest`.
pub(crate) fn component(name: &str) -> PathBuf {
    static BUILT: OnceLock<()> = OnceLock::new();
    BUILT.get_or_init(|| {
        let packages = ["wharf-adapter-echo", "wharf-faulty-guest", "wharf-looping-guest"];
        let mut args = vec!["--target", "wasm32-wasip2", "--profile", "adapter"];
        args.extend(packages.iter().flat_map(|package| ["--package", package]));
        build(&args);
    });
    target_folder().join("wasm32-wasip2/adapter").join(name).with_extension("wasm")
}

/// The echo adapter as a file, which is the bundled one.
pub(crate) fn echo_component() -> PathBuf {
    component("wharf_adapter_echo")
}

/// The guest that misbehaves where its option `fault` says.
pub(crate) fn faulty_guest() -> PathBuf {
    component("wharf_faulty_guest")
}

/// The guest whose `describe` does not return.
pub(crate) fn looping_guest() -> PathBuf {
    component("wharf_looping_guest")
}

/// The scripted agent; tests/fake-agent/README.md lists its steps.
pub(crate) fn fake_agent() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        build(&["--package", "wharf-fake-agent"]);
        target_folder().join("debug/wharf-fake-agent")
    })
}
