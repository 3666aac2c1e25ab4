//! The processes that it leaves behind: this same program again, with `--child TAG` for a test to recognise.
//!
//! A child lives for some seconds and does nothing. Every step that starts one is done only when the child is what it
//! shall be (visible, out of its session, re-parented), so that a test need not guess when to look: the child's stdin
//! is the writing end of a pipe, which it lets go of when it is ready. That `spawn` has returned is not enough, the
//! child's command line may still be empty.

use rustix::process::setsid;
use std::fs::File;
use std::io::{self, Read};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

/// What kind of child.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// One that stays in the agent's process group.
    Plain,
    /// One in a session of its own.
    Session,
    /// One in a session of its own whose parent is gone.
    Daemon,
}

/// A child to be started, or this process as one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Spec {
    pub(crate) kind: Kind,
    /// How long it lives.
    pub(crate) seconds: u64,
    /// Whether it holds the agent's stdout and stderr open, as tools do that are left in the background.
    pub(crate) holding: bool,
    /// Whether it starts without any environment, and so without any marker in it.
    pub(crate) clear: bool,
}

/// This process as a child.
pub(crate) struct Role {
    tag: String,
    spec: Spec,
}

/// The child that a command line makes of this process, if it does.
pub(crate) fn from_args(args: &[String]) -> Result<Option<Role>, String> {
    let [flag, tag, kind, seconds, rest @ ..] = args else { return Ok(None) };
    if flag != "--child" {
        return Ok(None);
    }
    let kind = match kind.as_str() {
        "plain" => Kind::Plain,
        "session" => Kind::Session,
        "daemon" => Kind::Daemon,
        other => return Err(format!("there is no child of kind {other:?}")),
    };
    let seconds = seconds.parse().map_err(|_| format!("a child's life is in seconds, not {seconds:?}"))?;
    let has = |word: &str| rest.iter().any(|arg| arg == word);
    let spec = Spec { kind, seconds, holding: has("holding"), clear: has("clear") };
    Ok(Some(Role { tag: tag.clone(), spec }))
}

impl Role {
    /// Lives the child's life.
    pub(crate) fn live(self) -> Result<u8, String> {
        match self.spec.kind {
            Kind::Plain => {}
            Kind::Session => drop(setsid().map_err(|error| format!("setsid: {error}"))?),
            // The one between: it starts the daemon and ends, which is what orphans it.
            Kind::Daemon => {
                let spec = Spec { kind: Kind::Session, ..self.spec };
                start(&spec, &self.tag)?;
                return Ok(0);
            }
        }
        File::open("/dev/null")
            .and_then(|nothing| Ok(rustix::stdio::dup2_stdin(&nothing)?))
            .map_err(|error| format!("cannot say that the child is ready: {error}"))?;
        thread::sleep(Duration::from_secs(self.spec.seconds));
        Ok(0)
    }
}

/// Starts a child. It is not waited for; where it outlives the agent, that is the point.
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
    if spec.clear {
        command.arg("clear").env_clear();
    }
    if spec.holding {
        command.arg("holding");
    } else {
        command.stdout(Stdio::null()).stderr(Stdio::null());
    }
    let mut child = command.spawn()?;
    // It holds the writing end as well.
    drop(command);
    reader.read_to_end(&mut Vec::new())?;
    let ended = if spec.kind == Kind::Daemon { Some(child.wait()?) } else { child.try_wait()? };
    match ended {
        Some(status) if !status.success() => Err(io::Error::other(format!("it ended with {status}"))),
        _ => Ok(()),
    }
}
