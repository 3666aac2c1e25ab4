//! The parent's side: starts the child through the supervisor, gives it the component, and takes its reply. Whatever the
//! child does, this ends within the limits and leaves no process.

use super::child::environment;
use super::failure::Failure;
use super::limits::CompileLimits;
use super::reply::Reply;
use std::path::{Path, PathBuf};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use wharf_supervisor::{Exit, Process, SpawnSpec};

/// The largest reply: code has a few times the size of its component.
const REPLY: u64 = 512 << 20;

/// How much of the child's stderr is kept.
const STDERR: u64 = 4 << 10;

/// The signals that end a process at its limit of processor time, and one that gives up, on every Unix that we know.
#[cfg(unix)]
const SIGXCPU: i32 = rustix::process::Signal::XCPU.as_raw();
#[cfg(unix)]
const SIGKILL: i32 = rustix::process::Signal::KILL.as_raw();

/// Compiles a component in a child, which is `program`.
pub(super) async fn compile(program: &Path, component: &[u8], limits: CompileLimits) -> Result<Vec<u8>, Failure> {
    let mut spec = SpawnSpec::new(program, folder(program), format!("compile-{}", uuid::Uuid::new_v4().simple()));
    spec.environment = environment(limits);
    spec.stdin = true;
    // It starts nothing. Nobody would remove its cgroup if this process were killed.
    spec.cgroup = false;
    let mut process = Process::spawn(spec).await.map_err(|error| Failure::System(error.to_string()))?;
    let (stdin, stdout, stderr) = (process.take_stdin(), process.take_stdout(), process.take_stderr());
    let write = async {
        if let Some(mut stdin) = stdin {
            // A child that has exited reads nothing, and its status says why.
            let _ = stdin.write_all(component).await;
        }
    };
    let ended = tokio::time::timeout(limits.wall(), async {
        let ((), reply, stderr) = tokio::join!(write, read_reply(stdout), read_stderr(stderr));
        (reply, stderr, process.wait().await)
    });
    let ended = ended.await;
    let _ = process.clean_up(std::time::Duration::ZERO).await;
    let Ok((reply, stderr, exit)) = ended else {
        return Err(Failure::Limit(format!("compiling it took more than {} s", limits.wall().as_secs())));
    };
    match Reply::read(reply) {
        Some(Reply::Code(code)) if exit.code == Some(0) => Ok(code),
        Some(Reply::Invalid(reason)) => Err(Failure::Invalid(reason)),
        Some(Reply::OutOfMemory) => Err(out_of_memory(limits)),
        _ => Err(explain(exit, &stderr, limits)),
    }
}

/// Any folder that exists: the child opens no file.
fn folder(program: &Path) -> PathBuf {
    if cfg!(unix) { PathBuf::from("/") } else { program.parent().unwrap_or(program).to_owned() }
}

/// The child's stdout, cut at the limit. A child that writes more is ended by a closed pipe.
async fn read_reply(stream: Option<impl AsyncRead + Unpin>) -> Vec<u8> {
    let mut content = Vec::new();
    if let Some(stream) = stream {
        let _ = stream.take(REPLY + 1).read_to_end(&mut content).await;
    }
    content
}

/// The beginning of the child's stderr.
async fn read_stderr(stream: Option<impl AsyncRead + Unpin>) -> String {
    let mut content = Vec::new();
    if let Some(mut stream) = stream {
        let _ = (&mut stream).take(STDERR).read_to_end(&mut content).await;
        let _ = tokio::io::copy(&mut stream, &mut tokio::io::sink()).await;
    }
    String::from_utf8_lossy(&content).trim().to_owned()
}

fn out_of_memory(limits: CompileLimits) -> Failure {
    Failure::Limit(format!("compiling it needs more than {} MiB of memory", limits.bytes >> 20))
}

