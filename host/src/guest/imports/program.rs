//! Runs a probe for an adapter: without a shell, with a minimal environment, a time limit and an output limit. The
//! supervisor starts it and kills whatever it has started, also in other sessions, before the adapter gets the answer.

use super::types::{Command, Output};
use crate::temp_folder::TempFolder;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;
use std::pin::pin;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use wharf_supervisor::{Process, SpawnError, SpawnErrorKind, SpawnSpec};

/// The longest that a program may run, whatever the adapter requests.
pub(super) const LONGEST: Duration = Duration::from_mins(1);

/// The size limit of each output.
const OUTPUT_LIMIT: usize = 4 << 20;

/// How long the pipes are read after everything that could write to them was killed.
const DRAIN: Duration = Duration::from_secs(1);

/// Why a probe has no output.
#[derive(Debug)]
pub(super) enum ProbeError {
    /// The program cannot be started.
    NotStarted(String),
    /// The system is out of something; it says nothing about the program.
    System(String),
    /// It wrote too much.
    TooLarge,
    /// Something that it started holds its output open.
    Held,
}

impl From<SpawnError> for ProbeError {
    fn from(error: SpawnError) -> ProbeError {
        match error.kind() {
            SpawnErrorKind::Registry | SpawnErrorKind::Resources => ProbeError::System(error.to_string()),
            _ => ProbeError::NotStarted(error.to_string()),
        }
    }
}

/// Runs a program by its absolute path, for at most `limit`. `registry` is the folder of live runs, from which the next
/// host cleans up if this one is killed.
pub(crate) async fn run(
    command: &Command,
    limit: Duration,
    environment: &BTreeMap<String, OsString>,
    registry: Option<&Path>,
) -> Result<Output, ProbeError> {
    let id = format!("probe-{}", uuid::Uuid::new_v4().simple());
    // Not the workspace: a probe must not pick up what a project put there; and not the temporary folder, where other
    // users can put files.
    let folder = TempFolder::create(&id)
        .map_err(|error| ProbeError::System(format!("creating a folder for {}: {error}", command.program)))?;
    let mut spec = SpawnSpec::new(&command.program, folder.path(), id);
    spec.args = command.args.iter().map(OsString::from).collect();
    spec.environment = environment.iter().map(|(name, value)| (OsString::from(name), value.clone())).collect();
    spec.stdin = true;
    spec.registry = registry.map(Path::to_owned);
    let mut process = Process::spawn(spec).await?;
    let (stdin, stdout, stderr) = (process.take_stdin(), process.take_stdout(), process.take_stderr());
    let write = async {
        if let Some(mut stdin) = stdin {
            // A program does not have to read its stdin.
            let _ = stdin.write_all(&command.stdin).await;
        }
    };
    let mut streams = pin!(async { tokio::join!(write, read(stdout), read(stderr)) });
    // What the program has started may hold its pipes open: its own exit counts.
    let ended = tokio::time::timeout(limit, async {
        tokio::select! {
            exit = process.wait() => (exit, None),
            content = &mut streams => (process.wait().await, Some(content)),
        }
    });
    let ended = ended.await;
    let cleanup = process.clean_up(Duration::ZERO).await;
    if !cleanup.survivors.is_empty() {
        tracing::warn!("{} processes that {} started could not be killed", cleanup.survivors.len(), command.program);
    }
    let Ok((exit, content)) = ended else { return Ok(Output::timed_out()) };
    let content = match content {
        Some(content) => Some(content),
        None => tokio::time::timeout(DRAIN, streams).await.ok(),
    };
    match content {
        Some(((), Some(stdout), Some(stderr))) => {
            Ok(Output { code: exit.code, stdout, stderr, timed_out: false, signal: exit.signal })
        }
        Some(_) => Err(ProbeError::TooLarge),
        None => Err(ProbeError::Held),
    }
}

