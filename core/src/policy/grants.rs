//! The only place that allows an adapter something. Pure: it looks at the access that the adapter requested, at what
//! the user granted, and at the thing itself; it touches neither the disk nor the network.
//!
//! Grants are two-sided. What an adapter did not request it does not get, no matter what was granted; and what it
//! requested it gets only if the user granted it.

use super::loader_variables::loads_code;
use super::pattern::{LIST_LIMIT, check_item, check_path_pattern, path_matches};
use crate::model::Access;
use std::fmt;
use std::path::Path;
use url::Url;

/// What one adapter may do.
#[derive(Debug, Clone, Default)]
pub struct Grants {
    /// What the adapter requests.
    pub requested: Access,
    /// What the user grants.
    pub granted: Access,
    /// The program that the user named for this adapter: granted by being named.
    pub named_program: Option<String>,
    /// The user's home, for patterns that begin with `~`.
    pub home: Option<String>,
}

/// Why something is not allowed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Denial {
    /// What was requested: `the program "gh"`.
    pub what: String,
    /// Why it is denied.
    pub reason: DenialReason,
}

/// Why something is denied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DenialReason {
    /// The adapter's description does not request it.
    NotDeclared,
    /// The user did not grant it.
    NotGranted,
    /// No adapter may have it.
    Never,
}

impl fmt::Display for Denial {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let reason = match self.reason {
            DenialReason::NotDeclared => "the adapter does not request it",
            DenialReason::NotGranted => "the user has not granted it",
            DenialReason::Never => "no adapter may have it",
        };
        write!(formatter, "{}: {reason}", self.what)
    }
}

/// Checks the access that an adapter requests, once, when it is loaded: how much it is, and that every pattern is one.
pub fn check_requested(access: &Access) -> Result<(), String> {
    for (name, list) in [
        ("programs", &access.programs),
        ("origins", &access.origins),
        ("variables", &access.variables),
        ("files", &access.files),
    ] {
        if list.len() > LIST_LIMIT {
            return Err(format!("it requests {} {name}, more than {LIST_LIMIT}", list.len()));
        }
        for item in list {
            let pattern = name == "files" || (name == "programs" && item.contains('/'));
            let checked = if pattern { check_path_pattern(item) } else { check_item(item) };
            checked.map_err(|reason| format!("an item of the {name} that it requests is invalid: {reason}"))?;
        }
    }
    Ok(())
}

impl Grants {
    /// May a program be looked up or run? A name, or an absolute path.
    pub fn program(&self, program: &str) -> Result<(), Denial> {
        if self.named_program.as_deref() == Some(program) {
            return Ok(());
        }
        let matches = |pattern: &str| {
            if pattern.contains('/') {
                path_matches(pattern, program, self.home.as_deref())
            } else {
                program == pattern
            }
        };
        self.both_sides(format!("the program {program:?}"), |access| &access.programs, matches)
    }

    /// May a program be run? By a path that was granted, or because a name that was granted leads there: `found` looks
    /// a name up. That the file has such a name is not enough: anybody can name a file so.
    pub fn run_program(&self, path: &str, found: impl Fn(&str) -> Option<String>) -> Result<(), Denial> {
        self.program(path).or_else(|denial| {
            let names = self.requested.programs.iter().filter(|name| !name.contains('/') && self.program(name).is_ok());
            let leads = names.into_iter().any(|name| found(name).as_deref() == Some(path));
            if leads && Path::new(path).is_absolute() { Ok(()) } else { Err(denial) }
        })
    }

    /// May a variable be read, passed on or set?
    pub fn variable(&self, name: &str) -> Result<(), Denial> {
        self.both_sides(format!("the variable {name}"), |access| &access.variables, |pattern| pattern == name)
    }

    /// May the adapter set a variable for the agent?
    pub fn set_variable(&self, name: &str) -> Result<(), Denial> {
        if loads_code(name) {
            return Err(Denial { what: format!("setting the variable {name}"), reason: DenialReason::Never });
        }
        self.variable(name)
    }

    /// May a file be read? An absolute path without links or dots in it. `variables` gives the value of a variable, for
    /// patterns like `$NAME/config.json`.
    pub fn file(&self, path: &str, variables: impl Fn(&str) -> Option<String>) -> Result<(), Denial> {
        let matches = |pattern: &str| match pattern.strip_prefix('$').and_then(|rest| rest.split_once('/')) {
            // The folder in a variable, like the home for `~`.
            Some((name, rest)) => {
                let folder = variables(name).filter(|folder| Path::new(folder).is_absolute());
                folder.is_some_and(|folder| path_matches(&format!("~/{rest}"), path, Some(&folder)))
            }
            None => path_matches(pattern, path, self.home.as_deref()),
        };
        self.both_sides(format!("the file {path:?}"), |access| &access.files, matches)
    }

