//! Ending: whatever the agent has started, wherever that went.

use super::*;
use crate::{Containment, Swept};

/// Ends the agent by closing its stdin, then sweeps.
async fn leave_and_sweep(process: &mut Process) -> Swept {
    drop(process.take_stdin());
    tokio::time::timeout(DEADLINE, process.wait()).await.expect("it ends when its stdin does");
    process.sweep(Duration::ZERO).await
}

#[tokio::test]
async fn tools_that_left_the_group_are_found() {
    let table = [
        ("in the group", "sleep TOKEN & read end"),
        ("a session of its own", "setsid sleep TOKEN & read end"),
        ("a double-forked daemon", "(setsid sh -c 'sleep TOKEN & exit' &); read end"),
        ("a daemon that ignores signals", "(setsid sh -c 'trap \"\" TERM INT HUP; sleep TOKEN & exit' &); read end"),
        ("in the session, with nothing in its environment", "(env -i sleep TOKEN &); read end"),
    ];
    for cgroup in [false, true] {
        for (what, script) in table {
            let token = token();
            let order = Order { cgroup, ..shell(script, &token) };
            let run = order.run.clone();
            let mut process = start(order).await;
            wait_for_sleepers(&token, 1);
            let swept = leave_and_sweep(&mut process).await;
            assert_all_carry(&swept.killed, 1, &token);
            assert_eq!(swept.survivors, [], "{what}");
            assert_none_left(&token);
            assert_eq!(cgroup_folders(&run), 0, "{what}");
        }
    }
}

/// No group, no session, no parent, no marker: only the cgroup knows.
#[tokio::test]
async fn a_daemon_without_environment_does_not_leave_its_cgroup() {
    let token = token();
    let mut process = start(Order { cgroup: true, ..shell("(setsid env -i sleep TOKEN &); read end", &token) }).await;
    if process.containment() != Containment::Cgroup {
        return; // Not to be had on this machine; the subreaper's test has the same daemon.
    }
    wait_for_sleepers(&token, 1);
    let swept = leave_and_sweep(&mut process).await;
    assert_all_carry(&swept.killed, 1, &token);
    assert_none_left(&token);
}

/// The same without a cgroup, when it was seen while its parent still lived.
#[tokio::test]
async fn a_daemon_without_environment_is_remembered_from_before() {
    let token = token();
    let mut process = start(shell("setsid env -i sleep TOKEN & read end", &token)).await;
    wait_for_sleepers(&token, 1);
    assert!(process.remains().await);
    let swept = leave_and_sweep(&mut process).await;
    assert_all_carry(&swept.killed, 1, &token);
    assert_none_left(&token);
}

#[tokio::test]
async fn an_agent_that_ignores_sigterm_is_killed() {
    for cgroup in [false, true] {
        let token = token();
        let script = "trap 'echo got' TERM; echo up; while :; do sleep TOKEN & wait; done";
        let mut process = start(Order { cgroup, ..shell(script, &token) }).await;
        let mut lines = lines(&mut process);
        expect_line(&mut lines, "up").await;
        process.terminate().expect("it runs");
        expect_line(&mut lines, "got").await;
        let swept = process.sweep(Duration::ZERO).await;
        assert!(swept.killed.iter().any(|remnant| remnant.pid == process.id()), "{swept:?}");
        assert_eq!(process.wait().await.signal, Some(9));
        assert_none_left(&token);
    }
}

#[tokio::test]
async fn signals_reach_the_whole_group_also_after_its_leader_has_ended() {
    let token = token();
    let mut process = start(shell("sleep TOKEN & read end", &token)).await;
    wait_for_sleepers(&token, 1);
    drop(process.take_stdin());
    process.wait().await;
    process.terminate().expect("nothing to fail");
    wait_until("the tool has ended", DEADLINE, || carrying(&token).is_empty());
    assert_eq!(process.sweep(Duration::ZERO).await, Swept::default());
}

#[tokio::test]
async fn two_hundred_children() {
    for cgroup in [false, true] {
        let token = token();
        let script = "i=0; while [ $i -lt 100 ]; do sleep TOKEN & setsid sleep TOKEN & i=$((i+1)); done; read end";
        let mut process = start(Order { cgroup, ..shell(script, &token) }).await;
        wait_for_sleepers(&token, 200);
        let swept = leave_and_sweep(&mut process).await;
        assert_all_carry(&swept.killed, 200, &token);
        assert_none_left(&token);
    }
}

#[tokio::test]
async fn a_tree_that_grows_while_it_is_killed() {
    let token = token();
    // Every process starts two, in sessions of their own, until there are no more than the depth allows.
    let script = "grow() { [ $1 -gt 0 ] || exec sleep TOKEN; setsid sh -c \"$body\" sh $(($1-1)) & \
                  setsid sh -c \"$body\" sh $(($1-1)) & sleep TOKEN; }; \
                  export body='[ $1 -gt 0 ] || exec sleep TOKEN; setsid sh -c \"$body\" sh $(($1-1)) & \
                  setsid sh -c \"$body\" sh $(($1-1)) & sleep TOKEN'; echo up; grow 5";
    let mut process = start(shell(script, &token)).await;
    let mut lines = lines(&mut process);
    expect_line(&mut lines, "up").await;
    let swept = process.sweep(Duration::ZERO).await;
    assert_eq!(swept.survivors, []);
    assert_none_left(&token);
}

#[tokio::test]
async fn agents_that_exit_at_once() {
    let mut runs = tokio::task::JoinSet::new();
    for number in 0..40 {
        runs.spawn(async move {
            let mut process = start(Order { cgroup: number % 2 == 0, ..shell("exit 3", "") }).await;
            assert_eq!(process.wait().await.code, Some(3));
            assert_eq!(process.sweep(Duration::ZERO).await, Swept::default());
        });
    }
    while let Some(result) = runs.join_next().await {
        result.expect("it ran");
    }
}

#[tokio::test]
async fn what_ends_by_itself_in_time_is_not_killed() {
    let mut process = start(shell("sleep 0.3 & exit", "")).await;
    process.wait().await;
    assert_eq!(process.sweep(DEADLINE).await, Swept::default());
}

#[tokio::test]
async fn sweeping_one_run_leaves_others_and_children_of_the_program_alone() {
    let (mine, other, own) = (token(), token(), token());
    let mut swept = start(shell("setsid sleep TOKEN & read end", &mine)).await;
    let mut spared = start(shell("setsid sleep TOKEN & read end", &other)).await;
    let mut child = Own::spawn(Command::new("setsid").args(["sleep", &own]));
    for token in [&mine, &other, &own] {
        wait_for_sleepers(token, 1);
    }
    assert_eq!(leave_and_sweep(&mut swept).await.killed.len(), 1);
    assert_none_left(&mine);
    wait_for_sleepers(&other, 1);
    assert!(child.lives());
    assert_eq!(leave_and_sweep(&mut spared).await.killed.len(), 1);
    assert_none_left(&other);
}

#[tokio::test]
async fn a_dropped_process_takes_its_tree_along() {
    for cgroup in [false, true] {
        let token = token();
        let folder = tempfile::tempdir().expect("a folder");
        let order =
            Order { cgroup, registry: Some(folder.path().into()), ..shell("setsid sleep TOKEN & sleep TOKEN", &token) };
        let run = order.run.clone();
        let process = start(order).await;
        wait_for_sleepers(&token, 2);
        drop(process);
        assert_none_left(&token);
        assert_eq!(cgroup_folders(&run), 0);
        assert_eq!(fs::read_dir(folder.path()).expect("there").count(), 0);
    }
}
