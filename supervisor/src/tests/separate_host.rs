//! Tests that need a separate host process: a host that is killed, one that is the subreaper, and one that handles
//! SIGINT.

use super::*;
use crate::{Containment, ReapedRun, become_subreaper, reap_orphans};

const SCRIPT: &str = "WHARF_TEST_SCRIPT";
const REGISTRY: &str = "WHARF_TEST_REGISTRY";
const CGROUP: &str = "WHARF_TEST_CGROUP";
const METHOD: &str = "WHARF_TEST_METHOD";

/// The host that is killed: it runs one agent.
pub(super) async fn host() {
    let variable = |name: &str| std::env::var(name).expect("set by the test");
    let spec = SpawnSpec {
        registry: Some(variable(REGISTRY).into()),
        cgroup: variable(CGROUP) == "true",
        ..shell(&variable(SCRIPT), "")
    };
    let method = std::env::var(METHOD).unwrap_or_default();
    let mut process = start_with(&method, spec).await.expect("the shell starts");
    let _stdin = process.take_stdin();
    process.wait().await;
}

/// Starts a host with an agent that runs `script`, and waits for that many sleepers. Returns its registry too.
fn start_host(script: &str, token: &str, sleepers: usize, cgroup: bool) -> (tempfile::TempDir, TestChild) {
    start_host_with("clone", script, token, sleepers, cgroup)
}

fn start_host_with(
    method: &str,
    script: &str,
    token: &str,
    sleepers: usize,
    cgroup: bool,
) -> (tempfile::TempDir, TestChild) {
    let registry = tempfile::tempdir().expect("a folder");
    let mut command = in_role("host");
    command.env(METHOD, method);
    command.env(SCRIPT, script.replace("TOKEN", token)).env(REGISTRY, registry.path()).env(CGROUP, cgroup.to_string());
    let host = TestChild::spawn(command.stdout(Stdio::null()));
    wait_for_sleepers(token, sleepers);
    let agent_pid = || {
        let run = only_record(registry.path())?;
        let record: serde_json::Value = serde_json::from_slice(&fs::read(run).ok()?).ok()?;
        record["agent_pid"].as_u64()
    };
    wait_until("the run is recorded", DEADLINE, || agent_pid().is_some());
    (registry, host)
}

fn only_record(registry: &Path) -> Option<std::path::PathBuf> {
    let files: Vec<_> = fs::read_dir(registry).ok()?.flatten().map(|item| item.path()).collect();
    files.into_iter().find(|path| path.extension().is_some_and(|extension| extension == "json"))
}

#[test]
fn the_agent_ends_when_its_host_is_killed() {
    for method in ["clone", "fork"] {
        let token = token();
        let (registry, mut host) = start_host_with(method, "exec sleep TOKEN", &token, 1, false);
        assert_eq!(reap_orphans(registry.path()), [], "the host is alive");
        assert_eq!(pids_with(&token).len(), 1, "the agent is alive");
        host.kill();
        wait_until("the agent has exited", Duration::from_secs(1), || pids_with(&token).is_empty());
        // The threads of the host may take a moment to exit. Then it is a zombie, which counts as dead.
        let mut reaped = Vec::new();
        wait_until("the record is removed", DEADLINE, || {
            reaped = reap_orphans(registry.path());
            !reaped.is_empty()
        });
        assert_eq!(reaped[0].cleanup.killed, []);
        assert_eq!(fs::read_dir(registry.path()).expect("the folder exists").count(), 0);
    }
}

