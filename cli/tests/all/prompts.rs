//! Where a prompt comes from, and what happens if the reader of stdout closes its end.

use crate::sandbox;
use std::fs;
use std::process::Stdio;
use wharf_test_support::Finished;
#[cfg(target_os = "linux")]
use wharf_test_support::{LiveRun, fake_agent, processes_with, wait_until};

#[test]
fn a_prompt_comes_from_an_argument_a_file_or_stdin() {
    let sandbox = sandbox();
    let file = sandbox.write("workspace/task.md", "from a file\n");
    let stdin = sandbox.write("stdin", "from stdin\n");
    for (args, answer) in [
        (vec!["an argument"], "You said: an argument"),
        (vec!["--", "--an argument with dashes"], "You said: --an argument with dashes"),
        (vec!["--file", "task.md"], "You said: from a file"),
        (vec!["-f", file.to_str().expect("UTF-8")], "You said: from a file"),
        (vec!["-"], "You said: from stdin"),
        (vec![], "You said: from stdin"),
    ] {
        let mut wharf = sandbox.wharf(["run", "--adapter", "echo"]);
        let run = Finished::of(wharf.args(&args).stdin(fs::File::open(&stdin).expect("stdin"))).success();
        assert_eq!(run.stdout, format!("{answer}\n"), "{args:?}: stdout is the answer and nothing else");
    }
    let run = sandbox.call(["run", "--adapter", "echo", "--file", "task.md", "and an argument"]);
    assert_eq!(run.code, Some(2), "there is one prompt too many: {run:?}");
}

#[test]
#[cfg(target_os = "linux")]
fn a_reader_that_closes_its_end_ends_the_turn_and_leaves_nothing_running() {
    let sandbox = sandbox();
    // It would run forever, and so would what it started in another session.
    let tag = format!("broken-pipe-{}", std::process::id());
    let script = format!(
        "tag {tag}\ndaemon 600\nrepeat 1000000 line {{\"type\":\"delta\",\"id\":\"1\",\"text\":\"more \"}}\nsilence\n"
    );
    let script = sandbox.write(format!("{tag}.script"), script);
    let mut wharf = sandbox.wharf(["run", "-a", "echo", "--json", "--program"]);
    wharf.arg(fake_agent()).arg("-o").arg(format!("script={}", script.display())).arg("hello");
    let mut live = LiveRun::start(&mut wharf);
    live.read_until("text-delta");
    assert!(!processes_with(&tag).is_empty(), "the agent runs");
    let LiveRun { mut child, stdout, .. } = live;
    // As `| head -1` does. Wharf must exit by itself.
    drop(stdout);
    wait_until("wharf has exited", || child.try_wait().expect("it can be waited for").is_some());
    assert_eq!(child.wait().expect("it has exited").code(), Some(130), "cancelled");
    assert_eq!(processes_with(&tag), [] as [&str; 0]);
}

#[test]
fn a_reader_of_a_list_that_closes_its_end_causes_no_error() {
    let sandbox = sandbox();
    for args in [&["schema"] as &[&str], &["completions", "bash"], &["man"], &["adapters", "--json"]] {
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        let run = Finished::of(sandbox.wharf(args).stdout(writer).stderr(Stdio::piped()));
        assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{args:?}");
    }
}
