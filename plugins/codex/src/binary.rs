//! Finding Codex: its program, its version, and what that version can do.

use crate::info::INSTALL;
use crate::login;
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
    binary.capabilities = app_server();
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
}
