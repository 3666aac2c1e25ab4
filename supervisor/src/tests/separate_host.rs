//! What needs a process of its own: the host that is killed, and the host that is the subreaper. The test binary is
//! started again in that role.

use std::process::Stdio;

use super::*;
use crate::{Reaped, become_subreaper, reap_orphans};

const ROLE: &str = "WHARF_TEST_ROLE";
const SCRIPT: &str = "WHARF_TEST_SCRIPT";
const REGISTRY: &str = "WHARF_TEST_REGISTRY";
const CGROUP: &str = "WHARF_TEST_CGROUP";
const WAY: &str = "WHARF_TEST_WAY";

/// The roles. Without one, as when all ignored tests are run, there is nothing to do.
#[test]
#[ignore = "a role that other tests start"]
fn role() {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime");
    match std::env::var(ROLE).as_deref() {
        Ok("host") => runtime.block_on(host()),
        Ok("subreaper") => runtime.block_on(subreaper()),
        Ok("interrupter") => runtime.block_on(interrupter()),
        Ok("signals") => runtime.block_on(birth::compare_signals()),
        Ok("closed") => runtime.block_on(birth::start_with_stdio_closed()),
        Ok("many") => runtime.block_on(birth::start_many()),
        _ => {}
    }
}

pub(super) fn in_role(role: &str) -> Command {
    let (_, module) = module_path!().split_once("::").expect("a module of a crate");
    let mut command = Command::new(std::env::current_exe().expect("we run"));
    command.args([&format!("{module}::role"), "--exact", "--ignored", "--test-threads=1"]).env(ROLE, role);
    command.stdin(Stdio::null());
    command
}

/// Runs one agent until it is killed.
async fn host() {
    let variable = |name: &str| std::env::var(name).expect("set by the test");
    let order = Order {
        registry: Some(variable(REGISTRY).into()),
        cgroup: variable(CGROUP) == "true",
        ..shell(&variable(SCRIPT), "")
    };
    let way = std::env::var(WAY).unwrap_or_default();
    let mut process = start_by(&way, order).await.expect("the shell starts");
    let _stdin = process.take_stdin();
    process.wait().await;
}

/// A registry, and a host with an agent that runs `script` with `sleepers` processes.
fn start_host(script: &str, token: &str, sleepers: usize, cgroup: bool) -> (tempfile::TempDir, Own) {
    start_host_by("clone", script, token, sleepers, cgroup)
}

fn start_host_by(way: &str, script: &str, token: &str, sleepers: usize, cgroup: bool) -> (tempfile::TempDir, Own) {
    let registry = tempfile::tempdir().expect("a folder");
    let mut command = in_role("host");
    command.env(WAY, way);
    command.env(SCRIPT, script.replace("TOKEN", token)).env(REGISTRY, registry.path()).env(CGROUP, cgroup.to_string());
    let host = Own::spawn(command.stdout(Stdio::null()));
    wait_for_sleepers(token, sleepers);
    let noted = || {
        let run = sole_note(registry.path())?;
        let record: serde_json::Value = serde_json::from_slice(&fs::read(run).ok()?).ok()?;
        record["agent_pid"].as_u64()
    };
    wait_until("the run is noted", DEADLINE, || noted().is_some());
    (registry, host)
}

fn sole_note(registry: &Path) -> Option<std::path::PathBuf> {
    let notes: Vec<_> = fs::read_dir(registry).ok()?.flatten().map(|item| item.path()).collect();
    notes.into_iter().find(|path| path.extension().is_some_and(|extension| extension == "json"))
}

#[test]
fn the_agent_goes_when_its_host_is_killed() {
    for way in ["clone", "fork"] {
        let token = token();
        let (registry, mut host) = start_host_by(way, "exec sleep TOKEN", &token, 1, false);
        assert_eq!(reap_orphans(registry.path()), [], "the host lives");
        assert_eq!(carrying(&token).len(), 1, "and so does its agent");
        host.kill();
        wait_until("the agent is gone", Duration::from_secs(1), || carrying(&token).is_empty());
        // Its threads may take a moment to end. Then the host is a zombie, which is as dead as it gets.
        let mut reaped = Vec::new();
        wait_until("the note is cleared", DEADLINE, || {
            reaped = reap_orphans(registry.path());
            !reaped.is_empty()
        });
        assert_eq!(reaped[0].swept.killed, []);
        assert_eq!(fs::read_dir(registry.path()).expect("there").count(), 0);
    }
}

