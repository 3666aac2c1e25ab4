//! What agents leave behind, and how they are stopped: children of every kind, deaf agents, Ctrl-C, and a host that is
//! killed itself. No process of a run may outlive it.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test may")]

mod harness;

use harness::{DONE, HELLO, Place, Ran, SAY, Script, ended, good, settled, signal, started, wait_until, written};
use std::io::{BufRead as _, BufReader, Read as _};
use std::time::{Duration, Instant};

/// What the report says had to be killed.
fn killed(ran: &Ran) -> Vec<String> {
    let list = ran.report()["killed"].as_array().expect("a list");
    list.iter().map(|command| command.as_str().unwrap().to_owned()).collect()
}

#[test]
fn what_outlives_its_agent_is_killed_and_named() {
    for step in [
        "setsid-child 60",
        "daemon 60",
        "clear-env-daemon 60",
        "children 1 60",
        "daemon 60 holding",
        "setsid-child 60 holding",
    ] {
        let place = Place::new();
        let script = Script::new().line(HELLO).step(step).line(SAY).line(DONE);
        let ran = place.run(&script, &[]);
        ran.expect(0, "completed");
        let killed = killed(&ran);
        assert!(killed.len() == 1 && killed[0].contains("--child"), "{step}: {killed:?}");
    }
}

#[test]
fn two_hundred_children_are_killed() {
    let place = Place::new();
    let script = Script::new().line(HELLO).step("children 200 60").line(DONE);
    let ran = place.run(&script, &[]);
    ran.expect(0, "completed");
    assert_eq!(killed(&ran).len(), 200);
}

#[test]
fn a_whole_tree_goes_with_a_deaf_agent() {
    let place = Place::new();
    let script = Script::new()
        .line(HELLO)
        .step("ignore-sigterm")
        .step("children 3 60")
        .step("setsid-child 60")
        .step("daemon 60 holding")
        .step("clear-env-daemon 60")
        .step("silence");
    let begun = Instant::now();
    let ran = place.run(&script, &["--limit-total", "2", "--grace", "0.5"]);
    ran.expect(6, "limit");
    assert_eq!(ran.report()["exit"]["signal"], 9, "SIGTERM did nothing to it");
    assert!(begun.elapsed() < Duration::from_secs(30));
}

#[test]
fn what_ends_by_itself_is_not_killed() {
    let ran = Place::new().run(&good(), &[]);
    assert!(killed(&ran).is_empty());
}

#[test]
fn one_signal_stops_politely_and_the_tools_go_too() {
    for name in ["INT", "TERM", "HUP"] {
        let place = Place::new();
        let script = Script::new().line(HELLO).step("children 1 60").step("setsid-child 60").line(SAY).step("silence");
        let (child, reader, printed) = started(&place, &script, &[], "message");
        assert_eq!(place.processes().len(), 3);
        signal(&child, name);
        let ran = ended(child, reader, printed);
        ran.expect(130, "cancelled");
        assert_eq!(ran.report()["exit"]["signal"], 15, "{name}");
        place.examine(&ran, &script);
    }
}

#[test]
fn the_agent_is_asked_first_where_it_can_be() {
    let place = Place::new();
    // It reads the prompt, then what wharf writes when it is cancelled, and ends by itself.
    let script = Script::new().line(HELLO).step("read-line").line(SAY).step("read-line").step("exit 0");
    let (child, reader, printed) = started(&place, &script, &["--ask"], "message");
    signal(&child, "INT");
    let ran = ended(child, reader, printed);
    ran.expect(130, "cancelled");
    assert_eq!(ran.report()["exit"]["code"], 0, "it is cancelled even though it exits with 0");
    place.examine(&ran, &script);
}

#[test]
fn a_second_signal_stops_at_once() {
    let place = Place::new();
    let script = Script::new().step("ignore-sigterm").line(HELLO).step("children 1 60").line(SAY).step("silence");
    let (mut child, reader, printed) = started(&place, &script, &["--grace", "60"], "message");
    let begun = Instant::now();
    signal(&child, "INT");
    // Two signals of a kind that come together are one.
    let mut talk = BufReader::new(child.stderr.take().unwrap());
    let mut said = String::new();
    while !said.contains("once more") {
        assert!(talk.read_line(&mut said).unwrap() > 0, "{said}");
    }
    signal(&child, "INT");
    let ran = ended(child, reader, printed);
    assert!(begun.elapsed() < Duration::from_secs(20), "it waited for the grace");
    ran.expect(130, "cancelled");
    assert_eq!(ran.report()["exit"]["signal"], 9);
    place.examine(&ran, &script);
}

#[test]
fn a_turn_that_was_done_is_not_cancelled_by_a_late_signal() {
    let place = Place::new();
    let script = good().step("silence");
    let (child, reader, printed) = started(&place, &script, &[], "turn-end");
    signal(&child, "INT");
    let ran = ended(child, reader, printed);
    ran.expect(0, "completed");
    place.examine(&ran, &script);
}