    /// May a request go to this URL? `variables` gives the value of a variable, for patterns like `$NAME`.
    pub fn origin(&self, url: &Url, variables: impl Fn(&str) -> Option<String>) -> Result<(), Denial> {
        let origin = url.origin().ascii_serialization();
        let what = format!("the origin {origin}");
        let local = url.scheme() == "http" && super::is_loopback(url);
        if !(url.scheme() == "https" || local) || !url.username().is_empty() || url.password().is_some() {
            return Err(Denial { what, reason: DenialReason::Never });
        }
        let matches = |pattern: &str| {
            let named = match pattern.strip_prefix('$') {
                Some(name) => variables(name),
                None => Some(pattern.to_owned()),
            };
            let named = named.and_then(|named| Url::parse(&named).ok());
            named.is_some_and(|named| named.origin().ascii_serialization() == origin)
        };
        self.both_sides(what, |access| &access.origins, matches)
    }

    fn both_sides(
        &self,
        what: String,
        list: impl Fn(&Access) -> &Vec<String>,
        matches: impl Fn(&str) -> bool,
    ) -> Result<(), Denial> {
        if !list(&self.requested).iter().any(|pattern| matches(pattern)) {
            return Err(Denial { what, reason: DenialReason::NotDeclared });
        }
        if !list(&self.granted).iter().any(|pattern| matches(pattern)) {
            return Err(Denial { what, reason: DenialReason::NotGranted });
        }
        Ok(())
    }

