//! Components that are not adapters, or that misbehave: each is refused or stopped with an error that says which it was
//! and why, and the same host continues with its next turn.

use std::path::Path;
use std::pin::pin;
use wharf::adapter::Adapter;
use wharf::event::{ErrorClass, EventKind, Outcome, Report};
use wharf::{ErrorKind, Host, Run, RunOptions, Turn};
use wharf_test_support::{
    CompileBomb, InvalidComponent, Sandbox, echo_bytes, faulty_guest, invalid_components, looping_guest,
    too_large_component, wat,
};

/// The agent writes one line and then nothing: when its adapter is stopped, it has to be stopped too.
const HELLO_AND_SILENCE: &str = "line {\"type\":\"hello\",\"session\":\"s\"}\nsilence\n";

/// The agent exits by itself, without saying how the turn went.
const HELLO_AND_EXIT: &str = "line {\"type\":\"hello\",\"session\":\"s\"}\n";

fn text(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}

/// A turn in the sandbox's workspace, with these options of the adapter.
fn turn(sandbox: &Sandbox, options: &[(&str, &str)]) -> Turn {
    let mut turn = Turn::new("hello").with_workspace(sandbox.path("workspace"));
    turn.options = options.iter().map(|(name, value)| ((*name).to_owned(), (*value).into())).collect();
    turn
}

/// The host still works: a whole turn of the echo agent.
async fn still_works(host: &Host, sandbox: &Sandbox, echo: &Adapter) {
    let run = host.start(echo, turn(sandbox, &[]), RunOptions::default()).await.expect("the echo agent starts");
    let report = run.finish().await.expect("a report");
    assert_eq!((report.outcome, report.answer.as_deref()), (Outcome::Completed, Some("You said: hello")));
}

async fn start_faulty(host: &Host, sandbox: &Sandbox, fault: &str, script: &str, options: RunOptions) -> Run {
    let adapter = host.adapter(text(&faulty_guest())).await.expect("it describes itself well");
    let script = sandbox.write(format!("{fault}.script"), script);
    let turn = turn(sandbox, &[("fault", fault), ("script", text(&script))]);
    host.start(&adapter, turn, options).await.unwrap_or_else(|error| panic!("{fault}: {error}"))
}

/// The turn failed because of the adapter, and the error says so.
fn assert_stopped(fault: &str, report: &Report, parts: &[&str]) {
    let error = report.error.as_ref().unwrap_or_else(|| panic!("{fault}: {report:?}"));
    assert_eq!((report.outcome, error.class), (Outcome::Failed, ErrorClass::Protocol), "{fault}: {report:?}");
    for part in parts {
        assert!(error.message.contains(part), "{fault}: {part:?} is not in {:?}", error.message);
    }
}

/// On a busy machine a guest may not get its 10 seconds of compute time within 20 seconds.
fn assert_out_of_time(message: &str) {
    let limits = ["it exceeded the 10 s compute limit", "it did not return within 20 s"];
    assert!(limits.iter().any(|limit| message.contains(limit)), "{message}");
}

#[tokio::test]
async fn a_file_that_is_not_an_adapter_is_refused_and_the_host_still_works() {
    let sandbox = Sandbox::new();
    let host = sandbox.echo_host();
    let echo = host.adapter("echo").await.expect("the echo adapter");
    for InvalidComponent { name, content, error_parts } in invalid_components() {
        let path = sandbox.write(format!("{name}.wasm"), content);
        let error = host.adapter(text(&path)).await.expect_err(name);
        let message = error.to_string();
        assert_eq!(error.kind(), ErrorKind::Adapter, "{name}: {message}");
        for part in error_parts.iter().copied().chain([text(&path), "was refused"]) {
            assert!(message.contains(part), "{name}: {part:?} is not in {message:?}");
        }
        still_works(&host, &sandbox, &echo).await;
    }
    let error = host.adapter(text(&too_large_component(&sandbox))).await.expect_err("it is too large");
    assert!(error.to_string().contains("larger than 33554432 bytes"), "{error}");
    still_works(&host, &sandbox, &echo).await;
}

