//! Each step, run by the real program. A test that starts children finds them in /proc, which only Linux has, and kills
//! them.

#![cfg(target_os = "linux")]

use rustix::process::{Pid, Signal, getpgid, getsid, kill_process};
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixDatagram;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};
use tempfile::TempDir;

const PROGRAM: &str = env!("CARGO_BIN_EXE_wharf-fake-agent");

/// A temporary folder with a script. Leftover children with the test's tag are killed when it is dropped.
struct Script {
    folder: TempDir,
    tag: String,
}

impl Script {
    fn new(text: &str) -> Script {
        let folder = tempfile::tempdir().expect("a folder");
        // The name of the folder is unique.
        let tag = format!("tag{}", folder.path().file_name().expect("the folder has a name").to_string_lossy());
        fs::write(folder.path().join("script"), format!("tag {tag}\n{text}\n")).expect("a script");
        Script { folder, tag }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn command(&self) -> Command {
        let mut command = Command::new(PROGRAM);
        command.args(["--session", "s", "--script", "script", "--duplex"]).current_dir(self.folder.path());
        command.env("MARKER", &self.tag).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    fn start(&self) -> Child {
        self.command().stdin(Stdio::piped()).spawn().expect("it starts")
    }

    /// The running processes with the tag in their command line.
    fn children(&self) -> Vec<Pid> {
        let mut found = Vec::new();
        for entry in fs::read_dir("/proc").expect("there is /proc").flatten() {
            let pid = entry.file_name().to_str().and_then(|name| name.parse().ok()).and_then(Pid::from_raw);
            // A process that has exited, or a zombie, has no command line.
            let args = fs::read(entry.path().join("cmdline")).unwrap_or_default();
            if let Some(pid) = pid
                && args.split(|byte| *byte == 0).any(|arg| arg == self.tag.as_bytes())
            {
                found.push(pid);
            }
        }
        found
    }

    fn only_child(&self) -> Pid {
        let children = self.children();
        assert_eq!(children.len(), 1, "{children:?}");
        children[0]
    }

    /// Kills all children and waits until they have exited.
    fn kill_children(&self) {
        let deadline = Instant::now() + Duration::from_secs(20);
        loop {
            let children = self.children();
            if children.is_empty() {
                return;
            }
            assert!(Instant::now() < deadline, "they still run: {children:?}");
            for child in children {
                let _ = kill_process(child, Signal::KILL);
            }
            thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for Script {
    fn drop(&mut self) {
        if !thread::panicking() {
            assert_eq!(self.children(), [], "the test left processes");
        }
        for child in self.children() {
            let _ = kill_process(child, Signal::KILL);
        }
    }
}

fn run(script: &str) -> Output {
    Script::new(script).command().output().expect("it starts")
}

fn next_line(child: &mut Child) -> String {
    let mut line = Vec::new();
    let stdout = child.stdout.as_mut().expect("stdout is piped");
    let mut byte = [0];
    while stdout.read(&mut byte).expect("stdout is read") == 1 && byte[0] != b'\n' {
        line.push(byte[0]);
    }
    String::from_utf8(line).expect("UTF-8")
}

fn write_stdin(child: &mut Child, text: &str) {
    child.stdin.as_mut().expect("stdin is piped").write_all(text.as_bytes()).expect("stdin is written");
}

fn pid(child: &Child) -> Pid {
    Pid::from_child(child)
}

fn kill(mut child: Child) {
    child.kill().expect("it was running");
    child.wait().expect("it is reaped");
}

fn parent(pid: Pid) -> i32 {
    let status = fs::read_to_string(format!("/proc/{}/status", pid.as_raw_nonzero())).expect("it runs");
    let line = status.lines().find_map(|line| line.strip_prefix("PPid:")).expect("it has a parent");
    line.trim().parse().expect("a number")
}

fn environment(pid: Pid) -> String {
    let bytes = fs::read(format!("/proc/{}/environ", pid.as_raw_nonzero())).expect("it runs");
    String::from_utf8_lossy(&bytes).into_owned()
}

fn stdout_of(pid: Pid) -> PathBuf {
    fs::read_link(format!("/proc/{}/fd/1", pid.as_raw_nonzero())).expect("it has a stdout")
}

#[test]
fn version() {
    let output = Command::new(PROGRAM).arg("--version").output().expect("it starts");
    assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(0), &b"fake-agent 1.0.0\n"[..]));
}

#[test]
fn an_invalid_script_has_no_effects() {
    let output = run("stdout early\nnonsense");
    assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(99), &b""[..]));
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(stderr.contains("script:3: unknown step \"nonsense\""), "{stderr}");
    let output = Command::new(PROGRAM).arg("--duplex").output().expect("it starts");
    assert_eq!(output.status.code(), Some(99));
}

#[test]
fn stdout_stderr_line_and_repeat() {
    let output =
        run("stdout a\\xc3\nstdout \\xa9\\n\nline {\"b\": 1}\nrepeat 3 stderr x\\n\nrepeat 2 repeat 2 stdout y");
    assert_eq!(output.stdout, "aé\n{\"b\": 1}\nyyyy".as_bytes());
    assert_eq!(output.stderr, b"x\nx\nx\n");
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn bytes_sets_the_size_of_a_write() {
    // A datagram socket keeps the writes separate, which a pipe does not.
    let (reader, writer) = UnixDatagram::pair().expect("a pair of sockets");
    reader.set_read_timeout(Some(Duration::from_secs(20))).expect("a timeout");
    let script = Script::new("stdout a\\nb\nbytes 1\nstdout é\\n\nbytes 2\nstdout 123\nbytes 0\nstdout 45");
    let mut child = script.command().stdout(OwnedFd::from(writer)).spawn().expect("it starts");
    let mut pieces = Vec::new();
    for _ in 0..7 {
        let mut piece = [0; 100];
        let length = reader.recv(&mut piece).expect("a write");
        pieces.push(piece[..length].to_vec());
    }
    assert_eq!(pieces, [&b"a\nb"[..], b"\xc3", b"\xa9", b"\n", b"12", b"3", b"45"]);
    assert_eq!(child.wait().expect("it is reaped").code(), Some(0));
}

#[test]
fn big_line() {
    for bytes in [36, 100, 20_000_000] {
        let output = run(&format!("big-line {bytes}"));
        assert_eq!(output.stdout.len(), bytes);
        let line: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
        assert_eq!(line["type"], "delta");
        assert_eq!(output.stdout.iter().position(|byte| *byte == b'\n'), Some(bytes - 1));
    }
}

#[test]
fn floods() {
    let output = run("flood-stdout 3000000\nflood-stderr 2000000");
    assert_eq!(output.stdout.len(), 3_000_320, "2930 lines of 1024 bytes");
    for line in output.stdout.split_inclusive(|byte| *byte == b'\n') {
        assert_eq!(line.len(), 1024);
        assert_eq!(serde_json::from_slice::<serde_json::Value>(line).expect("JSON")["type"], "delta");
    }
    assert_eq!(output.stderr.len(), 2_000_896, "1954 lines of 1024 bytes");
    assert!(output.stderr.split_inclusive(|byte| *byte == b'\n').all(|line| line.len() == 1024));
}

#[test]
fn a_closed_stdout_is_an_error_and_no_panic() {
    let script = Script::new("flood-stdout 100000000");
    let mut child = script.start();
    child.stdout = None;
    let output = child.wait_with_output().expect("it is reaped");
    assert_eq!(output.status.code(), Some(99));
    assert!(String::from_utf8_lossy(&output.stderr).contains("stdout: Broken pipe"));
}

#[test]
fn close_stdout() {
    let script = Script::new("stdout before\nclose-stdout\nstdout after\nread-line\nexit 4");
    let mut child = script.start();
    let mut text = String::new();
    child.stdout.as_mut().expect("stdout is piped").read_to_string(&mut text).expect("UTF-8");
    assert_eq!(text, "before");
    assert!(child.try_wait().expect("its status is known").is_none(), "it still runs");
    write_stdin(&mut child, "\n");
    assert_eq!(child.wait().expect("it is reaped").code(), Some(4));
}

#[test]
fn sleep() {
    let start = Instant::now();
    assert_eq!(run("sleep 200").status.code(), Some(0));
    assert!(start.elapsed() >= Duration::from_millis(200));
}

#[test]
fn silence() {
    let script = Script::new("line 1\nsilence\nline 2");
    let mut child = script.start();
    assert_eq!(next_line(&mut child), "1");
    thread::sleep(Duration::from_millis(200));
    assert!(child.try_wait().expect("its status is known").is_none(), "it still runs");
    child.kill().expect("it was running");
    let output = child.wait_with_output().expect("it is reaped");
    assert_eq!(output.stdout, b"");
}

#[test]
fn wait_file() {
    let script = Script::new("line 1\nwait-file go\nline 2");
    let mut child = script.start();
    assert_eq!(next_line(&mut child), "1");
    assert!(child.try_wait().expect("its status is known").is_none());
    fs::write(script.path("go"), "").expect("a file");
    assert_eq!(next_line(&mut child), "2");
    assert_eq!(child.wait().expect("it is reaped").code(), Some(0));
}

#[test]
fn read_line_and_read_stdin_and_say_stdin() {
    let script = Script::new("read-line\nsay-stdin\nread-stdin\nsay-stdin");
    let mut child = script.start();
    write_stdin(&mut child, "first \"one\"\nsecond\n");
    assert_eq!(next_line(&mut child), r#"{"id":"stdin","text":"first \"one\"\n","type":"say"}"#);
    write_stdin(&mut child, "third");
    child.stdin = None;
    assert_eq!(next_line(&mut child), r#"{"id":"stdin","text":"second\nthird","type":"say"}"#);
    assert_eq!(child.wait().expect("it is reaped").code(), Some(0));
}

#[test]
fn ignore_sigterm() {
    let script = Script::new("ignore-sigterm\nline 1\nread-line\nline 2");
    let mut child = script.start();
    assert_eq!(next_line(&mut child), "1");
    kill_process(pid(&child), Signal::TERM).expect("it runs");
    write_stdin(&mut child, "\n");
    assert_eq!(next_line(&mut child), "2");
    assert_eq!(child.wait().expect("it is reaped").code(), Some(0));
}

#[test]
fn sigterm_kills_it_by_default() {
    let script = Script::new("line 1\nsilence");
    let mut child = script.start();
    assert_eq!(next_line(&mut child), "1");
    kill_process(pid(&child), Signal::TERM).expect("it runs");
    assert_eq!(child.wait().expect("it is reaped").signal(), Some(15));
}

#[test]
fn exit() {
    for code in [0, 1, 255] {
        assert_eq!(run(&format!("exit {code}\nexit 7")).status.code(), Some(code));
    }
    assert_eq!(run("repeat 2 exit 5").status.code(), Some(5));
}

#[test]
fn die() {
    for (signal, number) in [("KILL", 9), ("TERM", 15), ("SEGV", 11), ("SIGABRT", 6), ("2", 2), ("HUP", 1), ("QUIT", 3)]
    {
        let output = run(&format!("stdout {{\"type\":\"de\ndie {signal}\nstdout later"));
        assert_eq!((output.status.code(), output.status.signal()), (None, Some(number)), "{signal}");
        assert_eq!(output.stdout, b"{\"type\":\"de", "{signal}");
    }
}

#[test]
fn die_kills_although_the_parent_ignores_the_signal() {
    let script = Script::new("die HUP");
    let shell = ["-c", "trap '' HUP; exec \"$0\" --session s --script script --duplex", PROGRAM];
    let status = Command::new("sh").args(shell).current_dir(script.folder.path()).status().expect("it starts");
    assert_eq!(status.signal(), Some(1));
}

#[test]
fn write_env() {
    let script = Script::new("write-env env");
    let status = script.command().env_clear().env("B", "2").env("A", "1=x").status().expect("it starts");
    assert_eq!(status.code(), Some(0));
    assert_eq!(fs::read_to_string(script.path("env")).expect("it was written"), "A=1=x\nB=2\n");
}

#[test]
fn write_file() {
    let script = Script::new("write-file out.txt some text\\n");
    assert!(script.command().status().expect("it starts").success());
    assert_eq!(fs::read_to_string(script.path("out.txt")).expect("it was written"), "some text\n");
    assert_eq!(run("write-file no/such/folder x").status.code(), Some(99));
}

#[test]
fn children_are_in_the_agents_process_group() {
    let script = Script::new("children 200 60\nline 1\nsilence");
    let mut agent = script.start();
    assert_eq!(next_line(&mut agent), "1");
    let children = script.children();
    assert_eq!(children.len(), 200);
    for child in children {
        assert_eq!(parent(child), pid(&agent).as_raw_nonzero().get());
        assert_eq!(getpgid(Some(child)), getpgid(Some(pid(&agent))));
        assert_eq!(stdout_of(child), Path::new("/dev/null"));
    }
    kill(agent);
    script.kill_children();
}

#[test]
fn a_setsid_child_outlives_the_agent() {
    let script = Script::new("setsid-child 60");
    assert!(script.command().output().expect("it starts").status.success());
    let child = script.only_child();
    assert_eq!(getsid(Some(child)), Ok(child));
    assert!(environment(child).contains(&format!("MARKER={}", script.tag)));
    assert_eq!(stdout_of(child), Path::new("/dev/null"));
    script.kill_children();
}

#[test]
fn a_holding_child_keeps_the_pipe_open() {
    for step in ["setsid-child 60 holding", "daemon 60 holding", "children 1 60 holding"] {
        let script = Script::new(step);
        let mut agent = script.start();
        assert!(agent.wait().expect("it is reaped").success());
        assert!(stdout_of(script.only_child()).to_string_lossy().starts_with("pipe:"), "{step}");
        script.kill_children();
        let mut rest = String::new();
        BufReader::new(agent.stdout.take().expect("stdout is piped")).read_line(&mut rest).expect("the pipe is closed");
        assert_eq!(rest, "");
    }
}

#[test]
fn a_daemon_is_an_orphan_while_the_agent_runs() {
    for (step, marked) in [("daemon 60", true), ("clear-env-daemon 60", false)] {
        let script = Script::new(&format!("{step}\nline 1\nsilence"));
        let mut agent = script.start();
        assert_eq!(next_line(&mut agent), "1");
        let daemon = script.only_child();
        assert_ne!(parent(daemon), pid(&agent).as_raw_nonzero().get());
        assert_eq!(getsid(Some(daemon)), Ok(daemon));
        assert_eq!(environment(daemon).contains("MARKER="), marked, "{step}");
        assert!(marked || environment(daemon).is_empty(), "{step}");
        kill(agent);
        assert_eq!(script.only_child(), daemon);
        script.kill_children();
    }
}

#[test]
fn a_child_exits_after_its_seconds() {
    let script = Script::new("children 1 1\nsetsid-child 1\ndaemon 1");
    assert!(script.command().output().expect("it starts").status.success());
    let deadline = Instant::now() + Duration::from_secs(20);
    while !script.children().is_empty() {
        assert!(Instant::now() < deadline, "they still run");
        thread::sleep(Duration::from_millis(20));
    }
}
