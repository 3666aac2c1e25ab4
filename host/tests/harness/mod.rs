//! What the tests of the turns share: a place of its own for each test, scripts for the fake agent, and the questions
//! that are asked after every run. Nothing of the user's is read: home, data, configuration and temporary files are
//! all in the test's own folder.
#![allow(dead_code, reason = "each test file uses a part of it")]
#![allow(clippy::unwrap_used, reason = "a test may")]

use serde_json::Value;
use std::ffi::OsStr;
use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Output, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// The first line of an agent that means well.
pub(crate) const HELLO: &str = r#"{"type":"hello","session":"s-1","model":"echo-1","version":"1.0.0"}"#;
/// A message.
pub(crate) const SAY: &str = r#"{"type":"say","id":"1","text":"as you wish"}"#;
/// The last line of an agent that means well.
pub(crate) const DONE: &str = r#"{"type":"done"}"#;

/// How long anything is waited for. Long, because the machine may be busy; nothing waits that long when it works.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// Where cargo builds, found by where this test was built: `<target>/<profile>/deps/test`.
fn target() -> PathBuf {
    let binary = Path::new(env!("CARGO_BIN_EXE_wharf"));
    binary.parent().and_then(Path::parent).expect("the binary is two folders deep in the target folder").to_owned()
}

fn cargo(words: &[&str]) {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.arg("build").arg("--locked").args(words).current_dir(env!("CARGO_MANIFEST_DIR"));
    // What describes the package under test would make other packages' build scripts run again.
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("CARGO_PKG_") || name.to_string_lossy().starts_with("CARGO_MANIFEST_") {
            command.env_remove(name);
        }
    }
    let output = command.output().expect("cargo runs, since it runs this test");
    assert!(output.status.success(), "cargo build {words:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// The scripted agent, built once a test process.
pub(crate) fn fake_agent() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let folder = target();
        cargo(&["-p", "wharf-fake-agent", "--target-dir", folder.to_str().unwrap()]);
        folder.join("debug/wharf-fake-agent")
    })
}

/// The adapter that misbehaves, built once a test process.
pub(crate) fn faulty_guest() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let folder = target().join("adapters");
        let target = ["--target", "wasm32-wasip2", "--profile", "adapter", "--target-dir", folder.to_str().unwrap()];
        cargo(&[&["-p", "wharf-faulty-guest"], &target[..]].concat());
        folder.join("wasm32-wasip2/adapter/wharf_faulty_guest.wasm")
    })
}

/// A script, and what its agent writes to stdout in all.
#[derive(Clone, Default)]
pub(crate) struct Script {
    steps: String,
    stdout: Vec<u8>,
}

impl Script {
    pub(crate) fn new() -> Script {
        Script::default()
    }

    /// Writes one line.
    pub(crate) fn line(self, line: &str) -> Script {
        self.stdout(format!("{line}\n"))
    }

    /// Writes bytes.
    pub(crate) fn stdout(mut self, bytes: impl AsRef<[u8]>) -> Script {
        let step = bytes.as_ref().iter().fold("stdout ".to_owned(), |mut step, byte| {
            let _ = write!(step, "\\x{byte:02x}");
            step
        });
        self.stdout.extend_from_slice(bytes.as_ref());
        self.step(&step)
    }

    /// Writes one `delta` line of so many bytes.
    pub(crate) fn big_line(mut self, bytes: usize) -> Script {
        let (head, tail) = (r#"{"type":"delta","id":"1","text":""#, "\"}\n");
        let fill = bytes - head.len() - tail.len();
        // The fill is the agent's own; the length is what is compared.
        self.stdout.extend_from_slice(head.as_bytes());
        self.stdout.extend(std::iter::repeat_n(b'x', fill));
        self.stdout.extend_from_slice(tail.as_bytes());
        self.step(&format!("big-line {bytes}"))
    }

    /// Expects bytes that a step writes by itself.
    pub(crate) fn written(mut self, bytes: &[u8]) -> Script {
        self.stdout.extend_from_slice(bytes);
        self
    }

    /// Does something that writes nothing to stdout.
    pub(crate) fn step(mut self, step: &str) -> Script {
        self.steps.push_str(step);
        self.steps.push('\n');
        self
    }
}

/// A turn that goes well.
pub(crate) fn good() -> Script {
    Script::new().line(HELLO).line(SAY).line(DONE)
}

/// A place of its own for one test.
pub(crate) struct Place {
    folder: TempDir,
}

/// A run that has ended.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) events: Vec<Value>,
    pub(crate) stderr: String,
}

