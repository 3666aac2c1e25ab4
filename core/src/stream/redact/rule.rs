//! Which values are secrets: one rule, and the user's word for single variables.

use super::vocabulary;

/// Shorter values are likely to be ordinary words: replacing them would damage the recording and hide nothing.
const SHORTEST_SECRET: usize = 8;

/// Variables whose names end like this hold settings, not secrets.
const SETTING_SUFFIXES: [&str; 8] = ["MODEL", "URL", "HOME", "DIR", "PATH", "TYPE", "REGION", "API"];

/// Whether a variable's value is kept out of recordings, events and logs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Secrecy {
    /// As [`is_secret`] says.
    #[default]
    ByRule,
    /// It is, unless it is shorter than 8 bytes or a word of the formats that wharf writes.
    Secret,
    /// It is not.
    Plain,
}

/// Whether a variable's value must be kept out of recordings and logs.
///
/// It must, unless it is shorter than 8 bytes (surrounding whitespace does not count), is a number or a boolean, or the
/// name ends in MODEL, URL, HOME, DIR, PATH, TYPE, REGION or API. A word of the formats that wharf writes ("workspace",
/// "completed") is not a secret either. A URL that contains a login is always a secret. If in doubt, a value is a secret.
pub fn is_secret(name: &str, value: &str) -> bool {
    let value = value.trim();
    let name = name.to_ascii_uppercase();
    let is_setting = SETTING_SUFFIXES.iter().any(|suffix| name.ends_with(suffix));
    can_be_secret(value) && !is_number(value) && (!is_setting || has_login(value))
}

/// The same with the user's word.
pub(super) fn counts_as_secret(name: &str, value: &str, secrecy: Secrecy) -> bool {
    match secrecy {
        Secrecy::ByRule => is_secret(name, value),
        Secrecy::Secret => can_be_secret(value),
        Secrecy::Plain => false,
    }
}

/// Whether replacing a value everywhere leaves the rest readable.
pub(super) fn can_be_secret(value: &str) -> bool {
    value.len() >= SHORTEST_SECRET && !vocabulary::contains(value)
}

/// Whether a value is a URL that contains a login.
pub fn has_login(value: &str) -> bool {
    value.contains("://") && value.contains('@')
}

/// The login in a URL, and the password in it: programs print them without the rest, or with another spelling of it.
pub(super) fn logins(value: &str) -> impl Iterator<Item = &str> {
    let authority = value.split_once("://").map(|(_, rest)| rest.split(['/', '?', '#']).next().unwrap_or(rest));
    let login = authority.and_then(|authority| authority.rsplit_once('@')).map(|(login, _)| login);
    let password = login.and_then(|login| login.split_once(':')).map(|(_, password)| password);
    login.into_iter().chain(password).filter(|part| can_be_secret(part))
}

/// Whether it is a plain decimal number. An exponent is not accepted: `12345678e9012345` is more likely a hexadecimal
/// key. Booleans need no check, because they are too short.
fn is_number(value: &str) -> bool {
    let digits = value.strip_prefix(['-', '+']).unwrap_or(value);
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    whole.bytes().chain(fraction.bytes()).all(|byte| byte.is_ascii_digit())
}
