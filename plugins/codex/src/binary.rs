//! Finding Codex: its program, its version, and what that version can do.

use crate::info::INSTALL;
use crate::launch::can_fork;
use crate::login;
use crate::transport::Transport;
use wharf_adapter::{Binary, Capabilities, Environment, Failure, Host, Probe, Tested, Version, locate};

/// The versions that the adapter was tested with.
pub(crate) const TESTED: Tested = Tested(&[Version(0, 142, 0), Version(0, 166, 0), Version(0, 169, 0)]);

/// The first version in which `exec fork` was seen; 0.142.0 has none.
pub(crate) const FORK_SINCE: Version = Version(0, 166, 0);

/// The program that the user named, or `codex` in PATH.
pub(crate) fn resolve(host: &dyn Host, environment: &Environment) -> Result<Binary, Failure> {
    let mut binary = Binary::at(locate(host, environment, &["codex"], INSTALL)?);
    let version = Probe::new(host, &binary).version();
    binary.set_version(version, TESTED, &[], INSTALL);
    binary.transport(Transport::AppServer.name(), app_server());
    binary.transport(Transport::Exec.name(), exec(&binary));
    binary.login = login::check(host, environment.home.as_deref());
    Ok(binary)
}

/// What both transports can do.
fn common() -> Capabilities {
    Capabilities::SESSION_RESUME
        | Capabilities::SESSION_PERSISTENCE_CONTROL
        | Capabilities::MODEL_DISCOVERY
        | Capabilities::EFFORT_LEVELS
        | Capabilities::TOKEN_USAGE
        | Capabilities::MCP_SERVERS
        | Capabilities::STRUCTURED_OUTPUT
        | Capabilities::ATTACHMENTS
}

/// What `app-server` can do.
fn app_server() -> Capabilities {
    common()
        | Capabilities::STREAMING
        | Capabilities::SESSION_FORK
        | Capabilities::DUPLEX
        | Capabilities::ASKS
        | Capabilities::STEERING
        | Capabilities::INTERRUPT
}

/// What `exec` of this version can do.
fn exec(binary: &Binary) -> Capabilities {
    if can_fork(binary) { common() | Capabilities::SESSION_FORK } else { common() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wharf_adapter::Support;
    use wharf_adapter::testing::{FakeHost, environment};

    #[test]
    fn the_version_is_what_codex_prints() {
        for (printed, version, support) in [
            ("codex-cli 0.169.0\n", Some("0.169.0"), Support::Tested),
            ("codex-cli 0.150.0\n", Some("0.150.0"), Support::BetweenTested),
            ("codex-cli 0.170.0-alpha.2\n", Some("0.170.0"), Support::NewerUntested),
            ("codex-cli 0.99.0\n", Some("0.99.0"), Support::OlderUntested),
            ("what?\n", None, Support::BestEffort),
        ] {
            let host = FakeHost::default().program("codex", "/bin/codex").output("/bin/codex --version", 0, printed);
            let binary = resolve(&host, &environment()).expect("it is installed");
            assert_eq!((binary.version.as_deref(), binary.support), (version, support));
        }
        assert!(resolve(&FakeHost::default(), &environment()).is_err());
    }

    #[test]
    fn the_better_transport_comes_first_and_nothing_is_claimed_that_was_not_seen() {
        for (version, forks) in [("0.142.0", false), ("0.150.0", false), ("0.166.0", true), ("0.169.0", true)] {
            let printed = format!("codex-cli {version}");
            let host = FakeHost::default().program("codex", "/bin/codex").output("/bin/codex --version", 0, &printed);
            let binary = resolve(&host, &environment()).expect("it is installed");
            let names: Vec<&str> = binary.transports.iter().map(|transport| transport.name.as_str()).collect();
            assert_eq!(names, ["app-server", "exec"]);
            let [server, exec] = [0, 1].map(|at| binary.transports[at].capabilities);
            assert!(server.contains(Capabilities::ASKS | Capabilities::SESSION_FORK), "{version}");
            assert_eq!(exec.contains(Capabilities::SESSION_FORK), forks, "{version}");
            let lacks = Capabilities::STREAMING | Capabilities::ASKS | Capabilities::STEERING | Capabilities::DUPLEX;
            assert!(!exec.intersects(lacks), "{version}");
        }
    }
}