impl Ran {
    /// What `run --json` came to.
    pub(crate) fn of(output: &Output) -> Ran {
        let stdout = String::from_utf8(output.stdout.clone()).expect("events are UTF-8");
        let event = |line: &str| serde_json::from_str(line).unwrap_or_else(|why| panic!("{line}: {why}"));
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        Ran { code: output.status.code(), events: stdout.lines().map(event).collect(), stderr }
    }

    /// The last event.
    pub(crate) fn report(&self) -> &Value {
        let last = self.events.last().unwrap_or_else(|| panic!("no event at all: {}", self.stderr));
        assert_eq!(last["type"], "report", "{last}; {}", self.stderr);
        last
    }

    pub(crate) fn run(&self) -> &str {
        self.report()["run"].as_str().expect("it was recorded")
    }

    pub(crate) fn outcome(&self) -> &str {
        self.report()["outcome"].as_str().expect("a report has an outcome")
    }

    /// The events of a type.
    pub(crate) fn of_type<'a>(&'a self, kind: &'a str) -> impl Iterator<Item = &'a Value> {
        self.events.iter().filter(move |event| event["type"] == kind)
    }

    /// The exit code and the outcome are these.
    #[track_caller]
    pub(crate) fn expect(&self, code: i32, outcome: &str) {
        let found = (self.code, self.outcome());
        assert_eq!(found, (Some(code), outcome), "{}\n{}", self.report(), self.stderr);
    }
}

impl Place {
    pub(crate) fn new() -> Place {
        let folder = tempfile::Builder::new().prefix("wharf-place-").tempdir().unwrap();
        for name in ["home", "data", "adapters", "tmp", "work"] {
            std::fs::create_dir(folder.path().join(name)).unwrap();
        }
        Place { folder }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// What stands in the command line of every process of this place's agents.
    pub(crate) fn tag(&self) -> &str {
        self.folder.path().file_name().and_then(OsStr::to_str).unwrap()
    }

    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        std::fs::write(&path, content).unwrap();
        path
    }

    /// The adapter that misbehaves, under its id, with what it needs.
    pub(crate) fn install_faulty(&self) {
        std::fs::copy(faulty_guest(), self.path("adapters").join("faulty.wasm")).unwrap();
        self.write("config.toml", "[grants.faulty]\nprograms = [\"wharf-fake-agent\"]\n");
    }

