//! Real processes, real signals. Each test names its processes by a number of its own in their command lines, so that
//! what is left of them is found without the code under test.

mod birth;
mod crash;
mod spawn;
mod sweep;

use std::fs;
use std::path::Path;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader, Lines};
use tokio::process::ChildStdout;

use super::agent::Agent;
use super::{Order, Process, Remnant, SpawnError};

/// Far more than anything here takes, even on a machine under load.
const DEADLINE: Duration = Duration::from_secs(20);

/// A duration for `sleep`, long, and like no other: what carries it in its command line is this test's.
fn token() -> String {
    let random = uuid::Uuid::new_v4().as_u128() % 1_000_000_000_000;
    format!("86400.{random:012}")
}

fn run_id() -> String {
    uuid::Uuid::new_v4().to_string()
}

/// An order for a shell script, in which `TOKEN` stands for `token`.
fn shell(script: &str, token: &str) -> Order {
    Order {
        program: "/bin/sh".into(),
        args: vec!["-c".into(), script.replace("TOKEN", token).into()],
        workspace: "/".into(),
        environment: vec![("PATH".into(), std::env::var_os("PATH").unwrap_or_default())],
        stdin: true,
        run: run_id(),
        registry: None,
        cgroup: false,
    }
}

/// A child of the test's own, which does not outlive a test that fails.
struct Own(Child);

impl Own {
    fn spawn(command: &mut Command) -> Self {
        Self(command.spawn().expect("it starts"))
    }

    fn lives(&mut self) -> bool {
        self.0.try_wait().expect("still ours to wait for").is_none()
    }

    fn kill(&mut self) {
        self.0.kill().expect("ours");
    }
}

impl Drop for Own {
    fn drop(&mut self) {
        // One that has ended already is as well.
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

async fn start(order: Order) -> Process {
    Process::spawn(order).await.expect("the shell starts")
}

/// Starts it in the usual way, or as where agents cannot be cloned.
async fn start_by(way: &str, order: Order) -> Result<Process, SpawnError> {
    match way {
        "fork" => Process::spawn_by(Agent::fork, order).await,
        _ => Process::spawn(order).await,
    }
}

/// Everything that it says, and its end.
async fn listen(process: &mut Process) -> String {
    let mut said = String::new();
    process.take_stdout().expect("once").read_to_string(&mut said).await.expect("text");
    process.wait().await;
    said
}

fn lines(process: &mut Process) -> Lines<BufReader<ChildStdout>> {
    BufReader::new(process.take_stdout().expect("not taken yet")).lines()
}

async fn expect_line(lines: &mut Lines<BufReader<ChildStdout>>, expected: &str) {
    let line = tokio::time::timeout(DEADLINE, lines.next_line()).await.expect("in time").expect("readable");
    assert_eq!(line.as_deref(), Some(expected));
}

/// The numbers of the processes that carry the token; zombies have no command line.
fn carrying(token: &str) -> Vec<u32> {
    let pids =
        fs::read_dir("/proc").expect("Linux").flatten().filter_map(|item| item.file_name().to_str()?.parse().ok());
    pids.filter(|pid| fs::read_to_string(format!("/proc/{pid}/cmdline")).is_ok_and(|line| line.contains(token)))
        .collect()
}

/// Waits for the thing itself.
fn wait_until(what: &str, limit: Duration, mut is_so: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !is_so() {
        assert!(begin.elapsed() < limit, "not within {limit:?}: {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Waits until that many processes *besides* the shell that runs the script are at their `sleep`.
fn wait_for_sleepers(token: &str, count: usize) {
    let sleeping = |pid: &u32| {
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        line.ends_with(format!("sleep\0{token}\0").as_bytes())
            && !line.starts_with(b"setsid")
            && !line.starts_with(b"env")
    };
    wait_until("all sleepers are there", DEADLINE, || {
        carrying(token).iter().filter(|pid| sleeping(pid)).count() == count
    });
}

fn assert_none_left(token: &str) {
    assert_eq!(carrying(token), [0; 0], "processes are left");
}

fn assert_all_carry(killed: &[Remnant], count: usize, token: &str) {
    assert_eq!(killed.len(), count, "{killed:?}");
    assert!(killed.iter().all(|remnant| remnant.command.contains(token)), "{killed:?}");
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
