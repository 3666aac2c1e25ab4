//! Recovery from a trap, with the trap injected: an adapter is deterministic, so no real one traps once and not again.

use super::*;
use crate::agents::Agents;
use crate::config::{Config, RecordingConfig};
use crate::guest::{Catalog, Engine, Limits};
use crate::record::RunRecord;
use std::path::Path;
use std::time::SystemTime;
use wharf_core::model::{AgentId, Approvals, ExitBehavior, RunStarted};
use wharf_core::stream::Secrets;
use wharf_core::turn::{AskRules, DriverConfig};

/// The agent's output in three writes, which cut through lines and through a character.
const WRITES: [&[u8]; 3] = [
    b"{\"type\":\"hello\",\"session\":\"s\"}\n{\"type\":\"say\",\"id\":\"1\",\"text\":\"\xc3",
    b"\xa9\"}\n{\"type\":\"ask\",\"id\":\"a\",\"title\":\"may I?\",\"tool\":\"x\"}\n{\"type\":\"new\"}\nnoise\n{\"type\":\"do",
    b"ne\"}\n{\"oversized\":\"0123456789012345678901234567890123456789012345678901234567890123456789\"}\n{\"type\":\"say\",\"id\":\"2\",\"text\":\"bye\"}",
];

/// One line is longer.
const FRAME_LIMIT: usize = 70;

async fn echo(cache: &Path) -> Adapter {
    let engine = Engine::new(Some(cache), Limits::default()).expect("an engine");
    let agents = Agents::new("/no/such/folder".into());
    let catalog = Catalog { folder: Path::new("/no/such/folder"), config: &Config::default(), agents: &agents };
    catalog.load(&engine, "echo").await.expect("it is bundled")
}

/// An exchange with its journal and the events so far.
struct Scene {
    exchange: Exchange,
    journal: Journal,
    events: Vec<EventKind>,
    actions: Vec<Action>,
    steps: usize,
    /// After how many steps the adapter traps.
    trap_after: Option<usize>,
}

impl Scene {
    async fn new(adapter: &Adapter, record: &RunRecord, trap_after: Option<usize>) -> Scene {
        let mut turn = Turn::new("hi");
        turn.approvals = Approvals::Ask;
        let context = TurnContext {
            transport: "lines".to_owned(),
            adapter: adapter.clone(),
            turn,
            binary: Binary::new("/bin/agent"),
            framing: Framing::Lines,
            frame_limit: FRAME_LIMIT,
        };
        let guest = context.instance(None).await.expect("an instance");
        let rules: AskRules = toml::from_str("default = \"allow\"").expect("rules");
        let exit_behavior = ExitBehavior::WhenStdinCloses;
        let driver = Driver::new(DriverConfig { rules, exit_behavior, ..DriverConfig::default() });
        let journal = Journal::new(record.files().expect("files"), Secrets::default());
        let exchange = Exchange::new(context, guest, driver);
        Scene { exchange, journal, events: vec![], actions: vec![], steps: 0, trap_after }
    }

    fn parts(&mut self) -> (&mut Exchange, Io<'_>, &mut Vec<Action>) {
        let Scene { exchange, journal, events, actions, .. } = self;
        (exchange, Io { now: Duration::ZERO, journal, sink: events }, actions)
    }

    /// Everything that there is to do, step by step.
    async fn settle(&mut self) {
        while self.exchange.has_work() {
            let (exchange, mut io, actions) = self.parts();
            actions.extend(exchange.step(&mut io).await);
            self.steps += 1;
            if self.trap_after == Some(self.steps) {
                let (exchange, mut io, actions) = self.parts();
                exchange.recover(Fault::new("parse-chunk", "an injected fault"), &mut io, actions);
            }
        }
    }
}

