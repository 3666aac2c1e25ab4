//! Child processes: this same program, with `--child TAG`, by which a test finds them.
//!
//! A child lives for some seconds and does nothing. A step that starts a child is complete only when the child is ready
//! (visible, in its new session, re-parented), so that a test need not guess when to look: the child's stdin is the
//! write end of a pipe, which the child closes when it is ready. The return of `spawn` is not enough, because the
//! child's command line can still be empty.

use rustix::process::setsid;
use std::fs::File;
use std::io::{self, Read};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

/// How a child is related to the agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// In the agent's process group.
    Plain,
    /// In a new session.
    Session,
    /// In a new session, and its parent has exited.
    Daemon,
}

/// The properties of a child.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Spec {
    pub(crate) kind: Kind,
    /// It exits after this time.
    pub(crate) seconds: u64,
    /// Whether it keeps the agent's stdout and stderr open, like tools that are left running in the background.
    pub(crate) holding: bool,
    /// Whether its environment is empty and so has no marker.
    pub(crate) clear_env: bool,
}

/// This process, started as a child.
pub(crate) struct Child {
    tag: String,
    spec: Spec,
}

/// Parses the command line of a child; none if this process is the agent.
pub(crate) fn from_args(args: &[String]) -> Result<Option<Child>, String> {
    let [flag, tag, kind, seconds, rest @ ..] = args else { return Ok(None) };
    if flag != "--child" {
        return Ok(None);
    }
    let kind = match kind.as_str() {
        "plain" => Kind::Plain,
        "session" => Kind::Session,
        "daemon" => Kind::Daemon,
        other => return Err(format!("unknown kind of child {other:?}")),
    };
    let seconds = seconds.parse().map_err(|_| format!("{seconds:?} is not a number of seconds"))?;
    let has = |flag: &str| rest.iter().any(|arg| arg == flag);
    let spec = Spec { kind, seconds, holding: has("holding"), clear_env: has("clear") };
    Ok(Some(Child { tag: tag.clone(), spec }))
}

impl Child {
    /// Runs until the time is up, and returns the exit code.
    pub(crate) fn run(self) -> Result<u8, String> {
        match self.spec.kind {
            Kind::Plain => {}
            Kind::Session => drop(setsid().map_err(|error| format!("setsid: {error}"))?),
            // The intermediate process: it starts the daemon and exits, which orphans the daemon.
            Kind::Daemon => {
                let spec = Spec { kind: Kind::Session, ..self.spec };
                start(&spec, &self.tag)?;
                return Ok(0);
            }
        }
        File::open("/dev/null")
            .and_then(|null| Ok(rustix::stdio::dup2_stdin(&null)?))
            .map_err(|error| format!("cannot close stdin: {error}"))?;
        thread::sleep(Duration::from_secs(self.spec.seconds));
        Ok(0)
    }
}

/// Starts a child and returns when it is ready. Children may outlive the agent: that is what they are for.
pub(crate) fn start(spec: &Spec, tag: &str) -> Result<(), String> {
    spawn(spec, tag).map_err(|error| format!("cannot start a child: {error}"))
}

fn spawn(spec: &Spec, tag: &str) -> io::Result<()> {
    let (mut reader, writer) = io::pipe()?;
    let mut command = Command::new(std::env::current_exe()?);
    let kind = match spec.kind {
        Kind::Plain => "plain",
        Kind::Session => "session",
        Kind::Daemon => "daemon",
    };
    command.args(["--child", tag, kind, &spec.seconds.to_string()]).stdin(writer);
    if spec.clear_env {
        command.arg("clear").env_clear();
    }
    if spec.holding {
        command.arg("holding");
    } else {
        command.stdout(Stdio::null()).stderr(Stdio::null());
    }
    let mut child = command.spawn()?;
    // It holds the write end too.
    drop(command);
    reader.read_to_end(&mut Vec::new())?;
    let exited = if spec.kind == Kind::Daemon { Some(child.wait()?) } else { child.try_wait()? };
    match exited {
        Some(status) if !status.success() => Err(io::Error::other(format!("it exited with {status}"))),
        _ => Ok(()),
    }
}
