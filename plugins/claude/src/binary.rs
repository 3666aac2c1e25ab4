//! Finding Claude Code: its program, its version, what that version can do, and whether there is a login.

use crate::describe::{INSTALL, KEYS, PLACES, PROVIDERS};
use wharf_adapter::{
    Binary, Capabilities, Environment, Failure, Host, Json, LogLevel, Login, Probe, Support, Tested, Version, locate,
};

/// The versions that the adapter was tested with.
pub(crate) const TESTED: Tested = Tested(&[Version(2, 0, 76), Version(2, 1, 197), Version(2, 1, 325)]);

/// Finds the program.
pub(crate) fn resolve(host: &dyn Host, environment: &Environment) -> Result<Binary, Failure> {
    let places = PLACES.map(|place| at_home(place, environment.home.as_deref()));
    let candidates: Vec<&str> = std::iter::once("claude").chain(places.iter().flatten().map(String::as_str)).collect();
    let found = locate(host, environment, &candidates, INSTALL);
    let program = match (found, &environment.program) {
        // A program that the user named is never replaced by another one.
        (Err(failure), None) => in_npm_prefix(host).ok_or(failure)?,
        (found, _) => found?,
    };
    let mut binary = Binary::at(program);
    let version = Probe::new(host, &binary).version();
    binary.set_version(version, TESTED, &[], INSTALL);
    if binary.support == Support::OlderUntested
        && let Some(flag) = missing_flag(host, &binary)
    {
        binary.support = Support::Unsupported;
        binary.note(LogLevel::Error, format!("it has no {flag}, which every turn needs"), Some(INSTALL));
    }
    let control = Capabilities::DUPLEX | Capabilities::ASKS | Capabilities::STEERING | Capabilities::INTERRUPT;
    binary.transport(STREAM_JSON, capabilities(version));
    binary.transport(CONTROL, capabilities(version) | control);
    if let Some(version) = version {
        binary.login = login(host, &binary, version);
    }
    notes(host, environment, &mut binary);
    Ok(binary)
}

/// A flag that every turn needs and that this version does not have; none if that is not known.
fn missing_flag(host: &dyn Host, binary: &Binary) -> Option<&'static str> {
    let output = Probe::new(host, binary).run(&["--help"]).ok().filter(|output| output.code == Some(0))?;
    let help = String::from_utf8_lossy(&output.stdout);
    ["--setting-sources", "--include-partial-messages"].into_iter().find(|flag| !help.contains(flag))
}

/// The program in npm's global prefix, which need not be in PATH.
fn in_npm_prefix(host: &dyn Host) -> Option<String> {
    let npm = host.find_program("npm").ok()?.path;
    let prefix = Probe::new(host, &Binary::at(npm)).text(&["prefix", "-g"]);
    Some(host.find_program(&format!("{}/bin/claude", prefix.trim())).ok()?.path)
}

/// Replaces `~` by the home folder, if there is one.
fn at_home(place: &str, home: Option<&str>) -> Option<String> {
    match place.strip_prefix('~') {
        Some(rest) => home.map(|home| format!("{home}{rest}")),
        None => Some(place.to_owned()),
    }
}

/// The transport without the control protocol: the prompt goes to stdin, which is then closed.
const STREAM_JSON: &str = "stream-json";
/// The same lines, with the control protocol.
pub(crate) const CONTROL: &str = "control";

/// What a version can do. An unknown version is treated as a new one.
fn capabilities(version: Option<Version>) -> Capabilities {
    let always = Capabilities::STREAMING
        | Capabilities::SESSION_RESUME
        | Capabilities::SESSION_FORK
        | Capabilities::CHOOSE_SESSION_ID
        | Capabilities::SESSION_PERSISTENCE_CONTROL
        | Capabilities::SYSTEM_PROMPT_FILE
        | Capabilities::MODEL_DISCOVERY
        | Capabilities::MODEL_SHORTHANDS
        | Capabilities::FALLBACK_MODEL
        | Capabilities::TOKEN_USAGE
        | Capabilities::COST_TRACKING
        | Capabilities::BUDGET_CAP
        | Capabilities::TURN_CAP
        | Capabilities::TOOL_RULES
        | Capabilities::MCP_SERVERS
        | Capabilities::STRUCTURED_OUTPUT;
    if version.is_none_or(|version| version >= Version(2, 1, 0)) {
        always | Capabilities::EFFORT_LEVELS | Capabilities::BARE_MODE
    } else {
        always
    }
}

