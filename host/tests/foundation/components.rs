//! Components that are none, that fit nothing, or that misbehave: each is refused or stopped with an error that says
//! which it was and why, and the same host goes on with its next turn.

use crate::common::{Machine, echo_component, fake_agent, faulty_guest, looping_guest};
use std::fs;
use std::path::{Path, PathBuf};
use std::pin::pin;
use wharf::{Adapter, ErrorClass, ErrorKind, Host, Outcome, Report, Run, RunOptions, Turn};

/// More than may be loaded.
const TOO_LARGE: u64 = (32 << 20) + 1;

/// The agent says something and then nothing: when its adapter is stopped, somebody has to stop it too.
const SAYS_AND_WAITS: &str = "line {\"type\":\"hello\",\"session\":\"s\"}\nsilence\n";

/// The agent ends by itself, without saying how the turn went.
const SAYS_AND_ENDS: &str = "line {\"type\":\"hello\",\"session\":\"s\"}\n";

/// A file that is no adapter, and what its error must say.
struct Wrong {
    name: &'static str,
    content: Vec<u8>,
    says: &'static [&'static str],
}

fn wat(text: &str) -> Vec<u8> {
    wat::parse_str(text).unwrap_or_else(|why| panic!("{text}: {why}"))
}

fn echo() -> Vec<u8> {
    fs::read(echo_component()).expect("the echo component")
}

/// The echo adapter as it would be for another version of the interface: its names are of the same length.
fn echo_of_version(version: &str) -> Vec<u8> {
    let mut component = echo();
    let mut found = 0;
    for name in ["host", "types", "runtime-adapter"] {
        let (from, to) = (format!("wharf:runtime/{name}@0.1.0"), format!("wharf:runtime/{name}@{version}"));
        assert_eq!(from.len(), to.len());
        for at in 0..component.len() - from.len() {
            if component[at..].starts_with(from.as_bytes()) {
                component[at..at + to.len()].copy_from_slice(to.as_bytes());
                found += 1;
            }
        }
    }
    assert!(found >= 3, "the names of the interfaces were found");
    component
}

fn wrong_files() -> Vec<Wrong> {
    let wrong = |name, content, says| Wrong { name, content, says };
    let half = echo().len() / 2;
    vec![
        wrong("empty", vec![], &["the file is empty"]),
        wrong("text", b"adapter, be good\n".to_vec(), &["it is not WebAssembly"]),
        wrong("core-module", wat("(module)"), &["it is a core module, not a component", "wasm32-wasip2"]),
        wrong("later-wasm", b"\0asm\x0e\0\x01\0".to_vec(), &["WebAssembly of a version that is not known"]),
        wrong("truncated", echo()[..half].to_vec(), &["it is not a valid component"]),
        wrong(
            "nothing",
            wat("(component)"),
            &["does not fit the interface wharf:runtime@0.1", "runtime-adapter@0.1.0"],
        ),
        wrong(
            "http",
            wat("(component (import \"wasi:http/outgoing-handler@0.2.0\" (instance)))"),
            &["it imports `wasi:http/outgoing-handler@0.2.0`, which is not offered"],
        ),
        wrong(
            "sockets",
            wat("(component (import \"wasi:sockets/tcp@0.2.0\" (instance)))"),
            &["it imports `wasi:sockets/tcp@0.2.0`, which is not offered"],
        ),
        wrong(
            "function",
            wat("(component (import \"launch\" (func)))"),
            &["it imports `launch`, which is not offered"],
        ),
        wrong("wasi-0.3", wat("(component (import \"wasi:cli/stdin@0.3.0\" (instance)))"), &["`wasi:cli/stdin@0.3.0`"]),
        wrong(
            "own-interface",
            wat("(component (import \"wharf:runtime/secrets@0.1.0\" (instance)))"),
            &["it imports `wharf:runtime/secrets@0.1.0`, which is not offered"],
        ),
        wrong("later-version", echo_of_version("0.2.0"), &["built for version 0.2.0 of wharf:runtime", "speaks 0.1"]),
        wrong("earlier-version", echo_of_version("0.0.9"), &["built for version 0.0.9 of wharf:runtime"]),
    ]
}

