//! The one place that says yes. Pure: it looks at what the adapter asked for in its description, at what the user
//! granted, and at the thing itself; it touches neither the disk nor the network.
//!
//! Grants are two-sided. An adapter that did not ask for a thing in its `needs` does not get it however much was
//! granted, and what it asked for it gets only as far as the user granted it.

use crate::info::Needs;
use globset::GlobBuilder;
use std::fmt;
use std::path::Path;

/// What one adapter may do.
#[derive(Debug, Clone, Default)]
pub struct Policy {
    /// What the adapter asks for.
    pub needs: Needs,
    /// What the user grants.
    pub grants: Needs,
    /// The program that the user named for this adapter: granted by having been named.
    pub named_program: Option<String>,
    /// The user's home, for patterns that begin with `~`.
    pub home: Option<String>,
}

/// Why not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Denial {
    /// What was asked for: `the program "gh"`.
    pub what: String,
    /// Why it is denied.
    pub why: Why,
}

/// The reasons of a denial.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// The adapter's description does not ask for it.
    NotDeclared,
    /// The user did not grant it.
    NotGranted,
    /// Nobody may have it.
    Never,
}

impl fmt::Display for Denial {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let why = match self.why {
            Why::NotDeclared => "the adapter does not name it in its needs",
            Why::NotGranted => "the user has not granted it",
            Why::Never => "no adapter may have it",
        };
        write!(formatter, "{}: {why}", self.what)
    }
}

/// Variables that make a program load other code than its own. An adapter may not set them, whatever was granted.
const LOADER_VARIABLES: [&str; 18] = [
    "PATH",
    "IFS",
    "ENV",
    "BASH_ENV",
    "SHELLOPTS",
    "NODE_OPTIONS",
    "PYTHONPATH",
    "PYTHONSTARTUP",
    "PERL5OPT",
    "RUBYOPT",
    "GIT_SSH_COMMAND",
    "WHARF_RUN",
    "WHARF_HOST",
    "NODE_PATH",
    "PYTHONHOME",
    "PERL5LIB",
    "RUBYLIB",
    "GIT_EXEC_PATH",
];

impl Policy {
    /// May a program be looked up or run? A name, or an absolute path.
    pub fn program(&self, program: &str) -> Result<(), Denial> {
        if self.named_program.as_deref() == Some(program) {
            return Ok(());
        }
        let fits = |pattern: &str| {
            if pattern.contains('/') { path_fits(pattern, program, self.home.as_deref()) } else { program == pattern }
        };
        self.both_sides(format!("the program {program:?}"), |needs| &needs.programs, fits)
    }

    /// May a program be run? By a path that was granted, or because a name that was granted leads there: `found` looks
    /// a name up. That the file is called by such a name is not enough, anybody can call a file so.
    pub fn run_program(&self, path: &str, found: impl Fn(&str) -> Option<String>) -> Result<(), Denial> {
        self.program(path).or_else(|denial| {
            let names = self.needs.programs.iter().filter(|name| !name.contains('/') && self.program(name).is_ok());
            let leads = names.into_iter().any(|name| found(name).as_deref() == Some(path));
            if leads && Path::new(path).is_absolute() { Ok(()) } else { Err(denial) }
        })
    }

    /// May a variable be read, passed on or set?
    pub fn variable(&self, name: &str) -> Result<(), Denial> {
        self.both_sides(format!("the variable {name}"), |needs| &needs.variables, |pattern| pattern == name)
    }

    /// May the adapter set a variable for the agent?
    pub fn set_variable(&self, name: &str) -> Result<(), Denial> {
        if LOADER_VARIABLES.contains(&name) || name.starts_with("LD_") || name.starts_with("DYLD_") {
            return Err(Denial { what: format!("setting the variable {name}"), why: Why::Never });
        }
        self.variable(name)
    }

    /// May a file be read? An absolute path without links or dots in it.
    pub fn file(&self, path: &str) -> Result<(), Denial> {
        let fits = |pattern: &str| path_fits(pattern, path, self.home.as_deref());
        self.both_sides(format!("the file {path:?}"), |needs| &needs.files, fits)
    }

    /// May a request go to this URL? `variables` gives the value of a variable, for patterns like `$NAME`.
    pub fn origin(&self, url: &reqwest::Url, variables: impl Fn(&str) -> Option<String>) -> Result<(), Denial> {
        let origin = url.origin().ascii_serialization();
        let what = format!("the origin {origin}");
        let local = url.scheme() == "http" && is_loopback(url);
        if !(url.scheme() == "https" || local) || !url.username().is_empty() || url.password().is_some() {
            return Err(Denial { what, why: Why::Never });
        }
        let fits = |pattern: &str| {
            let named = match pattern.strip_prefix('$') {
                Some(name) => variables(name),
                None => Some(pattern.to_owned()),
            };
            let named = named.and_then(|named| reqwest::Url::parse(&named).ok());
            named.is_some_and(|named| named.origin().ascii_serialization() == origin)
        };
        self.both_sides(what, |needs| &needs.origins, fits)
    }

