//! What a full disk and a killed host leave behind: the real thing, in processes of their own.

use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use super::tests::{NO_LIMIT, place, read, record};
use super::{Kind, RecordingWriter, Tail};

/// This very test program, to run one of its tests again in a process of its own.
fn again(shell: &str, test: &str) -> Command {
    let (_, module) = module_path!().split_once("::").expect("the tests are in a module");
    let mut command = Command::new("sh");
    command.args(["-c", shell]).arg(std::env::current_exe().expect("it runs"));
    command.args(["--exact", &format!("{module}::{test}")]);
    command
}

/// In a process whose files may not grow beyond a few kilobytes a write is refused half-way, as on a full disk.
#[test]
fn after_a_write_that_failed_half_way_the_recording_goes_on() {
    const INSIDE: &str = "WHARF_TEST_RECORDING_ON_A_FULL_DISK";
    let (large, small) = ([b'x'; 1500], b"y");
    if let Some(path) = std::env::var_os(INSIDE) {
        let mut writer = RecordingWriter::create(Path::new(&path), NO_LIMIT).expect("the file is new");
        while writer.append(Kind::Note, 1, &large).is_ok() {}
        writer.append(Kind::Note, 2, small).expect("there is room for a small one");
        return;
    }
    let (_folder, path) = place();
    let mut command = again(
        r#"trap "" XFSZ; ulimit -f 8; exec "$0" "$@""#,
        "after_a_write_that_failed_half_way_the_recording_goes_on",
    );
    let output = command.env(INSIDE, &path).output().expect("there is a shell");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    let (records, tail) = read(&path);
    assert!(matches!(tail, Tail::Torn { bytes: 0, .. }), "{tail:?}");
    let (last, before) = records.split_last().expect("there was room for some");
    assert_eq!(*last, record(Kind::Note, 2, small));
    assert!(!before.is_empty() && before.iter().all(|before| *before == record(Kind::Note, 1, &large)));
}

#[test]
fn a_killed_host_loses_nothing_that_was_appended() {
    const INSIDE: &str = "WHARF_TEST_RECORDING_UNTIL_KILLED";
    const ACKNOWLEDGED: &[u8] = b"appended\n";
    if let Some(path) = std::env::var_os(INSIDE) {
        let mut writer = RecordingWriter::create(Path::new(&path), NO_LIMIT).expect("the file is new");
        for micros in 0.. {
            writer.append(Kind::Stdout, micros, &[b'x'; 5000]).expect("there is room");
            io::stdout().write_all(ACKNOWLEDGED).and_then(|()| io::stdout().flush()).expect("somebody reads");
        }
    }
    let (_folder, path) = place();
    let mut command = again(r#"exec "$0" "$@""#, "a_killed_host_loses_nothing_that_was_appended");
    let mut host = command.env(INSIDE, &path).stdout(Stdio::piped()).spawn().expect("there is a shell");
    let mut said = BufReader::new(host.stdout.take().expect("it is piped"));
    let mut acknowledged = 0;
    let mut line = Vec::new();
    while said.read_until(b'\n', &mut line).expect("it can be read") > 0 {
        acknowledged += u64::from(line.ends_with(ACKNOWLEDGED));
        line.clear();
        if acknowledged == 100 {
            host.kill().expect("it is our child");
        }
    }
    host.wait().expect("it is our child");
    assert!(acknowledged >= 100, "it ended by itself after {acknowledged}");
    let (records, _) = read(&path);
    assert!(records.len() as u64 >= acknowledged, "{} of {acknowledged} are left", records.len());
    assert!((0..).zip(&records).all(|(micros, found)| *found == record(Kind::Stdout, micros, &[b'x'; 5000])));
}