fn too_large(machine: &Machine) -> PathBuf {
    let path = machine.path("too-large.wasm");
    fs::File::create(&path).and_then(|file| file.set_len(TOO_LARGE)).expect("a large file without content");
    path
}

fn text(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}

/// A turn in the machine's workspace, with these options of the adapter.
fn turn(machine: &Machine, options: &[(&str, &str)]) -> Turn {
    let mut turn = Turn { workspace: machine.path("workspace"), ..Turn::new("hello") };
    turn.options = options.iter().map(|(name, value)| ((*name).to_owned(), (*value).into())).collect();
    turn
}

/// The host goes on: a whole turn of the echo agent.
async fn goes_on(host: &Host, machine: &Machine, echo: &Adapter) {
    let run = host.start(echo, turn(machine, &[]), RunOptions::default()).await.expect("the echo agent starts");
    let report = run.finish().await.expect("a report");
    assert_eq!((report.outcome, report.answer.as_deref()), (Outcome::Completed, Some("You said: hello")));
}

async fn start_faulty(host: &Host, machine: &Machine, fault: &str, script: &str, options: RunOptions) -> Run {
    let adapter = host.adapter(text(&faulty_guest())).await.expect("it describes itself well");
    let script = machine.write(format!("{fault}.script"), script);
    let turn = turn(machine, &[("fault", fault), ("script", text(&script))]);
    host.start(&adapter, turn, options).await.unwrap_or_else(|why| panic!("{fault}: {why}"))
}

/// The turn failed because of the adapter, and the error says so.
fn assert_stopped(fault: &str, report: &Report, says: &[&str]) {
    let error = report.error.as_ref().unwrap_or_else(|| panic!("{fault}: {report:?}"));
    assert_eq!((report.outcome, error.class), (Outcome::Failed, ErrorClass::Protocol), "{fault}: {report:?}");
    for part in says {
        assert!(error.message.contains(part), "{fault}: {part:?} is not in {:?}", error.message);
    }
}

#[tokio::test]
async fn a_file_that_is_no_adapter_is_refused_and_the_host_goes_on() {
    let machine = Machine::new();
    let host = machine.host();
    let echo = host.adapter("echo").await.expect("the echo adapter");
    for Wrong { name, content, says } in wrong_files() {
        let path = machine.write(format!("{name}.wasm"), content);
        let error = host.adapter(text(&path)).await.expect_err(name);
        let message = error.to_string();
        assert_eq!(error.kind(), ErrorKind::Adapter, "{name}: {message}");
        for part in says.iter().copied().chain([text(&path), "was refused"]) {
            assert!(message.contains(part), "{name}: {part:?} is not in {message:?}");
        }
        goes_on(&host, &machine, &echo).await;
    }
    let error = host.adapter(text(&too_large(&machine))).await.expect_err("it is too large");
    assert!(error.to_string().contains("larger than 33554432 bytes"), "{error}");
    goes_on(&host, &machine, &echo).await;
}

#[tokio::test]
async fn a_component_cut_anywhere_is_refused() {
    let machine = Machine::new();
    let host = machine.host();
    let whole = echo();
    for parts in 0..64 {
        let path = machine.write("cut.wasm", &whole[..whole.len() * parts / 64]);
        let error = host.adapter(text(&path)).await.expect_err("a part is no adapter");
        assert_eq!(error.kind(), ErrorKind::Adapter, "{parts} of 64 parts: {error}");
    }
    let path = machine.write("cut.wasm", &whole);
    host.adapter(text(&path)).await.expect("the whole is one");
}

