//! Recovery from a trap, with the trap injected: an adapter is deterministic, so no real one traps once and not again.

use super::*;
use crate::config::{Config, RecordingConfig};
use crate::guest::{Engine, Limits};
use crate::record::RunRecord;
use std::path::Path;
use std::time::SystemTime;
use wharf_core::model::{AgentId, Approvals, ExitBehavior, RunStarted};
use wharf_core::stream::Secrets;
use wharf_core::stream::frame::DEFAULT_FRAME_LIMIT;
use wharf_core::turn::{AskRules, DriverConfig};

/// The agent's output in three writes, which cut through lines and through a character.
const WRITES: [&[u8]; 3] = [
    b"{\"type\":\"hello\",\"session\":\"s\"}\n{\"type\":\"say\",\"id\":\"1\",\"text\":\"\xc3",
    b"\xa9\"}\n{\"type\":\"ask\",\"id\":\"a\",\"title\":\"may I?\",\"tool\":\"x\"}\n{\"type\":\"new\"}\nnoise\n{\"type\":\"do",
    b"ne\"}\n{\"type\":\"say\",\"id\":\"2\",\"text\":\"bye\"}",
];

async fn echo(cache: &Path) -> Adapter {
    let engine = Engine::new(Some(cache), Limits::default()).expect("an engine");
    crate::guest::load(&engine, Path::new("/no/such/folder"), &Config::default(), "echo").await.expect("it is bundled")
}

/// An exchange with its journal and the events so far.
struct Scene {
    exchange: Exchange,
    journal: Journal,
    events: Vec<EventKind>,
    actions: Vec<Action>,
    /// After how many writes the adapter traps.
    trap_after: Option<usize>,
}

impl Scene {
    async fn new(adapter: &Adapter, record: &RunRecord, trap_after: Option<usize>) -> Scene {
        let mut turn = Turn::new("hi");
        turn.approvals = Approvals::Ask;
        let context = TurnContext {
            adapter: adapter.clone(),
            turn,
            binary: Binary::new("/bin/agent"),
            framing: Framing::Lines,
            frame_limit: DEFAULT_FRAME_LIMIT,
        };
        let guest = context.instance(None).await.expect("an instance");
        let rules: AskRules = toml::from_str("default = \"allow\"").expect("rules");
        let exit_behavior = ExitBehavior::WhenStdinCloses;
        let driver = Driver::new(DriverConfig { rules, exit_behavior, ..DriverConfig::default() });
        let journal = Journal::new(record.files().expect("files"), Secrets::default());
        let exchange = Exchange::new(context, guest, driver);
        Scene { exchange, journal, events: vec![], actions: vec![], trap_after }
    }

    fn parts(&mut self) -> (&mut Exchange, Io<'_>, &mut Vec<Action>) {
        let Scene { exchange, journal, events, actions, .. } = self;
        (exchange, Io { now: Duration::ZERO, journal, sink: events }, actions)
    }

    async fn trap(&mut self, writes: usize) {
        if self.trap_after == Some(writes) {
            let (exchange, mut io, actions) = self.parts();
            exchange.recover(Fault::new("parse-chunk", "an injected fault"), &mut io, actions).await;
        }
    }
}

/// Plays the writes, with a trap after so many of them, and returns the events and what was written to the agent.
async fn play(adapter: &Adapter, trap_after: Option<usize>) -> (Vec<EventKind>, Vec<u8>) {
    let folder = tempfile::tempdir().expect("a folder");
    let record = RunRecord::new(folder.path(), true, &RecordingConfig::default()).expect("a run folder");
    let mut scene = Scene::new(adapter, &record, trap_after).await;

    let agent = AgentId { program: "/bin/agent".to_owned(), version: None };
    let started = RunStarted::new("run", SystemTime::UNIX_EPOCH, adapter.id(), agent);
    let (exchange, mut io, actions) = scene.parts();
    actions.extend(exchange.input(Input::Started(Box::new(started)), &mut io).await);
    scene.trap(0).await;
    for (at, bytes) in WRITES.iter().enumerate() {
        let (exchange, mut io, actions) = scene.parts();
        actions.extend(exchange.output(false, bytes, &mut io).await);
        scene.trap(at + 1).await;
    }
    let (exchange, mut io, actions) = scene.parts();
    actions.extend(exchange.end_of_output(&mut io).await);
    scene.trap(WRITES.len() + 1).await;
    let (exchange, mut io, actions) = scene.parts();
    actions.extend(exchange.finish(Exit { code: Some(0), signal: None }, &mut io).await);

    let writes = scene.actions.into_iter().filter_map(|action| match action {
        Action::Write(bytes) => Some(bytes),
        _ => None,
    });
    (scene.events, writes.flatten().collect())
}

#[tokio::test]
async fn after_a_trap_the_turn_continues_and_nothing_is_done_twice() {
    let cache = tempfile::tempdir().expect("a folder");
    let adapter = echo(cache.path()).await;
    let (events, written) = play(&adapter, None).await;
    let count = |is: fn(&EventKind) -> bool| events.iter().filter(|event| is(event)).count();
    assert_eq!(count(|event| matches!(event, EventKind::Message(part) if part.text == "é" || part.text == "bye")), 2);
    assert_eq!(count(|event| matches!(event, EventKind::AskAnswered(_))), 1);
    assert_eq!(count(|event| matches!(event, EventKind::Malformed { .. } | EventKind::Unknown { .. })), 2);
    assert_eq!(count(|event| matches!(event, EventKind::TurnEnded(_))), 1);
    assert!(String::from_utf8_lossy(&written).contains("\"allow\":true"));
    for at in 0..=WRITES.len() + 1 {
        let (mut with_trap, written_with_trap) = play(&adapter, Some(at)).await;
        let notice = with_trap
            .iter()
            .position(|event| matches!(event, EventKind::Notice { text, .. } if text.contains("an injected fault")));
        with_trap.remove(notice.expect("a notice of the restart"));
        assert_eq!(with_trap, events, "a trap after {at} writes");
        assert_eq!(written_with_trap, written, "a trap after {at} writes");
    }
}
