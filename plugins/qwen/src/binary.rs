//! Finds the program, its version and what that version can do.

use crate::features::{Features, TESTED};
use crate::info::INSTALL;
use crate::login;
use wharf_adapter::{Binary, Environment, Failure, Host, LogLevel, Probe, Support, locate, text};

/// The flag that every turn in lines needs. Versions before it have no output that could be read.
const OUTPUT_FORMAT: &str = "--include-partial-messages";

/// The program that turns use.
pub(crate) fn resolve(host: &dyn Host, environment: &Environment) -> Result<Binary, Failure> {
    let mut binary = Binary::at(locate(host, environment, &["qwen"], INSTALL)?);
    let probe = Probe::new(host, &binary);
    let version = probe.version();
    let help = version.filter(|version| Features::need_help(*version)).map(|_| probe.text(&["--help"]));
    let help = help.unwrap_or_default();
    binary.set_version(version, TESTED, &[], INSTALL);
    if binary.support == Support::OlderUntested && !help.is_empty() && !text::contains(&help, OUTPUT_FORMAT) {
        binary.support = Support::Unsupported;
        let reason = format!("it has no {OUTPUT_FORMAT}, which every turn needs");
        binary.note(LogLevel::Error, reason.as_str(), Some(INSTALL));
        binary.unsupported_because = Some(reason);
    }
    Features::of(&binary).with_help(&help).transports(&mut binary);
    if version.is_some() {
        binary.login = login::check(host, environment.home.as_deref(), &mut binary);
    }
    Ok(binary)
}

#[cfg(test)]
mod tests {
    use super::*;
    use wharf_adapter::testing::{FakeHost, environment};
    use wharf_adapter::{Capabilities, ErrorClass, Login};

    fn installed(version: &str) -> FakeHost {
        FakeHost::default().program("qwen", "/usr/bin/qwen").output("/usr/bin/qwen --version", 0, version)
    }

    #[test]
    fn the_program_is_found_and_its_version_decides_what_it_can_do() {
        for (version, support, fork) in [
            ("0.24.4\n", Support::Tested, true),
            ("0.15.10\n", Support::Tested, false),
            ("0.22.0\n", Support::BetweenTested, true),
            ("0.25.0\n", Support::NewerUntested, true),
        ] {
            let binary = resolve(&installed(version), &environment()).expect("a program");
            assert_eq!((binary.program.as_str(), binary.support), ("/usr/bin/qwen", support), "{version}");
            assert_eq!(binary.can(Capabilities::SESSION_FORK), fork, "{version}");
        }
        let nowhere = resolve(&FakeHost::default(), &environment());
        assert_eq!(nowhere.map_err(|failure| failure.class), Err(ErrorClass::NotFound));
    }

    #[test]
    fn a_program_that_the_user_named_is_used() {
        let named = Environment { program: Some("/opt/qwen".to_owned()), ..environment() };
        assert!(resolve(&installed("0.24.4"), &named).is_err());
        let host = installed("0.24.4").program("/opt/qwen", "/opt/qwen");
        assert_eq!(resolve(&host, &named).map(|binary| binary.program), Ok("/opt/qwen".to_owned()));
    }

    #[test]
    fn the_help_text_of_other_versions_is_read() {
        let help = "/usr/bin/qwen --help";
        for (version, text, support, fork) in [
            ("0.18.0", "--include-partial-messages --fork-session", Support::BetweenTested, true),
            ("0.18.0", "--include-partial-messages", Support::BetweenTested, false),
            ("0.10.1", "--include-partial-messages", Support::OlderUntested, false),
            ("0.1.4", "--yolo", Support::Unsupported, false),
            ("0.1.4", "", Support::OlderUntested, false),
        ] {
            let binary = resolve(&installed(version).output(help, 0, text), &environment()).expect("a program");
            assert_eq!(binary.support, support, "{version} {text}");
            assert_eq!(binary.can(Capabilities::SESSION_FORK), fork, "{version} {text}");
        }
    }

    #[test]
    fn nothing_is_claimed_of_a_program_that_prints_no_version() {
        let host = installed("hello").with_variable("OPENAI_API_KEY", "k");
        let binary = resolve(&host, &environment()).expect("a program");
        assert_eq!((binary.version, binary.support, binary.login), (None, Support::BestEffort, Login::Unknown));
    }
}
