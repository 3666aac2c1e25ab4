//! Cleanup: every process that the agent has started is found and ended.

use super::*;
use crate::{Cleanup, Containment};

/// Ends the agent by closing its stdin, then cleans up.
async fn exit_and_clean_up(process: &mut Process) -> Cleanup {
    drop(process.take_stdin());
    tokio::time::timeout(DEADLINE, process.wait()).await.expect("it exits when its stdin is closed");
    process.clean_up(Duration::ZERO).await
}

#[tokio::test]
async fn tools_that_left_the_process_group_are_found() {
    let table = [
        ("in the process group", "sleep TOKEN & read end"),
        ("in its own session", "setsid sleep TOKEN & read end"),
        ("a double-forked daemon", "(setsid sh -c 'sleep TOKEN & exit' &); read end"),
        ("a daemon that ignores signals", "(setsid sh -c 'trap \"\" TERM INT HUP; sleep TOKEN & exit' &); read end"),
        ("in the session, with nothing in its environment", "(env -i sleep TOKEN &); read end"),
    ];
    for cgroup in [false, true] {
        for (what, script) in table {
            let token = token();
            let spec = SpawnSpec { cgroup, ..shell(script, &token) };
            let run = spec.run.clone();
            let mut process = start(spec).await;
            wait_for_sleepers(&token, 1);
            let cleanup = exit_and_clean_up(&mut process).await;
            assert_killed(&cleanup.killed, 1, &token);
            assert_eq!(cleanup.survivors, [], "{what}");
            assert_none_left(&token);
            assert_eq!(cgroup_folders(&run), 0, "{what}");
        }
    }
}

/// It has no group, session, parent or marker in common with the agent: only the cgroup finds it.
#[tokio::test]
async fn a_daemon_without_environment_is_found_by_its_cgroup() {
    let token = token();
    let mut process =
        start(SpawnSpec { cgroup: true, ..shell("(setsid env -i sleep TOKEN &); read end", &token) }).await;
    if process.containment() != Containment::Cgroup {
        return; // Unavailable on this machine. The subreaper test has the same daemon.
    }
    wait_for_sleepers(&token, 1);
    let cleanup = exit_and_clean_up(&mut process).await;
    assert_killed(&cleanup.killed, 1, &token);
    assert_none_left(&token);
}

/// The same without a cgroup, if a scan saw it while its parent was alive.
#[tokio::test]
async fn a_daemon_without_environment_is_remembered_from_an_earlier_scan() {
    let token = token();
    let mut process = start(shell("setsid env -i sleep TOKEN & read end", &token)).await;
    wait_for_sleepers(&token, 1);
    assert!(process.any_alive().await);
    let cleanup = exit_and_clean_up(&mut process).await;
    assert_killed(&cleanup.killed, 1, &token);
    assert_none_left(&token);
}

#[tokio::test]
async fn an_agent_that_ignores_sigterm_is_killed() {
    for cgroup in [false, true] {
        let token = token();
        let script = "trap 'echo got' TERM; echo up; while :; do sleep TOKEN & wait; done";
        let mut process = start(SpawnSpec { cgroup, ..shell(script, &token) }).await;
        let mut lines = lines(&mut process);
        expect_line(&mut lines, "up").await;
        process.terminate().expect("it runs");
        expect_line(&mut lines, "got").await;
        let cleanup = process.clean_up(Duration::ZERO).await;
        assert!(cleanup.killed.iter().any(|leftover| leftover.pid == process.id()), "{cleanup:?}");
        assert_eq!(process.wait().await.signal, Some(9));
        assert_none_left(&token);
    }
}

#[tokio::test]
async fn signals_reach_the_whole_group_after_its_leader_has_exited() {
    let token = token();
    let mut process = start(shell("sleep TOKEN & read end", &token)).await;
    wait_for_sleepers(&token, 1);
    drop(process.take_stdin());
    process.wait().await;
    process.terminate().expect("signalled");
    wait_until("the tool has exited", DEADLINE, || pids_with(&token).is_empty());
    assert_eq!(process.clean_up(Duration::ZERO).await, Cleanup::default());
}

