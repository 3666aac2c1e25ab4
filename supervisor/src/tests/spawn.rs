//! Starting: what the agent gets, what is refused and how that is told.

use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::*;
use crate::{Containment, Exit, SpawnErrorKind, platform::Nest, spawner};

#[tokio::test]
async fn the_environment_is_what_was_ordered_and_the_markers() {
    let mut order = shell("", "");
    (order.program, order.args) = ("/usr/bin/env".into(), vec![]);
    order.environment = vec![("A".into(), "1".into()), ("WHARF_RUN".into(), "forged".into())];
    let run = order.run.clone();
    let mut process = start(order).await;
    let mut said = String::new();
    process.take_stdout().expect("once").read_to_string(&mut said).await.expect("text");
    assert!(process.take_stdout().is_none());
    let mut variables: Vec<&str> = said.lines().collect();
    variables.sort_unstable();
    let host = format!("WHARF_HOST={}:", std::process::id());
    assert_eq!(variables.len(), 3, "{said}");
    assert_eq!(variables[0], "A=1");
    assert!(variables[1].starts_with(&host), "{said}");
    assert_eq!(variables[2], format!("WHARF_RUN={run}"));
    assert_eq!(process.wait().await, Exit { code: Some(0), signal: None });
}

#[tokio::test]
async fn the_agent_leads_a_session_and_a_group_of_its_own() {
    let mut process = start(shell("cut -d' ' -f1,5,6 /proc/$$/stat; pwd", "")).await;
    let mut lines = lines(&mut process);
    let id = process.id();
    expect_line(&mut lines, &format!("{id} {id} {id}")).await;
    expect_line(&mut lines, "/").await;
}

#[tokio::test]
async fn stdin_is_a_pipe_or_empty() {
    for piped in [true, false] {
        let mut process = start(Order { stdin: piped, ..shell("cat; echo end", "") }).await;
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
async fn exits_and_signals_are_told_apart_and_can_be_asked_again() {
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
async fn what_cannot_start_is_told_by_kind_and_leaves_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = |name: &str, content: &str, mode: u32| {
        let path = folder.path().join(name);
        fs::write(&path, content).expect("written");
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("ours");
        path
    };
    let plain = file("plain", "text", 0o644);
    let script = file("script", "#!/nowhere/at/all\n", 0o755);
    let registry = folder.path().join("live");
    let base = Order { registry: Some(registry.clone()), cgroup: true, ..shell("", "") };
    let table = [
        (Order { program: "/nowhere/agent".into(), ..base.clone() }, SpawnErrorKind::ProgramNotFound),
        (Order { program: plain.clone(), ..base.clone() }, SpawnErrorKind::NotExecutable),
        (Order { program: script, ..base.clone() }, SpawnErrorKind::NotExecutable),
        (Order { workspace: "/nowhere".into(), ..base.clone() }, SpawnErrorKind::Workspace),
        (Order { workspace: plain.clone(), ..base.clone() }, SpawnErrorKind::Workspace),
        (Order { args: vec!["a".repeat(4 << 20).into()], ..base.clone() }, SpawnErrorKind::ArgumentsTooLong),
        (Order { args: vec!["a".repeat(1 << 10).into(); 16 << 10], ..base.clone() }, SpawnErrorKind::ArgumentsTooLong),
        (Order { registry: Some(plain), ..base.clone() }, SpawnErrorKind::Registry),
        (Order { run: "a/b".into(), ..base.clone() }, SpawnErrorKind::Invalid),
    ];
    for (order, kind) in table {
        let (run, program, workspace) = (order.run.clone(), order.program.clone(), order.workspace.clone());
        let error = Process::spawn(order).await.expect_err("it cannot start");
        assert_eq!(error.kind(), kind, "{error}");
        let text = error.to_string();
        assert!(text.contains(&*program.to_string_lossy()) && text.contains(&*workspace.to_string_lossy()), "{text}");
        assert_eq!(cgroup_folders(&run), 0, "{text}");
    }
    assert_eq!(fs::read_dir(&registry).expect("made").count(), 0);
}

#[tokio::test]
async fn a_live_run_is_noted_until_it_is_swept() {
    let folder = tempfile::tempdir().expect("a folder");
    let token = token();
    let order = Order { registry: Some(folder.path().into()), cgroup: true, ..shell("sleep TOKEN; :", &token) };
    let (run, note) = (order.run.clone(), folder.path().join(format!("{}.json", order.run)));
    let mut process = start(order).await;
    let read = || -> serde_json::Value { serde_json::from_slice(&fs::read(&note).expect("there")).expect("whole") };
    // The agent's number is added behind the start.
    wait_until("the agent is noted", DEADLINE, || read()["agent_pid"] == process.id());
    let read = read();
    assert_eq!(read["run"], run);
    assert_eq!(read["host_pid"], std::process::id());
    let contained = process.containment() == Containment::Cgroup;
    assert_eq!(cgroup_folders(&run), usize::from(contained));
    assert_eq!(read["cgroup"].is_string(), contained);
    process.sweep(Duration::ZERO).await;
    assert_eq!(fs::read_dir(folder.path()).expect("there").count(), 0);
    assert_eq!(cgroup_folders(&run), 0);
    assert_none_left(&token);
}

#[test]
fn an_agent_outlives_the_thread_and_the_runtime_that_ordered_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let script = "trap 'echo term >>log' TERM; echo up >>log; read end; echo end >>log";
    let order = Order { workspace: folder.path().into(), ..shell(script, "") };
    let log = || fs::read_to_string(folder.path().join("log")).unwrap_or_default();
    let thread = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(start(order))
    });
    let mut process = thread.join().expect("it starts");
    wait_until("the agent is up", DEADLINE, || log().starts_with("up\n"));
    drop(process.take_stdin());
    wait_until("the agent goes on", DEADLINE, || log().ends_with("end\n"));
    assert_eq!(log(), "up\nend\n", "SIGTERM is for when the host dies, not a thread of it");
}