#[test]
fn a_reader_that_stalls_does_not_keep_a_signal_from_stopping_the_agent() {
    let place = Place::new();
    let script =
        Script::new().line(HELLO).step("setsid-child 60").line(SAY).step("flood-stdout 50000000").step("silence");
    let (child, reader, printed) = started(&place, &script, &[], "message");
    let agent = place.agents()[0];
    settled("everything is stuck", || written(agent));
    assert_eq!(place.processes().len(), 2);
    signal(&child, "INT");
    wait_until("the agent and its tool are gone", || place.processes().is_empty());
    let ran = ended(child, reader, printed);
    ran.expect(130, "cancelled");
    place.expect_alone();
    place.expect_replay(ran.run());
}

#[test]
fn a_reader_that_goes_away_stops_the_agent() {
    let place = Place::new();
    let script = Script::new()
        .line(HELLO)
        .step("children 1 60")
        .line(SAY)
        .step("repeat 100000 stdout {\"type\":\"delta\"}\\n")
        .step("silence");
    let (mut child, reader, _) = started(&place, &script, &[], "message");
    drop(reader);
    assert_eq!(child.wait().unwrap().code(), Some(130));
    place.expect_alone();
}

#[test]
fn a_host_that_is_killed_takes_its_agent_along_and_the_next_one_reaps_the_rest() {
    kill_the_host(false);
}

#[test]
fn an_agent_that_does_not_go_with_its_host_is_reaped_by_the_next_one() {
    kill_the_host(true);
}

fn kill_the_host(deaf: bool) {
    let place = Place::new();
    let script = if deaf { Script::new().step("ignore-sigterm") } else { Script::new() };
    let script = script
        .line(HELLO)
        .step("children 2 60")
        .step("setsid-child 60")
        .step("daemon 60")
        .step("clear-env-daemon 60")
        .line(SAY)
        .step("silence");
    let (mut child, mut reader, mut printed) = started(&place, &script, &[], "message");
    assert_eq!(place.processes().len(), 6);
    child.kill().unwrap();
    child.wait().unwrap();
    reader.read_to_string(&mut printed).unwrap();

    // The agent itself is told by the system, and goes unless it does not listen.
    let agent = format!("--script {}", place.path("script").display());
    let begun = Instant::now();
    if !deaf {
        wait_until("the agent is gone", || !place.processes().iter().any(|line| line.contains(&agent)));
        assert!(begun.elapsed() < Duration::from_secs(1), "{:?}", begun.elapsed());
    }

    // Any next start of wharf ends what is left, and removes the files that the agent was started with.
    assert_eq!(std::fs::read_dir(place.path("tmp")).unwrap().count(), 1);
    assert!(place.answer(&["sessions"]).status.success());
    assert_eq!(std::fs::read_dir(place.path("tmp")).unwrap().count(), 0);
    assert_eq!(place.processes(), Vec::<String>::new());

    // What had been printed is in the recording.
    let listed = place.json(&["runs", "--json"]);
    assert_eq!(listed[0]["state"], "torn", "{listed}");
    let run = listed[0]["id"].as_str().unwrap().to_owned();
    assert!(place.text(&["runs"]).contains("torn"));
    place.expect_recorded(&run, format!("{HELLO}\n{SAY}\n").as_bytes());
    let kept = place.text(&["show", &run, "--json"]);
    assert!(kept.starts_with(&printed), "printed {printed}, kept {kept}");
    let replayed = place.answer(&["replay", &run, "--json"]);
    let replayed_text = String::from_utf8(replayed.stdout).unwrap();
    assert!(replayed_text.starts_with(&printed), "printed {printed}, replayed {replayed_text}");
    assert!(String::from_utf8_lossy(&replayed.stderr).contains("killed"));
    assert!(!place.answer(&["receipt", &run]).status.success());

    let script = good();
    let ran = Ran::of(&place.order(&script, &[]).output().unwrap());
    ran.expect(0, "completed");
    assert_eq!(place.processes(), Vec::<String>::new(), "{}", ran.stderr);
    place.examine(&ran, &script);
}

#[test]
fn a_host_that_is_killed_while_it_prints_has_recorded_all_that_it_printed() {
    for _ in 0..5 {
        let place = Place::new();
        let script = Script::new()
            .line(HELLO)
            .step("repeat 1000000 stdout {\"type\":\"delta\",\"id\":\"1\",\"text\":\"abc\"}\\n");
        let (mut child, mut reader, mut printed) = started(&place, &script, &[], "session");
        for _ in 0..500 {
            reader.read_line(&mut printed).unwrap();
        }
        child.kill().unwrap();
        child.wait().unwrap();
        reader.read_to_string(&mut printed).unwrap();
        // The last line may be cut; the pipe is torn where it is torn.
        let whole = printed.rfind('\n').map_or("", |end| &printed[..=end]);
        let kept = place.text(&["show", "last", "--json"]);
        assert!(kept.starts_with(whole), "{} printed, {} kept", whole.len(), kept.len());
        let replayed = place.answer(&["replay", "last", "--json"]);
        assert!(replayed.stdout.starts_with(whole.as_bytes()), "{}", String::from_utf8_lossy(&replayed.stderr));
        wait_until("the agent is gone", || place.processes().is_empty());
    }
}