#[test]
fn processes_that_outlive_a_killed_host_are_reaped_exactly_once() {
    let table = [
        ("an agent that ignores SIGTERM", "trap '' TERM; sleep TOKEN", 1),
        ("its tools without environment", "trap '' TERM; setsid env -i sleep TOKEN & sleep TOKEN", 2),
        ("a daemon of an agent that exits", "(setsid sleep TOKEN &); read end", 1),
    ];
    for cgroup in [false, true] {
        for (what, script, sleepers) in table {
            let token = token();
            let (registry, host) = start_host(script, &token, sleepers, cgroup);
            let run = only_record(registry.path()).expect("recorded");
            let run = run.file_stem().expect("a name").to_string_lossy().into_owned();
            drop(host);
            let reaped: Vec<ReapedRun> = std::thread::scope(|scope| {
                let hosts: Vec<_> = (0..4).map(|_| scope.spawn(|| reap_orphans(registry.path()))).collect();
                hosts.into_iter().flat_map(|host| host.join().expect("no panic")).collect()
            });
            assert_eq!(reaped.len(), 1, "{what}: {reaped:?}");
            assert_eq!(reaped[0].run, run);
            let killed = &reaped[0].cleanup.killed;
            assert!(killed.len() >= sleepers, "{what}: {killed:?}");
            assert!(killed.iter().all(|process| process.command.contains(&token)), "{what}: {killed:?}");
            assert_none_left(&token);
            assert_eq!(cgroup_folders(&run), 0, "{what}");
            assert_eq!(fs::read_dir(registry.path()).expect("the folder exists").count(), 0);
        }
    }
}

#[test]
fn an_unrelated_process_with_the_reused_id_of_an_agent_is_not_killed() {
    let token = token();
    let (registry, host) = start_host("exec sleep TOKEN", &token, 1, false);
    drop(host);
    wait_until("the agent has exited", DEADLINE, || pids_with(&token).is_empty());
    let mut unrelated = TestChild::spawn(Command::new("setsid").args(["sleep", &token]));
    wait_for_sleepers(&token, 1);
    let file = only_record(registry.path()).expect("recorded");
    let mut record: serde_json::Value =
        serde_json::from_slice(&fs::read(&file).expect("the file exists")).expect("complete");
    record["agent_pid"] = unrelated.0.id().into();
    // Different in any case: all of the above may happen within one clock tick.
    record["agent_start"] = (start_time(unrelated.0.id()) - 1).into();
    fs::write(&file, record.to_string()).expect("written");
    let reaped = reap_orphans(registry.path());
    assert_eq!(reaped.len(), 1);
    assert_eq!(reaped[0].cleanup.killed, []);
    assert!(unrelated.is_alive());
}

#[test]
fn a_subreaper_finds_orphans_and_leaves_no_zombies() {
    let output = in_role("subreaper").output().expect("the test binary");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}

pub(super) async fn subreaper() {
    become_subreaper().expect("Linux");
    let daemon = "(setsid env -i sleep TOKEN &); read end";
    let (first, second) = (token(), token());
    let mut older = start(shell(daemon, &first)).await;
    wait_for_sleepers(&first, 1);
    let mut younger = start(shell(daemon, &second)).await;
    wait_for_sleepers(&second, 1);

    // The second daemon could belong to either run. The first daemon is older than the younger run, so it can only
    // belong to the older one.
    drop(younger.take_stdin());
    younger.wait().await;
    younger.clean_up(Duration::ZERO).await;
    assert_eq!(pids_with(&first).len(), 2, "the older run continues");
    drop(older.take_stdin());
    older.wait().await;
    older.clean_up(Duration::ZERO).await;
    assert_none_left(&first);
    assert_none_left(&second);
    assert_eq!(children(), [0; 0]);

    // Orphans that exit while the run continues do not stay zombies.
    let token = token();
    let mut process = start(shell("(setsid env -i true &); (sleep 0 &); sleep TOKEN & read end", &token)).await;
    wait_for_sleepers(&token, 1);
    wait_until("only the agent is left", DEADLINE, || children() == [process.id()]);
    process.clean_up(Duration::ZERO).await;
    assert_none_left(&token);
    assert_eq!(children(), [0; 0]);

    // While agents start and exit in parallel, none is mistaken for an orphan of another run.
    let mut runs = tokio::task::JoinSet::new();
    for _ in 0..60 {
        runs.spawn(async {
            let mut process = start(shell("exit 5", "")).await;
            assert_eq!(process.wait().await.code, Some(5));
            assert_eq!(process.clean_up(Duration::ZERO).await.killed, []);
        });
    }
    while let Some(result) = runs.join_next().await {
        result.expect("it ran");
    }
    assert_eq!(children(), [0; 0]);
}

