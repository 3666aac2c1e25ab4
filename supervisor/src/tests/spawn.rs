//! Starting: what the agent gets, and how failures are reported.

use std::os::unix::fs::PermissionsExt;

use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::*;
use crate::{Containment, Exit, SpawnErrorKind, platform::PendingSpawn, spawner};

#[tokio::test]
async fn the_environment_is_the_given_one_plus_the_markers() {
    let mut spec = shell("", "");
    (spec.program, spec.args) = ("/usr/bin/env".into(), vec![]);
    spec.environment = vec![("A".into(), "1".into()), ("WHARF_RUN".into(), "forged".into())];
    let run = spec.run.clone();
    let mut process = start(spec).await;
    let mut output = String::new();
    process.take_stdout().expect("not taken yet").read_to_string(&mut output).await.expect("text");
    assert!(process.take_stdout().is_none());
    let mut variables: Vec<&str> = output.lines().collect();
    variables.sort_unstable();
    let host = format!("WHARF_HOST={}:", std::process::id());
    assert_eq!(variables.len(), 3, "{output}");
    assert_eq!(variables[0], "A=1");
    assert!(variables[1].starts_with(&host), "{output}");
    assert_eq!(variables[2], format!("WHARF_RUN={run}"));
    assert_eq!(process.wait().await, Exit { code: Some(0), signal: None });
}

#[tokio::test]
async fn the_agent_leads_its_own_session_and_process_group() {
    let mut process = start(shell("cut -d' ' -f1,5,6 /proc/$$/stat; pwd", "")).await;
    let mut lines = lines(&mut process);
    let id = process.id();
    expect_line(&mut lines, &format!("{id} {id} {id}")).await;
    expect_line(&mut lines, "/").await;
}

#[tokio::test]
async fn stdin_is_a_pipe_or_empty() {
    for piped in [true, false] {
        let mut process = start(SpawnSpec { stdin: piped, ..shell("cat; echo end", "") }).await;
        let stdin = process.take_stdin();
        assert_eq!(stdin.is_some(), piped);
        if let Some(mut stdin) = stdin {
            stdin.write_all(b"word\n").await.expect("it reads");
        }
        let mut lines = lines(&mut process);
        if piped {
            expect_line(&mut lines, "word").await;
        }
        expect_line(&mut lines, "end").await;
    }
}

#[tokio::test]
async fn exit_codes_and_signals_are_reported_on_every_wait() {
    for (script, code, signal) in
        [("exit 0", Some(0), None), ("exit 77", Some(77), None), ("kill -9 $$", None, Some(9))]
    {
        let mut process = start(shell(script, "")).await;
        for _ in 0..2 {
            assert_eq!(process.wait().await, Exit { code, signal }, "{script}");
        }
    }
}

#[tokio::test]
async fn a_failed_start_reports_its_kind_and_leaves_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = |name: &str, content: &str, mode: u32| {
        let path = folder.path().join(name);
        fs::write(&path, content).expect("written");
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("our file");
        path
    };
    let plain = file("plain", "text", 0o644);
    let script = file("script", "#!/nowhere/at/all\n", 0o755);
    let registry = folder.path().join("live");
    let base = SpawnSpec { registry: Some(registry.clone()), cgroup: true, ..shell("", "") };
    let table = [
        (SpawnSpec { program: "/nowhere/agent".into(), ..base.clone() }, SpawnErrorKind::ProgramNotFound),
        (SpawnSpec { program: plain.clone(), ..base.clone() }, SpawnErrorKind::NotExecutable),
        (SpawnSpec { program: script, ..base.clone() }, SpawnErrorKind::NotExecutable),
        (SpawnSpec { workspace: "/nowhere".into(), ..base.clone() }, SpawnErrorKind::Workspace),
        (SpawnSpec { workspace: plain.clone(), ..base.clone() }, SpawnErrorKind::Workspace),
        (SpawnSpec { args: vec!["a".repeat(4 << 20).into()], ..base.clone() }, SpawnErrorKind::ArgumentsTooLong),
        (
            SpawnSpec { args: vec!["a".repeat(1 << 10).into(); 16 << 10], ..base.clone() },
            SpawnErrorKind::ArgumentsTooLong,
        ),
        (SpawnSpec { registry: Some(plain), ..base.clone() }, SpawnErrorKind::Registry),
        (SpawnSpec { run: "a/b".into(), ..base.clone() }, SpawnErrorKind::Invalid),
    ];
    for (spec, kind) in table {
        let (run, program, workspace) = (spec.run.clone(), spec.program.clone(), spec.workspace.clone());
        let error = Process::spawn(spec).await.expect_err("it cannot start");
        assert_eq!(error.kind(), kind, "{error}");
        let text = error.to_string();
        assert!(text.contains(&*program.to_string_lossy()) && text.contains(&*workspace.to_string_lossy()), "{text}");
        assert_eq!(cgroup_folders(&run), 0, "{text}");
    }
    assert_eq!(fs::read_dir(&registry).expect("the folder exists").count(), 0);
}