#[tokio::test]
async fn a_describe_that_loops_for_ever_is_refused_and_the_host_goes_on() {
    let machine = Machine::new();
    let host = machine.host();
    let echo = host.adapter("echo").await.expect("the echo adapter");
    let path = looping_guest();
    let error = {
        let mut looping = pin!(host.adapter(text(&path)));
        // On one thread: it is made to give way to the others while it loops.
        tokio::select! {
            biased;
            ended = &mut looping => panic!("it ended before a turn beside it: {ended:?}"),
            () = goes_on(&host, &machine, &echo) => {}
        }
        looping.await.expect_err("it does not describe itself")
    };
    assert_eq!(error.kind(), ErrorKind::Adapter);
    let message = error.to_string();
    for part in ["was refused", "in describe", "it computed longer than it may", text(&path)] {
        assert!(message.contains(part), "{part:?} is not in {message:?}");
    }
    goes_on(&host, &machine, &echo).await;
}

#[tokio::test]
async fn a_parse_chunk_that_loops_for_ever_is_stopped_with_its_agent_and_the_host_goes_on() {
    let machine = Machine::new();
    let host = machine.host();
    let echo = host.adapter("echo").await.expect("the echo adapter");
    // Unrecorded: with a recording a second instance gets a second chance, which takes as long again.
    let options = RunOptions { unrecorded: true, ..RunOptions::default() };
    let run = start_faulty(&host, &machine, "loop", SAYS_AND_WAITS, options).await;
    let mut looping = pin!(run.finish());
    tokio::select! {
        biased;
        ended = &mut looping => panic!("it ended before a turn beside it: {ended:?}"),
        () = goes_on(&host, &machine, &echo) => {}
    }
    let report = looping.await.expect("a report");
    assert_stopped("loop", &report, &["in parse-chunk", "it computed longer than it may"]);
    assert_eq!(report.exit.and_then(|exit| exit.signal), Some(15), "the agent was asked to end: {report:?}");
    goes_on(&host, &machine, &echo).await;
}

#[tokio::test]
async fn a_parse_chunk_that_sleeps_is_stopped_by_the_wall_clock() {
    let machine = Machine::new();
    let host = machine.host();
    let echo = host.adapter("echo").await.expect("the echo adapter");
    let options = RunOptions { unrecorded: true, ..RunOptions::default() };
    let run = start_faulty(&host, &machine, "sleep", SAYS_AND_WAITS, options).await;
    let report = run.finish().await.expect("a report");
    assert_stopped("sleep", &report, &["in parse-chunk", "did not come to an end"]);
    goes_on(&host, &machine, &echo).await;
}

#[tokio::test]
async fn a_finish_that_loops_for_ever_is_stopped_and_the_host_goes_on() {
    let machine = Machine::new();
    let host = machine.host();
    let echo = host.adapter("echo").await.expect("the echo adapter");
    let run = start_faulty(&host, &machine, "loop-finish", SAYS_AND_ENDS, RunOptions::default()).await;
    let report = run.finish().await.expect("a report");
    assert_stopped("loop-finish", &report, &["in finish", "it computed longer than it may"]);
    goes_on(&host, &machine, &echo).await;
}