    /// A command of wharf, in this place.
    pub(crate) fn wharf<W: AsRef<OsStr>>(&self, words: impl IntoIterator<Item = W>) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_wharf"));
        command.args(words).current_dir(self.path("work")).stdin(Stdio::null());
        command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("HOME", self.path("home")).env("TMPDIR", self.path("tmp"));
        command.env("WHARF_DATA", self.path("data")).env("WHARF_CONFIG", self.path("config.toml"));
        command.env("WHARF_ADAPTERS", self.path("adapters"));
        // Compiled adapters are the same for all: each test would compile them anew.
        command.env("WHARF_CACHE", Path::new(env!("CARGO_TARGET_TMPDIR")).join("cache"));
        command
    }

    /// `wharf run` of a script, with more words; the prompt is one of them or "go".
    pub(crate) fn order(&self, script: &Script, more: &[&str]) -> Command {
        let file = self.write("script", format!("tag {}\n{}", self.tag(), script.steps));
        let option = format!("script={}", file.display());
        let mut words = vec!["run", "--json", "--option", &option, "--program", fake_agent().to_str().unwrap()];
        if !more.contains(&"--adapter") {
            words.extend(["--adapter", "echo"]);
        }
        words.extend(more);
        if !more.contains(&"--file") {
            words.push("go");
        }
        self.wharf(words)
    }

    /// A host of the library, in this place, whose echo adapter runs the scripted agent.
    pub(crate) fn host(&self) -> wharf::Host {
        let places = wharf::Places {
            config: self.path("config.toml"),
            data: self.path("data"),
            cache: Path::new(env!("CARGO_TARGET_TMPDIR")).join("cache"),
            adapters: self.path("adapters"),
        };
        let programs = [("echo".to_owned(), fake_agent().to_owned())].into();
        wharf::Host::new(places, wharf::Config { programs, ..wharf::Config::default() }).unwrap()
    }

    /// A turn of the library that follows a script, kept under a name.
    pub(crate) fn turn(&self, name: &str, script: &Script) -> wharf::Turn {
        let file = self.write(name, format!("tag {}\n{}", self.tag(), script.steps));
        let mut turn = wharf::Turn { workspace: self.path("work"), ..wharf::Turn::new("go") };
        turn.options.insert("script".to_owned(), file.to_str().unwrap().into());
        turn
    }

    /// Run a script to its end, and look that nothing is left, nothing is lost, and a replay says the same.
    #[track_caller]
    pub(crate) fn run(&self, script: &Script, more: &[&str]) -> Ran {
        let ran = Ran::of(&self.order(script, more).output().unwrap());
        self.examine(&ran, script);
        ran
    }

    /// After a run: no process, no temporary file, every byte, the same events again, the seal.
    #[track_caller]
    pub(crate) fn examine(&self, ran: &Ran, script: &Script) {
        self.expect_alone();
        self.expect_recorded(ran.run(), &script.stdout);
        self.expect_replay(ran.run());
        let receipt = self.answer(&["receipt", ran.run(), "--verify"]);
        assert!(receipt.status.success(), "{receipt:?}");
    }

    /// A command of wharf to its end.
    pub(crate) fn answer(&self, words: &[&str]) -> Output {
        self.wharf(words).output().unwrap()
    }

    /// What a command of wharf prints, which must succeed.
    #[track_caller]
    pub(crate) fn text(&self, words: &[&str]) -> String {
        let output = self.answer(words);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{words:?}: {stderr}{}", String::from_utf8_lossy(&output.stdout));
        String::from_utf8(output.stdout).unwrap()
    }

    /// As JSON.
    #[track_caller]
    pub(crate) fn json(&self, words: &[&str]) -> Value {
        let text = self.text(words);
        serde_json::from_str(&text).unwrap_or_else(|why| panic!("{why}: {text}"))
    }

    /// The recording has exactly these bytes of stdout.
    #[track_caller]
    pub(crate) fn expect_recorded(&self, run: &str, stdout: &[u8]) {
        let output = self.answer(&["show", run, "--stdout"]);
        assert!(output.status.success(), "{output:?}");
        let same = output.stdout.iter().zip(stdout).take_while(|(recorded, written)| recorded == written).count();
        let (recorded, written) = (output.stdout.len(), stdout.len());
        assert!(output.stdout == stdout, "{recorded} bytes recorded, {written} written, {same} the same");
    }

    /// A replay gives the recorded events, however it is cut.
    #[track_caller]
    pub(crate) fn expect_replay(&self, run: &str) {
        let bytes = self.answer(&["show", run, "--stdout"]).stdout.len();
        for chunk in ["1", "7", "4096", "all"] {
            // A long one byte by byte takes too long, and says nothing that a short one does not.
            if bytes > 200_000 && chunk.len() < 2 {
                continue;
            }
            let words = ["replay", run, "--diff", "--chunk", chunk];
            let output = self.answer(if chunk == "all" { &words[..3] } else { &words });
            let text = String::from_utf8_lossy(&output.stdout);
            let shown = text.get(..text.len().min(2000)).unwrap_or(&text);
            assert!(output.status.success(), "{words:?}: {}{shown}", String::from_utf8_lossy(&output.stderr));
        }
    }

    /// The processes of this place's agents, by their command lines.
    pub(crate) fn processes(&self) -> Vec<String> {
        let mut lines = processes_with(self.tag());
        lines.retain(|line| line.contains("wharf-fake-agent") && !line.contains(" run "));
        lines
    }

    /// The processes of this place's agents that follow its script, not what those started.
    pub(crate) fn agents(&self) -> Vec<u32> {
        let is_agent = |line: &str| line.contains("wharf-fake-agent --") && line.contains("--script");
        let lines = command_lines().filter(|(_, line)| line.contains(self.tag()) && is_agent(line));
        lines.filter(|(_, line)| !line.contains(" run ")).map(|(pid, _)| pid).collect()
    }

    /// No process is left.
    #[track_caller]
    pub(crate) fn expect_no_process(&self) {
        assert_eq!(self.processes(), Vec::<String>::new());
    }

    /// No process is left, and no temporary file.
    #[track_caller]
    pub(crate) fn expect_alone(&self) {
        self.expect_no_process();
        let left: Vec<_> = std::fs::read_dir(self.path("tmp")).unwrap().filter_map(Result::ok).collect();
        assert!(left.is_empty(), "{left:?}");
    }
}

