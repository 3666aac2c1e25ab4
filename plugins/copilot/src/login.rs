//! Finds the login: a custom provider, a token in the environment, or a stored login.
//!
//! Only the prefix of a token is checked, and no token is ever reported.

use crate::info::INSTALL;
use wharf_adapter::{Binary, Host, Json, LogLevel, Login, Probe, Version};

/// The first versions that were seen to have custom providers; 0.0.423 has none.
const PROVIDERS_SINCE: Version = Version(1, 0, 0);

/// The variables that may hold a token, in the CLI's order (checked on the wire).
const TOKENS: [&str; 3] = ["COPILOT_GITHUB_TOKEN", "GH_TOKEN", "GITHUB_TOKEN"];

/// The kind of a token, by its prefix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TokenKind {
    Usable,
    Classic,
    Unknown,
}

fn kind(token: &str) -> TokenKind {
    if ["github_pat_", "gho_", "ghu_", "ghs_"].iter().any(|prefix| token.starts_with(prefix)) {
        TokenKind::Usable
    } else if token.starts_with("ghp_") {
        TokenKind::Classic
    } else {
        TokenKind::Unknown
    }
}

/// The first usable token in the environment, with the name of its variable.
pub(crate) fn token(host: &dyn Host) -> Option<(&'static str, String)> {
    TOKENS
        .into_iter()
        .filter_map(|name| Some((name, host.set_variable(name)?)))
        .find(|(_, token)| kind(token) == TokenKind::Usable)
}

/// The token of the GitHub CLI, if it is installed and logged in.
pub(crate) fn gh_token(host: &dyn Host) -> Option<String> {
    let program = host.find_program("gh").ok()?.path;
    let output = Probe::new(host, &Binary::at(program)).timeout_ms(5_000).run(&["auth", "token"]).ok()?;
    let token = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    (output.code == Some(0) && !token.is_empty()).then_some(token)
}

/// Whether the CLI will find a login. Unusable tokens are reported in notes.
pub(crate) fn check(host: &dyn Host, home: Option<&str>, binary: &mut Binary) -> Login {
    if let Some(login) = provider(host, binary) {
        return login;
    }
    for name in TOKENS {
        match host.set_variable(name).map(|token| kind(&token)) {
            Some(TokenKind::Classic) => binary.note(
                LogLevel::Error,
                format!("{name} contains a classic token (ghp_), which Copilot does not accept"),
                Some("use a fine-grained token with the permission `Copilot Requests`"),
            ),
            Some(TokenKind::Unknown) => binary.note(
                LogLevel::Warn,
                format!("{name} contains something that Copilot does not accept as a token"),
                Some("tokens start with github_pat_, gho_, ghu_ or ghs_"),
            ),
            Some(TokenKind::Usable) | None => {}
        }
    }
    if let Some((name, _)) = token(host) {
        return Login::Present(name.to_owned());
    }
    if stored(host, home) {
        return Login::Present("copilot login".to_owned());
    }
    if gh_token(host).is_some() {
        return Login::Present("gh auth token".to_owned());
    }
    let github = "run `copilot login`, or set COPILOT_GITHUB_TOKEN to a fine-grained token";
    Login::Missing(if ignores_provider(host, binary) {
        format!("this version does not know COPILOT_PROVIDER_BASE_URL: update it with `{INSTALL}`; or {github}")
    } else {
        github.to_owned()
    })
}

/// Whether a custom provider is named and this version does not know such providers.
fn ignores_provider(host: &dyn Host, binary: &Binary) -> bool {
    let version = binary.version.as_deref().and_then(Version::find);
    version.is_some_and(|version| version < PROVIDERS_SINCE) && host.set_variable("COPILOT_PROVIDER_BASE_URL").is_some()
}

/// A custom provider needs no GitHub account.
fn provider(host: &dyn Host, binary: &mut Binary) -> Option<Login> {
    if ignores_provider(host, binary) {
        let text = "this version does not know COPILOT_PROVIDER_BASE_URL: it uses a GitHub login";
        binary.note(LogLevel::Warn, text, Some(INSTALL));
        return None;
    }
    if host.set_variable("COPILOT_PROVIDER_BASE_URL").is_some() {
        if host.set_variable("COPILOT_MODEL").is_none() {
            let fix = "set COPILOT_MODEL, or name a model in every turn";
            binary.note(LogLevel::Info, "a custom provider has no default model", Some(fix));
        }
        return Some(Login::Present("COPILOT_PROVIDER_BASE_URL".to_owned()));
    }
    let offline = host.set_variable("COPILOT_OFFLINE").is_some_and(|value| value == "true");
    offline.then(|| Login::Missing("COPILOT_OFFLINE needs COPILOT_PROVIDER_BASE_URL".to_owned()))
}

