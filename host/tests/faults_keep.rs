//! What is kept of runs, and what must not be: secrets, sessions, receipts, drift, fixtures, replays of bare captures
//! and through other adapters.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test may")]

mod harness;

use harness::{DONE, HELLO, Place, Ran, SAY, Script, good, wait_until};
use std::path::Path;
use std::process::Stdio;

/// The files of a folder and of those in it that have a text in them.
fn files_with(folder: &Path, text: &[u8]) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok) {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            found.extend(files_with(&entry.path(), text));
        } else if std::fs::read(entry.path()).is_ok_and(|bytes| bytes.windows(text.len()).any(|window| window == text))
        {
            found.push(entry.path());
        }
    }
    found
}

#[test]
fn the_value_of_a_variable_that_is_passed_on_reaches_no_file_and_no_event() {
    let place = Place::new();
    place.write("config.toml", "environment = [\"HARBOUR_TOKEN\", \"HARBOUR_UNSET\"]\n");
    let (front, back) = ("tok-9f8e7d", "6c5b4a3210zz");
    let secret = format!("{front}{back}");
    let environment = place.path("environment");
    // In one write, in two, byte by byte, on stderr, and in a line that is no JSON.
    let script = Script::new()
        .line(HELLO)
        .step(&format!("stdout {{\"type\":\"say\",\"id\":\"1\",\"text\":\"whole {secret} end\"}}\\n"))
        .step(&format!("stdout {{\"type\":\"say\",\"id\":\"2\",\"text\":\"split {front}"))
        .step(&format!("wait-file {}", place.path("go-1").display()))
        .step(&format!("stdout {back} end\"}}\\n"))
        .step("bytes 1")
        .step(&format!("stdout {{\"type\":\"say\",\"id\":\"3\",\"text\":\"slow {secret} end\"}}\\n"))
        .step(&format!("stderr on stderr: {front}"))
        .step(&format!("wait-file {}", place.path("go-2").display()))
        .step(&format!("stderr {back}\\n"))
        .step(&format!("stdout noise {secret}\\n"))
        .step(&format!("write-env {}", environment.display()))
        .line(DONE);
    let prompt = place.write("prompt", format!("use {secret} well"));
    let system = format!("the token is {secret}");
    let mut order = place.order(&script, &["--system", &system, "--file", prompt.to_str().unwrap()]);
    order.env("HARBOUR_TOKEN", &secret).env("HARBOUR_OTHER", "not passed on");
    let child = order.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // The second half is written when the first has been read: what comes before it is in the recording then.
    for (before, go) in [("split ", "go-1"), ("on stderr: ", "go-2")] {
        wait_until(before, || !files_with(&place.path("data"), before.as_bytes()).is_empty());
        place.write(go, "");
    }
    let output = child.wait_with_output().unwrap();
    let ran = Ran::of(&output);
    ran.expect(0, "completed");
    place.expect_alone();
    let inherited = std::fs::read_to_string(environment).unwrap();
    assert!(inherited.contains(&format!("HARBOUR_TOKEN={secret}\n")), "the agent itself gets it");
    assert!(!inherited.contains("HARBOUR_OTHER"), "{inherited}");

    let printed = String::from_utf8(output.stdout).unwrap() + &ran.stderr;
    assert!(!printed.contains(&secret), "{printed}");
    assert_eq!(ran.of_type("message").count(), 3);
    for message in ran.of_type("message") {
        let text = message["text"].as_str().unwrap();
        assert!(text.ends_with(" end") && !text.contains(front) && !text.contains(back), "{text}");
    }
    assert_eq!(files_with(&place.path("data"), secret.as_bytes()), Vec::<std::path::PathBuf>::new());
    let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("cache");
    assert_eq!(files_with(&cache, secret.as_bytes()), Vec::<std::path::PathBuf>::new());
    // What was looked for can be found: the name is there, the value is not.
    assert!(!files_with(&place.path("data"), b"HARBOUR_TOKEN").is_empty(), "the launch has the names");
    place.expect_replay(ran.run());
}

