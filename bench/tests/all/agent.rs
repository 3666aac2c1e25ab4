//! The agent does what the files in its folder say.

use super::{BENCH, agent, folder, output};
use std::fs;
use std::path::Path;

#[test]
fn the_agent_does_what_the_files_in_its_folder_say() {
    let folder = folder();
    let program = agent(folder.path());
    assert_eq!(output(&program, &["-p", "anything"]), "");
    fs::write(folder.path().join("output"), "one\ntwo @now\n").expect("written");
    fs::write(folder.path().join("version"), "1.2.3\n").expect("written");
    assert_eq!(output(&program, &["-p", "anything"]), "one\ntwo @now\n");
    assert_eq!(output(&program, &["--version"]), "1.2.3\n");
    assert_eq!(output(Path::new(BENCH), &["copy", &program.to_string_lossy()]), "one\ntwo @now\n");
    fs::write(folder.path().join("pace"), "1\n").expect("written");
    let (first, second) = (output(&program, &[]), output(&program, &[]));
    let time = |text: &str| -> u64 {
        let stamp = text.strip_prefix("one\ntwo ").expect("both lines").trim_end();
        stamp.parse().expect("nanoseconds")
    };
    assert!(time(&first) < time(&second), "{first} {second}");
}