/// Why a child ended without a reply.
fn explain(exit: Exit, stderr: &str, limits: CompileLimits) -> Failure {
    #[cfg(unix)]
    match exit.signal {
        Some(SIGXCPU) => {
            let reason = format!("compiling it needs more than {} s of processor time", limits.seconds);
            return Failure::Limit(reason);
        }
        // Nobody else kills it but a system without memory.
        Some(SIGKILL) => return out_of_memory(limits),
        _ => {}
    }
    // How a program of Rust gives up, or one of its libraries.
    if ["memory allocation of", "out of memory", "Cannot allocate memory"].iter().any(|text| stderr.contains(text)) {
        return out_of_memory(limits);
    }
    let ended = match exit {
        Exit { signal: Some(signal), .. } => format!("it was ended by signal {signal}"),
        Exit { code: Some(code), .. } => format!("its exit code was {code}"),
        _ => "it ended".to_owned(),
    };
    Failure::Crashed(if stderr.is_empty() { ended } else { format!("{ended}: {stderr}") })
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    const LIMITS: CompileLimits = CompileLimits { seconds: 30, bytes: 1 << 30 };

    /// A child that is a script. While another test forks, its child has the file open for writing, and it is busy.
    async fn compile_with(script: &str, limits: CompileLimits) -> Result<Vec<u8>, Failure> {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("child");
        std::fs::write(&path, format!("#!/bin/sh\nPATH=/usr/bin:/bin\n{script}\n")).expect("written");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o700)).expect("it is ours");
        for _ in 0..100 {
            match compile(&path, b"component", limits).await {
                Err(Failure::System(reason)) if reason.contains("busy") => tokio::task::yield_now().await,
                result => return result,
            }
        }
        panic!("the script stays busy")
    }

    #[tokio::test]
    async fn a_child_that_is_no_compiler_gives_no_code() {
        for (script, expected) in [
            ("cat >/dev/null; echo hello", "its exit code was 0"),
            ("exit 3", "its exit code was 3"),
            ("echo 'thread main panicked' >&2; exit 101", "thread main panicked"),
            ("kill -SEGV $$", "it was ended by signal 11"),
            ("printf wharf-c1c; cat", "its exit code was 0"),
        ] {
            match compile_with(script, LIMITS).await {
                Err(Failure::Crashed(reason)) => assert!(reason.contains(expected), "{script}: {reason}"),
                result => panic!("{script}: {result:?}"),
            }
        }
    }

    #[tokio::test]
    async fn how_a_child_was_ended_is_told_in_words() {
        for (script, expected) in [
            ("kill -XCPU $$", "more than 30 s of processor time"),
            ("kill -KILL $$", "more than 1024 MiB of memory"),
            ("echo 'memory allocation of 8 bytes failed' >&2; kill -ABRT $$", "more than 1024 MiB of memory"),
        ] {
            match compile_with(script, LIMITS).await {
                Err(Failure::Limit(reason)) => assert!(reason.contains(expected), "{script}: {reason}"),
                result => panic!("{script}: {result:?}"),
            }
        }
    }

    #[tokio::test]
    async fn a_child_that_does_not_end_is_killed_with_what_it_started() {
        let folder = tempfile::tempdir().expect("a folder");
        let started = folder.path().join("started");
        let script = format!("setsid sleep 600 & echo $! > {}; wait", started.display());
        match compile_with(&script, CompileLimits { seconds: 1, bytes: 1 << 30 }).await {
            Err(Failure::Limit(reason)) => assert_eq!(reason, "compiling it took more than 5 s"),
            result => panic!("{result:?}"),
        }
        let id = std::fs::read_to_string(&started).expect("it was started");
        let status = std::fs::read_to_string(format!("/proc/{}/cmdline", id.trim())).unwrap_or_default();
        assert!(!status.contains("sleep"), "{status:?}");
    }

    #[tokio::test]
    async fn a_child_sees_nothing_of_the_environment() {
        let folder = tempfile::tempdir().expect("a folder");
        let seen = folder.path().join("seen");
        let _ = compile_with(&format!("/usr/bin/env > {}", seen.display()), LIMITS).await;
        let seen = std::fs::read_to_string(&seen).expect("it ran");
        let allowed = [
            "WHARF_",
            "RAYON_NUM_THREADS=",
            "LD_LIBRARY_PATH=",
            "PATH=/usr/bin:/bin",
            "PWD=",
            "_=",
            "SHLVL=",
            "OLDPWD",
        ];
        for line in seen.lines() {
            assert!(allowed.iter().any(|name| line.starts_with(name)), "{line}");
        }
    }
}
