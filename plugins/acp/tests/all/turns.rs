//! How an agent is started, what it is asked for, and what becomes of programs that are no agents.

use serde_json::{Value, json};
use wharf_adapter::testing::{FakeHost, Transcript, binary, environment, events, play, set_option, turn};
use wharf_adapter::{
    Adapter, Approvals, Binary, Effect, Effects, ErrorClass, Event, Evidence, ExitStatus, Failure, Input, Outcome,
    Retry, SessionChoice, Stream, Turn,
};
use wharf_adapter_acp::Acp;

fn plain(change: impl FnOnce(&mut Turn)) -> Turn {
    let mut turn = Turn { session: SessionChoice::Fresh(None), ..turn::<Acp>("go") };
    change(&mut turn);
    turn
}

/// An adapter whose agent was started, and what it has written and reported.
struct Run(Acp, Vec<Effect>);

impl Run {
    fn start(turn: &Turn) -> Run {
        let mut adapter = Acp::default();
        adapter.build_args(turn, &binary(""), "acp").expect("a command line");
        adapter.build_prompt(turn, &binary(""), "acp").expect("a prompt");
        let mut out = Effects::default();
        adapter.handle(Input::Start, &mut out);
        Run(adapter, out.into_vec())
    }

    fn receive(&mut self, message: &Value) {
        self.1.extend(play(&mut self.0, Stream::Stdout, &format!("{message}\n"), 1));
    }

    fn result(&mut self, id: u64, result: &Value) {
        self.receive(&json!({"jsonrpc": "2.0", "id": id, "result": result}));
    }

    fn last_written(&self) -> Value {
        let mut lines =
            self.1.iter().filter_map(|effect| if let Effect::Write(bytes) = effect { Some(bytes) } else { None });
        serde_json::from_slice(lines.next_back().expect("something was written")).expect("JSON")
    }

    fn failure(&self) -> Failure {
        let ends = events(&self.1).into_iter().rev().find_map(|event| match event {
            Event::TurnEnded(end) => Some(end.outcome.clone()),
            _ => None,
        });
        match ends {
            Some(Outcome::Failed(failure)) => failure,
            other => panic!("{other:?}"),
        }
    }

    fn warnings(&self) -> usize {
        events(&self.1).iter().filter(|event| matches!(event, Event::Notice(_))).count()
    }
}

