//! Finding the CLI: its program, its version, and what that version can do.

use crate::features::{Features, REFUSED, TESTED};
use crate::info::INSTALL;
use crate::login::{self, Access};
use wharf_adapter::{Binary, Environment, Failure, Host, Probe, locate};

/// A start takes seconds on a loaded machine.
const PROBE_MILLIS: u32 = 40_000;

/// The program that the user named, or `gemini` in PATH.
pub(crate) fn resolve(host: &dyn Host, environment: &Environment) -> Result<Binary, Failure> {
    let mut binary = Binary::at(locate(host, environment, &["gemini"], INSTALL)?);
    let version = Probe::new(host, &binary).timeout_ms(PROBE_MILLIS).version();
    binary.set_version(version, TESTED, REFUSED, INSTALL);
    let access = match version {
        Some(_) => login::check(host, environment.home.as_deref(), &mut binary),
        None => Access::default(),
    };
    Features::of(&binary).transports(&access, &mut binary);
    binary.login = access.login;
    Ok(binary)
}

#[cfg(test)]
mod tests {
    use super::*;
    use wharf_adapter::testing::{FakeHost, environment};
    use wharf_adapter::{Capabilities, ErrorClass, Login, Support};

    fn host(version: &str) -> FakeHost {
        FakeHost::default().program("gemini", "/usr/bin/gemini").output("/usr/bin/gemini --version", 0, version)
    }

    #[test]
    fn the_version_decides_what_is_claimed() {
        for (version, support, can_choose) in [
            ("0.61.0\n", Support::Tested, true),
            ("0.45.2\n", Support::Tested, true),
            ("0.50.0\n", Support::BetweenTested, true),
            ("0.62.0\n", Support::NewerUntested, true),
            ("0.36.0\n", Support::OlderUntested, false),
            ("0.10.0\n", Support::Unsupported, false),
        ] {
            let binary = resolve(&host(version), &environment()).expect("a program");
            assert_eq!(binary.support, support, "{version}");
            assert_eq!(binary.can(Capabilities::CHOOSE_SESSION_ID), can_choose, "{version}");
        }
    }

    #[test]
    fn nothing_is_claimed_of_a_program_that_prints_no_version() {
        let host = host("hello").with_variable("GEMINI_API_KEY", "k");
        let binary = resolve(&host, &environment()).expect("a program");
        assert!(!binary.can(Capabilities::CHOOSE_SESSION_ID) && !binary.can(Capabilities::TOOL_RULES));
        assert_eq!((binary.version, binary.support, binary.login), (None, Support::BestEffort, Login::Unknown));
    }

    /// Without a way to log in that the settings name, stream-json exits with "Invalid auth method selected".
    #[test]
    fn a_custom_address_needs_acp_unless_the_settings_name_a_way_to_log_in() {
        let host = host("0.61.0").with_variable("GOOGLE_GEMINI_BASE_URL", "http://127.0.0.1:1");
        let names = |host: &FakeHost| -> Vec<String> {
            let binary = resolve(host, &environment()).expect("a program");
            binary.transports.into_iter().map(|transport| transport.name).collect()
        };
        assert_eq!(names(&host), ["acp"]);
        let mut host = host;
        let settings = r#"{"security":{"auth":{"selectedType":"gemini-api-key"}}}"#;
        host.files.insert("/home/user/.gemini/settings.json".to_owned(), settings.into());
        assert_eq!(names(&host), ["stream-json", "acp"]);
    }

    /// Over ACP a session is loaded only with a way to log in that the settings name, or with a custom address.
    #[test]
    fn acp_resumes_only_if_the_login_allows_it() {
        let can_resume = |host: &FakeHost| {
            let binary = resolve(host, &environment()).expect("a program");
            let acp = binary.transports.iter().find(|transport| transport.name == "acp").expect("acp");
            acp.capabilities.contains(Capabilities::SESSION_RESUME)
        };
        let with_key = host("0.61.0").with_variable("GEMINI_API_KEY", "k");
        assert!(!can_resume(&with_key));
        assert!(can_resume(&with_key.with_variable("GOOGLE_GEMINI_BASE_URL", "http://127.0.0.1:1")));
    }

    #[test]
    fn a_missing_program_is_not_found() {
        let failure = resolve(&FakeHost::default(), &environment()).expect_err("nothing is installed");
        assert_eq!(failure.class, ErrorClass::NotFound);
    }
}
