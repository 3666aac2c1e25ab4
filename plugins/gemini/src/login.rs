//! Finds the login: a key or a switch in the environment, or what the CLI's settings say. No secret is read.

use crate::evidence::AUTH_TYPE;
use crate::failure::LOGIN;
use crate::info::STATE;
use wharf_adapter::{Binary, Host, HostError, Json, LogLevel, Login};

/// A file of the CLI's own folder.
enum OwnFile {
    Content(String),
    Absent,
    /// It may not be read, so it says nothing.
    Unknown,
}

/// What the login means for a turn.
#[derive(Debug)]
pub(crate) struct Access {
    pub(crate) login: Login,
    /// Whether only ACP accepts it.
    pub(crate) needs_acp: bool,
    /// Whether ACP loads sessions with it: new ones it starts with a key alone.
    pub(crate) loads: bool,
}

impl Default for Access {
    /// Nothing is known.
    fn default() -> Access {
        Access { login: Login::Unknown, needs_acp: false, loads: true }
    }
}

/// Whether the CLI will find a login, without asking anybody.
pub(crate) fn check(host: &dyn Host, home: Option<&str>, binary: &mut Binary) -> Access {
    let home = host.set_variable(STATE).or_else(|| home.map(str::to_owned));
    let settings = own_file(host, home.as_deref(), "settings.json");
    let chosen = match &settings {
        OwnFile::Content(text) => Json::parse(text).at(&["security", "auth", "selectedType"]).string(),
        OwnFile::Absent | OwnFile::Unknown => None,
    };
    let has_url = host.set_variable("GOOGLE_GEMINI_BASE_URL").is_some();
    let is_unknown = matches!(settings, OwnFile::Unknown);
    let needs_acp = has_url && chosen.is_none() && !is_unknown && !OTHER_WAYS.iter().any(|name| is_on(host, name));
    if needs_acp {
        let text =
            "GOOGLE_GEMINI_BASE_URL is set, and the settings name no way to log in: only the transport acp works";
        binary.note(LogLevel::Warn, text, Some(AUTH_TYPE));
    }
    let loads = chosen.is_some() || has_url || is_unknown;
    Access { login: login(host, home.as_deref(), &settings, chosen.as_deref()), needs_acp, loads }
}

/// Variables that choose a way to log in, before the address and the key do.
const OTHER_WAYS: [&str; 3] = ["GOOGLE_GENAI_USE_GCA", "GOOGLE_GENAI_USE_VERTEXAI", "GEMINI_CLI_USE_COMPUTE_ADC"];

fn is_on(host: &dyn Host, name: &str) -> bool {
    host.set_variable(name).is_some_and(|value| value == "true")
}

fn login(host: &dyn Host, home: Option<&str>, settings: &OwnFile, chosen: Option<&str>) -> Login {
    let is_set = |name: &str| host.set_variable(name).is_some();
    let present = |how: &str| Login::Present(how.to_owned());
    match chosen {
        Some("gemini-api-key") if is_set("GEMINI_API_KEY") => return present("GEMINI_API_KEY"),
        Some("vertex-ai") if is_set("GOOGLE_API_KEY") => return present("GOOGLE_API_KEY"),
        // Of any other way the settings do not say whether it works: a key may be in a keychain.
        Some("oauth-personal") if has_account(host, home) => return present("google_accounts.json"),
        Some(_) => return Login::Unknown,
        None => {}
    }
    let by_switch = OTHER_WAYS.into_iter().find(|name| is_on(host, name));
    let by_url = || Some("GOOGLE_GEMINI_BASE_URL").filter(|name| is_set(name));
    if let Some(name) = by_switch.or_else(by_url) {
        return present(name);
    }
    match (is_set("GEMINI_API_KEY"), settings) {
        (true, _) => present("GEMINI_API_KEY"),
        // Only if every place was looked at. A file `.env` of the user may have a key, too.
        (false, OwnFile::Absent) if host.variable("GEMINI_API_KEY").is_ok() => Login::Missing(LOGIN.to_owned()),
        _ => Login::Unknown,
    }
}

