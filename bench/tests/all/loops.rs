//! Every loop that wharf is compared with writes the same lines as wharf.

use super::{BENCH, agent, folder, output};
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use wharf::{Config, Dirs, Host, RunOptions, Turn};
use wharf_bench::events::{comparable, difference};

fn is_installed(program: &str) -> bool {
    Command::new(program).arg("--version").stdout(Stdio::null()).status().is_ok_and(|status| status.success())
}

/// The lines that `wharf run --json` prints for this agent.
fn wharf_lines(kind: &str, folder: &Path, program: &Path) -> String {
    let tokio = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime");
    let lines = tokio.block_on(async {
        let host = Host::new(Dirs::below(folder.join("wharf")), Config::default()).expect("a host");
        let adapter = host.adapter(kind).await.expect("an adapter");
        let host = host.with_program(&adapter, program.to_owned());
        let mut options = RunOptions::default();
        options.lines_only = true;
        options.unrecorded = true;
        let mut run = host.start(&adapter, Turn::new("hello"), options).await.expect("a run");
        let mut lines = Vec::new();
        while let Some(batch) = run.next_batch().await {
            lines.extend(batch.into_json_lines());
        }
        lines
    });
    String::from_utf8(lines).expect("UTF-8")
}

#[test]
fn every_loop_writes_the_same_events_as_wharf() {
    for (kind, version) in [("copilot", "GitHub Copilot CLI 1.0.102.\n"), ("claude", "2.1.325 (Claude Code)\n")] {
        for mix in ["mixed", "deltas"] {
            let folder = folder();
            let program = agent(folder.path());
            let turn = output(Path::new(BENCH), &["corpus", kind, mix, "300000"]);
            fs::write(folder.path().join("output"), turn).expect("written");
            fs::write(folder.path().join("version"), version).expect("written");
            let wharf = comparable(&wharf_lines(kind, folder.path(), &program)).expect("events");
            let count = |name: &str| wharf.iter().filter(|event| event["type"] == name).count();
            assert!(count("text-delta") > 100 && count("turn-ended") == 1 && count("run-started") == 1, "{kind} {mix}");
            assert_eq!(count("tool") > 2, mix == "mixed", "{kind} {mix}");
            for name in ["unknown", "malformed"] {
                assert_eq!(count(name), 0, "{kind} {mix}: {name}");
            }
            for (name, lines) in loops(kind, &program.to_string_lossy()) {
                let events = comparable(&lines).expect(name);
                assert_eq!(difference(("wharf", &wharf), (name, &events)), None, "{kind} {mix}");
            }
        }
    }
}

/// The output of every loop that can run here.
fn loops(kind: &str, program: &str) -> Vec<(&'static str, String)> {
    let file = |name: &str| format!("{}/loops/{name}", env!("CARGO_MANIFEST_DIR"));
    let bench = Path::new(BENCH);
    let mut outputs = vec![("native", output(bench, &["native", kind, program]))];
    if is_installed("node") {
        outputs.push(("Node", output(Path::new("node"), &[&file("node.js"), kind, program])));
        let sidecar = output(bench, &["relay", program, "node", &file("sidecar.js"), kind]);
        outputs.push(("Node sidecar", sidecar));
    }
    if is_installed("python3") {
        outputs.push(("Python", output(Path::new("python3"), &[&file("python.py"), kind, program])));
    }
    outputs
}
