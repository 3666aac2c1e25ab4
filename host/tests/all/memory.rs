//! An adapter without grants cannot take the memory of the host: what it makes of a few bytes is counted by what it
//! becomes.

use std::time::Duration;
use wharf::event::{EventKind, Outcome, Report};
use wharf::{RunOptions, Timeouts, Turn};
use wharf_test_support::{Sandbox, faulty_guest, in_own_process};

/// What the whole process may take. Each of these adapters took several gigabytes.
const PEAK: u64 = 1 << 30;

/// The most memory that this process has had, in bytes.
fn peak_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches("kB").trim().parse::<u64>().unwrap() * 1024
}

/// A recorded run of the faulty adapter: its report and its notices. The events are dropped as they come.
async fn run(fault: &str, script: &str) -> (Report, Vec<String>) {
    let sandbox = Sandbox::new();
    let host = sandbox.host();
    let adapter = host.adapter(faulty_guest().to_str().unwrap()).await.unwrap();
    let script = sandbox.write("script", script);
    let turn = Turn::new("go").with_workspace(sandbox.path("workspace"));
    let turn = turn.with_option("fault", fault).with_option("script", script.to_str().unwrap());
    let mut options = RunOptions::default();
    // The agent is silent after its lines: an adapter that is not stopped must not hold the test up.
    let mut timeouts = Timeouts::none();
    timeouts.total = Some(Duration::from_mins(1));
    options.timeouts = Some(timeouts);
    let mut run = host.start(&adapter, turn, options).await.unwrap();
    let (mut report, mut notices) = (None, Vec::new());
    while let Some(event) = run.next().await {
        match event.kind {
            EventKind::Notice { text, .. } => notices.push(text),
            EventKind::Report(last) => report = Some(*last),
            _ => {}
        }
    }
    (report.unwrap(), notices)
}

/// Runs a test in its own process, with a runtime.
fn alone(test: &str, body: impl Future<Output = ()>) {
    in_own_process(&format!("memory::{test}"), || {
        tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(body);
        assert!(peak_memory() < PEAK, "the host took {} bytes", peak_memory());
    });
}

fn message(report: &Report) -> &str {
    assert_eq!(report.outcome, Outcome::Failed, "{report:?}");
    &report.error.as_ref().unwrap().message
}

#[test]
fn a_line_that_5000_effects_quote_does_not_take_5000_times_its_length() {
    alone("a_line_that_5000_effects_quote_does_not_take_5000_times_its_length", async {
        let line = format!("line {{\"type\":\"say\",\"id\":\"1\",\"text\":\"{}\"}}\nsilence\n", "x".repeat(1_000_000));
        let (report, _) = run("quote-often", &line).await;
        assert!(message(&report).contains("the effects of one call take more than"), "{report:?}");
    });
}

#[test]
fn a_restarted_adapter_that_makes_gigabytes_of_4_kilobytes_is_stopped() {
    alone("a_restarted_adapter_that_makes_gigabytes_of_4_kilobytes_is_stopped", async {
        let lines = "{\"type\":\"x\"}\\n".repeat(350);
        let (report, _) = run("flood", &format!("stdout {lines}\nsilence\n")).await;
        assert!(message(&report).contains("the restarted adapter produced more than"), "{report:?}");
    });
}

#[test]
fn names_of_50_megabytes_that_an_adapter_asks_for_are_not_kept() {
    alone("names_of_50_megabytes_that_an_adapter_asks_for_are_not_kept", async {
        let (report, notices) = run("find-spam", "line {\"type\":\"done\"}\n").await;
        assert_eq!(report.outcome, Outcome::Completed, "{report:?}");
        assert!(notices.iter().any(|text| text.contains("has 50000000 bytes, and may have at most")), "{notices:?}");
    });
}

#[test]
fn an_adapter_cannot_describe_itself_or_its_models_with_values_that_take_all_memory() {
    alone("an_adapter_cannot_describe_itself_or_its_models_with_values_that_take_all_memory", async {
        let sandbox = Sandbox::new();
        let host = sandbox.host();
        for (place, refused) in [("describe", true), ("models--", false)] {
            // The same component, with another word of the same length in it.
            let (before, after) = (b"bulk-in-nowhere-", format!("bulk-in-{place}"));
            let mut bytes = std::fs::read(faulty_guest()).unwrap();
            let places: Vec<usize> =
                (0..bytes.len() - before.len()).filter(|at| bytes[*at..].starts_with(before)).collect();
            assert!(!places.is_empty());
            for at in places {
                bytes[at..at + before.len()].copy_from_slice(after.as_bytes());
            }
            let path = sandbox.write(format!("{place}.wasm"), bytes);
            let loaded = host.adapter(path.to_str().unwrap()).await;
            assert_eq!(loaded.is_err(), refused, "{place}: {loaded:?}");
            let error = match loaded {
                Ok(adapter) => host.models(&adapter, true).await.expect_err("they are refused"),
                Err(error) => error,
            };
            let expected = "the values that it returned in one call take more than";
            assert!(error.to_string().contains(expected), "{place}: {error}");
        }
    });
}