/// The thread is held until the order was polled once: a start can be quicker than the way back to who ordered it.
#[tokio::test]
async fn an_agent_that_nobody_waits_to_see_started_does_not_stay() {
    for given_up_first in [true, false] {
        let token = token();
        let (let_go, held) = std::sync::mpsc::channel::<()>();
        spawner::later(move || assert!(held.recv().is_err(), "nothing is ever sent"));
        let mut ordered = Box::pin(Process::spawn(shell("setsid sleep TOKEN & sleep TOKEN", &token)));
        tokio::select! {
            biased;
            _ = &mut ordered => panic!("the thread that would answer is held"),
            () = std::future::ready(()) => {}
        }
        if given_up_first {
            drop(ordered);
            drop(let_go);
        } else {
            drop(let_go);
            wait_for_sleepers(&token, 2);
            drop(ordered);
        }
        // Agents are started one after the other, so once this one is up the other was started, and dropped by the
        // thread where it was not dropped here.
        start(shell("", "")).await.wait().await;
        assert_none_left(&token);
    }
}

#[tokio::test]
async fn a_panic_at_the_start_of_one_agent_harms_no_other() {
    let token = token();
    let mut process = start(shell("trap 'echo got' TERM; echo up; read end; echo end", &token)).await;
    let mut lines = lines(&mut process);
    expect_line(&mut lines, "up").await;
    let panicked = spawner::on_thread(|| -> () { panic!("as a runtime does that is shutting down") }).await;
    assert!(panicked.is_err());
    start(shell("", "")).await.wait().await;
    drop(process.take_stdin());
    expect_line(&mut lines, "end").await;
}

/// As when the start fails after the fork.
#[test]
fn a_nest_that_was_not_settled_takes_along_whoever_is_in_it() {
    for cgroup in [false, true] {
        let token = token();
        let order = Order { cgroup, ..shell("", "") };
        let nest = Nest::prepare(&order).expect("made");
        let mut command = Command::new("sleep");
        command.arg(&token).envs(nest.markers().variables()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn().expect("it starts");
        wait_for_sleepers(&token, 1);
        drop(nest);
        assert_none_left(&token);
        assert!(child.wait().is_err(), "its status was taken as well");
        assert_eq!(cgroup_folders(&order.run), 0);
    }
}