/// A turn in a session, with the id that the agent gives it.
fn turn(place: &Place, session: &str, more: &[&str]) -> Ran {
    let hello = HELLO.replace("s-1", session);
    let usage = r#"{"type":"usage","input":3,"output":5}"#;
    place.run(&Script::new().line(&hello).line(SAY).line(usage).line(DONE), more)
}

#[test]
fn sessions_are_remembered_and_resumed() {
    let place = Place::new();
    turn(&place, "first", &[]).expect(0, "completed");
    let listed = place.json(&["sessions", "--json"]);
    assert_eq!(
        (&listed[0]["id"], &listed[0]["turns"], &listed[0]["adapter"]),
        (&"first".into(), &1.into(), &"echo".into())
    );
    assert_eq!(listed[0]["usage"]["output"], 5);
    assert!(place.text(&["sessions"]).contains("first"));

    // The agent goes on under another id.
    let ran = turn(&place, "second", &["--resume", "last"]);
    assert_eq!(ran.report()["session"]["resumed"], false);
    assert!(ran.stderr.contains("first") && ran.stderr.contains("second"), "it is said aloud: {}", ran.stderr);
    // And under the same one.
    let ran = turn(&place, "second", &["--resume", "last"]);
    assert_eq!(ran.report()["session"]["resumed"], true);
    assert!(!ran.stderr.contains("not resumed"), "{}", ran.stderr);
    let shown = place.json(&["sessions", "second", "--json"]);
    assert_eq!(shown["turns"], 2, "a session that was not resumed is a new one: {shown}");
    let ran = turn(&place, "first", &["--resume", "first"]);
    assert_eq!(ran.report()["session"]["resumed"], true);
    assert_eq!(place.json(&["sessions", "first", "--json"])["turns"], 2);

    // Elsewhere there is no last one.
    let other = place.path("home");
    let script = place.path("script");
    let words = ["run", "--adapter", "echo", "--resume", "last", "-C", other.to_str().unwrap(), "hi"];
    let output = place.answer(&words);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert!(script.exists());
}

#[test]
fn a_session_is_found_by_an_id_it_had_before() {
    let place = Place::new();
    place.install_faulty();
    // This adapter does not tell whether a resume resumed, as some runtimes do not; their ids change with each turn.
    let adapter = ["--adapter", "faulty"];
    turn(&place, "old", &adapter).expect(0, "completed");
    turn(&place, "new", &["--adapter", "faulty", "--resume", "old"]).expect(0, "completed");
    let found = place.json(&["sessions", "old", "--json"]);
    assert_eq!((&found["id"], &found["turns"]), (&"new".into(), &2.into()), "{found}");
    assert_eq!(found["ids"], serde_json::json!(["old", "new"]));
    // By the old id the new one is resumed, so there is nothing to warn of.
    let ran = turn(&place, "new", &["--adapter", "faulty", "--resume", "old"]);
    assert!(!ran.stderr.contains("was asked for"), "{}", ran.stderr);
    assert_eq!(place.json(&["sessions", "new", "--json"])["turns"], 3);
}

#[test]
fn eight_at_once_lose_nothing() {
    let place = Place::new();
    let script = good();
    let children: Vec<_> = (0..8)
        .map(|number| {
            let name = format!("script-{number}");
            let hello = HELLO.replace("s-1", &format!("session-{number}"));
            let text =
                format!("tag {}\nline {hello}\nline {{\"type\":\"odd\"}}\nline {SAY}\nline {DONE}\n", place.tag());
            let file = place.write(&name, text);
            let mut order = place.order(&script, &["--option", &format!("script={}", file.display())]);
            order.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped()).spawn().unwrap()
        })
        .collect();
    let ran: Vec<Ran> = children.into_iter().map(|child| Ran::of(&child.wait_with_output().unwrap())).collect();
    for ran in &ran {
        ran.expect(0, "completed");
        assert!(place.answer(&["receipt", ran.run(), "--verify"]).status.success());
        place.expect_replay(ran.run());
    }
    place.expect_alone();
    assert_eq!(place.json(&["runs", "--json"]).as_array().unwrap().len(), 8);
    let sessions = place.json(&["sessions", "--json"]);
    let mut ids: Vec<_> = sessions.as_array().unwrap().iter().map(|entry| entry["id"].as_str().unwrap()).collect();
    ids.sort_unstable();
    let expected: Vec<String> = (0..8).map(|number| format!("session-{number}")).collect();
    assert_eq!(ids, expected);
    let doctor = place.json(&["doctor", "echo", "--json"]);
    assert!(doctor[0]["drift"].to_string().contains("odd ×8"), "{}", doctor[0]["drift"]);
}