/// Whether this is the id of a probe.
pub(crate) fn is_probe_id(id: &str) -> bool {
    let number = id.strip_prefix("probe-").unwrap_or_default();
    number.len() == 32 && number.bytes().all(|byte| byte.is_ascii_hexdigit())
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

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    async fn run_script(
        script: &str,
        timeout_ms: u32,
        environment: &BTreeMap<String, OsString>,
    ) -> Result<Output, ProbeError> {
        let args = vec!["-c".into(), script.into()];
        let command = Command { program: "/bin/sh".into(), args, stdin: b"in".to_vec(), timeout_ms };
        run(&command, Duration::from_millis(u64::from(timeout_ms)), environment, None).await
    }

    fn path() -> BTreeMap<String, OsString> {
        BTreeMap::from([("PATH".to_owned(), std::env::var_os("PATH").unwrap_or_default())])
    }

    #[tokio::test]
    async fn output_code_and_stdin() {
        let output = run_script("cat; echo err >&2; exit 3", 5_000, &BTreeMap::new()).await.expect("it runs");
        assert_eq!(
            (output.code, output.stdout.as_slice(), output.stderr.as_slice()),
            (Some(3), &b"in"[..], &b"err\n"[..])
        );
    }

    #[tokio::test]
    async fn a_program_gets_the_given_environment_only() {
        let given = BTreeMap::from([("GIVEN".to_owned(), OsString::from("1"))]);
        let output = run_script("/usr/bin/env", 5_000, &given).await.expect("it runs");
        let text = String::from_utf8(output.stdout).expect("text");
        assert!(text.contains("GIVEN=1") && !text.contains("HOME="), "{text}");
    }

    #[tokio::test]
    async fn a_program_that_takes_too_long_is_stopped() {
        let output = run_script("sleep 60", 50, &BTreeMap::new()).await.expect("it runs");
        assert!(output.timed_out);
    }

    #[tokio::test]
    async fn too_much_output_is_an_error() {
        let result = run_script("head -c 5000000 /dev/zero", 20_000, &BTreeMap::new()).await;
        assert!(matches!(result, Err(ProbeError::TooLarge)));
    }

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn what_a_probe_starts_in_another_session_does_not_outlive_it() {
        let script = "setsid sleep 300 & echo $!; exec 1>&-; sleep 0.1";
        for (script, timeout) in [(script, 20_000), ("setsid sleep 300 & echo $! >&2; sleep 300", 300)] {
            let tag = format!("3{:09}", uuid::Uuid::new_v4().as_u128() % 1_000_000_000);
            let output = run_script(&script.replace("300", &tag), timeout, &path()).await.expect("it runs");
            assert_eq!(output.timed_out, timeout == 300);
            let left = std::fs::read_dir("/proc").expect("/proc").flatten().filter(|entry| {
                std::fs::read(entry.path().join("cmdline"))
                    .is_ok_and(|line| line.ends_with(format!("{tag}\0").as_bytes()))
            });
            assert_eq!(left.count(), 0, "{script}");
        }
    }

    #[tokio::test]
    async fn a_probe_whose_child_holds_its_output_open_is_answered_at_once() {
        let output = run_script("sleep 50 & echo out", 40_000, &path()).await.expect("it runs");
        assert_eq!((output.timed_out, output.stdout.as_slice()), (false, &b"out\n"[..]));
    }

    #[tokio::test]
    async fn a_probe_runs_in_an_empty_private_folder_that_is_removed() {
        let script = "pwd; ls -A; stat -c %a . 2>/dev/null || stat -f %Lp .";
        let output = run_script(script, 20_000, &path()).await.expect("it runs");
        let text = String::from_utf8(output.stdout).expect("text");
        let [folder, mode] = text.lines().collect::<Vec<_>>()[..] else { panic!("the folder is not empty: {text}") };
        assert_eq!(mode, "700");
        assert!(Path::new(folder) != std::env::temp_dir() && !Path::new(folder).exists(), "{folder}");
    }
}