/// A key, another provider, or the result of `claude auth status`. None of them shows that the key is valid.
fn login(host: &dyn Host, binary: &Binary, version: Version) -> Login {
    let is_set = |name: &&str| host.set_variable(name).is_some();
    let (known, unknown): (Vec<_>, Vec<_>) = PROVIDERS.into_iter().partition(|(_, since)| version >= *since);
    if let Some(name) = KEYS.into_iter().chain(known.into_iter().map(|(name, _)| name)).find(is_set) {
        return Login::Present(name.to_owned());
    }
    if let Some(name) = unknown.into_iter().map(|(name, _)| name).find(is_set) {
        return Login::Missing(format!("this version does not know {name}: update it with `{INSTALL}`"));
    }
    let Ok(output) = Probe::new(host, binary).run(&["auth", "status"]) else { return Login::Unknown };
    let text = String::from_utf8_lossy(&output.stdout);
    // 2.0 does not have this command.
    match Json::parse(&text).get("loggedIn").bool() {
        Some(true) if output.code == Some(0) => Login::Present("claude auth status".to_owned()),
        Some(_) => Login::Missing("run `claude auth login`, or set ANTHROPIC_API_KEY".to_owned()),
        None => Login::Unknown,
    }
}

fn notes(host: &dyn Host, environment: &Environment, binary: &mut Binary) {
    if environment.root {
        let text = "Claude Code refuses to skip permissions for root";
        let fix =
            "run as another user; or set the option `sandboxed` if this machine is a sandbox; or let approvals ask";
        if host.set_variable("IS_SANDBOX").is_none() {
            binary.note(LogLevel::Warn, text, Some(fix));
        }
    }
    if host.set_variable("ANTHROPIC_API_KEY").is_some() && host.set_variable("ANTHROPIC_AUTH_TOKEN").is_some() {
        binary.note(
            LogLevel::Info,
            "ANTHROPIC_API_KEY and ANTHROPIC_AUTH_TOKEN are both set; Claude Code sends both",
            None,
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wharf_adapter::ErrorClass;
    use wharf_adapter::testing::{FakeHost, environment};

    fn installed(version: &str) -> FakeHost {
        let host = FakeHost::default().program("claude", "/usr/bin/claude");
        host.output("/usr/bin/claude --version", 0, &format!("{version} (Claude Code)\n"))
    }

    #[test]
    fn the_program_is_found_where_installers_put_it() {
        for (place, path) in [
            ("claude", "/usr/bin/claude"),
            ("/home/user/.local/bin/claude", "/home/user/.local/bin/claude"),
            ("/home/user/.claude/local/claude", "/home/user/.claude/local/claude"),
        ] {
            let host = FakeHost::default().program(place, path);
            assert_eq!(resolve(&host, &environment()).map(|binary| binary.program), Ok(path.to_owned()));
        }
        let npm = FakeHost::default()
            .program("npm", "/usr/bin/npm")
            .output("/usr/bin/npm prefix -g", 0, "/opt/node\n")
            .program("/opt/node/bin/claude", "/opt/node/bin/claude");
        assert_eq!(resolve(&npm, &environment()).map(|binary| binary.program), Ok("/opt/node/bin/claude".to_owned()));
        let nowhere = resolve(&FakeHost::default(), &environment());
        assert_eq!(nowhere.map_err(|failure| failure.class), Err(ErrorClass::NotFound));
    }

    #[test]
    fn a_program_that_the_user_named_is_used() {
        let named = Environment { program: Some("/opt/claude".to_owned()), ..environment() };
        assert!(resolve(&installed("2.1.325"), &named).is_err());
        let host = installed("2.1.325").program("/opt/claude", "/opt/claude");
        assert_eq!(resolve(&host, &named).map(|binary| binary.program), Ok("/opt/claude".to_owned()));
    }

    #[test]
    fn capabilities_depend_on_the_version() {
        for (version, support, efforts) in [
            ("2.1.325", Support::Tested, true),
            ("2.1.197", Support::Tested, true),
            ("2.0.76", Support::Tested, false),
            ("2.1.100", Support::BetweenTested, true),
            ("2.0.10", Support::OlderUntested, false),
            ("3.0.0", Support::NewerUntested, true),
        ] {
            let binary = resolve(&installed(version), &environment()).expect("a binary");
            assert_eq!((binary.version.as_deref(), binary.support), (Some(version), support));
            assert_eq!(binary.can(Capabilities::EFFORT_LEVELS), efforts, "{version}");
            assert_eq!(binary.can(Capabilities::BARE_MODE), efforts, "{version}");
            assert!(!binary.can(Capabilities::PROMPT_VIA_ARG));
            assert!(binary.can(Capabilities::SESSION_RESUME | Capabilities::COST_TRACKING));
        }
    }

    #[test]
    fn a_login_is_found_in_variables_or_by_the_program() {
        let status = "/usr/bin/claude auth status";
        let present = |by: &str| Login::Present(by.to_owned());
        for (host, login) in [
            (installed("2.1.325").with_variable("ANTHROPIC_API_KEY", "k"), present("ANTHROPIC_API_KEY")),
            (installed("2.1.325").with_variable("CLAUDE_CODE_OAUTH_TOKEN", "k"), present("CLAUDE_CODE_OAUTH_TOKEN")),
            (installed("2.1.325").with_variable("CLAUDE_CODE_USE_BEDROCK", "1"), present("CLAUDE_CODE_USE_BEDROCK")),
            (
                installed("2.1.325").output(
                    status,
                    0,
                    "{\n  \"loggedIn\": true,\n  \"authMethod\": \"oauth_token\"\n}\n",
                ),
                present("claude auth status"),
            ),
            (
                installed("2.1.325").output(status, 1, "{\n  \"loggedIn\": false,\n  \"authMethod\": \"none\"\n}\n"),
                Login::Missing("run `claude auth login`, or set ANTHROPIC_API_KEY".to_owned()),
            ),
            (
                installed("2.0.76").with_variable("CLAUDE_CODE_USE_MANTLE", "1"),
                Login::Missing(format!(
                    "this version does not know CLAUDE_CODE_USE_MANTLE: update it with `{INSTALL}`"
                )),
            ),
            (installed("2.0.76").output(status, 1, "Invalid API key"), Login::Unknown),
            (installed("2.0.76"), Login::Unknown),
        ] {
            assert_eq!(resolve(&host, &environment()).expect("a binary").login, login);
        }
    }

    #[test]
    fn a_version_without_a_flag_that_every_turn_needs_is_unsupported() {
        let help = "/usr/bin/claude --help";
        let all = "--setting-sources <sources>\n--include-partial-messages\n";
        for (version, text, support) in [
            ("1.0.60", "--output-format <format>\n", Support::Unsupported),
            ("1.0.60", all, Support::OlderUntested),
            ("2.0.76", "", Support::Tested),
        ] {
            let binary = resolve(&installed(version).output(help, 0, text), &environment()).expect("a binary");
            assert_eq!(binary.support, support, "{version} {text}");
        }
        let silent = resolve(&installed("1.0.60"), &environment()).expect("a binary");
        assert_eq!(silent.support, Support::OlderUntested, "without its help nothing is known");
    }

    #[test]
    fn root_gets_a_warning() {
        let root = Environment { root: true, ..environment() };
        let notes =
            |host: FakeHost, environment: &Environment| resolve(&host, environment).expect("a binary").notes.len();
        assert_eq!(notes(installed("2.1.325"), &root), 1);
        let named_root = Environment { home: Some("/root".to_owned()), ..environment() };
        assert_eq!(notes(installed("2.1.325").with_variable("USER", "root"), &named_root), 0, "the user id decides");
        assert_eq!(notes(installed("2.1.325").with_variable("IS_SANDBOX", "1"), &root), 0);
        assert_eq!(notes(installed("2.1.325"), &environment()), 0);
    }
}