#[test]
fn a_run_that_is_not_recorded_leaves_nothing() {
    let place = Place::new();
    let ran = Ran::of(&place.order(&good(), &["--no-record"]).output().unwrap());
    ran.expect(0, "completed");
    assert!(ran.report()["run"].is_null());
    place.expect_alone();
    assert_eq!(place.json(&["runs", "--json"]), serde_json::json!([]));
    assert_eq!(files_with(&place.path("data"), b"s-1"), Vec::<std::path::PathBuf>::new());
}

#[test]
fn a_receipt_tells_of_any_byte_that_changed() {
    let place = Place::new();
    let ran = place.run(&good(), &[]);
    let receipt = place.json(&["receipt", ran.run()]);
    assert_eq!((&receipt["run"], &receipt["outcome"]), (&ran.run().into(), &"completed".into()));
    assert_eq!(receipt["adapter"]["id"], "echo");
    assert!(receipt["program"]["digest"].as_str().is_some_and(|digest| digest.len() == 64), "{receipt}");
    for name in ["recording", "events.jsonl", "receipt.json"] {
        let file = place.path("data/runs").join(ran.run()).join(name);
        let sound = std::fs::read(&file).unwrap();
        let mut broken = sound.clone();
        let at = broken.len() / 2;
        broken[at] ^= 1;
        std::fs::write(&file, &broken).unwrap();
        let output = place.answer(&["receipt", ran.run(), "--verify"]);
        assert!(!output.status.success(), "{name}");
        let said = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
        assert!(said.contains(name), "{name}: {said}");
        std::fs::write(&file, &sound).unwrap();
        assert!(place.answer(&["receipt", ran.run(), "--verify"]).status.success(), "{name}");
    }
}

#[test]
fn a_recording_cut_anywhere_in_its_last_records_still_opens() {
    let place = Place::new();
    let ran = place.run(&good(), &[]);
    let file = place.path("data/runs").join(ran.run()).join("recording");
    let whole = std::fs::read(&file).unwrap();
    let first = format!("{HELLO}\n");
    for cut in [1, 2, 5, 9, 20, 29, 40, 90] {
        std::fs::write(&file, &whole[..whole.len() - cut]).unwrap();
        let output = place.answer(&["replay", ran.run(), "--json"]);
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(text.contains("as you wish"), "cut by {cut}: {text}{}", String::from_utf8_lossy(&output.stderr));
        assert!(String::from_utf8_lossy(&output.stderr).contains("does not hold everything"), "cut by {cut}");
        assert!(place.answer(&["show", ran.run(), "--stdout"]).stdout.starts_with(first.as_bytes()));
    }
}

#[test]
fn drift_is_told_after_the_turn_and_by_the_doctor() {
    let place = Place::new();
    let odd = r#"{"type":"tide-table","at":3}"#;
    let script = Script::new().line(HELLO).line(odd).line(odd).line("not JSON").line(SAY).line(DONE);
    let ran = place.run(&script, &[]);
    assert_eq!(ran.report()["drift"]["unknown"]["tide-table"], 2);
    assert_eq!(ran.report()["drift"]["malformed"], 1);
    place.run(&script, &[]);
    let doctor = place.text(&["doctor", "echo"]);
    assert!(doctor.contains("tide-table ×4") && doctor.contains("2 malformed"), "{doctor}");
}

