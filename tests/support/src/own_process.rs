//! Tests that measure their own process need one in which no other test runs.

use std::process::Command;

const MARKER: &str = "WHARF_TEST_ALONE";

/// Runs the body of a test in its own process: the test program again, with this test only. `test` is the full name of
/// the test that calls.
#[track_caller]
pub fn in_own_process(test: &str, body: impl FnOnce()) {
    if std::env::var_os(MARKER).is_some() {
        return body();
    }
    let program = std::env::current_exe().expect("the path of the test program");
    let output = Command::new(program).args(["--exact", test, "--nocapture"]).env(MARKER, "1").output();
    let output = output.expect("the test program starts");
    let [stdout, stderr] = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    assert!(output.status.success(), "{stdout}{stderr}");
    assert!(stdout.contains("1 passed"), "there is no test `{test}`: {stdout}");
}