#[tokio::test]
async fn a_component_cut_anywhere_is_refused() {
    let sandbox = Sandbox::new();
    let host = sandbox.echo_host();
    let whole = echo_bytes();
    for parts in 0..64 {
        let path = sandbox.write("cut.wasm", &whole[..whole.len() * parts / 64]);
        let error = host.adapter(text(&path)).await.expect_err("a part is no adapter");
        assert_eq!(error.kind(), ErrorKind::Adapter, "{parts} of 64 parts: {error}");
    }
    let path = sandbox.write("cut.wasm", &whole);
    host.adapter(text(&path)).await.expect("the whole is one");
}

#[tokio::test]
async fn a_describe_that_loops_forever_is_refused_and_the_host_still_works() {
    let sandbox = Sandbox::new();
    let host = sandbox.echo_host();
    let echo = host.adapter("echo").await.expect("the echo adapter");
    let path = looping_guest();
    let error = {
        let mut looping = pin!(host.adapter(text(&path)));
        // On one thread: it is made to yield to the others while it loops.
        tokio::select! {
            biased;
            ended = &mut looping => panic!("it ended before another turn did: {ended:?}"),
            () = still_works(&host, &sandbox, &echo) => {}
        }
        looping.await.expect_err("it does not describe itself")
    };
    assert_eq!(error.kind(), ErrorKind::Adapter);
    let message = error.to_string();
    for part in ["was refused", "in describe", text(&path)] {
        assert!(message.contains(part), "{part:?} is not in {message:?}");
    }
    assert_out_of_time(&message);
    still_works(&host, &sandbox, &echo).await;
}

#[tokio::test]
async fn a_parse_chunk_that_loops_forever_is_stopped_with_its_agent_and_the_host_still_works() {
    let sandbox = Sandbox::new();
    let host = sandbox.echo_host();
    let echo = host.adapter("echo").await.expect("the echo adapter");
    // Unrecorded: with a recording a second instance gets a second chance, which takes as long again.
    let mut options = RunOptions::default();
    options.unrecorded = true;
    let run = start_faulty(&host, &sandbox, "loop", HELLO_AND_SILENCE, options).await;
    let mut looping = pin!(run.finish());
    tokio::select! {
        biased;
        ended = &mut looping => panic!("it ended before another turn did: {ended:?}"),
        () = still_works(&host, &sandbox, &echo) => {}
    }
    let report = looping.await.expect("a report");
    assert_stopped("loop", &report, &["in parse-chunk"]);
    assert_out_of_time(&report.error.as_ref().expect("it failed").message);
    assert_eq!(report.exit.and_then(|exit| exit.signal), Some(15), "the agent was asked to stop: {report:?}");
    still_works(&host, &sandbox, &echo).await;
}

#[tokio::test]
async fn a_guest_that_waits_measures_no_time() {
    let sandbox = Sandbox::new();
    let host = sandbox.echo_host();
    // It sleeps for an hour at each line.
    let script = format!("{HELLO_AND_EXIT}line {{\"type\":\"done\"}}\n");
    let run = start_faulty(&host, &sandbox, "sleep", &script, RunOptions::default()).await;
    let report = run.finish().await.expect("a report");
    assert_eq!(report.outcome, Outcome::Completed, "a wait is over at once: {report:?}");
}

#[tokio::test]
async fn a_finish_that_loops_forever_is_stopped_and_the_host_still_works() {
    let sandbox = Sandbox::new();
    let host = sandbox.echo_host();
    let echo = host.adapter("echo").await.expect("the echo adapter");
    let run = start_faulty(&host, &sandbox, "loop-finish", HELLO_AND_EXIT, RunOptions::default()).await;
    let report = run.finish().await.expect("a report");
    assert_stopped("loop-finish", &report, &["in finish"]);
    assert_out_of_time(&report.error.as_ref().expect("it failed").message);
    still_works(&host, &sandbox, &echo).await;
}

