//! Recovery from a trap, with the trap injected: an adapter is deterministic, so no real one traps once and not again.

use super::*;
use crate::ask::AskRules;
use crate::config::{Config, RecordingConfig};
use crate::driver::{Clocks, Ending};
use crate::engine::{Engine, Limits};
use crate::event::Usage;
use crate::frame::DEFAULT_FRAME_LIMIT;
use crate::info::{Login, Support};
use crate::keep::Keeper;
use crate::redact::Secrets;

/// What an agent says in three writes, which cut through lines and through a character.
const WRITES: [&[u8]; 3] = [
    b"{\"type\":\"hello\",\"session\":\"s\"}\n{\"type\":\"say\",\"id\":\"1\",\"text\":\"\xc3",
    b"\xa9\"}\n{\"type\":\"ask\",\"id\":\"a\",\"title\":\"may I?\",\"tool\":\"x\"}\n{\"type\":\"new\"}\nnoise\n{\"type\":\"do",
    b"ne\"}\n{\"type\":\"say\",\"id\":\"2\",\"text\":\"bye\"}",
];

async fn echo(cache: &Path) -> Adapter {
    let engine = Engine::new(Some(cache), Limits::default()).expect("an engine");
    crate::catalog::load(&engine, Path::new("/no/such/folder"), &Config::default(), "echo")
        .await
        .expect("it is bundled")
}

fn binary() -> Binary {
    Binary {
        program: "/bin/agent".to_owned(),
        leading_args: vec![],
        version: None,
        support: Support::Tested,
        capabilities: vec![],
        login: Login::Unknown,
        notes: vec![],
    }
}

/// Plays the writes, with a trap after so many of them, and gives what was emitted and written.
async fn play(adapter: &Adapter, trap_after: Option<usize>) -> (Vec<Event>, Vec<u8>) {
    let folder = tempfile::tempdir().expect("a folder");
    let keeper = Keeper::new(folder.path(), true, &RecordingConfig::default()).expect("a place to keep it");
    let mut journal = Journal::new(keeper.files().expect("files"), Secrets::default());
    let turn = Turn { approvals: crate::turn::Approvals::Ask, ..Turn::new("hi") };
    let opening = Opening {
        adapter: adapter.clone(),
        turn,
        binary: binary(),
        framing: Framing::Lines,
        frame_limit: DEFAULT_FRAME_LIMIT,
    };
    let instance = opening.instance(None).await.expect("an instance");
    let rules: AskRules = toml::from_str("otherwise = \"allow\"").expect("rules");
    let driver = Driver::new(Clocks::default(), rules, Ending::WhenStdinCloses, vec![], Usage::default());
    let mut conversation = Conversation::new(opening, instance, driver);
    let mut actions = conversation.input(Input::Started, &mut journal).await;
    let trap = async |conversation: &mut Conversation, journal: &mut Journal, actions: &mut Vec<Action>, at: usize| {
        if trap_after == Some(at) {
            let fault = Fault { call: "parse-chunk", why: "it was injected".to_owned(), stderr: String::new() };
            conversation.recover(fault, journal, actions).await;
        }
    };
    trap(&mut conversation, &mut journal, &mut actions, 0).await;
    for (at, bytes) in WRITES.iter().enumerate() {
        actions.extend(conversation.output(Origin::Stdout, bytes, &mut journal).await);
        trap(&mut conversation, &mut journal, &mut actions, at + 1).await;
    }
    actions.extend(conversation.end_of_output(&mut journal).await);
    trap(&mut conversation, &mut journal, &mut actions, WRITES.len() + 1).await;
    actions.extend(conversation.finish(Exit { code: Some(0), signal: None }, &mut journal).await);
    let (mut events, mut written) = (Vec::new(), Vec::new());
    for action in actions {
        match action {
            Action::Emit(event) => events.push(event),
            Action::Write(bytes) => written.extend(bytes),
            _ => {}
        }
    }
    (events, written)
}

#[tokio::test]
async fn after_a_trap_the_turn_goes_on_and_nothing_is_done_twice() {
    let cache = tempfile::tempdir().expect("a folder");
    let adapter = echo(cache.path()).await;
    let (events, written) = play(&adapter, None).await;
    let kinds = |kind: fn(&Event) -> bool| events.iter().filter(|event| kind(event)).count();
    assert_eq!(kinds(|event| matches!(event, Event::Message(part) if part.text == "é" || part.text == "bye")), 2);
    assert_eq!(kinds(|event| matches!(event, Event::AskAnswered { .. })), 1);
    assert_eq!(kinds(|event| matches!(event, Event::Malformed { .. } | Event::Unknown { .. })), 2);
    assert_eq!(kinds(|event| matches!(event, Event::TurnEnd { .. })), 1);
    assert!(String::from_utf8_lossy(&written).contains("\"allow\":true"));
    for at in 0..=WRITES.len() + 1 {
        let (mut with_trap, written_with_trap) = play(&adapter, Some(at)).await;
        let notice = with_trap
            .iter()
            .position(|event| matches!(event, Event::Notice { text, .. } if text.contains("it was injected")));
        with_trap.remove(notice.expect("a restart is said"));
        assert_eq!(with_trap, events, "a trap after {at} writes");
        assert_eq!(written_with_trap, written, "a trap after {at} writes");
    }
}