/// The command lines of all processes that have a text in them.
pub(crate) fn processes_with(text: &str) -> Vec<String> {
    command_lines().map(|(_, line)| line).filter(|line| line.contains(text)).collect()
}

fn command_lines() -> impl Iterator<Item = (u32, String)> {
    let entries = std::fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    entries.filter_map(|entry| {
        let pid = entry.file_name().to_str()?.parse().ok()?;
        let line = std::fs::read(entry.path().join("cmdline")).ok()?;
        Some((pid, String::from_utf8_lossy(&line).replace('\0', " ")))
    })
}

/// The resident memory of a process, in bytes.
pub(crate) fn resident(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("it is alive");
    line.trim().trim_end_matches("kB").trim().parse::<u64>().unwrap() * 1024
}

/// What a process has written so far, in bytes, to wherever.
pub(crate) fn written(pid: u32) -> u64 {
    let io = std::fs::read_to_string(format!("/proc/{pid}/io")).unwrap();
    io.lines().find_map(|line| line.strip_prefix("wchar: ")?.parse().ok()).expect("the kernel counts it")
}

/// Waits until a figure has begun to grow and then stands still, over many looks; gives the figure.
#[track_caller]
pub(crate) fn settled(what: &str, mut figure: impl FnMut() -> u64) -> u64 {
    let (mut last, mut same) = (0, 0);
    wait_until(what, || {
        let now = figure();
        same = if now > 0 && now == last { same + 1 } else { 0 };
        last = now;
        same == 100
    });
    last
}

/// Waits until something holds.
#[track_caller]
pub(crate) fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < PATIENCE, "it never came: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Starts `wharf run` and waits for an event of a type, which is given with all before it.
pub(crate) fn started(
    place: &Place,
    script: &Script,
    more: &[&str],
    until: &str,
) -> (Child, BufReader<ChildStdout>, String) {
    let mut child = place.order(script, more).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut reader = BufReader::new(child.stdout.take().unwrap());
    let mut printed = String::new();
    while !printed.lines().last().is_some_and(|line| line.contains(&format!("\"type\":\"{until}\""))) {
        assert!(reader.read_line(&mut printed).unwrap() > 0, "it ended before {until}: {printed}");
    }
    (child, reader, printed)
}

/// Reads the rest, and gives the run as a whole.
pub(crate) fn ended(mut child: Child, mut reader: BufReader<ChildStdout>, mut printed: String) -> Ran {
    reader.read_to_string(&mut printed).unwrap();
    let mut stderr = Vec::new();
    if let Some(mut talk) = child.stderr.take() {
        talk.read_to_end(&mut stderr).unwrap();
    }
    let status = child.wait().unwrap();
    Ran::of(&std::process::Output { status, stdout: printed.into_bytes(), stderr })
}

/// Sends a signal to a process.
pub(crate) fn signal(child: &Child, name: &str) {
    let status = Command::new("kill").args(["-s", name, &child.id().to_string()]).status().unwrap();
    assert!(status.success());
}
