//! Finds a login without a network: a key in the environment, or the file in which `OpenCode` keeps its logins.

use crate::info::KEYS;
use crate::product::Product;
use wharf_adapter::{Host, Json, Login};

/// Whether `OpenCode` will find a login. Without one it can still use its own free models, and what its configuration files
/// name: then nothing is known.
pub(crate) fn check(host: &dyn Host, home: Option<&str>, product: Product) -> Login {
    if stored(host, home, product) {
        return Login::Present(format!("{} auth login", product.command()));
    }
    let own = product.variable("API_KEY");
    let keys = std::iter::once(own.as_str()).chain(KEYS.iter().copied());
    match keys.into_iter().find(|name| host.set_variable(name).is_some()) {
        Some(name) => Login::Present(name.to_owned()),
        None => Login::Unknown,
    }
}

/// Whether the file has a login for any provider. Its keys are not looked at.
fn stored(host: &dyn Host, home: Option<&str>, product: Product) -> bool {
    let data = host.set_variable("XDG_DATA_HOME").or_else(|| Some(format!("{}/.local/share", home?)));
    let path = data.map(|data| format!("{data}/{}/auth.json", product.command()));
    let Some(content) = path.and_then(|path| host.read_file(&path).ok()) else { return false };
    let content = String::from_utf8_lossy(&content);
    Json::parse(&content).fields().any(|(_, login)| login.get("type").is_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use wharf_adapter::testing::FakeHost;

    #[test]
    fn a_login_is_found_in_its_file_or_in_the_environment() {
        let checked = |host: &FakeHost, product| check(host, Some("/home/user"), product);
        let file = "/home/user/.local/share/opencode/auth.json";
        let logged_in = FakeHost::default().file(file, r#"{"anthropic":{"type":"api","key":"k"}}"#);
        assert_eq!(checked(&logged_in, Product::OpenCode), Login::Present("opencode auth login".to_owned()));
        assert_eq!(checked(&logged_in, Product::Kilo), Login::Unknown);
        for content in ["{}", "", "[", "{\"x\":1}"] {
            assert_eq!(checked(&FakeHost::default().file(file, content), Product::OpenCode), Login::Unknown);
        }
        let key = FakeHost::default().with_variable("OPENROUTER_API_KEY", "k");
        assert_eq!(checked(&key, Product::OpenCode), Login::Present("OPENROUTER_API_KEY".to_owned()));
        let moved = FakeHost::default()
            .with_variable("XDG_DATA_HOME", "/data")
            .file("/data/kilo/auth.json", r#"{"kilo":{"type":"oauth"}}"#);
        assert_eq!(checked(&moved, Product::Kilo), Login::Present("kilo auth login".to_owned()));
    }
}
