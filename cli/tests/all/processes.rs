//! What agents leave behind, and how they are stopped: children of every kind, agents that ignore signals, Ctrl-C, and a
//! wharf that is killed itself. No process of a run may outlive it.

use crate::sandbox;
use std::io::{BufRead as _, BufReader, Read as _};
use std::time::{Duration, Instant};
use wharf_test_support::{
    DONE, Finished, HELLO, LiveRun, SAY, Sandbox, Script, Signal, bytes_written, wait_until, wait_until_stable,
    without_times,
};

/// The processes that were killed, according to the report.
fn killed(run: &Finished) -> Vec<String> {
    let list = run.report()["killed"].as_array().expect("a list");
    list.iter().map(|command| command.as_str().unwrap().to_owned()).collect()
}

/// Starts a run and reads to the first event of a type.
fn live(sandbox: &Sandbox, script: &Script, more: &[&str], until: &str) -> LiveRun {
    let mut live = LiveRun::start(&mut sandbox.run_command(script, more));
    live.read_until(until);
    live
}

/// Kills wharf, and gives all that it had printed.
fn kill(live: &mut LiveRun) -> String {
    live.child.kill().unwrap();
    live.child.wait().unwrap();
    live.stdout.read_to_string(&mut live.printed).unwrap();
    std::mem::take(&mut live.printed)
}

/// Whether a replay begins with these events, except for their times.
fn begins_with(replayed: &str, printed: &str) -> bool {
    without_times(replayed).starts_with(&without_times(printed))
}

#[test]
fn processes_that_outlive_their_agent_are_killed_and_reported() {
    for step in [
        "setsid-child 60",
        "daemon 60",
        "clear-env-daemon 60",
        "children 1 60",
        "daemon 60 holding",
        "setsid-child 60 holding",
    ] {
        let sandbox = sandbox();
        let script = Script::new().line(HELLO).step(step).line(SAY).line(DONE);
        let run = sandbox.run(&script, &[]);
        run.expect(0, "completed");
        let killed = killed(&run);
        assert!(killed.len() == 1 && killed[0].contains("--child"), "{step}: {killed:?}");
    }
}

#[test]
fn two_hundred_children_are_killed() {
    let sandbox = sandbox();
    let script = Script::new().line(HELLO).step("children 200 60").line(DONE);
    let run = sandbox.run(&script, &[]);
    run.expect(0, "completed");
    assert_eq!(killed(&run).len(), 200);
}

#[test]
fn a_whole_tree_is_killed_with_an_agent_that_ignores_sigterm() {
    let sandbox = sandbox();
    let script = Script::new()
        .line(HELLO)
        .step("ignore-sigterm")
        .step("children 3 60")
        .step("setsid-child 60")
        .step("daemon 60 holding")
        .step("clear-env-daemon 60")
        .step("silence");
    let started = Instant::now();
    let run = sandbox.run(&script, &["--total-timeout", "2", "--grace", "0.5"]);
    run.expect(6, "limit");
    assert_eq!(run.report()["exit"]["signal"], 9, "SIGTERM did nothing to it");
    assert!(started.elapsed() < Duration::from_secs(30));
}

#[test]
fn a_process_that_exits_by_itself_is_not_killed() {
    let run = sandbox().run(&Script::normal(), &[]);
    assert!(killed(&run).is_empty());
}

#[test]
fn one_signal_asks_the_agent_to_stop_and_its_tools_are_stopped_too() {
    for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
        let sandbox = sandbox();
        let script = Script::new().line(HELLO).step("children 1 60").step("setsid-child 60").line(SAY).step("silence");
        let live = live(&sandbox, &script, &[], "message");
        assert_eq!(sandbox.processes().len(), 3);
        live.signal(signal);
        let run = live.finish();
        run.expect(130, "cancelled");
        assert_eq!(run.report()["exit"]["signal"], 15, "{signal:?}");
        sandbox.check_run(&run, &script);
    }
}

#[test]
fn an_agent_that_takes_messages_is_asked_to_cancel_first() {
    let sandbox = sandbox();
    // It reads the prompt, then what wharf writes when it is cancelled, and exits by itself.
    let script = Script::new().line(HELLO).step("read-line").line(SAY).step("read-line").step("exit 0");
    let live = live(&sandbox, &script, &["--ask"], "message");
    live.signal(Signal::INT);
    let run = live.finish();
    run.expect(130, "cancelled");
    assert_eq!(run.report()["exit"]["code"], 0, "it is cancelled even though it exits with 0");
    sandbox.check_run(&run, &script);
}

