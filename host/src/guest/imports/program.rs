//! Runs a probe for an adapter: without a shell, with a minimal environment, a time limit and an output limit. Agents
//! are not run here; the supervisor does that.

use super::types::{Command, HostError, Output};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::process::Stdio;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};

/// The longest that a program may run, whatever the adapter requests.
const LONGEST: Duration = Duration::from_mins(1);

/// The size limit of each output.
const OUTPUT_LIMIT: usize = 4 << 20;

pub(crate) async fn run(command: &Command, environment: &BTreeMap<String, OsString>) -> Result<Output, HostError> {
    let mut process = tokio::process::Command::new(&command.program);
    process.args(&command.args).env_clear().envs(environment);
    process.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    // Not in the workspace: a probe must not pick up what a project put there.
    process.current_dir(std::env::temp_dir());
    #[cfg(unix)]
    process.process_group(0);
    let mut child =
        process.spawn().map_err(|error| HostError::Failed(format!("starting {}: {error}", command.program)))?;
    let group = Group(child.id());
    let stdin = child.stdin.take();
    let stdout = child.stdout.take();
    let stderr = child.stderr.take();
    let write = async {
        if let Some(mut stdin) = stdin {
            // A program does not have to read its stdin.
            let _ = stdin.write_all(&command.stdin).await;
        }
    };
    let work = async { tokio::join!(write, read(stdout), read(stderr), child.wait()) };
    let limit = Duration::from_millis(u64::from(command.timeout_ms)).clamp(Duration::from_millis(1), LONGEST);
    let result = tokio::time::timeout(limit, work).await;
    drop(group);
    let Ok(((), stdout, stderr, status)) = result else {
        return Ok(Output { code: None, stdout: vec![], stderr: vec![], timed_out: true });
    };
    let status = status.map_err(|error| HostError::Failed(format!("waiting for {}: {error}", command.program)))?;
    match (stdout, stderr) {
        (Some(stdout), Some(stderr)) => Ok(Output { code: status.code(), stdout, stderr, timed_out: false }),
        _ => Err(HostError::TooLarge),
    }
}

/// All of a stream, or none if it is too long.
async fn read(stream: Option<impl AsyncRead + Unpin>) -> Option<Vec<u8>> {
    let mut content = Vec::new();
    if let Some(stream) = stream {
        let limit = OUTPUT_LIMIT as u64 + 1;
        let _ = stream.take(limit).read_to_end(&mut content).await;
    }
    (content.len() <= OUTPUT_LIMIT).then_some(content)
}

/// The program's process group, which is killed when this value is dropped: what the program started ends too.
struct Group(#[cfg_attr(not(unix), expect(dead_code, reason = "there are no groups to kill"))] Option<u32>);

impl Drop for Group {
    fn drop(&mut self) {
        #[cfg(unix)]
        if let Some(group) = self.0.and_then(|id| i32::try_from(id).ok()).and_then(rustix::process::Pid::from_raw) {
            let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn command(script: &str, timeout_ms: u32) -> Command {
        Command { program: "/bin/sh".into(), args: vec!["-c".into(), script.into()], stdin: b"in".to_vec(), timeout_ms }
    }

    #[tokio::test]
    async fn output_code_and_stdin() {
        let output = run(&command("cat; echo err >&2; exit 3", 5_000), &BTreeMap::new()).await.expect("it runs");
        assert_eq!(
            (output.code, output.stdout.as_slice(), output.stderr.as_slice()),
            (Some(3), &b"in"[..], &b"err\n"[..])
        );
    }

    #[tokio::test]
    async fn a_program_gets_the_given_environment_only() {
        let given = BTreeMap::from([("GIVEN".to_owned(), OsString::from("1"))]);
        let output = run(&command("/usr/bin/env", 5_000), &given).await.expect("it runs");
        let text = String::from_utf8(output.stdout).expect("text");
        assert!(text.contains("GIVEN=1") && !text.contains("HOME="), "{text}");
    }

    #[tokio::test]
    async fn a_program_that_takes_too_long_is_stopped() {
        let output = run(&command("sleep 60", 50), &BTreeMap::new()).await.expect("it runs");
        assert!(output.timed_out);
    }

    #[tokio::test]
    async fn too_much_output_is_an_error() {
        let result = run(&command("head -c 5000000 /dev/zero", 20_000), &BTreeMap::new()).await;
        assert!(matches!(result, Err(HostError::TooLarge)));
    }
}
