//! The adapter's logic, natively: no wasm, no host.

use super::*;
use wharf_adapter::testing::{self, FakeHost};
use wharf_adapter::{Approvals, Effect, Evidence, ExitStatus, Outcome, Stream, Support, Turn};

/// A session, a tool, an event that this adapter does not know, and a truncated line.
const TRANSCRIPT: &str = r#"{"event":"start","session":"s-1"}
{"event":"tool","id":"t1","name":"wc","state":"running","input":{"unit":"words"}}
{"event":"tool","id":"t1","state":"done","output":"3"}
{"event":"weather","text":"fine"}
{"event":"text","id":"m1","text":"It is \"three\"."}
{"event":"end","ok":tr
{"event":"end","ok":true,"tokens":{"in":3}}
"#;

fn play(lines_per_chunk: usize) -> Vec<Effect> {
    testing::play(&mut Scribe::default(), Stream::Stdout, TRANSCRIPT, lines_per_chunk)
}

#[test]
fn a_transcript_becomes_events() {
    let effects = play(1);
    let events = testing::events(&effects);
    let [session, running, done, unknown, message, malformed, usage, end] = events.as_slice() else {
        panic!("eight events, not {events:?}");
    };
    assert!(
        matches!(session, Event::Session(session) if session.id.as_deref() == Some("s-1") && session.resumed.is_none())
    );
    assert!(matches!(running, Event::Tool(call) if call.status == ToolStatus::Running && call.output.is_none()));
    let Event::Tool(done) = done else { panic!("{done:?}") };
    assert_eq!((done.status, done.output.as_ref().map(testing::inline)), (ToolStatus::Succeeded, Some("3")));
    assert_eq!(**unknown, Event::Unknown("weather".to_owned()));
    assert!(matches!(message, Event::Message(part) if testing::inline(&part.text) == "It is \"three\"."));
    assert!(matches!(malformed, Event::Malformed(line) if line.ends_with("\"ok\":tr")));
    assert!(matches!(usage, Event::Usage(usage) if usage.input == Some(3) && usage.output.is_none()));
    assert!(matches!(end, Event::TurnEnded(end) if end.outcome == Outcome::Completed));
}

#[test]
fn chunk_boundaries_do_not_matter() {
    for lines_per_chunk in [2, 3, 100] {
        assert_eq!(play(lines_per_chunk), play(1), "{lines_per_chunk}");
    }
}

#[test]
fn the_program_and_its_version_are_found() {
    for (printed, support) in [
        ("scribe 1.2.0\n", Support::Tested),
        ("scribe 1.1.0\n", TESTED.support(Some(Version(1, 1, 0)))),
        ("scribe 0.9.9\n", Support::OlderUntested),
        ("scribe 2.0.0\n", Support::NewerUntested),
        ("scribe\n", Support::BestEffort),
    ] {
        let host = FakeHost::default().program("scribe", "/bin/scribe").output("/bin/scribe --version", 0, printed);
        let binary = Scribe::default().resolve_binary(&host, &testing::environment()).expect("a program");
        assert_eq!((binary.support, binary.login), (support, Login::Missing("set SCRIBE_KEY".to_owned())), "{printed}");
        let host = host.with_variable("SCRIBE_KEY", "k");
        let binary = Scribe::default().resolve_binary(&host, &testing::environment()).expect("a program");
        assert_eq!(binary.login, Login::Present("SCRIBE_KEY".to_owned()));
    }
    let missing = Scribe::default().resolve_binary(&FakeHost::default(), &testing::environment());
    assert_eq!(missing.expect_err("no program").class, ErrorClass::NotFound);
}

#[test]
fn a_session_is_resumed_and_recognized() {
    for (given, resumed) in [("s-1", true), ("s-2", false)] {
        let mut scribe = Scribe::default();
        let turn = Turn { session: SessionChoice::Resume(given.to_owned()), ..testing::turn::<Scribe>("hello") };
        let launch = scribe.build_args(&turn, &testing::binary("1.2.0"), "").expect("a command line");
        assert_eq!(launch.args, ["--json", "--resume", given].map(Into::into));
        let effects = testing::play(&mut scribe, Stream::Stdout, TRANSCRIPT, 1);
        assert!(matches!(testing::events(&effects)[0], Event::Session(session) if session.resumed == Some(resumed)));
    }
}

#[test]
fn unsupported_settings_are_reported() {
    let plain = testing::turn::<Scribe>("hello");
    let unsupported = |turn: &Turn| -> Vec<String> {
        let launch = Scribe::default().build_args(turn, &testing::binary("1.2.0"), "").expect("a command line");
        launch.unsupported.into_iter().map(|setting| setting.name).collect()
    };
    assert_eq!(unsupported(&plain), [] as [&str; 0]);
    let model = Some("best".to_owned());
    let turn = Turn { model, approvals: Approvals::Deny, session: SessionChoice::MostRecent, ..plain };
    assert_eq!(unsupported(&turn), ["session", "model", "approvals"]);
}

#[test]
fn without_an_end_stderr_decides() {
    let stderr_tail = "scribe: not logged in\n".to_owned();
    let exit = ExitStatus { code: Some(1), signal: None };
    let failure = Scribe::default().parse_error(&Evidence { exit, stdout_tail: String::new(), stderr_tail });
    assert_eq!(failure.expect("a failure").class, ErrorClass::Auth);
}

#[test]
fn the_example_configuration_grants_the_requested_access() {
    let config = include_str!("../config.toml");
    let access = Scribe::describe().access;
    assert!(config.contains(&format!("programs = {:?}\nvariables = {:?}\n", access.programs, access.variables)));
    assert!(access.origins.is_empty() && access.files.is_empty());
}

/// Against the script itself, not only against output that we wrote down.
#[cfg(unix)]
#[test]
fn the_real_scribe_is_understood() {
    use std::io::Write as _;
    use std::process::{Command, Stdio};
    for (prompt, outcome) in [
        ("one two three", Outcome::Completed),
        ("", Outcome::Failed(Failure::new(ErrorClass::Other, "there is nothing to count"))),
    ] {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/scribe");
        let mut command = Command::new("sh");
        command.args([script, "--json"]).env("SCRIBE_KEY", "k").stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("a shell");
        child.stdin.take().expect("piped stdin").write_all(prompt.as_bytes()).expect("the agent reads its prompt");
        let output = child.wait_with_output().expect("an exit status");
        let output = String::from_utf8(output.stdout).expect("UTF-8");
        let effects = testing::play(&mut Scribe::default(), Stream::Stdout, &output, 1);
        let events = testing::events(&effects);
        assert!(!events.iter().any(|event| matches!(event, Event::Unknown(_) | Event::Malformed(_))), "{events:?}");
        assert!(matches!(events.last(), Some(Event::TurnEnded(end)) if end.outcome == outcome), "{events:?}");
    }
}
