//! An adapter that keeps the host busy, and an agent that makes it remember: timeouts and cancels work, and what is kept
//! has a limit.

use std::time::Duration;
use wharf::event::{ErrorClass, EventKind, Outcome};
use wharf::{Delivery, Host, Run, RunOptions, Timeouts};
use wharf_test_support::{DONE, HELLO, Sandbox, Script, faulty_guest};

/// How long a run may take that should end within seconds. Without the fix it never ends.
const PATIENCE: Duration = Duration::from_mins(1);

/// A run of an adapter that keeps the host busy, with rules that allow everything.
async fn busy(host: &Host, sandbox: &Sandbox, fault: &str, total: Option<Duration>) -> Run {
    let mut options = RunOptions::default();
    options.rules = toml::from_str("default = \"allow\"").unwrap();
    let mut timeouts = Timeouts::none();
    timeouts.total = total;
    options.timeouts = Some(timeouts);
    let adapter = host.adapter(faulty_guest().to_str().unwrap()).await.unwrap();
    let turn = sandbox.turn("script", &Script::new().step("silence")).with_option("fault", fault);
    host.start(&adapter, turn, options).await.unwrap()
}

#[tokio::test]
async fn a_timeout_ends_a_run_whose_adapter_never_waits() {
    let sandbox = Sandbox::new();
    let host = sandbox.echo_host();
    for fault in ["slow-asks", "slow-timers"] {
        let run = busy(&host, &sandbox, fault, Some(Duration::from_secs(1))).await;
        let report = tokio::time::timeout(PATIENCE, run.finish()).await.expect("the timeout ends it").unwrap();
        assert_eq!((report.outcome, report.detail.as_deref()), (Outcome::Limit, Some("total timeout")), "{fault}");
    }
}

#[tokio::test]
async fn a_caller_gets_events_and_can_cancel_while_an_adapter_never_waits() {
    let sandbox = Sandbox::new();
    let host = sandbox.echo_host();
    for fault in ["slow-asks", "slow-timers"] {
        let mut run = busy(&host, &sandbox, fault, None).await;
        let mut events = 0;
        while events < 3 {
            let next = tokio::time::timeout(PATIENCE, run.next()).await.expect("events come while it is busy");
            let event = next.unwrap().kind;
            events += usize::from(matches!(event, EventKind::AskAnswered(_) | EventKind::Notice { .. }));
        }
        for _ in 0..3 {
            assert_eq!(run.cancel().await, Delivery::Done, "{fault}");
        }
        let mut after = 0;
        while let Some(event) = tokio::time::timeout(PATIENCE, run.next()).await.expect("the cancel ends it") {
            after += usize::from(matches!(event.kind, EventKind::AskAnswered(_) | EventKind::Notice { .. }));
            if let EventKind::Report(report) = event.kind {
                assert_eq!(report.outcome, Outcome::Cancelled, "{fault}: {report:?}");
            }
        }
        assert!(after < 20, "{fault}: {after} inputs were handled after it was cancelled");
    }
}

#[tokio::test]
async fn an_adapter_that_asks_again_at_each_answer_has_failed() {
    let sandbox = Sandbox::new();
    let host = sandbox.echo_host();
    let report = busy(&host, &sandbox, "ask-loop", Some(PATIENCE)).await.finish().await.unwrap();
    let error = report.error.unwrap();
    assert_eq!((report.outcome, error.class), (Outcome::Failed, ErrorClass::Protocol), "{error:?}");
    for part in ["in handle", "it asked again at each answer", "10000"] {
        assert!(error.message.contains(part), "{part:?} is not in {:?}", error.message);
    }
}

#[tokio::test]
async fn tools_without_end_and_ids_without_end_are_counted_and_the_run_completes() {
    let sandbox = Sandbox::new();
    let host = sandbox.host();
    let adapter = host.adapter("echo").await.unwrap();
    let tool = |id: &str| format!("{{\"type\":\"tool\",\"id\":\"{id}\",\"name\":\"x\",\"status\":\"running\"}}\n");
    let many: String = (0..12_000).map(|number| tool(&number.to_string())).collect();
    let long = tool(&"x".repeat(100_000)).repeat(3);
    let script = Script::new().line(HELLO).stdout(many).stdout(long).line(DONE);
    let run = host.start(&adapter, sandbox.turn("script", &script), RunOptions::default()).await.unwrap();
    let report = run.finish().await.unwrap();
    assert_eq!(report.outcome, Outcome::Completed, "{report:?}");
    assert_eq!((report.tools.len(), report.omitted.tools), (10_000, 2000));
    assert_eq!(report.drift.malformed, 3, "ids of more than a kibibyte");
}