#[tokio::test]
async fn an_adapter_that_misbehaves_in_a_turn_is_stopped_with_its_agent_and_the_host_still_works() {
    let sandbox = Sandbox::new();
    let host = sandbox.echo_host();
    let echo = host.adapter("echo").await.expect("the echo adapter");
    let faults: [(&str, &[&str]); 6] = [
        ("allocate", &["in parse-chunk", "it exceeded the memory limit of 268435456 bytes"]),
        ("panic", &["in parse-chunk", "panicked", "parse_chunk panics, as it was told to"]),
        ("deep", &["in parse-chunk", "overflowed its stack"]),
        ("noisy", &["in parse-chunk", "panicked", "parse_chunk panics after much noise, as it was told to"]),
        ("fetch-in-parse", &["it called host.fetch during parse-chunk, where the host cannot be called"]),
        ("bad-span", &["in parse-chunk", "the adapter violated the interface", "the chunk"]),
    ];
    for (fault, parts) in faults {
        // With and without a second chance.
        for unrecorded in [false, true] {
            let mut options = RunOptions::default();
            options.unrecorded = unrecorded;
            let run = start_faulty(&host, &sandbox, fault, HELLO_AND_SILENCE, options).await;
            let report = run.finish().await.expect("a report");
            assert_stopped(fault, &report, parts);
            let message = report.error.map(|error| error.message).unwrap_or_default();
            assert!(message.len() < 10_000, "{fault}: an error of {} bytes", message.len());
            assert_eq!(report.exit.and_then(|exit| exit.signal), Some(15), "{fault}: the agent was asked to stop");
            still_works(&host, &sandbox, &echo).await;
        }
    }
}

#[tokio::test]
async fn an_adapter_that_misbehaves_before_the_agent_starts_is_an_error_and_the_host_still_works() {
    let sandbox = Sandbox::new();
    let host = sandbox.echo_host();
    let echo = host.adapter("echo").await.expect("the echo adapter");
    let adapter = host.adapter(text(&faulty_guest())).await.expect("it describes itself well");
    let started = host.start(&adapter, turn(&sandbox, &[("fault", "build-panic")]), RunOptions::default()).await;
    let error = started.expect_err("it cannot be started");
    assert_eq!(error.kind(), ErrorKind::Adapter);
    for part in ["in build-args", "build_args panics, as it was told to"] {
        assert!(error.to_string().contains(part), "{error}");
    }
    still_works(&host, &sandbox, &echo).await;
}

#[tokio::test]
async fn an_adapter_whose_requested_pattern_cannot_be_one_is_refused_and_the_host_still_works() {
    let sandbox = Sandbox::new();
    let host = sandbox.echo_host();
    let echo = host.adapter("echo").await.expect("the echo adapter");
    // The same component, which requests another program of the same length.
    let (name, pattern) = (b"wharf-fake-agent", b"/{{{{{{{{{{{{{{{");
    let mut bytes = std::fs::read(faulty_guest()).expect("the component");
    let places: Vec<usize> = (0..bytes.len() - name.len()).filter(|at| bytes[*at..].starts_with(name)).collect();
    assert!(!places.is_empty());
    for at in places {
        bytes[at..at + name.len()].copy_from_slice(pattern);
    }
    let path = sandbox.write("braces.wasm", bytes);
    let error = host.adapter(text(&path)).await.expect_err("it is refused");
    assert_eq!(error.kind(), ErrorKind::Adapter);
    assert!(error.to_string().contains("a pattern has only `~`, `*`, `**` and `?`"), "{error}");
    still_works(&host, &sandbox, &echo).await;
}

