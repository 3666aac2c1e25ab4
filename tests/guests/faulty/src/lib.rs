//! An adapter that misbehaves on request, for the tests of the sandbox.
//!
//! Its option `fault` chooses the fault of a turn. With `none` it understands as many of the echo agent's lines as a turn
//! needs. It cannot delegate to the echo adapter: that crate exports a component itself, and two components do not link
//! into one. No option reaches `resolve_binary`, so that function always requests access that `describe` does not name,
//! and reports the host's answer: a correct host denies everything.

mod bulk;
mod fault;
mod leak;
mod violations;

use fault::Fault;
use wharf_adapter::{
    Adapter, AdapterInfo, Binary, Capabilities, Effects, Environment, ErrorClass, Event, ExitStatus, Failure, Host,
    Input, Json, Launch, LogLevel, Malformed, ModelList, OptionKind, PromptDelivery, SessionInfo, Settings, Turn,
    locate,
};

/// The scripted agent of the tests.
const PROGRAM: &str = "wharf-fake-agent";

/// The adapter, with the fault of the turn.
#[derive(Default)]
pub struct Faulty {
    fault: Fault,
}

impl Adapter for Faulty {
    fn describe() -> AdapterInfo {
        AdapterInfo::new("faulty", "Faulty, an adapter that misbehaves", env!("CARGO_PKG_VERSION"))
            .program(PROGRAM)
            .variables(&[leak::SECRET, leak::LEAK])
            .option("script", OptionKind::Text, None, "a script for the agent to follow")
            .choice("fault", &Fault::ALL.map(Fault::name), "where and how to misbehave")
            .option("bulk", OptionKind::Text, bulk::default().as_deref(), "not used")
    }

    fn list_models(&mut self, _host: &dyn Host, _binary: Option<&Binary>) -> ModelList {
        bulk::models()
    }

    fn resolve_binary(&mut self, host: &dyn Host, environment: &Environment) -> Result<Binary, Failure> {
        let mut binary = Binary::at(locate(host, environment, &[PROGRAM], "it comes with the tests")?);
        for (level, text) in violations::report(host) {
            binary.note(level, text, None);
        }
        binary.transport("lines", Capabilities::empty());
        leak::everywhere(host, &mut binary)?;
        Ok(binary)
    }

    fn launch(&mut self, settings: &mut Settings<'_>, _binary: &Binary) -> Result<Launch, Failure> {
        if let Some(name) = settings.option("fault").str() {
            let unknown = || Failure::new(ErrorClass::InvalidOption, format!("unknown fault {name:?}"));
            self.fault = Fault::named(&name).ok_or_else(unknown)?;
        }
        assert!(self.fault != Fault::BuildPanic, "build_args panics, as it was told to");
        let mut launch = Launch::lines([] as [&str; 0]);
        if let Some(script) = settings.option("script").str() {
            launch.pair("--script", script.as_ref());
        }
        Ok(launch)
    }

    fn build_prompt(&mut self, turn: &Turn, _binary: &Binary, _transport: &str) -> Result<PromptDelivery, Failure> {
        let prompt = turn.prompt.clone().into_bytes();
        Ok(if self.fault == Fault::Chatter { PromptDelivery::StdinOpen(prompt) } else { PromptDelivery::Stdin(prompt) })
    }

    fn line(&mut self, line: Json<'_>, out: &mut Effects) -> Result<(), Malformed> {
        let [kind, id, text] = line.pick(["type", "id", "text"])?;
        fault::in_line(self.fault, text.is("boom"), out);
        let id = id.str().unwrap_or_default();
        match kind.name().ok_or(Malformed)? {
            "hello" => {
                let [session, model, version] = line.pick(["session", "model", "version"])?;
                out.emit(Event::Session(SessionInfo {
                    id: Some(session.string().ok_or(Malformed)?),
                    resumed: None,
                    model: model.string(),
                    agent_version: version.string(),
                }));
            }
            "delta" => {
                out.text_delta(&id, None, text.text_or_empty());
                if self.fault == Fault::Chatter {
                    out.write_line(fault::chatter());
                }
            }
            "say" => {
                let times = if self.fault == Fault::QuoteOften { 5000 } else { 1 };
                (0..times).for_each(|_| out.message(&id, None, text.text_or_empty()));
            }
            "done" => out.completed(None),
            "failed" => out.failed(Failure::new(ErrorClass::Other, text.str().unwrap_or_default())),
            other => out.unknown(other),
        }
        Ok(())
    }

    fn handle(&mut self, input: Input, out: &mut Effects) {
        fault::in_handle(self.fault, &input, out);
    }

