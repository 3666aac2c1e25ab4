//! Where a prompt comes from, and what happens when whoever reads the events goes away.

use crate::common::{Machine, Ran, fake_agent};
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::process::Stdio;
use std::time::{Duration, Instant};

#[test]
fn a_prompt_comes_from_an_argument_a_file_or_stdin() {
    let machine = Machine::new();
    let file = machine.write("workspace/task.md", "from a file\n");
    let stdin = machine.write("stdin", "from stdin\n");
    for (words, answer) in [
        (vec!["an argument"], "You said: an argument"),
        (vec!["--", "--an argument with dashes"], "You said: --an argument with dashes"),
        (vec!["--file", "task.md"], "You said: from a file"),
        (vec!["-f", file.to_str().expect("UTF-8")], "You said: from a file"),
        (vec!["-"], "You said: from stdin"),
        (vec![], "You said: from stdin"),
    ] {
        let mut wharf = machine.wharf(["run", "--adapter", "echo"]);
        let ran = Ran::of(wharf.args(&words).stdin(fs::File::open(&stdin).expect("stdin"))).good();
        assert_eq!(ran.stdout, format!("{answer}\n"), "{words:?}: stdout is the answer and nothing else");
    }
    let ran = machine.run(["run", "--adapter", "echo", "--file", "task.md", "and an argument"]);
    assert_eq!(ran.code, Some(2), "two prompts are one too many: {ran:?}");
}

/// The processes with a word in their command line.
#[cfg(target_os = "linux")]
fn processes_with(word: &str) -> Vec<String> {
    let listing = fs::read_dir("/proc").expect("Linux").filter_map(|entry| Some(entry.ok()?.path().join("cmdline")));
    let lines = listing.filter_map(|path| fs::read(path).ok()).map(|line| String::from_utf8_lossy(&line).into_owned());
    lines.filter(|line| line.contains(word)).collect()
}

#[test]
#[cfg(target_os = "linux")]
fn a_reader_that_goes_away_ends_the_turn_and_leaves_nothing_running() {
    let machine = Machine::new();
    // It would go on for ever, and so would what it started in a session of its own.
    let tag = format!("broken-pipe-{}", std::process::id());
    let script = format!(
        "tag {tag}\ndaemon 600\nrepeat 1000000 line {{\"type\":\"delta\",\"id\":\"1\",\"text\":\"more \"}}\nsilence\n"
    );
    let script = machine.write(format!("{tag}.script"), script);
    let mut wharf = machine.wharf(["run", "-a", "echo", "--json", "--program"]);
    wharf.arg(fake_agent()).arg("-o").arg(format!("script={}", script.display())).arg("hello");
    let mut wharf = wharf.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    let mut lines = BufReader::new(wharf.stdout.take().expect("a pipe")).lines();
    let first = lines.next().expect("a line").expect("UTF-8");
    assert!(first.contains("text-delta"), "{first}");
    assert!(!processes_with(&tag).is_empty(), "the agent runs");
    drop(lines);
    // As `| head -1` does. It must end by itself.
    let status = wait(&mut wharf, Duration::from_mins(1));
    assert_eq!(status, Some(130), "nobody wanted the rest: cancelled");
    assert_eq!(processes_with(&tag), [] as [&str; 0]);
}

#[test]
fn a_reader_of_a_list_that_goes_away_is_no_error() {
    let machine = Machine::new();
    for words in [&["schema"] as &[&str], &["completions", "bash"], &["man"], &["adapters", "--json"]] {
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        let output = machine.wharf(words).stdout(writer).stderr(Stdio::piped()).output().expect("it starts");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!((output.status.code(), stderr.as_ref()), (Some(0), ""), "{words:?}");
    }
}

fn wait(child: &mut std::process::Child, most: Duration) -> Option<i32> {
    let deadline = Instant::now() + most;
    loop {
        if let Some(status) = child.try_wait().expect("it can be waited for") {
            return status.code();
        }
        if Instant::now() > deadline {
            child.kill().expect("it can be killed");
            panic!("it did not end by itself");
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}