#[test]
fn a_signal_stops_a_run_whose_adapter_never_waits() {
    for fault in ["slow-asks", "slow-timers"] {
        let sandbox = sandbox();
        sandbox.install_faulty();
        let rules = sandbox.write("rules.toml", "default = \"allow\"\n");
        let fault = format!("fault={fault}");
        let args = ["--adapter", "faulty", "--option", &fault, "--rules", rules.to_str().unwrap()];
        let mut live = LiveRun::start(&mut sandbox.run_command(&Script::new().step("silence"), &args));
        let event = if fault.ends_with("asks") { "ask-answered" } else { "notice" };
        // Events come while it is busy.
        live.read_until(event);
        live.read_until(event);
        live.signal(Signal::INT);
        let run = live.finish();
        run.expect(130, "cancelled");
        assert!(run.of_type(event).count() < 50, "{fault}: it was stopped in the middle");
        sandbox.expect_nothing_left();
        sandbox.expect_replay(run.run_id());
    }
}

#[test]
fn a_second_signal_kills_at_once() {
    let sandbox = sandbox();
    let script = Script::new().step("ignore-sigterm").line(HELLO).step("children 1 60").line(SAY).step("silence");
    let mut live = live(&sandbox, &script, &["--grace", "60"], "message");
    let started = Instant::now();
    live.signal(Signal::INT);
    // Two signals of a kind that come together count as one.
    let mut stderr = BufReader::new(live.child.stderr.take().unwrap());
    let mut printed = String::new();
    while !printed.contains("again") {
        assert!(stderr.read_line(&mut printed).unwrap() > 0, "{printed}");
    }
    live.signal(Signal::INT);
    let run = live.finish();
    assert!(started.elapsed() < Duration::from_secs(20), "it waited for the grace");
    run.expect(130, "cancelled");
    assert_eq!(run.report()["exit"]["signal"], 9);
    sandbox.check_run(&run, &script);
}

#[test]
fn a_turn_that_has_ended_is_not_cancelled_by_a_late_signal() {
    let sandbox = sandbox();
    let script = Script::normal().step("silence");
    let live = live(&sandbox, &script, &[], "turn-ended");
    live.signal(Signal::INT);
    let run = live.finish();
    run.expect(0, "completed");
    sandbox.check_run(&run, &script);
}

#[test]
fn a_signal_stops_the_agent_even_if_the_reader_stalls() {
    let sandbox = sandbox();
    let script =
        Script::new().line(HELLO).step("setsid-child 60").line(SAY).step("flood-stdout 50000000").step("silence");
    let live = live(&sandbox, &script, &[], "message");
    let agent = sandbox.agents()[0];
    wait_until_stable("everything is stuck", || bytes_written(agent));
    assert_eq!(sandbox.processes().len(), 2);
    live.signal(Signal::INT);
    wait_until("the agent and its tool have exited", || sandbox.processes().is_empty());
    let run = live.finish();
    run.expect(130, "cancelled");
    sandbox.expect_nothing_left();
    sandbox.expect_replay(run.run_id());
}

#[test]
fn a_reader_that_closes_its_end_stops_the_agent() {
    let sandbox = sandbox();
    let script = Script::new()
        .line(HELLO)
        .step("children 1 60")
        .line(SAY)
        .step("repeat 100000 stdout {\"type\":\"delta\"}\\n")
        .step("silence");
    let LiveRun { mut child, stdout, .. } = live(&sandbox, &script, &[], "message");
    drop(stdout);
    assert_eq!(child.wait().unwrap().code(), Some(130));
    sandbox.expect_nothing_left();
}

#[test]
fn the_agent_of_a_killed_wharf_exits_and_the_next_wharf_kills_the_rest() {
    kill_wharf(false);
}

#[test]
fn an_agent_that_survives_its_killed_wharf_is_killed_by_the_next_one() {
    kill_wharf(true);
}

fn kill_wharf(ignores_sigterm: bool) {
    let sandbox = sandbox();
    let script = if ignores_sigterm { Script::new().step("ignore-sigterm") } else { Script::new() };
    let script = script
        .line(HELLO)
        .step("children 2 60")
        .step("setsid-child 60")
        .step("daemon 60")
        .step("clear-env-daemon 60")
        .line(SAY)
        .step("silence");
    let mut live = live(&sandbox, &script, &[], "message");
    assert_eq!(sandbox.processes().len(), 6);
    let printed = kill(&mut live);

    // The system signals the agent itself, which exits unless it ignores that.
    let agent = format!("--script {}", sandbox.path("script").display());
    let started = Instant::now();
    if !ignores_sigterm {
        wait_until("the agent has exited", || !sandbox.processes().iter().any(|line| line.contains(&agent)));
        assert!(started.elapsed() < Duration::from_secs(1), "{:?}", started.elapsed());
    }

    // The next command of wharf kills what is left, and removes the files that the agent was started with.
    assert_eq!(std::fs::read_dir(sandbox.path("tmp")).unwrap().count(), 1);
    assert!(sandbox.output(&["sessions"]).status.success());
    assert_eq!(std::fs::read_dir(sandbox.path("tmp")).unwrap().count(), 0);
    assert_eq!(sandbox.processes(), Vec::<String>::new());

    // What had been printed is in the recording.
    let listed = sandbox.json(&["runs", "--json"]);
    assert_eq!(listed[0]["state"], "torn", "{listed}");
    let run = listed[0]["id"].as_str().unwrap().to_owned();
    assert!(sandbox.text(&["runs"]).contains("torn"));
    sandbox.expect_recorded(&run, format!("{HELLO}\n{SAY}\n").as_bytes());
    let recorded = sandbox.text(&["show", &run, "--json"]);
    assert!(recorded.starts_with(&printed), "printed {printed}, recorded {recorded}");
    let replayed = sandbox.call(["replay", &run, "--json"]);
    assert!(begins_with(&replayed.stdout, &printed), "printed {printed}, replayed {replayed:?}");
    assert!(replayed.stderr.contains("killed"), "{replayed:?}");
    assert!(!sandbox.output(&["receipt", &run]).status.success());

    let script = Script::normal();
    let run = Finished::of(&mut sandbox.run_command(&script, &[]));
    run.expect(0, "completed");
    assert_eq!(sandbox.processes(), Vec::<String>::new(), "{}", run.stderr);
    sandbox.check_run(&run, &script);
}

