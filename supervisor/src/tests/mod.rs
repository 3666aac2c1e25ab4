//! Tests with real processes and real signals. Each test puts a unique number into the command lines of its processes,
//! so that leftover processes are found without the code under test.

mod clean_up;
mod clone_and_fork;
mod roles;
mod separate_host;
mod spawn;

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader, Lines};
use tokio::process::ChildStdout;

use super::agent::Agent;
use super::{LeftoverProcess, Process, SpawnError, SpawnSpec};

/// Far longer than any step here takes, even on a machine under load.
const DEADLINE: Duration = Duration::from_secs(20);

/// The variable that selects a role, see [`roles`].
const ROLE: &str = "WHARF_TEST_ROLE";

/// The test binary in a role.
fn in_role(role: &str) -> Command {
    let (_, module) = module_path!().split_once("::").expect("a module of a crate");
    let mut command = Command::new(std::env::current_exe().expect("this process runs"));
    command.args([&format!("{module}::roles::role"), "--exact", "--ignored", "--test-threads=1"]).env(ROLE, role);
    command.stdin(Stdio::null());
    command
}

/// A long and unique duration for `sleep`. A process with it in its command line belongs to this test.
fn token() -> String {
    let random = uuid::Uuid::new_v4().as_u128() % 1_000_000_000_000;
    format!("86400.{random:012}")
}

fn run_id() -> String {
    uuid::Uuid::new_v4().to_string()
}

/// Runs a shell script in which `TOKEN` is replaced by `token`.
fn shell(script: &str, token: &str) -> SpawnSpec {
    SpawnSpec {
        args: vec!["-c".into(), script.replace("TOKEN", token).into()],
        environment: vec![("PATH".into(), std::env::var_os("PATH").unwrap_or_default())],
        stdin: true,
        cgroup: false,
        ..SpawnSpec::new("/bin/sh", "/", run_id())
    }
}

/// A child started by the test itself. It is killed if the test fails.
struct TestChild(Child);

impl TestChild {
    fn spawn(command: &mut Command) -> Self {
        Self(command.spawn().expect("it starts"))
    }

    fn is_alive(&mut self) -> bool {
        self.0.try_wait().expect("not waited for yet").is_none()
    }

    fn kill(&mut self) {
        self.0.kill().expect("our child");
    }
}

impl Drop for TestChild {
    fn drop(&mut self) {
        // It may have exited already.
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

async fn start(spec: SpawnSpec) -> Process {
    Process::spawn(spec).await.expect("the shell starts")
}

/// Starts it by default, or with "fork" as if agents could not be cloned.
async fn start_with(method: &str, spec: SpawnSpec) -> Result<Process, SpawnError> {
    match method {
        "fork" => Process::spawn_with(Agent::fork, spec).await,
        _ => Process::spawn(spec).await,
    }
}

/// Reads its complete stdout and waits for its exit.
async fn read_output(process: &mut Process) -> String {
    let mut output = String::new();
    process.take_stdout().expect("not taken yet").read_to_string(&mut output).await.expect("text");
    process.wait().await;
    output
}

fn lines(process: &mut Process) -> Lines<BufReader<ChildStdout>> {
    BufReader::new(process.take_stdout().expect("not taken yet")).lines()
}

async fn expect_line(lines: &mut Lines<BufReader<ChildStdout>>, expected: &str) {
    let line = tokio::time::timeout(DEADLINE, lines.next_line()).await.expect("in time").expect("readable");
    assert_eq!(line.as_deref(), Some(expected));
}

/// The ids of the processes with the token in their command line. Zombies have no command line.
fn pids_with(token: &str) -> Vec<u32> {
    let pids =
        fs::read_dir("/proc").expect("Linux").flatten().filter_map(|item| item.file_name().to_str()?.parse().ok());
    pids.filter(|pid| fs::read_to_string(format!("/proc/{pid}/cmdline")).is_ok_and(|line| line.contains(token)))
        .collect()
}

/// Polls the condition until it is true.
fn wait_until(what: &str, limit: Duration, mut condition: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !condition() {
        assert!(begin.elapsed() < limit, "not within {limit:?}: {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Waits until that many processes run `sleep`, *not* counting the shell that runs the script.
fn wait_for_sleepers(token: &str, count: usize) {
    let sleeping = |pid: &u32| {
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        line.ends_with(format!("sleep\0{token}\0").as_bytes())
            && !line.starts_with(b"setsid")
            && !line.starts_with(b"env")
    };
    wait_until("all sleepers have started", DEADLINE, || {
        pids_with(token).iter().filter(|pid| sleeping(pid)).count() == count
    });
}

fn assert_none_left(token: &str) {
    assert_eq!(pids_with(token), [0; 0], "processes are left");
}

fn assert_killed(killed: &[LeftoverProcess], count: usize, token: &str) {
    assert_eq!(killed.len(), count, "{killed:?}");
    assert!(killed.iter().all(|process| process.command.contains(token)), "{killed:?}");
}

fn cgroup_folders(run: &str) -> usize {
    let name = format!("wharf-{run}");
    let mounts = fs::read_to_string("/proc/self/mountinfo").expect("Linux");
    let points = mounts.lines().filter(|line| line.contains(" - cgroup2 ")).filter_map(|line| line.split(' ').nth(4));
    points.filter(|point| contains_folder(Path::new(point), &name)).count()
}

fn contains_folder(folder: &Path, name: &str) -> bool {
    fs::read_dir(folder).into_iter().flatten().flatten().any(|item| {
        item.file_type().is_ok_and(|kind| kind.is_dir())
            && (item.file_name() == name || contains_folder(&item.path(), name))
    })
}

/// All children of this process, zombies included.
fn children() -> Vec<u32> {
    let tasks = fs::read_dir("/proc/self/task").expect("Linux").flatten();
    let lists = tasks.map(|task| fs::read_to_string(task.path().join("children")).unwrap_or_default());
    lists.flat_map(|list| list.split_whitespace().filter_map(|pid| pid.parse().ok()).collect::<Vec<u32>>()).collect()
}
