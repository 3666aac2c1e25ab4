//! Tokens and requests: where each version reports them, and their scope.

use super::{ID, RESULT};
use crate::{event, run, started, usages};
use wharf_adapter::testing::{FakeHost, events, finish, play};
use wharf_adapter::{Adapter, Event, SessionChoice, Stream, Usage, UsageScope};

const ACCOUNT: &str = r#"{"totalNanoAiu":2500000000,"aiCreditsStatus":"ok","modelMetrics":{"m":{"requests":{"count":1,"cost":1},
    "usage":{"inputTokens":10,"outputTokens":5,"cacheReadTokens":3,"cacheWriteTokens":0,"reasoningTokens":2}}}}"#;

fn expected_usage(scope: UsageScope) -> Usage {
    Usage {
        model: Some("m".into()),
        input: Some(10),
        output: Some(5),
        cache_read: Some(3),
        cache_write: Some(0),
        reasoning: Some(2),
        ..Usage::new(scope, "accounting", true)
    }
}

/// 1.0.102 continues the totals of earlier processes; 1.0.35 starts at zero.
#[test]
fn newer_versions_count_over_the_whole_session() {
    let call = event("model.call_start", r#"{"turnId":"0","model":"m"}"#);
    let checkpoint = event(
        "session.usage_checkpoint",
        &format!(r#"{{"totalPremiumRequests":2,"accountingSnapshot":{}}}"#, ACCOUNT.replace('\n', "")),
    );
    let scopes = |lines: &[&str]| usages(&run(lines)).iter().map(|usage| usage.scope).collect::<Vec<_>>();
    assert_eq!(scopes(&[&call, &checkpoint, RESULT]), [UsageScope::SessionTotal; 3]);
    assert_eq!(scopes(&[RESULT]), [UsageScope::TurnTotal]);
    let mut adapter = started("1.0.102", SessionChoice::Fresh(None));
    play(&mut adapter, Stream::Stdout, &checkpoint, 1);
    let interrupted = usages(&finish(&mut adapter, &FakeHost::default(), 0));
    assert!(interrupted.iter().any(|usage| usage.units == [("premium-requests".to_owned(), 2.0)]), "{interrupted:?}");
}

#[test]
fn tokens_are_read_from_the_usage_file() {
    let mut adapter = started("1.0.102", SessionChoice::Fresh(None));
    let played = play(&mut adapter, Stream::Stdout, RESULT, 1);
    let result = &usages(&played)[0];
    assert_eq!((result.units[0].1, result.api_millis), (0.33, Some(8)));
    let mut host = FakeHost::default();
    host.launch_files.insert("usage.json".into(), ACCOUNT.into());
    let usages = usages(&finish(&mut adapter, &host, 0));
    assert_eq!(usages[0], expected_usage(UsageScope::SessionTotal));
    assert_eq!(usages[1].units, [("ai-credits".to_owned(), 2.5)]);
}

#[test]
fn tokens_are_read_from_the_journal_without_a_usage_file() {
    let journal = |stamp: &str| {
        let account = ACCOUNT.replace(['\n'], "");
        format!(
            "{{\"type\":\"session.start\"}}\n{{\"type\":\"session.shutdown\",\"timestamp\":\"{stamp}\",\"data\":{account}}}\n"
        )
    };
    for (stamp, known) in [("2026-11-15T23:00:10.000Z", true), ("2026-11-15T22:00:00.000Z", false)] {
        let path = format!("/home/user/.copilot/session-state/{ID}/events.jsonl");
        let host = FakeHost::default()
            .program("copilot", "/usr/bin/copilot")
            .output("/usr/bin/copilot --version", 0, "GitHub Copilot CLI 1.0.35.")
            .with_variable("HOME", "/home/user")
            .file(&path, &journal(stamp));
        let mut adapter = started("1.0.35", SessionChoice::Fresh(None));
        adapter.resolve_binary(&host, &wharf_adapter::testing::environment()).expect("a program");
        play(&mut adapter, Stream::Stdout, RESULT, 1);
        let effects = finish(&mut adapter, &host, 0);
        assert_eq!(usages(&effects).first() == Some(&expected_usage(UsageScope::TurnTotal)), known, "{stamp}");
        let unavailable = events(&effects).iter().any(|event| matches!(event, Event::UsageUnavailable(_)));
        assert_eq!(unavailable, !known, "{stamp}");
    }
}

/// In 1.0.35 messages have output tokens only; the journal has the input tokens.
#[test]
fn the_journal_is_read_even_if_messages_were_counted() {
    let account = ACCOUNT.replace(['\n'], "");
    let path = format!("/home/user/.copilot/session-state/{ID}/events.jsonl");
    let line =
        format!("{{\"type\":\"session.shutdown\",\"timestamp\":\"2026-11-15T23:00:10.000Z\",\"data\":{account}}}\n");
    let host = FakeHost::default().with_variable("HOME", "/home/user").file(&path, &line);
    let mut adapter = started("1.0.35", SessionChoice::Fresh(None));
    let message = event("assistant.message", r#"{"messageId":"m","content":"hi","outputTokens":5}"#);
    let played = play(&mut adapter, Stream::Stdout, &format!("{message}\n{RESULT}"), 1);
    assert_eq!(usages(&played)[0].output, Some(5));
    assert_eq!(usages(&finish(&mut adapter, &host, 0)).first(), Some(&expected_usage(UsageScope::TurnTotal)));
}

/// Another program may have started the session, or `--continue` found it.
#[test]
fn a_continued_session_reports_what_this_run_added() {
    let total = |stamp: &str, input: u64, requests: u64| {
        let usage = format!(r#"{{"inputTokens":{input},"outputTokens":{}}}"#, input / 10);
        let millis = requests * 7;
        let data = format!(
            r#"{{"totalPremiumRequests":{requests},"totalApiDurationMs":{millis},"modelMetrics":{{"m":{{"usage":{usage}}}}}}}"#
        );
        format!("{{\"type\":\"session.shutdown\",\"timestamp\":\"{stamp}\",\"data\":{data}}}\n")
    };
    let call = event("model.call_start", r#"{"turnId":"0","model":"m"}"#);
    let path = format!("/home/user/.copilot/session-state/{ID}/events.jsonl");
    let before = total("2026-11-15T22:00:00.000Z", 100, 1) + &total("2026-11-15T22:30:00.000Z", 300, 3);
    let now = total("2026-11-15T23:00:10.000Z", 420, 4);
    for (session, journal, expected) in [
        (SessionChoice::Resume(ID.into()), before.clone() + &now, Some((120, 12, 1.0, Some(7)))),
        (SessionChoice::MostRecent, before.clone() + &now, Some((120, 12, 1.0, Some(7)))),
        (SessionChoice::Fresh(None), before.clone() + &now, None),
        (SessionChoice::Resume(ID.into()), now, None),
        (SessionChoice::Resume(ID.into()), before, None),
    ] {
        let host = FakeHost::default().with_variable("HOME", "/home/user").file(&path, &journal);
        let mut adapter = started("1.0.102", session);
        play(&mut adapter, Stream::Stdout, &format!("{call}\n{RESULT}"), 1);
        let figures = usages(&finish(&mut adapter, &host, 0));
        let turn: Vec<_> = figures.iter().filter(|usage| usage.scope == UsageScope::TurnTotal).collect();
        let reported = match turn[..] {
            [tokens, more] => {
                Some((tokens.input.unwrap_or(0), tokens.output.unwrap_or(0), more.units[0].1, more.api_millis))
            }
            _ => None,
        };
        assert_eq!(reported, expected, "{journal}");
    }
}
