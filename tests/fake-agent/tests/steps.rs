//! Each step, done by the real program. A test that starts children looks for them and ends them itself.
//! They look into /proc, so this is for Linux.

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

/// A folder with a script in it. Whatever the script left running under the test's tag is ended with it.
struct Stage {
    folder: TempDir,
    tag: String,
}

impl Stage {
    fn new(script: &str) -> Stage {
        let folder = tempfile::tempdir().expect("a folder");
        // The folder's name is this test's alone.
        let tag = format!("tag{}", folder.path().file_name().expect("it has a name").to_string_lossy());
        fs::write(folder.path().join("script"), format!("tag {tag}\n{script}\n")).expect("a script");
        Stage { folder, tag }
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

    /// The living processes that have the tag in their command line.
    fn children(&self) -> Vec<Pid> {
        let mut found = Vec::new();
        for entry in fs::read_dir("/proc").expect("there is /proc").flatten() {
            let pid = entry.file_name().to_str().and_then(|name| name.parse().ok()).and_then(Pid::from_raw);
            // A process that is gone by now, or a zombie, has no command line.
            let words = fs::read(entry.path().join("cmdline")).unwrap_or_default();
            if let Some(pid) = pid
                && words.split(|byte| *byte == 0).any(|word| word == self.tag.as_bytes())
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

    /// Ends all children and waits until they are gone.
    fn clear(&self) {
        let deadline = Instant::now() + Duration::from_secs(20);
        loop {
            let children = self.children();
            if children.is_empty() {
                return;
            }
            assert!(Instant::now() < deadline, "they do not die: {children:?}");
            for child in children {
                let _ = kill_process(child, Signal::KILL);
            }
            thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        if !thread::panicking() {
            assert_eq!(self.children(), [], "the test left processes");
        }
        for child in self.children() {
            let _ = kill_process(child, Signal::KILL);
        }
    }
}

fn play(script: &str) -> Output {
    Stage::new(script).command().output().expect("it starts")
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

fn end(mut child: Child) {
    child.kill().expect("it was running");
    child.wait().expect("it is reaped");
}

fn parent(pid: Pid) -> i32 {
    let status = fs::read_to_string(format!("/proc/{}/status", pid.as_raw_nonzero())).expect("it lives");
    let line = status.lines().find_map(|line| line.strip_prefix("PPid:")).expect("it has a parent");
    line.trim().parse().expect("a number")
}

fn environment(pid: Pid) -> String {
    let bytes = fs::read(format!("/proc/{}/environ", pid.as_raw_nonzero())).expect("it lives");
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
fn what_is_wrong_is_said_before_anything_is_done() {
    let output = play("stdout early\nnonsense");
    assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(99), &b""[..]));
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(stderr.contains("script:3: there is no step \"nonsense\""), "{stderr}");
    let output = Command::new(PROGRAM).arg("--duplex").output().expect("it starts");
    assert_eq!(output.status.code(), Some(99));
}

#[test]
fn stdout_stderr_line_and_repeat() {
    let output =
        play("stdout a\\xc3\nstdout \\xa9\\n\nline {\"b\": 1}\nrepeat 3 stderr x\\n\nrepeat 2 repeat 2 stdout y");
    assert_eq!(output.stdout, "aé\n{\"b\": 1}\nyyyy".as_bytes());
    assert_eq!(output.stderr, b"x\nx\nx\n");
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn bytes_are_written_so_many_at_a_time() {
    // A datagram socket keeps the pieces apart, which a pipe does not.
    let (reader, writer) = UnixDatagram::pair().expect("a pair of sockets");
    reader.set_read_timeout(Some(Duration::from_secs(20))).expect("a timeout");
    let stage = Stage::new("stdout a\\nb\nbytes 1\nstdout é\\n\nbytes 2\nstdout 123\nbytes 0\nstdout 45");
    let mut child = stage.command().stdout(OwnedFd::from(writer)).spawn().expect("it starts");
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
        let output = play(&format!("big-line {bytes}"));
        assert_eq!(output.stdout.len(), bytes);
        let line: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
        assert_eq!(line["type"], "delta");
        assert_eq!(output.stdout.iter().position(|byte| *byte == b'\n'), Some(bytes - 1));
    }
}

#[test]
fn floods() {
    let output = play("flood-stdout 3000000\nflood-stderr 2000000");
    assert_eq!(output.stdout.len(), 3_000_320, "2930 lines of 1024 bytes");
    for line in output.stdout.split_inclusive(|byte| *byte == b'\n') {
        assert_eq!(line.len(), 1024);
        assert_eq!(serde_json::from_slice::<serde_json::Value>(line).expect("JSON")["type"], "delta");
    }
    assert_eq!(output.stderr.len(), 2_000_896, "1954 lines of 1024 bytes");
    assert!(output.stderr.split_inclusive(|byte| *byte == b'\n').all(|line| line.len() == 1024));
}

#[test]
fn a_reader_that_goes_away_is_no_panic() {
    let stage = Stage::new("flood-stdout 100000000");
    let mut child = stage.start();
    child.stdout = None;
    let output = child.wait_with_output().expect("it is reaped");
    assert_eq!(output.status.code(), Some(99));
    assert!(String::from_utf8_lossy(&output.stderr).contains("stdout: Broken pipe"));
}

#[test]
fn close_stdout() {
    let stage = Stage::new("stdout before\nclose-stdout\nstdout after\nread-line\nexit 4");
    let mut child = stage.start();
    let mut text = String::new();
    child.stdout.as_mut().expect("stdout is piped").read_to_string(&mut text).expect("UTF-8");
    assert_eq!(text, "before");
    assert!(child.try_wait().expect("it can be looked at").is_none(), "it lives on");
    write_stdin(&mut child, "\n");
    assert_eq!(child.wait().expect("it is reaped").code(), Some(4));
}

#[test]
fn sleep() {
    let start = Instant::now();
    assert_eq!(play("sleep 200").status.code(), Some(0));
    assert!(start.elapsed() >= Duration::from_millis(200));
}

#[test]
fn silence() {
    let stage = Stage::new("line 1\nsilence\nline 2");
    let mut child = stage.start();
    assert_eq!(next_line(&mut child), "1");
    thread::sleep(Duration::from_millis(200));
    assert!(child.try_wait().expect("it can be looked at").is_none(), "it lives on");
    child.kill().expect("it was running");
    let output = child.wait_with_output().expect("it is reaped");
    assert_eq!(output.stdout, b"");
}

#[test]
fn wait_file() {
    let stage = Stage::new("line 1\nwait-file go\nline 2");
    let mut child = stage.start();
    assert_eq!(next_line(&mut child), "1");
    assert!(child.try_wait().expect("it can be looked at").is_none());
    fs::write(stage.path("go"), "").expect("a file");
    assert_eq!(next_line(&mut child), "2");
    assert_eq!(child.wait().expect("it is reaped").code(), Some(0));
}

#[test]
fn read_line_and_read_stdin_and_say_stdin() {
    let stage = Stage::new("read-line\nsay-stdin\nread-stdin\nsay-stdin");
    let mut child = stage.start();
    write_stdin(&mut child, "first \"one\"\nsecond\n");
    assert_eq!(next_line(&mut child), r#"{"id":"stdin","text":"first \"one\"\n","type":"say"}"#);
    write_stdin(&mut child, "third");
    child.stdin = None;
    assert_eq!(next_line(&mut child), r#"{"id":"stdin","text":"second\nthird","type":"say"}"#);
    assert_eq!(child.wait().expect("it is reaped").code(), Some(0));
}

#[test]
fn ignore_sigterm() {
    let stage = Stage::new("ignore-sigterm\nline 1\nread-line\nline 2");
    let mut child = stage.start();
    assert_eq!(next_line(&mut child), "1");
    kill_process(pid(&child), Signal::TERM).expect("it lives");
    write_stdin(&mut child, "\n");
    assert_eq!(next_line(&mut child), "2");
    assert_eq!(child.wait().expect("it is reaped").code(), Some(0));
}

#[test]
fn sigterm_is_not_ignored_otherwise() {
    let stage = Stage::new("line 1\nsilence");
    let mut child = stage.start();
    assert_eq!(next_line(&mut child), "1");
    kill_process(pid(&child), Signal::TERM).expect("it lives");
    assert_eq!(child.wait().expect("it is reaped").signal(), Some(15));
}

#[test]
fn exit() {
    for code in [0, 1, 255] {
        assert_eq!(play(&format!("exit {code}\nexit 7")).status.code(), Some(code));
    }
    assert_eq!(play("repeat 2 exit 5").status.code(), Some(5));
}

#[test]
fn die() {
    for (signal, number) in [("KILL", 9), ("TERM", 15), ("SEGV", 11), ("SIGABRT", 6), ("2", 2), ("HUP", 1), ("QUIT", 3)]
    {
        let output = play(&format!("stdout {{\"type\":\"de\ndie {signal}\nstdout later"));
        assert_eq!((output.status.code(), output.status.signal()), (None, Some(number)), "{signal}");
        assert_eq!(output.stdout, b"{\"type\":\"de", "{signal}");
    }
}

#[test]
fn write_env() {
    let stage = Stage::new("write-env env");
    let status = stage.command().env_clear().env("B", "2").env("A", "1=x").status().expect("it starts");
    assert_eq!(status.code(), Some(0));
    assert_eq!(fs::read_to_string(stage.path("env")).expect("it was written"), "A=1=x\nB=2\n");
}

#[test]
fn write_file() {
    let stage = Stage::new("write-file out.txt some text\\n");
    assert!(stage.command().status().expect("it starts").success());
    assert_eq!(fs::read_to_string(stage.path("out.txt")).expect("it was written"), "some text\n");
    assert_eq!(play("write-file no/such/folder x").status.code(), Some(99));
}

#[test]
fn children_are_in_the_agents_group() {
    let stage = Stage::new("children 200 60\nline 1\nsilence");
    let mut agent = stage.start();
    assert_eq!(next_line(&mut agent), "1");
    let children = stage.children();
    assert_eq!(children.len(), 200);
    for child in children {
        assert_eq!(parent(child), pid(&agent).as_raw_nonzero().get());
        assert_eq!(getpgid(Some(child)), getpgid(Some(pid(&agent))));
        assert_eq!(stdout_of(child), Path::new("/dev/null"));
    }
    end(agent);
    stage.clear();
}

#[test]
fn a_setsid_child_outlives_the_agent() {
    let stage = Stage::new("setsid-child 60");
    assert!(stage.command().output().expect("it starts").status.success());
    let child = stage.only_child();
    assert_eq!(getsid(Some(child)), Ok(child));
    assert!(environment(child).contains(&format!("MARKER={}", stage.tag)));
    assert_eq!(stdout_of(child), Path::new("/dev/null"));
    stage.clear();
}

#[test]
fn a_holding_child_keeps_the_pipe_open() {
    for step in ["setsid-child 60 holding", "daemon 60 holding", "children 1 60 holding"] {
        let stage = Stage::new(step);
        let mut agent = stage.start();
        assert!(agent.wait().expect("it is reaped").success());
        assert!(stdout_of(stage.only_child()).to_string_lossy().starts_with("pipe:"), "{step}");
        stage.clear();
        let mut rest = String::new();
        BufReader::new(agent.stdout.take().expect("stdout is piped")).read_line(&mut rest).expect("it has ended");
        assert_eq!(rest, "");
    }
}

#[test]
fn a_daemon_is_an_orphan_while_the_agent_lives() {
    for (step, marked) in [("daemon 60", true), ("clear-env-daemon 60", false)] {
        let stage = Stage::new(&format!("{step}\nline 1\nsilence"));
        let mut agent = stage.start();
        assert_eq!(next_line(&mut agent), "1");
        let daemon = stage.only_child();
        assert_ne!(parent(daemon), pid(&agent).as_raw_nonzero().get());
        assert_eq!(getsid(Some(daemon)), Ok(daemon));
        assert_eq!(environment(daemon).contains("MARKER="), marked, "{step}");
        assert!(marked || environment(daemon).is_empty(), "{step}");
        end(agent);
        assert_eq!(stage.only_child(), daemon);
        stage.clear();
    }
}

#[test]
fn a_child_lives_as_long_as_it_was_told() {
    let stage = Stage::new("children 1 1\nsetsid-child 1\ndaemon 1");
    assert!(stage.command().output().expect("it starts").status.success());
    let deadline = Instant::now() + Duration::from_secs(20);
    while !stage.children().is_empty() {
        assert!(Instant::now() < deadline, "they live on");
        thread::sleep(Duration::from_millis(20));
    }
}