/// Whether a Google account is in use.
fn has_account(host: &dyn Host, home: Option<&str>) -> bool {
    match own_file(host, home, "google_accounts.json") {
        OwnFile::Content(text) => Json::parse(&text).get("active").filled().is_some(),
        OwnFile::Absent | OwnFile::Unknown => false,
    }
}

fn own_file(host: &dyn Host, home: Option<&str>, name: &str) -> OwnFile {
    let Some(home) = home else { return OwnFile::Unknown };
    match host.read_file(&format!("{home}/.gemini/{name}")) {
        Ok(content) => OwnFile::Content(String::from_utf8_lossy(&content).into_owned()),
        Err(HostError::NotFound(_)) => OwnFile::Absent,
        Err(_) => OwnFile::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wharf_adapter::testing::FakeHost;

    fn host(variables: &[(&str, &str)], settings: Option<&str>) -> FakeHost {
        let mut host = FakeHost::default();
        for (name, value) in variables {
            host = host.with_variable(name, value);
        }
        if let Some(selected) = settings {
            let text = format!(r#"{{"security":{{"auth":{{"selectedType":"{selected}"}}}}}}"#);
            host.files.insert("/home/user/.gemini/settings.json".to_owned(), text.into_bytes());
        }
        host
    }

    fn login(host: &FakeHost) -> (Login, usize) {
        let mut binary = Binary::at("/bin/gemini".to_owned());
        (check(host, Some("/home/user"), &mut binary).login, binary.notes.len())
    }

    #[test]
    fn a_login_is_present_only_if_the_cli_would_use_it() {
        let present = |how: &str| Login::Present(how.to_owned());
        let key = ("GEMINI_API_KEY", "k");
        let url = ("GOOGLE_GEMINI_BASE_URL", "http://127.0.0.1:1");
        for (host, expected) in [
            (host(&[key], None), (present("GEMINI_API_KEY"), 0)),
            (host(&[key], Some("gemini-api-key")), (present("GEMINI_API_KEY"), 0)),
            (host(&[key, url], Some("gemini-api-key")), (present("GEMINI_API_KEY"), 0)),
            (host(&[key, url], None), (present("GOOGLE_GEMINI_BASE_URL"), 1)),
            (host(&[], Some("gemini-api-key")), (Login::Unknown, 0)),
            (host(&[key], Some("oauth-personal")), (Login::Unknown, 0)),
            (host(&[("GOOGLE_GENAI_USE_VERTEXAI", "true")], None), (present("GOOGLE_GENAI_USE_VERTEXAI"), 0)),
            (host(&[("GOOGLE_GENAI_USE_VERTEXAI", "false")], None), (Login::Missing(LOGIN.to_owned()), 0)),
            (host(&[], None), (Login::Missing(LOGIN.to_owned()), 0)),
        ] {
            assert_eq!(login(&host), expected, "{:?} {:?}", host.variables, host.files);
        }
    }

    #[test]
    fn a_google_account_in_use_is_a_login_and_one_that_was_left_is_not() {
        for (accounts, is_present) in
            [(r#"{"active":"a@b.c","old":[]}"#, true), (r#"{"active":null,"old":["a@b.c"]}"#, false)]
        {
            let mut host = host(&[], Some("oauth-personal"));
            host.files.insert("/home/user/.gemini/google_accounts.json".to_owned(), accounts.into());
            assert_eq!(matches!(login(&host).0, Login::Present(_)), is_present, "{accounts}");
        }
    }

    #[test]
    fn an_isolated_state_folder_has_its_own_login() {
        let mut host = host(&[("GEMINI_CLI_HOME", "/isolated")], Some("oauth-personal"));
        assert_eq!(login(&host).0, Login::Missing(LOGIN.to_owned()));
        let text = r#"{"security":{"auth":{"selectedType":"vertex-ai"}}}"#;
        host.files.insert("/isolated/.gemini/settings.json".to_owned(), text.into());
        assert_eq!(login(&host.with_variable("GOOGLE_API_KEY", "k")).0, Login::Present("GOOGLE_API_KEY".to_owned()));
    }
}