#[test]
fn a_fixture_is_what_a_capture_replays_to() {
    let place = Place::new();
    let home = place.path("home");
    let work = place.path("work");
    let said = format!(r#"{{"type":"say","id":"1","text":"in {} and {}"}}"#, work.display(), home.display());
    let script = Script::new().line(HELLO).line(&said).line(DONE).step("stderr a word\\n").step("exit 3");
    let ran = place.run(&script, &[]);
    let into = place.path("fixture");
    place.text(&["fixture", ran.run(), "--into", into.to_str().unwrap()]);
    let read = |name: &str| std::fs::read_to_string(into.join(name)).unwrap();
    assert_eq!(read("exit").trim(), "3");
    assert_eq!(read("stderr.txt"), "a word\n");
    let stdout = read("stdout.jsonl");
    assert!(stdout.contains("in /workspace and /home/user"), "{stdout}");
    assert!(files_with(&into, place.tag().as_bytes()).is_empty(), "nobody learns where it was made");

    let file = |name: &str| into.join(name).to_str().unwrap().to_owned();
    let words = [
        "replay",
        "--adapter",
        "echo",
        "--stdout",
        &file("stdout.jsonl"),
        "--stderr",
        &file("stderr.txt"),
        "--exit",
        "3",
        "--json",
    ];
    let captured = Ran::of(&place.answer(&words));
    captured.expect(0, "completed");
    let expected: serde_json::Value = serde_json::from_str(&read("expected.json")).unwrap();
    for member in ["outcome", "answer", "session", "model", "usage", "error", "tools", "drift", "exit"] {
        assert_eq!(captured.report()[member], expected[member], "{member}");
    }
}

#[test]
fn a_bare_capture_replays_as_the_run_would_have_ended() {
    let place = Place::new();
    let stdout = place.write("out", format!("{HELLO}\n{SAY}\n"));
    let stderr = place.write("err", "429 rate limit exceeded\n");
    let base = ["replay", "--adapter", "echo", "--json", "--stdout", stdout.to_str().unwrap()];
    let replay = |more: &[&str]| Ran::of(&place.answer(&[&base[..], more].concat()));
    replay(&[]).expect(1, "failed");
    replay(&["--cancelled"]).expect(130, "cancelled");
    let ran = replay(&["--exit", "1", "--stderr", stderr.to_str().unwrap()]);
    ran.expect(1, "failed");
    assert_eq!(ran.report()["error"]["class"], "rate-limit");
    let ran = replay(&["--signal", "9"]);
    assert_eq!(
        (ran.report()["error"]["class"].as_str(), ran.report()["exit"]["signal"].as_i64()),
        (Some("crash"), Some(9))
    );
    let whole = replay(&[]).events;
    for chunk in ["1", "2", "7", "64"] {
        assert_eq!(replay(&["--chunk", chunk]).events, whole, "{chunk}");
    }
}

#[test]
fn a_recording_replays_through_another_adapter() {
    let place = Place::new();
    place.install_faulty();
    let thought = r#"{"type":"think","id":"t","text":"hm"}"#;
    let ran = place.run(&Script::new().line(HELLO).line(thought).line(SAY).line(DONE), &[]);
    assert_eq!(ran.of_type("thinking").count(), 1);
    // The other one does not know thoughts.
    let other = place.path("adapters/faulty.wasm");
    let replayed = Ran::of(&place.answer(&["replay", ran.run(), "--adapter", other.to_str().unwrap(), "--json"]));
    replayed.expect(0, "completed");
    assert_eq!(replayed.report()["drift"]["unknown"]["think"], 1);
    let output = place.answer(&["replay", ran.run(), "--adapter", other.to_str().unwrap(), "--diff"]);
    let diff = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(1), "{diff}");
    assert!(diff.contains("thinking") && diff.contains("unknown"), "{diff}");
}