#[test]
fn what_outlives_a_killed_host_is_reaped_by_the_next_once() {
    let table = [
        ("a stubborn agent", "trap '' TERM; sleep TOKEN", 1),
        ("its tools without environment", "trap '' TERM; setsid env -i sleep TOKEN & sleep TOKEN", 2),
        ("a daemon of an agent that goes", "(setsid sleep TOKEN &); read end", 1),
    ];
    for cgroup in [false, true] {
        for (what, script, sleepers) in table {
            let token = token();
            let (registry, host) = start_host(script, &token, sleepers, cgroup);
            let run = sole_note(registry.path()).expect("noted");
            let run = run.file_stem().expect("a name").to_string_lossy().into_owned();
            drop(host);
            let reaped: Vec<Reaped> = std::thread::scope(|scope| {
                let hosts: Vec<_> = (0..4).map(|_| scope.spawn(|| reap_orphans(registry.path()))).collect();
                hosts.into_iter().flat_map(|host| host.join().expect("no panic")).collect()
            });
            assert_eq!(reaped.len(), 1, "{what}: {reaped:?}");
            assert_eq!(reaped[0].run, run);
            let killed = &reaped[0].swept.killed;
            assert!(killed.len() >= sleepers, "{what}: {killed:?}");
            assert!(killed.iter().all(|remnant| remnant.command.contains(&token)), "{what}: {killed:?}");
            assert_none_left(&token);
            assert_eq!(cgroup_folders(&run), 0, "{what}");
            assert_eq!(fs::read_dir(registry.path()).expect("there").count(), 0);
        }
    }
}

#[test]
fn a_stranger_under_the_number_of_a_dead_hosts_agent_is_left_alone() {
    let token = token();
    let (registry, host) = start_host("exec sleep TOKEN", &token, 1, false);
    drop(host);
    wait_until("the agent is gone", DEADLINE, || carrying(&token).is_empty());
    let mut stranger = Own::spawn(Command::new("setsid").args(["sleep", &token]));
    wait_for_sleepers(&token, 1);
    let note = sole_note(registry.path()).expect("noted");
    let mut record: serde_json::Value = serde_json::from_slice(&fs::read(&note).expect("there")).expect("whole");
    record["agent_pid"] = stranger.0.id().into();
    // Whatever the clock said: a tick is long enough for all of the above.
    record["agent_start"] = (start_time(stranger.0.id()) - 1).into();
    fs::write(&note, record.to_string()).expect("written");
    let reaped = reap_orphans(registry.path());
    assert_eq!(reaped.len(), 1);
    assert_eq!(reaped[0].swept.killed, []);
    assert!(stranger.lives());
}

#[test]
fn as_the_subreaper() {
    let output = in_role("subreaper").output().expect("this very program");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}

async fn subreaper() {
    become_subreaper().expect("Linux");
    let daemon = "(setsid env -i sleep TOKEN &); read end";
    let (first, second) = (token(), token());
    let mut older = start(shell(daemon, &first)).await;
    wait_for_sleepers(&first, 1);
    let mut younger = start(shell(daemon, &second)).await;
    wait_for_sleepers(&second, 1);

    // Which of the two runs the second daemon is of, nobody can tell; the first is certainly not the younger's.
    drop(younger.take_stdin());
    younger.wait().await;
    younger.sweep(Duration::ZERO).await;
    assert_eq!(carrying(&first).len(), 2, "the older run goes on");
    drop(older.take_stdin());
    older.wait().await;
    older.sweep(Duration::ZERO).await;
    assert_none_left(&first);
    assert_none_left(&second);
    assert_eq!(children(), [0; 0]);

    // Orphans that end while the run goes on do not stay zombies.
    let token = token();
    let mut process = start(shell("(setsid env -i true &); (sleep 0 &); sleep TOKEN & read end", &token)).await;
    wait_for_sleepers(&token, 1);
    wait_until("only the agent is left", DEADLINE, || children() == [process.id()]);
    process.sweep(Duration::ZERO).await;
    assert_none_left(&token);
    assert_eq!(children(), [0; 0]);

    // While agents start and end side by side, none is taken for an orphan of another.
    let mut runs = tokio::task::JoinSet::new();
    for _ in 0..60 {
        runs.spawn(async {
            let mut process = start(shell("exit 5", "")).await;
            assert_eq!(process.wait().await.code, Some(5));
            assert_eq!(process.sweep(Duration::ZERO).await.killed, []);
        });
    }
    while let Some(result) = runs.join_next().await {
        result.expect("it ran");
    }
    assert_eq!(children(), [0; 0]);
}

#[test]
fn with_a_handler_for_ctrl_c() {
    let output = in_role("interrupter").output().expect("this very program");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}

/// Where SIGINT is ignored, as in the background of a script, agents ignore it too; a host that handles it changes that.
async fn interrupter() {
    use tokio::signal::unix::{SignalKind, signal};
    let _handled = signal(SignalKind::interrupt()).expect("Unix");
    let mut process = start(shell("trap 'echo got; exit 4' INT; echo up; read end; read end", "")).await;
    let mut lines = lines(&mut process);
    expect_line(&mut lines, "up").await;
    process.interrupt().expect("it runs");
    expect_line(&mut lines, "got").await;
    assert_eq!(process.wait().await.code, Some(4));
}

fn start_time(pid: u32) -> u64 {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).expect("it lives");
    let (_, fields) = stat.rsplit_once(')').expect("a name in parentheses");
    fields.split_whitespace().nth(19).and_then(|field| field.parse().ok()).expect("proc(5)")
}

/// All children of this process, zombies too.
pub(super) fn children() -> Vec<u32> {
    let tasks = fs::read_dir("/proc/self/task").expect("Linux").flatten();
    let lists = tasks.map(|task| fs::read_to_string(task.path().join("children")).unwrap_or_default());
    lists.flat_map(|list| list.split_whitespace().filter_map(|pid| pid.parse().ok()).collect::<Vec<u32>>()).collect()
}
