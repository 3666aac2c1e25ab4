//! What a full disk and a killed host leave: real ones, in separate processes.

use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use super::Kind;
use super::tests::{NO_LIMIT, new_path, read, record};
use crate::record::reader::Tail;
use crate::record::writer::RecordingWriter;

/// A command that runs one test of this program again, in a separate process.
fn again(shell: &str, test: &str) -> Command {
    let (_, module) = module_path!().split_once("::").expect("the tests are in a module");
    let mut command = Command::new("sh");
    command.args(["-c", shell]).arg(std::env::current_exe().expect("this program"));
    command.args(["--exact", &format!("{module}::{test}")]);
    command
}

/// In a process whose files may not grow beyond a few kilobytes, a write fails after a part, as on a full disk.
#[test]
fn a_recording_continues_after_a_write_that_failed_after_a_part() {
    const INSIDE: &str = "WHARF_TEST_RECORDING_ON_A_FULL_DISK";
    let (large, small) = ([b'x'; 1500], b"y");
    if let Some(path) = std::env::var_os(INSIDE) {
        let mut writer = RecordingWriter::create(Path::new(&path), NO_LIMIT).expect("a new file");
        while writer.append(Kind::Note, 1, &large).is_ok() {}
        writer.append(Kind::Note, 2, small).expect("there is space for a small one");
        return;
    }
    let (_folder, path) = new_path();
    let mut command = again(
        r#"trap "" XFSZ; ulimit -f 8; exec "$0" "$@""#,
        "a_recording_continues_after_a_write_that_failed_after_a_part",
    );
    let output = command.env(INSIDE, &path).output().expect("a shell");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    let (records, tail) = read(&path);
    assert!(matches!(tail, Tail::Torn { bytes: 0, .. }), "{tail:?}");
    let (last, before) = records.split_last().expect("there was space for some");
    assert_eq!(*last, record(Kind::Note, 2, small));
    assert!(!before.is_empty() && before.iter().all(|before| *before == record(Kind::Note, 1, &large)));
}

#[test]
fn a_killed_host_loses_nothing_that_was_appended() {
    const INSIDE: &str = "WHARF_TEST_RECORDING_UNTIL_KILLED";
    const ACKNOWLEDGED: &[u8] = b"appended\n";
    if let Some(path) = std::env::var_os(INSIDE) {
        let mut writer = RecordingWriter::create(Path::new(&path), NO_LIMIT).expect("a new file");
        for micros in 0.. {
            writer.append(Kind::Stdout, micros, &[b'x'; 5000]).expect("written");
            io::stdout().write_all(ACKNOWLEDGED).and_then(|()| io::stdout().flush()).expect("the parent reads it");
        }
    }
    let (_folder, path) = new_path();
    let mut command = again(r#"exec "$0" "$@""#, "a_killed_host_loses_nothing_that_was_appended");
    let mut host = command.env(INSIDE, &path).stdout(Stdio::piped()).spawn().expect("a shell");
    let mut output = BufReader::new(host.stdout.take().expect("a pipe"));
    let mut acknowledged = 0;
    let mut line = Vec::new();
    while output.read_until(b'\n', &mut line).expect("readable") > 0 {
        acknowledged += u64::from(line.ends_with(ACKNOWLEDGED));
        line.clear();
        if acknowledged == 100 {
            host.kill().expect("it is a child");
        }
    }
    host.wait().expect("it is a child");
    assert!(acknowledged >= 100, "it exited by itself after {acknowledged} records");
    let (records, _) = read(&path);
    assert!(records.len() as u64 >= acknowledged, "{} of {acknowledged} are left", records.len());
    assert!((0..).zip(&records).all(|(micros, found)| *found == record(Kind::Stdout, micros, &[b'x'; 5000])));
}