#[test]
fn a_wharf_that_is_killed_while_it_prints_has_recorded_all_that_it_printed() {
    for _ in 0..5 {
        let sandbox = sandbox();
        let script = Script::new()
            .line(HELLO)
            .step("repeat 1000000 stdout {\"type\":\"delta\",\"id\":\"1\",\"text\":\"abc\"}\\n");
        let mut live = live(&sandbox, &script, &[], "session");
        for _ in 0..500 {
            live.next_event();
        }
        let printed = kill(&mut live);
        // The last line may be cut.
        let whole = printed.rfind('\n').map_or("", |end| &printed[..=end]);
        let recorded = sandbox.text(&["show", "last", "--json"]);
        assert!(recorded.starts_with(whole), "{} printed, {} recorded", whole.len(), recorded.len());
        let replayed = sandbox.call(["replay", "last", "--json"]);
        assert!(begins_with(&replayed.stdout, whole), "{}", replayed.stderr);
        wait_until("the agent has exited", || sandbox.processes().is_empty());
    }
}

/// Only root can make a program that becomes another user, and only for a wharf that is not root.
#[cfg(target_os = "linux")]
#[test]
fn a_tool_that_became_another_user_survives_the_cleanup_and_is_reported() {
    use std::os::unix::fs::PermissionsExt as _;
    use std::os::unix::process::CommandExt as _;
    const NOBODY: u32 = 65534;
    let (sandbox, setpriv) = (sandbox().with_own_cache(), std::path::Path::new("/usr/bin/setpriv"));
    if !rustix::process::geteuid().is_root() || !setpriv.exists() {
        return;
    }
    let own = |path: &str| std::os::unix::fs::chown(sandbox.path(path), Some(NOBODY), Some(NOBODY)).unwrap();
    ["", "data", "home", "tmp", "workspace"].into_iter().for_each(own);
    let mode = |path: &std::path::Path, mode| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    let tool = sandbox.path("become");
    std::fs::copy(setpriv, &tool).unwrap();
    mode(&tool, 0o4755);
    let become_root = ["--reuid", "0", "--regid", "0", "--clear-groups"];
    let mut check = sandbox.command(&tool);
    let works = check.args(become_root).arg("true").uid(NOBODY).gid(NOBODY).status();
    let readable = sandbox.wharf(["--version"]).uid(NOBODY).gid(NOBODY).status();
    if !(works.is_ok_and(|status| status.success()) && readable.is_ok_and(|status| status.success())) {
        return; // The file system does not allow such programs, or another user cannot execute what root has built.
    }
    let script = "#!/bin/sh\nif [ \"$1\" = --version ]; then echo 1.0.0; exit; fi\ncat > /dev/null\n\
        TOOL ARGS sleep 600 > /dev/null 2>&1 &\necho $! > PID\n\
        until grep -q sleep /proc/$!/cmdline; do sleep 0.01; done\n\
        echo '{\"type\":\"hello\",\"session\":\"s\"}'\necho '{\"type\":\"done\"}'\n";
    let script = script.replace("TOOL", tool.to_str().unwrap()).replace("ARGS", &become_root.join(" "));
    let agent = sandbox.write("agent", script.replace("PID", sandbox.path("workspace/pid").to_str().unwrap()));
    mode(&agent, 0o755);
    let mut command = sandbox.wharf(["run", "--json", "-a", "echo", "--program"]);
    let run = Finished::of(command.arg(&agent).arg("go").uid(NOBODY).gid(NOBODY));
    let pid = std::fs::read_to_string(sandbox.path("workspace/pid")).unwrap().trim().parse().unwrap();
    let alive = rustix::process::kill_process(rustix::process::Pid::from_raw(pid).unwrap(), Signal::KILL);
    run.expect(0, "completed");
    assert_eq!(alive, Ok(()), "it had survived");
    let notices: Vec<&str> = run.of_type("notice").filter_map(|notice| notice["text"].as_str()).collect();
    let told = |text: &&str| text.contains("could not be killed") && text.contains("sleep 600");
    assert!(notices.iter().any(told), "{notices:?}");
}
