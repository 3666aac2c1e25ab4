//! Runs a tool that installs packages: through the supervisor, which ends everything that the tool has started. If the
//! caller loses interest, the tool is killed.

use crate::error::{Error, Result};
use crate::guest::Environment;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tokio::io::{AsyncRead, AsyncReadExt as _};
use wharf_supervisor::{Process, SpawnSpec};

/// How much of each output is kept: the versions of a package are a long list.
const OUTPUT: u64 = 32 << 20;

/// How often it is said that the tool still runs.
const PATIENCE: Duration = Duration::from_secs(10);

/// What every tool needs.
#[derive(Clone, Copy)]
pub(super) struct Base<'a> {
    pub(super) environment: &'a Environment,
    pub(super) live_runs: &'a Path,
    pub(super) progress: &'a (dyn Fn(&str) + Send + Sync),
}

/// A call of a tool.
pub(super) struct Call<'a> {
    pub(super) base: Base<'a>,
    pub(super) program: PathBuf,
    pub(super) args: Vec<OsString>,
    pub(super) folder: &'a Path,
    /// Variables beside those of the user.
    pub(super) variables: Vec<(&'static str, OsString)>,
}

/// A tool that has exited.
#[derive(Debug)]
pub(super) struct Ended {
    pub(super) success: bool,
    pub(super) stdout: String,
    pub(super) stderr: String,
}

impl Call<'_> {
    pub(super) async fn run(self) -> Result<Ended> {
        let id = format!("install-{}", uuid::Uuid::new_v4().simple());
        let shown = self.program.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let mut spec = SpawnSpec::new(self.program, self.folder, id);
        spec.args = self.args;
        spec.environment = self.base.environment.for_installer();
        spec.environment.extend(self.variables.into_iter().map(|(name, value)| (name.into(), value)));
        spec.registry = Some(self.base.live_runs.to_owned());
        let mut process =
            Process::spawn(spec).await.map_err(|error| Error::system(format!("starting {shown}"), error))?;
        let (stdout, stderr) = (process.take_stdout(), process.take_stderr());
        let started = Instant::now();
        let (stdout, stderr, exit) = {
            let mut ended = std::pin::pin!(async { tokio::join!(read(stdout), read(stderr), process.wait()) });
            loop {
                tokio::select! {
                    ended = &mut ended => break ended,
                    () = tokio::time::sleep(PATIENCE) => {
                        (self.base.progress)(&format!("{shown} has been working for {} s", started.elapsed().as_secs()));
                    }
                }
            }
        };
        let _ = process.clean_up(Duration::ZERO).await;
        Ok(Ended { success: exit.code == Some(0), stdout, stderr })
    }
}

/// The beginning of an output. All of it is read, so that the tool never waits.
async fn read(stream: Option<impl AsyncRead + Unpin>) -> String {
    let mut content = Vec::new();
    if let Some(mut stream) = stream {
        let _ = (&mut stream).take(OUTPUT).read_to_end(&mut content).await;
        let _ = tokio::io::copy(&mut stream, &mut tokio::io::sink()).await;
    }
    String::from_utf8_lossy(&content).into_owned()
}

/// The last lines of a text that say something, as one line.
pub(super) fn last_lines(text: &str, count: usize) -> String {
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    lines[lines.len().saturating_sub(count)..].join("; ")
}

/// What is wrong with the machine or the network, rather than with what was requested; none if it is something else.
pub(super) fn circumstance(attempt: &str, text: &str) -> Option<Error> {
    let has = |words: &[&str]| words.iter().any(|word| text.contains(word));
    if has(&["ENOSPC", "No space left on device", "os error 28"]) {
        return Some(Error::system(attempt, "the disk is full").with_hint("free some space, and try again"));
    }
    let network = [
        "ENOTFOUND",
        "EAI_AGAIN",
        "ECONNREFUSED",
        "ECONNRESET",
        "ETIMEDOUT",
        "ENETUNREACH",
        "EHOSTUNREACH",
        "ERR_SOCKET_TIMEOUT",
        "Failed to establish a new connection",
        "Temporary failure in name resolution",
        "Could not connect",
        "Failed to fetch",
        "dns error",
        "Connection refused",
    ];
    has(&network).then(|| {
        Error::system(attempt, "the registry of packages cannot be reached")
            .with_hint("check the network, the proxy (HTTPS_PROXY) and the registry in the configuration of npm or pip")
    })
}