#[test]
fn a_daemon_that_leaves_its_cgroup_is_killed_and_reported() {
    let output = in_role("escape").output().expect("the test binary");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}

/// The daemon moves to the cgroup of the host, clears its environment, and its parent exits.
pub(super) async fn escape() {
    become_subreaper().expect("Linux");
    let token = token();
    let own = own_cgroup_procs();
    let script = "(setsid env -i sh -c 'echo $$ > PROCS; exec sleep TOKEN' &); read end";
    let script = script.replace("PROCS", &own.to_string_lossy());
    let mut process = start(SpawnSpec { cgroup: true, ..shell(&script, &token) }).await;
    if process.containment() != Containment::Cgroup {
        return; // Unavailable on this machine.
    }
    wait_for_sleepers(&token, 1);
    let sleeper = pids_with(&token).into_iter().find(|&pid| pid != process.id()).expect("it runs");
    let cgroup = fs::read_to_string(format!("/proc/{sleeper}/cgroup")).expect("it runs");
    assert!(!cgroup.contains("wharf-"), "it has left: {cgroup}");
    drop(process.take_stdin());
    process.wait().await;
    let cleanup = process.clean_up(Duration::ZERO).await;
    assert_none_left(&token);
    assert_killed(&cleanup.killed, 1, &token);
    assert_eq!(children(), [0; 0]);
}

/// The file through which a process joins the cgroup of this one.
fn own_cgroup_procs() -> std::path::PathBuf {
    let mounts = fs::read_to_string("/proc/self/mountinfo").expect("Linux");
    let point = mounts.lines().filter(|line| line.contains(" - cgroup2 ")).find_map(|line| line.split(' ').nth(4));
    let own = fs::read_to_string("/proc/self/cgroup").expect("Linux");
    let own = own.lines().find_map(|line| line.strip_prefix("0::/")).unwrap_or_default();
    Path::new(point.unwrap_or("/no/cgroup")).join(own).join("cgroup.procs")
}

#[test]
fn a_forged_record_of_a_live_run_kills_nothing() {
    let token = token();
    let mut victim = TestChild::spawn(Command::new("setsid").args(["sleep", &token]));
    wait_for_sleepers(&token, 1);
    let registry = tempfile::tempdir().expect("a folder");
    let fake = registry.path().join("wharf-r");
    fs::create_dir(&fake).expect("created");
    fs::write(fake.join("cgroup.procs"), format!("{}\n", victim.0.id())).expect("written");
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").expect("Linux");
    let namespace = fs::read_link("/proc/self/ns/pid").expect("Linux");
    let record = serde_json::json!({
        "run": "r",
        "pid_scope": { "boot": boot.trim_end(), "namespace": namespace },
        "host_pid": i32::MAX,
        "host_start": 1,
        "agent_pid": victim.0.id(),
        "agent_start": start_time(victim.0.id()),
        "cgroup": fake,
    });
    fs::write(registry.path().join("r.json"), record.to_string()).expect("written");
    let reaped = reap_orphans(registry.path());
    assert_eq!(reaped.len(), 1);
    assert_eq!(reaped[0].cleanup, crate::Cleanup::default());
    assert!(victim.is_alive());
    assert!(fake.exists(), "and it removes nothing");
}

#[test]
fn a_host_that_handles_sigint_can_interrupt_its_agents() {
    let output = in_role("interrupter").output().expect("the test binary");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}

/// If SIGINT is ignored, as in a background job of a script, agents ignore it too, unless the host handles it.
pub(super) async fn interrupter() {
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
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).expect("it is alive");
    let (_, fields) = stat.rsplit_once(')').expect("a name in parentheses");
    fields.split_whitespace().nth(19).and_then(|field| field.parse().ok()).expect("proc(5)")
}