#[tokio::test]
async fn an_adapter_that_imports_sockets_gets_none() {
    let sandbox = Sandbox::new();
    let host = sandbox.echo_host();
    let mut run = start_faulty(&host, &sandbox, "connect", HELLO_AND_EXIT, RunOptions::default()).await;
    let mut notices = Vec::new();
    while let Some(event) = run.next().await {
        if let EventKind::Notice { text, .. } = event.kind {
            notices.push(text);
        }
    }
    let denied = "tcp Err(PermissionDenied), udp Err(PermissionDenied), name Err(())";
    assert!(notices.iter().any(|text| text == denied), "{notices:?}");
}

#[tokio::test]
async fn a_foreign_import_is_refused_before_anything_is_compiled() {
    let sandbox = Sandbox::new().with_own_cache();
    let host = sandbox.echo_host();
    // Compiling it would take minutes, and nothing in this process could stop that.
    let bomb = CompileBomb::TIME.importing("(import \"wasi:http/outgoing-handler@0.2.0\" (instance))");
    let path = sandbox.write("http.wasm", bomb);
    let error = host.adapter(text(&path)).await.expect_err("it is refused");
    assert_eq!(error.kind(), ErrorKind::Adapter);
    assert!(error.to_string().contains("it imports `wasi:http/outgoing-handler@0.2.0`"), "{error}");
}

#[tokio::test]
async fn a_component_of_too_many_parts_is_refused_without_a_child_too() {
    let sandbox = Sandbox::new();
    let host = sandbox.echo_host();
    let export = "(instance $i) (export \"wharf:runtime/runtime-adapter@0.1.0\" (instance $i))";
    for (content, expected) in [
        (format!("(core module {})", "(func)".repeat(250_001)), "it has more than 250000 functions"),
        ("(core module)".repeat(300), "it has more than 250 modules and components"),
    ] {
        let path = sandbox.write("large.wasm", wat(&format!("(component {content} {export})")));
        let error = host.adapter(text(&path)).await.expect_err("it is refused");
        assert_eq!(error.kind(), ErrorKind::Adapter);
        assert!(error.to_string().contains(expected), "{error}");
    }
}

#[tokio::test]
async fn compiling_without_a_child_does_not_block_the_callers_thread() {
    let sandbox = Sandbox::new().with_own_cache();
    let host = sandbox.echo_host();
    let echo = host.adapter("echo").await.expect("the echo adapter");
    let bomb = CompileBomb { nested_loops: 150, ..CompileBomb::TIME };
    let path = sandbox.write("slow.wasm", bomb.component());
    let mut compiling = pin!(host.adapter(text(&path)));
    // On one thread: a turn goes on while the component is compiled on another.
    tokio::select! {
        biased;
        ended = &mut compiling => panic!("it ended before another turn did: {ended:?}"),
        () = still_works(&host, &sandbox, &echo) => {}
    }
    let error = compiling.await.expect_err("it is no adapter");
    assert!(error.to_string().contains("does not have export `describe`"), "{error}");
}

#[tokio::test]
async fn refused_components_push_no_adapter_out_of_the_cache() {
    let sandbox = Sandbox::new().with_own_cache();
    let host = sandbox.echo_host();
    let echo = host.adapter("echo").await.expect("the echo adapter");
    let cached = sandbox.files("cache/compiled");
    assert_eq!(cached.len(), 1);
    for number in 0..40 {
        let bomb = CompileBomb { nested_loops: 1, loops: 1, variables: number };
        let path = sandbox.write("refused.wasm", bomb.component());
        let error = host.adapter(text(&path)).await.expect_err("it compiles, and is no adapter");
        assert!(error.to_string().contains("does not have export `describe`"), "{error}");
    }
    let path = looping_guest();
    let _ = host.adapter(text(&path)).await.expect_err("it does not describe itself");
    assert!(sandbox.files("cache/compiled") == cached, "what is refused is not kept");
    still_works(&host, &sandbox, &echo).await;
}
