//! Components that are not adapters, or that misbehave, as a user of the binary meets them. The library's tests have the
//! details.

use crate::sandbox;
use wharf_test_support::{
    CompileBomb, InvalidComponent, fake_agent, faulty_guest, invalid_components, looping_guest, too_large_component,
    wait_until, wat,
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
    // On a machine that is very busy, the clock is first.
    assert!(["compute limit", "did not return within"].iter().any(|part| run.stderr.contains(part)), "{run:?}");
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
    // Not with --json, which drops lines for people if their reader is slow.
    let args = ["run", "-a", guest.to_str().unwrap(), "--program", agent, "-o", "fault=log-spam"];
    let run = sandbox.call(args.into_iter().chain(["-o", &script, "hello"])).success();
    let lines = run.stderr.lines().filter(|line| line.contains("log spam, as it was told to")).count();
    assert!((1..10_000).contains(&lines), "{lines} lines");
    let dropped: Vec<&str> = run.stderr.lines().filter(|line| line.contains("more lines dropped")).collect();
    assert!(matches!(dropped[..], [line] if line.contains(&(100_000 - lines).to_string())), "{dropped:?}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_component_that_is_a_bomb_for_the_compiler_is_stopped_at_the_limits() {
    let sandbox = sandbox().with_own_cache();
    let _ = sandbox.call(["adapters", "show", "echo"]).success();
    let cached = sandbox.files("cache/compiled");
    assert_eq!(cached.len(), 1);
    for (limits, bomb, expected) in [
        // On a machine that is very busy, the clock is first.
        ("compile_seconds = 2", CompileBomb::TIME, ["needs more than 2 s of processor time", "took more than 10 s"]),
        ("compile_bytes = 268435456", CompileBomb::MEMORY, ["needs more than 256 MiB of memory"; 2]),
    ] {
        sandbox.write("config.toml", format!("[limits]\n{limits}\n"));
        let path = sandbox.write("bomb.wasm", bomb.component());
        let shown = path.to_str().unwrap();
        let finished = sandbox.call(["doctor", shown]);
        let refusals = expected.map(|reason| format!("the adapter {shown} was refused: compiling it {reason}"));
        assert!(refusals.iter().any(|refusal| finished.stdout.contains(refusal)), "{finished:?}");
        let finished = sandbox.call(["run", "--json", "-a", shown, "hello"]);
        assert_eq!(finished.code, Some(4), "{finished:?}");
        assert!(refusals.iter().any(|refusal| finished.stderr.contains(refusal)), "{finished:?}");
        assert!(finished.stderr.contains(limits.split(' ').next().unwrap()), "the hint: {finished:?}");
        let notice = format!("compiling {shown}, once (cached afterwards)\n");
        assert!(finished.stderr.contains(&notice), "{finished:?}");
        let quiet = sandbox.call(["run", "--quiet", "-a", shown, "hello"]);
        assert!(quiet.code == Some(4) && !quiet.stderr.contains(&notice), "{quiet:?}");
    }
    assert!(sandbox.files("cache/compiled") == cached, "what is refused is not kept");
    assert!(sandbox.call(["adapters", "show", "echo"]).code == Some(0));
}

#[cfg(target_os = "linux")]
#[test]
fn a_killed_wharf_leaves_no_compiler_and_no_cgroup() {
    let sandbox = sandbox().with_own_cache();
    let path = sandbox.write("bomb.wasm", CompileBomb::TIME.component());
    let mut wharf = sandbox.wharf(["adapters", "show", path.to_str().unwrap()]).spawn().unwrap();
    let mut compiler = None;
    wait_until("a compiler starts", || {
        compiler = children(wharf.id()).find(|id| is_compiler(*id));
        compiler.is_some()
    });
    let cgroup = std::fs::read_to_string(format!("/proc/{}/cgroup", compiler.unwrap())).unwrap();
    wharf.kill().unwrap();
    wharf.wait().unwrap();
    assert!(!cgroup.contains("wharf-"), "nobody would remove it: {cgroup}");
    wait_until("the compiler ends", || !compiler.is_some_and(is_compiler));
}

/// The processes that a process has started.
#[cfg(target_os = "linux")]
fn children(parent: u32) -> impl Iterator<Item = u32> {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let ids = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    ids.filter(move |id| {
        let status = std::fs::read_to_string(format!("/proc/{id}/status")).unwrap_or_default();
        status.contains(&format!("PPid:\t{parent}\n"))
    })
}

/// Whether a process is a compiler, and alive.
#[cfg(target_os = "linux")]
fn is_compiler(id: u32) -> bool {
    let environment = std::fs::read(format!("/proc/{id}/environ")).unwrap_or_default();
    environment.split(|byte| *byte == 0).any(|variable| variable.starts_with(b"WHARF_COMPILE="))
}