/// Plays the writes, with a trap after so many steps. Returns the events, what was written to the agent, and the number
/// of steps.
async fn play(adapter: &Adapter, trap_after: Option<usize>) -> (Vec<EventKind>, Vec<u8>, usize) {
    let folder = tempfile::tempdir().expect("a folder");
    let record = RunRecord::new(folder.path(), true, &RecordingConfig::default()).expect("a run folder");
    let mut scene = Scene::new(adapter, &record, trap_after).await;

    let agent = AgentId { program: "/bin/agent".to_owned(), version: None, transport: "lines".to_owned() };
    let started = RunStarted::new("run", SystemTime::UNIX_EPOCH, adapter.id(), agent);
    let (exchange, mut io, actions) = scene.parts();
    actions.extend(exchange.input(Input::Started(Box::new(started)), None, &mut io));
    scene.settle().await;
    for bytes in WRITES {
        let (exchange, mut io, _) = scene.parts();
        exchange.output(false, bytes, &mut io);
        scene.settle().await;
    }
    let exit = Exit { code: Some(0), signal: None };
    let (exchange, mut io, _) = scene.parts();
    exchange.end_of_output(exit, &mut io);
    scene.settle().await;
    let (exchange, mut io, actions) = scene.parts();
    actions.extend(exchange.finish(exit, &mut io).await);

    let writes = scene.actions.into_iter().filter_map(|action| match action {
        Action::Write(bytes) => Some(bytes),
        _ => None,
    });
    (scene.events, writes.flatten().collect(), scene.steps)
}

#[tokio::test]
async fn after_a_trap_the_turn_continues_and_nothing_is_done_twice() {
    let cache = tempfile::tempdir().expect("a folder");
    let adapter = echo(cache.path()).await;
    let (events, written, steps) = play(&adapter, None).await;
    let count = |is: fn(&EventKind) -> bool| events.iter().filter(|event| is(event)).count();
    assert_eq!(count(|event| matches!(event, EventKind::Message(part) if part.text == "é" || part.text == "bye")), 2);
    assert_eq!(count(|event| matches!(event, EventKind::AskAnswered(_))), 1);
    assert_eq!(count(|event| matches!(event, EventKind::Malformed { .. } | EventKind::Unknown { .. })), 2);
    assert_eq!(count(|event| matches!(event, EventKind::TurnEnded(_))), 1);
    assert!(String::from_utf8_lossy(&written).contains("\"allow\":true"));
    assert!(steps > WRITES.len() + 3, "an oversized line and an answer are steps of their own: {steps}");
    for at in 1..=steps {
        let (mut with_trap, written_with_trap, _) = play(&adapter, Some(at)).await;
        let notice = with_trap
            .iter()
            .position(|event| matches!(event, EventKind::Notice { text, .. } if text.contains("an injected fault")));
        with_trap.remove(notice.expect("a notice of the restart"));
        assert_eq!(with_trap, events, "a trap after {at} steps");
        assert_eq!(written_with_trap, written, "a trap after {at} steps");
    }
}

#[tokio::test]
async fn a_cancel_counts_in_the_middle_of_a_recovery() {
    let cache = tempfile::tempdir().expect("a folder");
    let adapter = echo(cache.path()).await;
    let folder = tempfile::tempdir().expect("a folder");
    let record = RunRecord::new(folder.path(), true, &RecordingConfig::default()).expect("a run folder");
    let mut scene = Scene::new(&adapter, &record, None).await;
    for bytes in WRITES {
        let (exchange, mut io, _) = scene.parts();
        exchange.output(false, bytes, &mut io);
        scene.settle().await;
    }
    let (exchange, mut io, actions) = scene.parts();
    exchange.recover(Fault::new("parse-chunk", "an injected fault"), &mut io, actions);
    let mut steps = 0;
    while exchange.is_parsing() {
        assert_eq!(exchange.step(&mut io).await, [], "everything was done before");
        steps += 1;
        if steps == 3 {
            assert_eq!(exchange.input(Input::Cancel, None, &mut io), []);
            assert_eq!(exchange.input(Input::Cancel, None, &mut io), [Action::Kill]);
        }
    }
    assert!(steps > 6, "each line is a step of its own: {steps}");
    assert!(exchange.has_guest() && exchange.has_work(), "the first cancel waits for the recovery");
    assert_eq!(exchange.settle(&mut io).await, [], "nothing is sent to an adapter whose agent was killed");
}
