//! Components that are not adapters, or that misbehave, as a user of the binary meets them. The library's tests have the
//! details.

use crate::sandbox;
use wharf_test_support::{
    InvalidComponent, fake_agent, faulty_guest, invalid_components, looping_guest, too_large_component, wat,
};

/// The agent writes one line and then nothing: when its adapter is stopped, it has to be stopped too.
const HELLO_AND_SILENCE: &str = "line {\"type\":\"hello\",\"session\":\"s\"}\nsilence\n";

#[test]
fn a_file_that_is_not_an_adapter_is_refused_with_exit_code_4() {
    let sandbox = sandbox();
    for InvalidComponent { name, content, error_parts } in invalid_components() {
        let path = sandbox.write(format!("{name}.wasm"), content);
        let run = sandbox.call(["run", "--adapter", path.to_str().unwrap(), "hello"]);
        assert_eq!((run.code, run.stdout.as_str()), (Some(4), ""), "{name}: {run:?}");
        assert!(error_parts.iter().all(|part| run.stderr.contains(part)), "{name}: {run:?}");
    }
    let run = sandbox.call(["run", "--adapter", too_large_component(&sandbox).to_str().unwrap(), "hello"]);
    assert_eq!(run.code, Some(4), "{run:?}");
    let run = sandbox.call(["run", "--adapter", looping_guest().to_str().unwrap(), "hello"]);
    assert_eq!(run.code, Some(4), "{run:?}");
    assert!(run.stderr.contains("compute limit"), "{run:?}");
    // Listing them does not fail: the others are still there.
    sandbox.write("adapters/broken.wasm", wat("(module)"));
    let listed = sandbox.call(["adapters"]).success().stdout;
    assert!(listed.contains("core module") && listed.contains("Echo, the example agent"), "{listed}");
}

#[test]
fn an_adapter_that_misbehaves_is_reported_with_the_documented_exit_code() {
    let sandbox = sandbox();
    let script = sandbox.write("script", HELLO_AND_SILENCE);
    let guest = faulty_guest();
    for (fault, code, part) in [
        ("panic", 1, "parse_chunk panics, as it was told to"),
        ("fetch-in-parse", 1, "where the host cannot be called"),
        ("build-panic", 4, "build_args panics, as it was told to"),
    ] {
        let (fault, script) = (format!("fault={fault}"), format!("script={}", script.display()));
        let (guest, agent) = (guest.to_str().unwrap(), fake_agent().to_str().unwrap());
        let args = ["run", "--json", "-a", guest, "--program", agent, "-o", &fault, "-o", &script];
        let run = sandbox.call(args.into_iter().chain(["hello"]));
        assert_eq!(run.code, Some(code), "{fault}: {run:?}");
        let report = run.report();
        assert_eq!((&report["outcome"], &report["error"]["class"]), (&"failed".into(), &"protocol".into()), "{fault}");
        assert!(report["error"]["message"].as_str().is_some_and(|message| message.contains(part)), "{fault}: {run:?}");
    }
}

#[test]
fn an_adapter_that_logs_without_end_fills_neither_terminal_nor_disk() {
    let sandbox = sandbox();
    let script = format!("script={}", sandbox.write("script", "line {\"type\":\"done\"}\n").display());
    let (guest, agent) = (faulty_guest(), fake_agent().to_str().unwrap());
    let args = ["run", "--json", "-a", guest.to_str().unwrap(), "--program", agent, "-o", "fault=log-spam"];
    let run = sandbox.call(args.into_iter().chain(["-o", &script, "hello"]));
    run.expect(0, "completed");
    let lines = run.stderr.lines().filter(|line| line.contains("log spam, as it was told to")).count();
    assert!((1..10_000).contains(&lines), "{lines} lines");
    let dropped: Vec<&str> = run.stderr.lines().filter(|line| line.contains("more lines dropped")).collect();
    assert!(matches!(dropped[..], [line] if line.contains(&(100_000 - lines).to_string())), "{dropped:?}");
}