#[test]
fn the_program_is_the_one_that_the_user_names() {
    let failure = Acp::default().resolve_binary(&FakeHost::default(), &environment()).expect_err("no program");
    assert_eq!(failure.class, ErrorClass::NotFound);
    assert!(matches!(failure.retry, Retry::AfterUserAction(fix) if fix.contains("[agents.")));
    let host = FakeHost::default().program("/opt/goose", "/opt/goose");
    let named = wharf_adapter::Environment { program: Some("/opt/goose".to_owned()), ..environment() };
    let found = Acp::default().resolve_binary(&host, &named).expect("a program");
    assert_eq!((found.program.as_str(), found.version), ("/opt/goose", None));
    assert!(host.log.borrow().is_empty(), "no program that nobody knows is started to ask for its version");

    let mut turn = plain(|_| {});
    set_option(&mut turn, "arguments", r#"["acp","--with-builtin","developer"]"#);
    let binary = Binary { leading_args: vec!["--quiet".to_owned()], ..binary("") };
    let launch = Acp::default().build_args(&turn, &binary, "acp").expect("a launch");
    let args: Vec<&str> = launch.args.iter().map(|arg| arg.text.as_str()).collect();
    assert_eq!(args, ["acp", "--with-builtin", "developer"], "the host puts the leading arguments before them");
}

#[test]
fn what_the_protocol_cannot_do_is_reported() {
    let turn = plain(|turn| {
        (turn.max_turns, turn.session, turn.autopilot) = (Some(3), SessionChoice::MostRecent, true);
        turn.extra_dirs = vec!["/more".to_owned()];
        turn.model = Some("m".to_owned());
    });
    let launch = Acp::default().build_args(&turn, &binary(""), "acp").expect("a launch");
    let names: Vec<&str> = launch.unsupported.iter().map(|setting| setting.name.as_str()).collect();
    assert_eq!(names, ["session", "max-turns", "autopilot"]);
}

#[test]
fn a_missing_login_names_the_ways_that_the_agent_offers() {
    let mut run = Run::start(&plain(|_| {}));
    let methods = json!([{"id": "a", "name": "Sign in"}, {"id": "b", "name": "B", "description": "Run `x login`"}]);
    run.result(1, &json!({"protocolVersion": 1, "authMethods": methods}));
    run.receive(&json!({"id": 2, "error": {"code": -32000, "message": "Authentication required"}}));
    assert_eq!(run.failure().class, ErrorClass::Auth);
    assert_eq!(run.failure().retry, Retry::AfterUserAction("Sign in; or: Run `x login`".to_owned()));

    let mut turn = plain(|_| {});
    set_option(&mut turn, "auth-method", "\"b\"");
    let mut run = Run::start(&turn);
    run.result(1, &json!({"protocolVersion": 1, "authMethods": methods}));
    assert_eq!(
        (&run.last_written()["method"], &run.last_written()["params"]["methodId"]),
        (&json!("authenticate"), &json!("b"))
    );
}

/// Goose and Vibe may be set up to allow everything; pi and Grok have no mode in which they always ask.
#[test]
fn an_agent_is_put_into_the_mode_in_which_it_asks() {
    let modes = json!({"currentModeId": "auto", "availableModes": [{"id": "auto"}, {"id": "approve"}, {"id": "ask"}]});
    for (name, approvals, mode, warned) in [
        ("goose", Approvals::Ask, Some("approve"), false),
        ("@mistralai/mistral-vibe", Approvals::Deny, Some("ask"), false),
        ("goose", Approvals::AllowAll, None, false),
        ("pi-acp", Approvals::Deny, None, true),
        ("grok", Approvals::Ask, None, true),
        ("something else", Approvals::Ask, None, false),
    ] {
        let mut run = Run::start(&plain(|turn| turn.approvals = approvals));
        run.result(1, &json!({"protocolVersion": 1, "agentInfo": {"name": name, "version": "1.0.0"}}));
        run.result(2, &json!({"sessionId": "s", "modes": modes}));
        let written = run.last_written();
        assert_eq!(written["params"]["modeId"].as_str(), mode, "{name} {approvals:?}");
        assert_eq!(written["method"] == "session/prompt", mode.is_none());
        assert_eq!(run.warnings(), usize::from(warned), "{name} {approvals:?}");
    }
    let mut turn = plain(|turn| turn.approvals = Approvals::Ask);
    set_option(&mut turn, "mode", "\"auto\"");
    let mut run = Run::start(&turn);
    run.result(1, &json!({"protocolVersion": 1, "agentInfo": {"name": "goose"}}));
    run.result(2, &json!({"sessionId": "s", "modes": modes}));
    assert_eq!(run.last_written()["params"]["modeId"], "auto", "the user's choice counts");
}

#[test]
fn a_program_that_is_no_agent_fails_with_what_it_said() {
    let mut run = Run::start(&plain(|_| {}));
    run.1.extend(play(&mut run.0, Stream::Stdout, "usage: ls [OPTION]\n", 1));
    assert!(events(&run.1).contains(&&Event::Malformed("usage: ls [OPTION]".to_owned())));
    for (stderr, code, class, part) in [
        ("ls: unrecognized option '--acp'\n", Some(2), ErrorClass::InvalidOption, "unrecognized option"),
        ("boom\n", Some(1), ErrorClass::Protocol, "boom"),
        ("", Some(0), ErrorClass::Protocol, "nothing on stderr"),
        ("Error: Not logged in\n", Some(1), ErrorClass::Auth, "Not logged in"),
    ] {
        let exit = ExitStatus { code, signal: None };
        let evidence = Evidence { exit, stdout_tail: String::new(), stderr_tail: stderr.to_owned() };
        let failure = run.0.parse_error(&evidence).expect("a failure");
        assert_eq!(failure.class, class, "{stderr}");
        assert!(failure.message.contains(part) && failure.message.contains("handshake"), "{}", failure.message);
    }
}

#[test]
fn an_agent_that_exits_in_a_turn_is_judged_by_its_exit_and_not_by_its_log() {
    let mut run = Run::start(&plain(|_| {}));
    run.result(1, &json!({"protocolVersion": 1}));
    run.result(2, &json!({"sessionId": "s"}));
    for (stderr, code, class) in [
        ("INFO started\n", 0, None),
        ("INFO started\n", 1, Some(ErrorClass::Other)),
        ("connect ECONNREFUSED 127.0.0.1:1\nat x\n", 1, Some(ErrorClass::Network)),
    ] {
        let exit = ExitStatus { code: Some(code), signal: None };
        let evidence = Evidence { exit, stdout_tail: String::new(), stderr_tail: stderr.to_owned() };
        assert_eq!(run.0.parse_error(&evidence).map(|failure| failure.class), class, "{stderr}");
    }
}

#[test]
fn a_silent_end_is_a_failure_unless_the_model_wrote() {
    for (result, failed) in [
        (json!({"stopReason": "end_turn"}), true),
        (json!({"stopReason": "end_turn", "usage": {"inputTokens": 5, "outputTokens": 2}}), false),
        (json!({"stopReason": "cancelled"}), false),
    ] {
        let mut run = Run::start(&plain(|_| {}));
        run.result(1, &json!({"protocolVersion": 1}));
        run.result(2, &json!({"sessionId": "s"}));
        run.result(3, &result);
        let is_failed = events(&run.1)
            .iter()
            .any(|event| matches!(event, Event::TurnEnded(end) if matches!(end.outcome, Outcome::Failed(_))));
        assert_eq!(is_failed, failed, "{result}");
    }
}

#[test]
fn a_capture_is_read_without_what_its_client_wrote() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/transcripts/acp/goose-1.52.0/acp_err_e500");
    let text = std::fs::read_to_string(format!("{folder}/transcript.txt")).expect("a transcript");
    let stdout: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("< ")).collect();
    let mut capture = Transcript {
        stdout: stdout.join("\n") + "\n",
        stderr: String::new(),
        exit: ExitStatus { code: Some(0), signal: None },
        version: None,
        turn: plain(|_| {}),
        transport: "acp".to_owned(),
        lines_per_chunk: usize::MAX,
    };
    let whole = capture.replay::<Acp>().report;
    assert_eq!(whole.outcome.to_string(), "failed");
    assert_eq!(whole.error.as_ref().map(|error| error.class.to_string()).as_deref(), Some("provider"));
    assert_eq!(whole.session.as_ref().map(|session| session.id.as_str()), Some("20261118_8"));
    capture.lines_per_chunk = 1;
    assert_eq!(capture.replay::<Acp>().report, whole);
}
