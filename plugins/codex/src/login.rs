//! Finds the login: a key in the environment, a stored login, or a provider of the user's own.
//!
//! No file is written, nothing is run, and no key is ever reported.

use crate::info::{KEY, OTHER_KEY};
use wharf_adapter::{Host, Json, Login};

/// What to do without a login.
const MISSING: &str = "run `codex login`, or set CODEX_API_KEY";

/// What to do with a key that Codex does not read: measured with 0.142.0 and 0.169.0, in both transports.
const NOT_READ: &str = "Codex does not read OPENAI_API_KEY: set CODEX_API_KEY, or run `codex login --with-api-key`";

/// Whether Codex will find a login.
pub(crate) fn check(host: &dyn Host, home: Option<&str>) -> Login {
    let config = read(host, home, "config.toml").unwrap_or_default();
    // Such a provider has its own login, in a variable that only its user knows.
    if value(&config, "model_provider").is_some_and(|provider| provider != "openai") {
        return Login::Unknown;
    }
    if host.set_variable(KEY).is_some() {
        return Login::Present(KEY.to_owned());
    }
    let stored = read(host, home, "auth.json").unwrap_or_default();
    let stored = Json::parse(&stored);
    if stored.get("OPENAI_API_KEY").filled().is_some() || stored.get("tokens").is_object() {
        return Login::Present("codex login".to_owned());
    }
    // It may be in a keychain, which only Codex can read.
    match value(&config, "cli_auth_credentials_store") {
        Some("keyring" | "auto") => Login::Unknown,
        _ if host.set_variable(OTHER_KEY).is_some() => Login::Missing(NOT_READ.to_owned()),
        _ => Login::Missing(MISSING.to_owned()),
    }
}

/// A file in the folder in which Codex keeps its state.
fn read(host: &dyn Host, home: Option<&str>, file: &str) -> Option<String> {
    let folder = host.set_variable("CODEX_HOME").or_else(|| Some(format!("{}/.codex", home?)))?;
    let content = host.read_file(&format!("{folder}/{file}")).ok()?;
    Some(String::from_utf8_lossy(&content).into_owned())
}

/// The model that the user has configured.
pub(crate) fn configured_model(host: &dyn Host) -> Option<String> {
    let home = host.set_variable("HOME").or_else(|| host.set_variable("USERPROFILE"));
    let config = read(host, home.as_deref(), "config.toml")?;
    value(&config, "model").map(str::to_owned)
}

/// The string of a key before the first table of a TOML file.
fn value<'a>(config: &'a str, key: &str) -> Option<&'a str> {
    let lines = config.lines().map(str::trim).take_while(|line| !line.starts_with('['));
    let mut values = lines.filter_map(|line| line.strip_prefix(key)?.trim_start().strip_prefix('='));
    let value = values.next()?.trim_start();
    let quote = value.chars().next().filter(|quote| matches!(quote, '"' | '\''))?;
    value[1..].split(quote).next()
}

#[cfg(test)]
mod tests {
    use super::*;
    use wharf_adapter::testing::FakeHost;

    fn checked(host: &FakeHost) -> Login {
        check(host, Some("/home/user"))
    }

    #[test]
    fn a_login_is_found_where_codex_looks_for_it() {
        let present = |by: &str| Login::Present(by.to_owned());
        assert_eq!(checked(&FakeHost::default()), Login::Missing(MISSING.to_owned()));
        assert_eq!(checked(&FakeHost::default().with_variable(KEY, "sk")), present(KEY));
        for stored in [r#"{"OPENAI_API_KEY":"sk"}"#, r#"{"OPENAI_API_KEY":null,"tokens":{"id_token":"x"}}"#] {
            let home = FakeHost::default().file("/home/user/.codex/auth.json", stored);
            assert_eq!(checked(&home), present("codex login"));
            let elsewhere = FakeHost::default().with_variable("CODEX_HOME", "/c").file("/c/auth.json", stored);
            assert_eq!(checked(&elsewhere), present("codex login"));
        }
        let empty = FakeHost::default().file("/home/user/.codex/auth.json", r#"{"OPENAI_API_KEY":null}"#);
        assert_eq!(checked(&empty), Login::Missing(MISSING.to_owned()));
    }

    #[test]
    fn the_model_is_the_configured_one() {
        let host = FakeHost::default().with_variable("HOME", "/home/user");
        assert_eq!(configured_model(&host), None);
        let config = "model_provider = \"lab\"\nmodel = \"gpt-5.5\"\n";
        let host = host.file("/home/user/.codex/config.toml", config);
        assert_eq!(configured_model(&host).as_deref(), Some("gpt-5.5"));
    }

    #[test]
    fn a_key_that_codex_does_not_read_is_no_login() {
        let host = FakeHost::default().with_variable(OTHER_KEY, "sk");
        assert_eq!(checked(&host), Login::Missing(NOT_READ.to_owned()));
    }

    #[test]
    fn what_only_codex_can_know_is_unknown() {
        for (config, login) in [
            ("model_provider = \"lab\"\n", Login::Unknown),
            ("model = 'm'\nmodel_provider='lab' # mine\n", Login::Unknown),
            ("model_provider = \"openai\"\n", Login::Missing(MISSING.to_owned())),
            ("[profiles.x]\nmodel_provider = \"lab\"\n", Login::Missing(MISSING.to_owned())),
            ("cli_auth_credentials_store = \"keyring\"\n", Login::Unknown),
            ("# model_provider = \"lab\"\n", Login::Missing(MISSING.to_owned())),
            ("model_provider = \"é", Login::Unknown),
            ("model_provider = 7", Login::Missing(MISSING.to_owned())),
        ] {
            let host = FakeHost::default().file("/home/user/.codex/config.toml", config);
            assert_eq!(checked(&host), login, "{config}");
        }
    }
}
