//! The exit codes that `wharf --help` documents: each is met, and none beside them.

use crate::common::{Machine, Ran, WHARF, fake_agent};
use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};

/// A turn of the scripted agent.
fn scripted(machine: &Machine, script: &str) -> Command {
    let script = machine.write("script", script);
    let mut wharf = machine.wharf(["run", "-a", "echo", "--json", "--program"]);
    wharf.arg(fake_agent()).arg("-o").arg(format!("script={}", script.display())).arg("hello");
    wharf
}

#[test]
fn every_documented_exit_code_is_met() {
    let machine = Machine::new();
    let turn = |more: &[&str]| machine.wharf(["run", "-a", "echo", "hello"].iter().chain(more));
    let mut unwritable = turn(&[]);
    unwritable.env("WHARF_DATA", WHARF);
    let mut limited = scripted(&machine, "silence\n");
    limited.args(["--limit-total", "0.2"]);
    let mut met = BTreeSet::new();
    for (code, mut command) in [
        (0, turn(&[])),
        (2, turn(&["--effort", "huge"])),
        (3, turn(&["--program", "/no/such/agent"])),
        (4, machine.wharf(["run", "-a", "/dev/null", "hello"])),
        (5, turn(&["--ask", "--limit-ask", "0.1"])),
        (6, limited),
        (7, unwritable),
    ] {
        let ran = Ran::of(&mut command);
        assert_eq!(ran.code, Some(code), "{command:?}: {ran:?}");
        met.insert(code);
    }
    let failed = Ran::of(&mut scripted(&machine, "line {\"type\":\"failed\",\"text\":\"no\"}\n"));
    assert_eq!((failed.code, &failed.report()["outcome"]), (Some(1), &"failed".into()), "{failed:?}");
    assert_eq!(interrupted(&machine), Some(130));
    met.extend([1, 130]);

    let help = machine.run(["--help"]).good().stdout;
    let listed = help.split_once("Exit codes:\n").expect("they are listed").1.lines();
    let documented: BTreeSet<i32> = listed.filter_map(|line| line.split_whitespace().next()?.parse().ok()).collect();
    assert_eq!(met, documented);
}

/// How a turn ends that somebody interrupts once it is under way.
fn interrupted(machine: &Machine) -> Option<i32> {
    let mut wharf = scripted(machine, "line {\"type\":\"hello\",\"session\":\"s\"}\nsilence\n");
    let mut wharf = wharf.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("it starts");
    let mut lines = BufReader::new(wharf.stdout.take().expect("a pipe")).lines();
    let first = lines.next().expect("a line").expect("UTF-8");
    assert!(first.contains("\"session\""), "{first}");
    rustix::process::kill_process(rustix::process::Pid::from_child(&wharf), rustix::process::Signal::INT)
        .expect("sent");
    let last = lines.last().expect("a report").expect("UTF-8");
    assert!(last.contains("\"outcome\":\"cancelled\""), "{last}");
    wharf.wait().expect("it ends").code()
}