/// The folder of the CLI's configuration and sessions.
pub(crate) fn folder(host: &dyn Host, home: Option<&str>) -> Option<String> {
    host.set_variable("COPILOT_HOME").or_else(|| Some(format!("{}/.copilot", home?)))
}

/// Whether the CLI's configuration contains a user. The token itself may be in a keychain.
fn stored(host: &dyn Host, home: Option<&str>) -> bool {
    let Some(content) = folder(host, home).and_then(|folder| host.read_file(&format!("{folder}/config.json")).ok())
    else {
        return false;
    };
    let content = String::from_utf8_lossy(&content);
    let config = Json::parse(&content);
    let users = |key| config.get(key).items().next().is_some();
    users("logged_in_users") || users("loggedInUsers")
}

#[cfg(test)]
mod tests {
    use super::*;
    use wharf_adapter::testing::FakeHost;

    fn checked(host: &FakeHost) -> (Login, usize) {
        let mut binary = Binary::at("/usr/bin/copilot".into());
        let login = check(host, Some("/home/user"), &mut binary);
        (login, binary.notes.len())
    }

    fn present(by: &str) -> Login {
        Login::Present(by.to_owned())
    }

    #[test]
    fn tokens_are_used_in_the_clis_order() {
        let all = [("COPILOT_GITHUB_TOKEN", "github_pat_a"), ("GH_TOKEN", "gho_b"), ("GITHUB_TOKEN", "ghs_c")];
        for first in 0..all.len() {
            let host =
                all[first..].iter().fold(FakeHost::default(), |host, (name, token)| host.with_variable(name, token));
            assert_eq!(token(&host), Some((all[first].0, all[first].1.to_owned())));
            assert_eq!(checked(&host), (present(all[first].0), 0));
        }
    }

    #[test]
    fn a_classic_token_is_reported_and_skipped() {
        let host =
            FakeHost::default().with_variable("COPILOT_GITHUB_TOKEN", "ghp_x").with_variable("GH_TOKEN", "ghu_y");
        assert_eq!(checked(&host), (present("GH_TOKEN"), 1));
        for token in ["ghp_x", "ghr_x", "garbage"] {
            let (login, notes) = checked(&FakeHost::default().with_variable("GITHUB_TOKEN", token));
            assert!(matches!(login, Login::Missing(_)) && notes == 1, "{token}");
        }
        let empty = FakeHost::default().with_variable("COPILOT_GITHUB_TOKEN", "").with_variable("GH_TOKEN", "gho_y");
        assert_eq!(checked(&empty), (present("GH_TOKEN"), 0));
    }

    #[test]
    fn other_logins_come_after_the_tokens() {
        let own = FakeHost::default().with_variable("COPILOT_PROVIDER_BASE_URL", "https://h/v1");
        assert_eq!(checked(&own), (present("COPILOT_PROVIDER_BASE_URL"), 1));
        assert_eq!(checked(&own.with_variable("COPILOT_MODEL", "m")), (present("COPILOT_PROVIDER_BASE_URL"), 0));
        let mut old = Binary { version: Some("0.0.423".into()), ..Binary::at("/usr/bin/copilot".into()) };
        let key = FakeHost::default().with_variable("COPILOT_PROVIDER_BASE_URL", "https://h/v1");
        let login = check(&key, None, &mut old);
        let says_so = matches!(&login, Login::Missing(fix) if fix.contains("COPILOT_PROVIDER_BASE_URL"));
        assert!(says_so && old.notes.len() == 1, "a version that ignores the variable: {login:?}");
        let offline = FakeHost::default().with_variable("COPILOT_OFFLINE", "true");
        assert!(matches!(checked(&offline).0, Login::Missing(_)));
        let stored = r#"{"logged_in_users":[{"host":"https://github.com","login":"u"}]}"#;
        let host = FakeHost::default().file("/home/user/.copilot/config.json", stored);
        assert_eq!(checked(&host), (present("copilot login"), 0));
        let host = FakeHost::default().program("gh", "/usr/bin/gh").output("/usr/bin/gh auth token", 0, "gho_z\n");
        assert_eq!(checked(&host), (present("gh auth token"), 0));
        let host = FakeHost::default().program("gh", "/usr/bin/gh").output("/usr/bin/gh auth token", 1, "");
        assert!(matches!(checked(&host).0, Login::Missing(_)));
    }
}
