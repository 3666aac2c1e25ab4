//! Finds the login, without the network: the provider that the user chose once, or the variables of one.
//!
//! Qwen Code uses the provider of its settings; without one, the first whose variables are all set. No key is ever reported,
//! and none is checked.

use crate::failure::LOGIN;
use crate::info::AUTH_TYPES;
use wharf_adapter::{Binary, Host, Json, LogLevel, Login};

/// The providers that variables choose, in the order of Qwen Code: the key, and what it needs beside it.
const PROVIDERS: [(&str, &str, &[&str]); 5] = [
    ("openai", "OPENAI_API_KEY", &["OPENAI_MODEL", "OPENAI_BASE_URL"]),
    ("gemini", "GEMINI_API_KEY", &["GEMINI_MODEL"]),
    ("vertex-ai", "GOOGLE_API_KEY", &["GOOGLE_MODEL"]),
    ("vertex-ai", "GOOGLE_CLOUD_PROJECT", &["GOOGLE_MODEL"]),
    ("anthropic", "ANTHROPIC_API_KEY", &["ANTHROPIC_MODEL", "ANTHROPIC_BASE_URL"]),
];

/// The provider that the settings name.
const SETTINGS: &str = "settings.json";

/// Whether Qwen Code will find a login.
pub(crate) fn check(host: &dyn Host, home: Option<&str>, binary: &mut Binary) -> Login {
    let content = settings(host, home);
    let settings = Json::parse(content.as_deref().unwrap_or_default());
    if let Some(chosen) = settings.at(&["security", "auth", "selectedType"]).filled() {
        return stored(host, &chosen, settings, binary);
    }
    let is_set = |name: &&str| host.set_variable(name).is_some();
    let complete = PROVIDERS.iter().find(|(_, key, more)| is_set(key) && more.iter().all(is_set));
    // With a key alone Qwen Code does not know what the key is for. The adapter tells it, and a model comes with the turn.
    let chosen = complete.or_else(|| PROVIDERS.iter().find(|(_, key, _)| is_set(key)));
    match chosen {
        Some((_, key, _)) => Login::Present((*key).to_owned()),
        None => Login::Missing(LOGIN.to_owned()),
    }
}

/// The login of the provider that the user chose. Its key may also come from a variable.
fn stored(host: &dyn Host, chosen: &str, settings: Json<'_>, binary: &mut Binary) -> Login {
    if chosen == "qwen-oauth" {
        let fix = "run `qwen` and choose another provider with /auth";
        binary.note(LogLevel::Warn, "the free tier of Qwen OAuth ended in April 2026", Some(fix));
    }
    let has_key = settings.at(&["security", "auth", "apiKey"]).filled().is_some()
        || settings.get("env").fields().next().is_some();
    let key = PROVIDERS.iter().find(|(name, key, _)| *name == chosen && host.set_variable(key).is_some());
    let needs_key = PROVIDERS.iter().any(|(name, ..)| *name == chosen);
    match key {
        Some((_, key, _)) => Login::Present(format!("{key}, {SETTINGS}")),
        None if has_key || !needs_key => Login::Present(SETTINGS.to_owned()),
        None => Login::Unknown,
    }
}

/// The provider to name on the command line: the option, or the one whose key is all that was found.
pub(crate) fn auth_type<'a>(option: Json<'a>, login: &Login) -> Option<&'a str> {
    if let Some(named) = option.name().filter(|named| *named != AUTH_TYPES[0]) {
        return Some(named);
    }
    let Login::Present(by) = login else { return None };
    PROVIDERS.iter().find(|(_, key, _)| key == by).map(|(name, ..)| *name)
}

/// The user's settings.
fn settings(host: &dyn Host, home: Option<&str>) -> Option<String> {
    let folder = folder(host, home)?;
    let content = host.read_file(&format!("{folder}/{SETTINGS}")).ok()?;
    Some(String::from_utf8_lossy(&content).into_owned())
}

/// The folder of Qwen Code's settings and sessions.
pub(crate) fn folder(host: &dyn Host, home: Option<&str>) -> Option<String> {
    host.set_variable("QWEN_HOME").or_else(|| Some(format!("{}/.qwen", home?)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use wharf_adapter::testing::FakeHost;

    fn checked(host: &FakeHost) -> (Login, usize) {
        let mut binary = Binary::at("/usr/bin/qwen".to_owned());
        let login = check(host, Some("/home/user"), &mut binary);
        (login, binary.notes.len())
    }

    fn present(by: &str) -> (Login, usize) {
        (Login::Present(by.to_owned()), 0)
    }

    #[test]
    fn a_provider_is_found_by_its_variables() {
        let key = FakeHost::default().with_variable("OPENAI_API_KEY", "k");
        assert_eq!(checked(&key), present("OPENAI_API_KEY"));
        let other = key.with_variable("ANTHROPIC_API_KEY", "k").with_variable("ANTHROPIC_MODEL", "m");
        assert_eq!(checked(&other), present("OPENAI_API_KEY"));
        let complete = other.with_variable("ANTHROPIC_BASE_URL", "https://h");
        assert_eq!(checked(&complete), present("ANTHROPIC_API_KEY"), "Qwen Code uses what is complete");
        assert_eq!(checked(&FakeHost::default()), (Login::Missing(LOGIN.to_owned()), 0));
    }

    #[test]
    fn the_provider_of_the_settings_comes_first() {
        let file = "/home/user/.qwen/settings.json";
        let host = |content| FakeHost::default().with_variable("ANTHROPIC_API_KEY", "k").file(file, content);
        let openai = r#"{"security":{"auth":{"selectedType":"openai","apiKey":"k"}}}"#;
        assert_eq!(checked(&host(openai)), present("settings.json"));
        let keyless = r#"{"security":{"auth":{"selectedType":"openai"}}}"#;
        assert_eq!(checked(&host(keyless)), (Login::Unknown, 0));
        let by_variable = host(keyless).with_variable("OPENAI_API_KEY", "k");
        assert_eq!(checked(&by_variable), present("OPENAI_API_KEY, settings.json"));
        let oauth = r#"{"security":{"auth":{"selectedType":"qwen-oauth"}}}"#;
        assert_eq!(checked(&host(oauth)), (Login::Present("settings.json".to_owned()), 1));
        let elsewhere = FakeHost::default().with_variable("QWEN_HOME", "/q").file("/q/settings.json", openai);
        assert_eq!(checked(&elsewhere), present("settings.json"));
        assert_eq!(checked(&host("{broken")), present("ANTHROPIC_API_KEY"));
    }

    #[test]
    fn the_provider_is_named_only_if_nothing_else_names_it() {
        let of = |option, login: Login| auth_type(Json::parse(option), &login);
        let by = |by: &str| Login::Present(by.to_owned());
        assert_eq!(of("\"configured\"", by("OPENAI_API_KEY")), Some("openai"));
        assert_eq!(of("\"gemini\"", by("OPENAI_API_KEY")), Some("gemini"));
        assert_eq!(of("", by("settings.json")), None);
        assert_eq!(of("", by("OPENAI_API_KEY, settings.json")), None);
        assert_eq!(of("", Login::Unknown), None);
    }
}