    fn finish(&mut self, host: &dyn Host, _exit: ExitStatus, out: &mut Effects) {
        match self.fault {
            Fault::LoopFinish => fault::loop_forever(),
            Fault::Ungranted => {
                for (level, text) in violations::report(host) {
                    out.notice(level, text);
                }
            }
            Fault::FindSpam => out.notice(LogLevel::Info, violations::find_spam(host)),
            Fault::LogSpam => (0..100_000).for_each(|_| host.log(LogLevel::Warn, "log spam, as it was told to")),
            _ => {}
        }
    }
}

wharf_adapter::export!(Faulty);

#[cfg(test)]
mod tests {
    use super::*;
    use wharf_adapter::testing::{FakeHost, binary, environment, events, finish, inline, play, set_option, turn};
    use wharf_adapter::{Effect, Outcome, Stream, Text};

    const LINES: &str = "{\"type\":\"hello\",\"session\":\"s\"}\n{\"type\":\"say\",\"id\":\"1\",\"text\":\"boom\"}\n{\"type\":\"done\"}\n";

    fn with(fault: &str) -> Faulty {
        let mut adapter = Faulty::default();
        let mut turn = turn::<Faulty>("hello");
        set_option(&mut turn, "fault", &format!("\"{fault}\""));
        adapter.build_args(&turn, &binary("1.0.0"), "").expect("arguments");
        adapter
    }

    #[test]
    fn without_a_fault_it_works() {
        for fault in ["none", "loop-finish", "ungranted"] {
            let effects = play(&mut with(fault), Stream::Stdout, LINES, 2);
            match events(&effects)[..] {
                [Event::Session(session), Event::Message(message), Event::TurnEnded(end)] => {
                    assert_eq!((session.id.as_deref(), inline(&message.text)), (Some("s"), "boom"));
                    assert_eq!(end.outcome, Outcome::Completed);
                }
                ref other => panic!("{other:?}"),
            }
        }
    }

    #[test]
    fn the_script_reaches_the_agent() {
        let mut turn = turn::<Faulty>("hello");
        set_option(&mut turn, "script", "\"play.txt\"");
        let launch = Faulty::default().build_args(&turn, &binary("1.0.0"), "").expect("arguments");
        let args: Vec<&str> = launch.args.iter().map(|arg| arg.text.as_str()).collect();
        assert_eq!(args, ["--script", "play.txt"]);
    }

    #[test]
    fn an_unknown_fault_is_an_error() {
        let mut turn = turn::<Faulty>("hello");
        set_option(&mut turn, "fault", "\"sulk\"");
        let failure = Faulty::default().build_args(&turn, &binary("1.0.0"), "").expect_err("an unknown fault");
        assert_eq!(failure.class, ErrorClass::InvalidOption);
    }

    #[test]
    #[should_panic(expected = "build_args panics")]
    fn build_panic() {
        with("build-panic");
    }

    #[test]
    #[should_panic(expected = "parse_chunk panics, as")]
    fn panic() {
        play(&mut with("panic"), Stream::Stdout, "{\"type\":\"done\"}\n", 1);
    }

    #[test]
    #[should_panic(expected = "parse_chunk panics at \"boom\"")]
    fn panic_on_boom() {
        let mut adapter = with("panic-on-boom");
        let before = play(&mut adapter, Stream::Stdout, "{\"type\":\"say\",\"text\":\"calm\"}\n", 1);
        if before.len() == 1 {
            play(&mut adapter, Stream::Stdout, LINES, 1);
        }
    }

    #[test]
    fn bad_spans_are_outside_of_any_chunk() {
        let mut out = Effects::default();
        fault::in_line(Fault::BadSpan, false, &mut out);
        let spans = out.as_slice().iter().map(|effect| match effect {
            Effect::Emit(Event::Message(part)) => match &part.text {
                Text::Quoted(span) | Text::Verbatim(span) => u64::from(span.start) + u64::from(span.length),
                Text::Inline(text) => panic!("{text}"),
            },
            other => panic!("{other:?}"),
        });
        // Far beyond the longest line that a host accepts.
        assert!(spans.inspect(|end| assert!(*end > 1 << 30)).count() >= 2);
    }

    #[test]
    fn violations_are_reported_before_the_turn_and_after_it() {
        // This host denies nothing, so every request is reported as an error.
        let host = FakeHost::default().program(PROGRAM, "/bin/agent").with_variable("PATH", "/bin");
        let binary = Faulty::default().resolve_binary(&host, &environment()).expect("the program is there");
        assert_eq!(binary.notes.len(), 5);
        assert!(binary.notes.iter().all(|note| note.level == LogLevel::Error), "{:?}", binary.notes);
        assert!(binary.notes.iter().any(|note| note.text == "the variable PATH: given"), "{:?}", binary.notes);
        assert_eq!(finish(&mut with("ungranted"), &host, 0).len(), 5);
        assert_eq!(finish(&mut with("none"), &host, 0).len(), 0);
    }
}