    fn both_sides(
        &self,
        what: String,
        list: impl Fn(&Needs) -> &Vec<String>,
        fits: impl Fn(&str) -> bool,
    ) -> Result<(), Denial> {
        if !list(&self.needs).iter().any(|pattern| fits(pattern)) {
            return Err(Denial { what, why: Why::NotDeclared });
        }
        if !list(&self.grants).iter().any(|pattern| fits(pattern)) {
            return Err(Denial { what, why: Why::NotGranted });
        }
        Ok(())
    }

    /// What the adapter asks for and has not been granted, as TOML to put into the configuration.
    pub fn missing(&self) -> Needs {
        let without = |needs: &[String], grants: &[String]| -> Vec<String> {
            needs.iter().filter(|need| !grants.contains(need)).cloned().collect()
        };
        Needs {
            programs: without(&self.needs.programs, &self.grants.programs),
            origins: without(&self.needs.origins, &self.grants.origins),
            variables: without(&self.needs.variables, &self.grants.variables),
            files: without(&self.needs.files, &self.grants.files),
        }
    }
}

/// Whether a URL's host is this very machine, by address or as `localhost`.
pub(crate) fn is_loopback(url: &reqwest::Url) -> bool {
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// Addresses that only a grant that names them opens: this machine, the local network, the cloud's metadata.
pub(crate) fn is_public(address: std::net::IpAddr) -> bool {
    use std::net::IpAddr;
    match address {
        IpAddr::V4(v4) => {
            let [a, b, c, _] = v4.octets();
            !(v4.is_loopback()
                || v4.is_private()
                || v4.is_link_local()
                || v4.is_unspecified()
                || v4.is_broadcast()
                || v4.is_multicast()
                || v4.is_documentation()
                || a == 0
                || a >= 240
                || (a == 100 && (64..128).contains(&b))
                || (a == 192 && b == 0 && c == 0)
                || (a == 198 && (18..20).contains(&b)))
        }
        IpAddr::V6(v6) => {
            if let Some(v4) = v6.to_ipv4_mapped().or_else(|| embedded(v6)) {
                return is_public(IpAddr::V4(v4));
            }
            !(v6.is_loopback()
                || v6.is_unspecified()
                || v6.is_multicast()
                || v6.is_unique_local()
                || v6.is_unicast_link_local()
                || v6.segments()[0] & 0xffc0 == 0xfec0
                || v6.segments()[..2] == [0x2001, 0x0db8])
        }
    }
}

/// The IPv4 address inside of a NAT64 or 6to4 one, which a gateway would take us to.
#[expect(clippy::many_single_char_names, reason = "the parts of an address have no better names")]
fn embedded(v6: std::net::Ipv6Addr) -> Option<std::net::Ipv4Addr> {
    let [a, b, c, .., y, z] = v6.segments();
    let join = |high: u16, low: u16| std::net::Ipv4Addr::from((u32::from(high) << 16) | u32::from(low));
    match (a, b) {
        (0x64, 0xff9b) => Some(join(y, z)),
        (0x2002, _) => Some(join(b, c)),
        (0, 0) if v6.segments()[..6] == [0; 6] && v6 != std::net::Ipv6Addr::LOCALHOST => Some(join(y, z)),
        _ => None,
    }
}

/// Whether a path fits a pattern. `*` stays within a folder, `**` does not, `~` is the home. A path with `.` or `..`
/// in it fits nothing.
fn path_fits(pattern: &str, path: &str, home: Option<&str>) -> bool {
    let clean = Path::new(path).is_absolute() && !path.split(['/', '\\']).any(|part| part == "." || part == "..");
    let pattern = match (pattern.strip_prefix("~/"), home) {
        (Some(rest), Some(home)) => format!("{}/{rest}", globset::escape(home.trim_end_matches('/'))),
        (Some(_), None) => return false,
        (None, _) => pattern.to_owned(),
    };
    let glob = GlobBuilder::new(&pattern).literal_separator(true).backslash_escape(true).build();
    clean && glob.is_ok_and(|glob| glob.compile_matcher().is_match(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn needs(programs: &[&str], origins: &[&str], variables: &[&str], files: &[&str]) -> Needs {
        let owned = |list: &[&str]| list.iter().map(|item| (*item).to_owned()).collect();
        Needs { programs: owned(programs), origins: owned(origins), variables: owned(variables), files: owned(files) }
    }

    fn policy() -> Policy {
        let all = needs(
            &["gh", "~/.local/bin/claude", "**/node_modules/@github/copilot-*/copilot", "undone"],
            &["https://api.example.com", "http://127.0.0.1:8080", "$BASE_URL", "https://ungranted.example.com"],
            &["TOKEN", "UNGRANTED", "BASE_URL", "PATH", "LD_PRELOAD"],
            &["~/.agent/*.json", "/etc/ungranted"],
        );
        let grants = needs(
            &["gh", "~/.local/bin/claude", "**/node_modules/@github/copilot-*/copilot", "undeclared"],
            &["https://api.example.com", "http://127.0.0.1:8080", "$BASE_URL", "https://undeclared.example.com"],
            &["TOKEN", "UNDECLARED", "BASE_URL", "PATH", "LD_PRELOAD"],
            &["~/.agent/*.json", "/etc/undeclared"],
        );
        Policy { needs: all, grants, named_program: Some("/opt/mine".into()), home: Some("/home/u".into()) }
    }

    fn why(result: Result<(), Denial>) -> Option<Why> {
        result.err().map(|denial| denial.why)
    }

    #[test]
    fn programs() {
        for (program, denied) in [
            ("gh", None),
            ("/home/u/.local/bin/claude", None),
            ("/opt/mine", None),
            ("/usr/lib/node_modules/@github/copilot-linux-x64/copilot", None),
            ("/usr/lib/node_modules/@github/copilot-a/b/copilot", Some(Why::NotDeclared)),
            ("/home/u/.local/bin/../../evil", Some(Why::NotDeclared)),
            ("/home/other/.local/bin/claude", Some(Why::NotDeclared)),
            ("sh", Some(Why::NotDeclared)),
            ("/bin/sh", Some(Why::NotDeclared)),
            ("undeclared", Some(Why::NotDeclared)),
            ("undone", Some(Why::NotGranted)),
        ] {
            assert_eq!(why(policy().program(program)), denied, "{program}");
        }
        let found = |name: &str| (name == "gh" || name == "undone").then(|| format!("/usr/bin/{name}"));
        for (path, denied) in [
            ("/usr/bin/gh", None),
            ("/opt/mine", None),
            ("/tmp/workspace/gh", Some(Why::NotDeclared)),
            ("./gh", Some(Why::NotDeclared)),
            ("/usr/bin/undone", Some(Why::NotDeclared)),
            ("/usr/bin/sh", Some(Why::NotDeclared)),
        ] {
            assert_eq!(why(policy().run_program(path, found)), denied, "{path}");
        }
    }

    #[test]
    fn variables() {
        for (name, denied) in [
            ("TOKEN", None),
            ("UNGRANTED", Some(Why::NotGranted)),
            ("UNDECLARED", Some(Why::NotDeclared)),
            ("HOME", Some(Why::NotDeclared)),
        ] {
            assert_eq!(why(policy().variable(name)), denied, "{name}");
        }
        for (name, denied) in [
            ("TOKEN", None),
            ("PATH", Some(Why::Never)),
            ("LD_PRELOAD", Some(Why::Never)),
            ("DYLD_X", Some(Why::Never)),
        ] {
            assert_eq!(why(policy().set_variable(name)), denied, "{name}");
        }
    }

    #[test]
    fn files() {
        for (path, denied) in [
            ("/home/u/.agent/a.json", None),
            ("/home/u/.agent/sub/a.json", Some(Why::NotDeclared)),
            ("/home/u/.agent/../x.json", Some(Why::NotDeclared)),
            ("relative.json", Some(Why::NotDeclared)),
            ("/etc/undeclared", Some(Why::NotDeclared)),
            ("/etc/ungranted", Some(Why::NotGranted)),
        ] {
            assert_eq!(why(policy().file(path)), denied, "{path}");
        }
    }

    #[test]
    fn origins() {
        let variables = |name: &str| (name == "BASE_URL").then(|| "http://127.0.0.1:9999/v1".to_owned());
        for (url, denied) in [
            ("https://api.example.com/models?x=1", None),
            ("https://api.example.com:443/", None),
            ("http://127.0.0.1:8080/models", None),
            ("http://127.0.0.1:9999/v1/models", None),
            ("http://127.0.0.1:8081/", Some(Why::NotDeclared)),
            ("https://api.example.com:444/", Some(Why::NotDeclared)),
            ("https://api.example.com.evil.test/", Some(Why::NotDeclared)),
            ("https://user@api.example.com/", Some(Why::Never)),
            ("http://api.example.com/", Some(Why::Never)),
            ("ftp://api.example.com/", Some(Why::Never)),
            ("file:///etc/passwd", Some(Why::Never)),
            ("https://ungranted.example.com/", Some(Why::NotGranted)),
            ("https://undeclared.example.com/", Some(Why::NotDeclared)),
        ] {
            let url = reqwest::Url::parse(url).expect("a URL");
            assert_eq!(why(policy().origin(&url, variables)), denied, "{url}");
        }
    }

    #[test]
    fn addresses_that_are_not_public() {
        for address in [
            "127.0.0.1",
            "10.0.0.1",
            "172.16.0.1",
            "192.168.1.1",
            "169.254.169.254",
            "100.64.0.1",
            "0.0.0.0",
            "0.1.2.3",
            "224.0.0.1",
            "255.255.255.255",
            "::1",
            "::",
            "fe80::1",
            "fd00::1",
            "::ffff:127.0.0.1",
            "64:ff9b::a00:1",
            "2002:7f00:1::",
            "fec0::1",
            "::7f00:1",
        ] {
            assert!(!is_public(address.parse().expect("an address")), "{address}");
        }
        for address in ["1.1.1.1", "140.82.112.3", "2606:4700::1111", "::ffff:1.1.1.1"] {
            assert!(is_public(address.parse().expect("an address")), "{address}");
        }
    }
}
