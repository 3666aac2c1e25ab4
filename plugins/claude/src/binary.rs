//! Finding Claude Code: where it is, which version, what that version can do, whether somebody is logged in.

use crate::describe::{INSTALL, KEYS, PLACES, PROVIDERS};
use wharf_adapter::{
    Binary, Capabilities, Command, Failure, Host, Json, Level, Login, Support, Surroundings, Version, locate,
    probe_version,
};

/// The oldest and the newest version that the adapter was tried with.
const OLDEST: Version = Version(2, 0, 76);
const NEWEST: Version = Version(2, 1, 325);

/// Find the program.
pub(crate) fn resolve(host: &dyn Host, around: &Surroundings) -> Result<Binary, Failure> {
    let places = PLACES.map(|place| at_home(place, around.home.as_deref()));
    let candidates: Vec<&str> = std::iter::once("claude").chain(places.iter().flatten().map(String::as_str)).collect();
    let mut binary = Binary::at(locate(host, around, &candidates, INSTALL)?);
    let version = probe_version(host, &binary.program, &["--version"], 10_000).ok().flatten();
    binary.support = support(version);
    binary.capabilities = capabilities(version);
    binary.version = version.map(|version| version.to_string());
    binary.login = login(host, &binary.program);
    notes(host, around, &mut binary);
    Ok(binary)
}

/// A place below the home folder, where there is one.
fn at_home(place: &str, home: Option<&str>) -> Option<String> {
    match place.strip_prefix('~') {
        Some(rest) => home.map(|home| format!("{home}{rest}")),
        None => Some(place.to_owned()),
    }
}

fn support(version: Option<Version>) -> Support {
    match version {
        Some(version) if version > NEWEST => Support::NewerUntested,
        Some(version) if version < OLDEST => Support::OlderUntested,
        Some(_) => Support::Tested,
        None => Support::BestEffort,
    }
}

/// What a version can do; one that is not known is taken for a new one.
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
        | Capabilities::DUPLEX
        | Capabilities::ASKS
        | Capabilities::STEERING
        | Capabilities::INTERRUPT
        | Capabilities::TOOL_RULES
        | Capabilities::MCP_SERVERS
        | Capabilities::STRUCTURED_OUTPUT;
    if version.is_none_or(|version| version >= Version(2, 1, 0)) {
        always | Capabilities::EFFORT_LEVELS | Capabilities::BARE_MODE
    } else {
        always
    }
}

/// A key, another provider, or what `claude auth status` says. None of them tells whether the key is good.
fn login(host: &dyn Host, program: &str) -> Login {
    if let Some(name) = KEYS.into_iter().chain(PROVIDERS).find(|name| host.set_variable(name).is_some()) {
        return Login::Present(name.to_owned());
    }
    let args = ["auth", "status"].map(str::to_owned).to_vec();
    let command = Command { program: program.to_owned(), args, stdin: vec![], timeout_ms: 10_000 };
    let Ok(output) = host.run(&command) else { return Login::Unknown };
    let text = String::from_utf8_lossy(&output.stdout);
    // 2.0 has no such command, and takes it for a prompt.
    match Json::parse(&text).get("loggedIn").bool() {
        Some(true) if output.code == Some(0) => Login::Present("claude auth status".to_owned()),
        Some(_) => Login::Missing("run `claude auth login`, or set ANTHROPIC_API_KEY".to_owned()),
        None => Login::Unknown,
    }
}

fn notes(host: &dyn Host, around: &Surroundings, binary: &mut Binary) {
    if around.home.as_deref() == Some("/root") || host.set_variable("USER").as_deref() == Some("root") {
        let text = "Claude Code refuses to skip permissions for root";
        let fix =
            "run as another user; or set the option `sandboxed` if this machine is a sandbox; or let approvals ask";
        if host.set_variable("IS_SANDBOX").is_none() {
            binary.note(Level::Warn, text, Some(fix));
        }
    }
    if binary.version.is_none() {
        binary.note(Level::Warn, "its version could not be found out", Some("try `claude --version`"));
    }
    if host.set_variable("ANTHROPIC_API_KEY").is_some() && host.set_variable("ANTHROPIC_AUTH_TOKEN").is_some() {
        binary.note(Level::Info, "ANTHROPIC_API_KEY and ANTHROPIC_AUTH_TOKEN are both set, and both are sent", None);
    }
}