#[tokio::test]
async fn two_hundred_children_are_killed() {
    for cgroup in [false, true] {
        let token = token();
        let script = "i=0; while [ $i -lt 100 ]; do sleep TOKEN & setsid sleep TOKEN & i=$((i+1)); done; read end";
        let mut process = start(SpawnSpec { cgroup, ..shell(script, &token) }).await;
        wait_for_sleepers(&token, 200);
        let cleanup = exit_and_clean_up(&mut process).await;
        assert_killed(&cleanup.killed, 200, &token);
        assert_none_left(&token);
    }
}

#[tokio::test]
async fn a_tree_that_grows_during_the_cleanup_is_killed() {
    let token = token();
    // Every process starts two more, each in a new session, up to a fixed depth.
    let script = "grow() { [ $1 -gt 0 ] || exec sleep TOKEN; setsid sh -c \"$body\" sh $(($1-1)) & \
                  setsid sh -c \"$body\" sh $(($1-1)) & sleep TOKEN; }; \
                  export body='[ $1 -gt 0 ] || exec sleep TOKEN; setsid sh -c \"$body\" sh $(($1-1)) & \
                  setsid sh -c \"$body\" sh $(($1-1)) & sleep TOKEN'; echo up; grow 5";
    let mut process = start(shell(script, &token)).await;
    let mut lines = lines(&mut process);
    expect_line(&mut lines, "up").await;
    let cleanup = process.clean_up(Duration::ZERO).await;
    assert_eq!(cleanup.survivors, []);
    assert_none_left(&token);
}

#[tokio::test]
async fn agents_that_exit_immediately_leave_nothing_to_clean_up() {
    let mut runs = tokio::task::JoinSet::new();
    for number in 0..40 {
        runs.spawn(async move {
            let mut process = start(SpawnSpec { cgroup: number % 2 == 0, ..shell("exit 3", "") }).await;
            assert_eq!(process.wait().await.code, Some(3));
            assert_eq!(process.clean_up(Duration::ZERO).await, Cleanup::default());
        });
    }
    while let Some(result) = runs.join_next().await {
        result.expect("it ran");
    }
}

#[tokio::test]
async fn a_tool_that_exits_within_the_grace_period_is_not_killed() {
    let mut process = start(shell("sleep 0.3 & exit", "")).await;
    process.wait().await;
    assert_eq!(process.clean_up(DEADLINE).await, Cleanup::default());
}

#[tokio::test]
async fn the_cleanup_of_one_run_does_not_affect_other_runs_or_children_of_the_host() {
    let (first, second, own) = (token(), token(), token());
    let mut first_run = start(shell("setsid sleep TOKEN & read end", &first)).await;
    let mut second_run = start(shell("setsid sleep TOKEN & read end", &second)).await;
    let mut child = TestChild::spawn(Command::new("setsid").args(["sleep", &own]));
    for token in [&first, &second, &own] {
        wait_for_sleepers(token, 1);
    }
    assert_eq!(exit_and_clean_up(&mut first_run).await.killed.len(), 1);
    assert_none_left(&first);
    wait_for_sleepers(&second, 1);
    assert!(child.is_alive());
    assert_eq!(exit_and_clean_up(&mut second_run).await.killed.len(), 1);
    assert_none_left(&second);
}

#[tokio::test]
async fn dropping_a_process_kills_its_tree() {
    for cgroup in [false, true] {
        let token = token();
        let folder = tempfile::tempdir().expect("a folder");
        let spec = SpawnSpec {
            cgroup,
            registry: Some(folder.path().into()),
            ..shell("setsid sleep TOKEN & sleep TOKEN", &token)
        };
        let run = spec.run.clone();
        let process = start(spec).await;
        wait_for_sleepers(&token, 2);
        drop(process);
        assert_none_left(&token);
        assert_eq!(cgroup_folders(&run), 0);
        assert_eq!(fs::read_dir(folder.path()).expect("the folder exists").count(), 0);
    }
}