#[tokio::test]
async fn a_live_run_is_recorded_until_it_is_cleaned_up() {
    let folder = tempfile::tempdir().expect("a folder");
    let token = token();
    let spec = SpawnSpec { registry: Some(folder.path().into()), cgroup: true, ..shell("sleep TOKEN; :", &token) };
    let (run, file) = (spec.run.clone(), folder.path().join(format!("{}.json", spec.run)));
    let mut process = start(spec).await;
    let read = || -> serde_json::Value {
        serde_json::from_slice(&fs::read(&file).expect("the file exists")).expect("complete")
    };
    // The agent's process id is added after the start.
    wait_until("the agent is recorded", DEADLINE, || read()["agent_pid"] == process.id());
    let record = read();
    assert_eq!(record["run"], run);
    assert_eq!(record["host_pid"], std::process::id());
    let contained = process.containment() == Containment::Cgroup;
    assert_eq!(cgroup_folders(&run), usize::from(contained));
    assert_eq!(record["cgroup"].is_string(), contained);
    process.clean_up(Duration::ZERO).await;
    assert_eq!(fs::read_dir(folder.path()).expect("the folder exists").count(), 0);
    assert_eq!(cgroup_folders(&run), 0);
    assert_none_left(&token);
}

#[test]
fn an_agent_outlives_the_thread_and_the_runtime_that_started_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let script = "trap 'echo term >>log' TERM; echo up >>log; read end; echo end >>log";
    let spec = SpawnSpec { workspace: folder.path().into(), ..shell(script, "") };
    let log = || fs::read_to_string(folder.path().join("log")).unwrap_or_default();
    let thread = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(start(spec))
    });
    let mut process = thread.join().expect("it starts");
    wait_until("the agent is up", DEADLINE, || log().starts_with("up\n"));
    drop(process.take_stdin());
    wait_until("the agent has reached its end", DEADLINE, || log().ends_with("end\n"));
    assert_eq!(log(), "up\nend\n", "SIGTERM is sent only if the host dies, not one of its threads");
}

/// The spawner thread is blocked until the future was polled once: otherwise the start could finish first.
#[tokio::test]
async fn cancelling_a_spawn_leaves_no_agent() {
    for cancelled_first in [true, false] {
        let token = token();
        let (unblock, blocked) = std::sync::mpsc::channel::<()>();
        spawner::run_later(move || assert!(blocked.recv().is_err(), "nothing is ever sent"));
        let mut spawning = Box::pin(Process::spawn(shell("setsid sleep TOKEN & sleep TOKEN", &token)));
        tokio::select! {
            biased;
            _ = &mut spawning => panic!("the spawner thread is blocked"),
            () = std::future::ready(()) => {}
        }
        if cancelled_first {
            drop(spawning);
            drop(unblock);
        } else {
            drop(unblock);
            wait_for_sleepers(&token, 2);
            drop(spawning);
        }
        // Agents are started one after the other. So when this one has started, the other one was started too, and
        // dropped either here or by the thread.
        start(shell("", "")).await.wait().await;
        assert_none_left(&token);
    }
}

#[tokio::test]
async fn a_panic_while_starting_one_agent_does_not_affect_others() {
    let token = token();
    let mut process = start(shell("trap 'echo got' TERM; echo up; read end; echo end", &token)).await;
    let mut lines = lines(&mut process);
    expect_line(&mut lines, "up").await;
    let panicked = spawner::on_thread(|| -> () { panic!("as in a runtime that is shutting down") }).await;
    assert!(panicked.is_err());
    start(shell("", "")).await.wait().await;
    drop(process.take_stdin());
    expect_line(&mut lines, "end").await;
}

/// This happens if the start fails after the fork.
#[test]
fn dropping_an_unfinished_spawn_kills_its_processes() {
    for cgroup in [false, true] {
        let token = token();
        let spec = SpawnSpec { cgroup, ..shell("", "") };
        let pending = PendingSpawn::prepare(&spec).expect("prepared");
        let mut command = Command::new("sleep");
        command.arg(&token).envs(pending.markers().variables()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn().expect("it starts");
        wait_for_sleepers(&token, 1);
        drop(pending);
        assert_none_left(&token);
        assert!(child.wait().is_err(), "its exit status was taken too");
        assert_eq!(cgroup_folders(&spec.run), 0);
    }
}