#[tokio::test]
async fn an_adapter_that_misbehaves_in_a_turn_is_stopped_with_its_agent_and_the_host_goes_on() {
    let machine = Machine::new();
    let host = machine.host();
    let echo = host.adapter("echo").await.expect("the echo adapter");
    let faults: [(&str, &[&str]); 6] = [
        ("allocate", &["in parse-chunk", "bytes of memory, and 268435456 are the most"]),
        ("panic", &["in parse-chunk", "panicked", "parse_chunk panics, as it was told to"]),
        ("deep", &["in parse-chunk", "overflowed its stack"]),
        ("noisy", &["in parse-chunk", "panicked", "parse_chunk panics after much noise, as it was told to"]),
        ("fetch-in-parse", &["it called host.fetch during parse-chunk, where the host is closed"]),
        ("bad-span", &["in parse-chunk", "the adapter broke the interface", "does not lie in the chunk"]),
    ];
    for (fault, says) in faults {
        // With and without a second chance.
        for unrecorded in [false, true] {
            let options = RunOptions { unrecorded, ..RunOptions::default() };
            let run = start_faulty(&host, &machine, fault, SAYS_AND_WAITS, options).await;
            let report = run.finish().await.expect("a report");
            assert_stopped(fault, &report, says);
            let message = report.error.map(|error| error.message).unwrap_or_default();
            assert!(message.len() < 10_000, "{fault}: an error of {} bytes", message.len());
            assert_eq!(report.exit.and_then(|exit| exit.signal), Some(15), "{fault}: the agent was asked to end");
            goes_on(&host, &machine, &echo).await;
        }
    }
}

#[tokio::test]
async fn an_adapter_that_misbehaves_before_the_agent_starts_is_an_error_and_the_host_goes_on() {
    let machine = Machine::new();
    let host = machine.host();
    let echo = host.adapter("echo").await.expect("the echo adapter");
    let adapter = host.adapter(text(&faulty_guest())).await.expect("it describes itself well");
    let started = host.start(&adapter, turn(&machine, &[("fault", "build-panic")]), RunOptions::default()).await;
    let error = started.expect_err("it cannot be started");
    assert_eq!(error.kind(), ErrorKind::Adapter);
    for part in ["in build-args", "build_args panics, as it was told to"] {
        assert!(error.to_string().contains(part), "{error}");
    }
    goes_on(&host, &machine, &echo).await;
}

#[test]
fn the_binary_refuses_what_is_no_adapter_with_exit_code_4() {
    let machine = Machine::new();
    for Wrong { name, content, says } in wrong_files() {
        let path = machine.write(format!("{name}.wasm"), content);
        let ran = machine.run(["run", "--adapter", text(&path), "hello"]);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(4), ""), "{name}: {ran:?}");
        assert!(says.iter().all(|part| ran.stderr.contains(part)), "{name}: {ran:?}");
    }
    let ran = machine.run(["run", "--adapter", text(&too_large(&machine)), "hello"]);
    assert_eq!(ran.code, Some(4), "{ran:?}");
    let ran = machine.run(["run", "--adapter", text(&looping_guest()), "hello"]);
    assert_eq!(ran.code, Some(4), "{ran:?}");
    assert!(ran.stderr.contains("it computed longer than it may"), "{ran:?}");
    // Listing them is no reason to fail: the others are still there.
    machine.write("adapters/broken.wasm", wat("(module)"));
    let listed = machine.run(["adapters"]).good().stdout;
    assert!(listed.contains("core module") && listed.contains("Echo, the example agent"), "{listed}");
}

#[test]
fn the_binary_reports_an_adapter_that_misbehaves_with_the_documented_exit_code() {
    let machine = Machine::new();
    let script = machine.write("script", SAYS_AND_WAITS);
    let guest = faulty_guest();
    for (fault, code, part) in [
        ("panic", 1, "parse_chunk panics, as it was told to"),
        ("fetch-in-parse", 1, "where the host is closed"),
        ("build-panic", 4, "build_args panics, as it was told to"),
    ] {
        let (fault, script) = (format!("fault={fault}"), format!("script={}", script.display()));
        let args = ["run", "--json", "-a", text(&guest), "--program", text(fake_agent()), "-o", &fault, "-o", &script];
        let ran = machine.run(args.into_iter().chain(["hello"]));
        assert_eq!(ran.code, Some(code), "{fault}: {ran:?}");
        let report = ran.report();
        assert_eq!((&report["outcome"], &report["error"]["class"]), (&"failed".into(), &"protocol".into()), "{fault}");
        assert!(report["error"]["message"].as_str().is_some_and(|message| message.contains(part)), "{fault}: {ran:?}");
    }
}