    /// What the adapter requests and the user has not granted.
    pub fn missing(&self) -> Access {
        let without = |requested: &[String], granted: &[String]| -> Vec<String> {
            requested.iter().filter(|item| !granted.contains(item)).cloned().collect()
        };
        Access {
            programs: without(&self.requested.programs, &self.granted.programs),
            origins: without(&self.requested.origins, &self.granted.origins),
            variables: without(&self.requested.variables, &self.granted.variables),
            files: without(&self.requested.files, &self.granted.files),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn access(programs: &[&str], origins: &[&str], variables: &[&str], files: &[&str]) -> Access {
        let owned = |list: &[&str]| list.iter().map(|item| (*item).to_owned()).collect();
        Access { programs: owned(programs), origins: owned(origins), variables: owned(variables), files: owned(files) }
    }

    fn grants() -> Grants {
        let requested = access(
            &["gh", "~/.local/bin/claude", "**/node_modules/@github/copilot-*/copilot", "undone"],
            &["https://api.example.com", "http://127.0.0.1:8080", "$BASE_URL", "https://ungranted.example.com"],
            &["TOKEN", "UNGRANTED", "BASE_URL", "PATH", "LD_PRELOAD", "GIT_SSH"],
            &["~/.agent/*.json", "$STATE/*.jsonl", "/etc/ungranted"],
        );
        let granted = access(
            &["gh", "~/.local/bin/claude", "**/node_modules/@github/copilot-*/copilot", "undeclared"],
            &["https://api.example.com", "http://127.0.0.1:8080", "$BASE_URL", "https://undeclared.example.com"],
            &["TOKEN", "UNDECLARED", "BASE_URL", "PATH", "LD_PRELOAD", "GIT_SSH"],
            &["~/.agent/*.json", "$STATE/*.jsonl", "/etc/undeclared"],
        );
        Grants { requested, granted, named_program: Some("/opt/mine".into()), home: Some("/home/u".into()) }
    }

    #[test]
    fn an_adapter_that_requests_a_pattern_that_cannot_be_one_is_refused() {
        assert_eq!(check_requested(&grants().requested), Ok(()));
        let many: Vec<String> = (0..=LIST_LIMIT).map(|number| number.to_string()).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        let (nested, deep, long) = (format!("/{}", "{".repeat(300)), "{".repeat(200_000), "a".repeat(20 << 20));
        for (access, reason) in [
            (access(&[&nested], &[], &[], &[]), "only `~`"),
            (access(&[], &[], &[], &[&deep]), "longer than 1024 bytes"),
            (access(&[], &[], &[], &[&long]), "longer than 1024 bytes"),
            (access(&[&long], &[], &[], &[]), "longer than 1024 bytes"),
            (access(&[], &[], &many, &[]), "more than 256"),
            (access(&[], &[""], &[], &[]), "empty"),
        ] {
            let error = check_requested(&access).expect_err(reason);
            assert!(error.contains(reason) && error.len() < 2_000, "{error}");
        }
    }

    fn reason(result: Result<(), Denial>) -> Option<DenialReason> {
        result.err().map(|denial| denial.reason)
    }

    #[test]
    fn programs() {
        for (program, denied) in [
            ("gh", None),
            ("/home/u/.local/bin/claude", None),
            ("/opt/mine", None),
            ("/usr/lib/node_modules/@github/copilot-linux-x64/copilot", None),
            ("/usr/lib/node_modules/@github/copilot-a/b/copilot", Some(DenialReason::NotDeclared)),
            ("/home/u/.local/bin/../../evil", Some(DenialReason::NotDeclared)),
            ("/home/other/.local/bin/claude", Some(DenialReason::NotDeclared)),
            ("sh", Some(DenialReason::NotDeclared)),
            ("/bin/sh", Some(DenialReason::NotDeclared)),
            ("undeclared", Some(DenialReason::NotDeclared)),
            ("undone", Some(DenialReason::NotGranted)),
        ] {
            assert_eq!(reason(grants().program(program)), denied, "{program}");
        }
        let found = |name: &str| (name == "gh" || name == "undone").then(|| format!("/usr/bin/{name}"));
        for (path, denied) in [
            ("/usr/bin/gh", None),
            ("/opt/mine", None),
            ("/tmp/workspace/gh", Some(DenialReason::NotDeclared)),
            ("./gh", Some(DenialReason::NotDeclared)),
            ("/usr/bin/undone", Some(DenialReason::NotDeclared)),
            ("/usr/bin/sh", Some(DenialReason::NotDeclared)),
        ] {
            assert_eq!(reason(grants().run_program(path, found)), denied, "{path}");
        }
    }

    #[test]
    fn variables() {
        for (name, denied) in [
            ("TOKEN", None),
            ("UNGRANTED", Some(DenialReason::NotGranted)),
            ("UNDECLARED", Some(DenialReason::NotDeclared)),
            ("HOME", Some(DenialReason::NotDeclared)),
        ] {
            assert_eq!(reason(grants().variable(name)), denied, "{name}");
        }
        for (name, denied) in [
            ("TOKEN", None),
            ("PATH", Some(DenialReason::Never)),
            ("LD_PRELOAD", Some(DenialReason::Never)),
            ("DYLD_X", Some(DenialReason::Never)),
            ("GIT_SSH", Some(DenialReason::Never)),
        ] {
            assert_eq!(reason(grants().set_variable(name)), denied, "{name}");
        }
    }

    #[test]
    fn files() {
        for (path, denied) in [
            ("/home/u/.agent/a.json", None),
            ("/srv/tenant/a.jsonl", None),
            ("/srv/tenant/sub/a.jsonl", Some(DenialReason::NotDeclared)),
            ("/srv/other/a.jsonl", Some(DenialReason::NotDeclared)),
            ("/home/u/.agent/sub/a.json", Some(DenialReason::NotDeclared)),
            ("/home/u/.agent/../x.json", Some(DenialReason::NotDeclared)),
            ("relative.json", Some(DenialReason::NotDeclared)),
            ("/etc/undeclared", Some(DenialReason::NotDeclared)),
            ("/etc/ungranted", Some(DenialReason::NotGranted)),
        ] {
            assert_eq!(
                reason(grants().file(path, |name| (name == "STATE").then(|| "/srv/tenant".to_owned()))),
                denied,
                "{path}"
            );
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
            ("http://127.0.0.1:8081/", Some(DenialReason::NotDeclared)),
            ("https://api.example.com:444/", Some(DenialReason::NotDeclared)),
            ("https://api.example.com.evil.test/", Some(DenialReason::NotDeclared)),
            ("https://user@api.example.com/", Some(DenialReason::Never)),
            ("http://api.example.com/", Some(DenialReason::Never)),
            ("ftp://api.example.com/", Some(DenialReason::Never)),
            ("file:///etc/passwd", Some(DenialReason::Never)),
            ("https://ungranted.example.com/", Some(DenialReason::NotGranted)),
            ("https://undeclared.example.com/", Some(DenialReason::NotDeclared)),
        ] {
            let url = Url::parse(url).expect("a URL");
            assert_eq!(reason(grants().origin(&url, variables)), denied, "{url}");
        }
    }
}
