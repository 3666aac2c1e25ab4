//! The host's environment, and the part of it that an agent gets: an allowlist, never all of it.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};
use wharf_core::policy::Grants;
use wharf_core::stream::{Secrecy, Secrets, has_login};

/// What every agent gets if it is set: the user and the home, the terminal and the language, where programs and
/// temporary files are, and the proxies of the local network.
pub const BASE: &[&str] = &[
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "PATH",
    "LANG",
    "LANGUAGE",
    "TZ",
    "TERM",
    "COLORTERM",
    "NO_COLOR",
    "TMPDIR",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_CACHE_HOME",
    "XDG_STATE_HOME",
    "XDG_RUNTIME_DIR",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "NODE_EXTRA_CA_CERTS",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "ALL_PROXY",
    "http_proxy",
    "https_proxy",
    "no_proxy",
    "all_proxy",
    "SystemRoot",
    "SystemDrive",
    "USERPROFILE",
    "USERNAME",
    "APPDATA",
    "LOCALAPPDATA",
    "ProgramData",
    "ProgramFiles",
    "TEMP",
    "TMP",
    "PATHEXT",
    "ComSpec",
    "windir",
];

/// Settings of pip that would put packages somewhere else than where they are wanted.
const ELSEWHERE: [&str; 5] = ["PIP_TARGET", "PIP_PREFIX", "PIP_ROOT", "PIP_USER", "PIP_REQUIRE_VIRTUALENV"];

/// A variable for one run: its value, and whether that is kept out of recordings, events and logs.
///
/// ```
/// use wharf::Variable;
///
/// let mut options = wharf::RunOptions::default();
/// options.variables.insert("API_KEY".into(), "by the rule, this is a secret".into());
/// options.variables.insert("TASK_ID".into(), Variable::plain("task-0123456789"));
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Variable {
    pub(crate) value: String,
    pub(crate) secrecy: Secrecy,
}

impl Variable {
    /// A value that may be recorded and reported.
    pub fn plain(value: impl Into<String>) -> Variable {
        Variable { value: value.into(), secrecy: Secrecy::Plain }
    }

    /// A secret, also if it looks like a setting or a number. A value of fewer than 8 bytes is never removed: it would
    /// be found in ordinary text.
    pub fn secret(value: impl Into<String>) -> Variable {
        Variable { value: value.into(), secrecy: Secrecy::Secret }
    }
}

/// By the rule: it is a secret, unless it obviously is none.
impl<T: Into<String>> From<T> for Variable {
    fn from(value: T) -> Variable {
        Variable { value: value.into(), secrecy: Secrecy::ByRule }
    }
}

impl fmt::Debug for Variable {
    /// Never the value.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Variable").field("secrecy", &self.secrecy).finish_non_exhaustive()
    }
}

/// The host's environment, read once.
#[derive(Debug, Clone, Default)]
pub(crate) struct Environment {
    variables: BTreeMap<String, OsString>,
    /// What the user passes to every agent beside the base set, and whether it is secret.
    extra: BTreeMap<String, Secrecy>,
}

impl Environment {
    /// The environment of this process, with the names that the user passes to agents.
    pub(crate) fn of_process(extra: BTreeMap<String, Secrecy>) -> Environment {
        let variables = std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value)));
        Environment { variables: variables.collect(), extra }
    }

    /// The same with some variables set, which every agent gets.
    pub(crate) fn with(&self, variables: BTreeMap<String, Variable>) -> Environment {
        let mut environment = self.clone();
        for (name, Variable { value, secrecy }) in variables {
            // What the configuration says of the name counts, unless the caller says something.
            let mark = environment.extra.entry(name.clone()).or_default();
            if secrecy != Secrecy::ByRule {
                *mark = secrecy;
            }
            environment.variables.insert(name, OsString::from(value));
        }
        environment
    }

    /// The same without some variables.
    pub(crate) fn without(&self, names: &[&str]) -> Environment {
        let mut environment = self.clone();
        environment.variables.retain(|name, _| !names.contains(&name.as_str()));
        environment
    }

    /// The same, but these variables are passed on too.
    pub(crate) fn passing(&self, extra: impl IntoIterator<Item = (String, Secrecy)>) -> Environment {
        let mut environment = self.clone();
        environment.extra.extend(extra);
        environment
    }

    /// What a tool gets that installs packages: the base set, and its own settings.
    pub(crate) fn for_installer(&self) -> Vec<(OsString, OsString)> {
        let passed = |name: &str| {
            let lower = name.to_ascii_lowercase();
            let own = ["npm_config_", "pip_", "uv_"].iter().any(|start| lower.starts_with(start));
            BASE.contains(&name) || name.starts_with("LC_") || (own && !ELSEWHERE.contains(&name))
        };
        let passed = self.variables.iter().filter(|(name, _)| passed(name));
        passed.map(|(name, value)| (name.into(), value.clone())).collect()
    }

    /// An environment with nothing in it.
    pub(crate) fn empty() -> Environment {
        Environment::default()
    }

    /// A variable's value; empty counts as unset.
    pub(crate) fn get(&self, name: &str) -> Option<String> {
        self.variables.get(name).and_then(|value| value.to_str()).filter(|value| !value.is_empty()).map(str::to_owned)
    }

    /// The user's home.
    pub(crate) fn home(&self) -> Option<String> {
        self.get("HOME").or_else(|| self.get("USERPROFILE"))
    }

    /// What an agent gets: the base set, what was granted to its adapter, what the user passes to every agent.
    pub(crate) fn for_agent(&self, grants: &Grants) -> BTreeMap<String, OsString> {
        let passed = |name: &str| {
            BASE.contains(&name)
                || name.starts_with("LC_")
                || self.extra.contains_key(name)
                || grants.variable(name).is_ok()
        };
        self.variables
            .iter()
            .filter(|(name, _)| passed(name))
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect()
    }

    /// The values that are kept out of recordings, events, reports, errors and logs.
    pub(crate) fn secrets(&self, grants: &Grants) -> Secrets {
        Secrets::marked(self.granted_values(grants))
    }

    /// The values of the variables that were granted to an adapter or passed by the user, and whether they are secret.
    /// What every agent gets anyway is not: a user's name is in every path. But a proxy's URL may contain a login.
    pub(crate) fn granted_values(&self, grants: &Grants) -> Vec<(String, String, Secrecy)> {
        let granted = |name: &String| {
            let value = self.get(name)?;
            let mark = self.extra.get(name).copied();
            let secrecy = mark.unwrap_or_default();
            let base = BASE.contains(&name.as_str());
            if base && secrecy == Secrecy::ByRule && !has_login(&value) {
                return None;
            }
            let passed = base || mark.is_some() || grants.variable(name).is_ok();
            passed.then(|| (name.clone(), value, secrecy))
        };
        self.variables.keys().filter_map(granted).collect()
    }

    /// A program by its name in PATH, or by an absolute path.
    pub(crate) fn find_program(&self, name: &str) -> Option<PathBuf> {
        let endings = self.program_endings();
        let candidates = |path: &Path| -> Option<PathBuf> {
            endings.iter().map(|ending| with_ending(path, ending)).find(|path| is_program(path))
        };
        if name.contains(['/', '\\']) {
            let path = Path::new(name);
            return if path.is_absolute() { candidates(path) } else { None };
        }
        let folders = self.variables.get("PATH")?;
        std::env::split_paths(folders)
            .filter(|folder| folder.is_absolute())
            .find_map(|folder| candidates(&folder.join(name)))
    }

    /// The path of a program by its name in PATH, as text.
    pub(crate) fn program_path(&self, name: &str) -> Option<String> {
        self.find_program(name).map(|path| path.to_string_lossy().into_owned())
    }

    fn program_endings(&self) -> Vec<String> {
        if !cfg!(windows) {
            return vec![String::new()];
        }
        let listed = self.get("PATHEXT").unwrap_or_else(|| ".EXE;.CMD;.BAT".to_owned());
        std::iter::once(String::new()).chain(listed.split(';').map(str::to_lowercase)).collect()
    }
}

fn with_ending(path: &Path, ending: &str) -> PathBuf {
    let mut whole = path.as_os_str().to_owned();
    whole.push(ending);
    PathBuf::from(whole)
}

/// Whether the kernel itself can start it: a binary, or a script that names its interpreter. Anything else the C
/// library would hand to a shell, and programs are never run by a shell.
#[cfg(unix)]
fn is_program(path: &Path) -> bool {
    use crate::disk::{Links, open_plain_file};
    use std::io::Read as _;
    use std::os::unix::fs::PermissionsExt as _;
    let executable =
        std::fs::metadata(path).is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0);
    let known = |start: [u8; 4]| {
        start.starts_with(b"#!")
            || start == *b"\x7fELF"
            // Mach-O, of one architecture or several.
            || matches!(u32::from_be_bytes(start), 0xcafe_babe | 0xfeed_face | 0xfeed_facf | 0xcefa_edfe | 0xcffa_edfe)
    };
    // One that may be run but not read is assumed to be a program.
    let Ok(mut file) = open_plain_file(path, Links::Follow) else { return executable };
    let mut start = [0; 4];
    executable && file.read_exact(&mut start).is_ok() && known(start)
}

#[cfg(not(unix))]
fn is_program(path: &Path) -> bool {
    path.is_file()
}

#[cfg(test)]
mod tests {
    use super::*;
    use wharf_core::model::Access;

    fn environment() -> Environment {
        let set = |name: &str, value: &str| (name.to_owned(), OsString::from(value));
        let variables = [
            set("PATH", "relative:/bin"),
            set("HOME", "/home/u"),
            set("LC_ALL", "C"),
            set("TOKEN", "t0k3n"),
            set("EMPTY", ""),
            set("AWS_SECRET", "s3cret"),
            set("EXTRA", "x"),
        ];
        Environment { variables: variables.into(), extra: BTreeMap::from([("EXTRA".to_owned(), Secrecy::ByRule)]) }
    }

    #[test]
    fn an_agent_gets_what_is_listed_and_nothing_else() {
        let access = Access { variables: vec!["TOKEN".to_owned()], ..Access::default() };
        let grants = Grants { requested: access.clone(), granted: access, ..Grants::default() };
        let names: Vec<String> = environment().for_agent(&grants).into_keys().collect();
        assert_eq!(names, ["EXTRA", "HOME", "LC_ALL", "PATH", "TOKEN"]);
        let names: Vec<String> = environment().for_agent(&Grants::default()).into_keys().collect();
        assert_eq!(names, ["EXTRA", "HOME", "LC_ALL", "PATH"], "what is not granted is not passed");
    }

    #[test]
    fn variables_of_one_run_reach_the_agent_and_do_not_change_the_hosts_environment() {
        let base = environment();
        let set = |name: &str, value: &str| (name.to_owned(), Variable::from(value));
        let run = base.with(BTreeMap::from([set("HOME", "/home/other"), set("API_KEY", "k3y-of-this-run")]));
        let passed = run.for_agent(&Grants::default());
        assert_eq!(passed.get("HOME"), Some(&OsString::from("/home/other")), "it replaces the host's value");
        assert_eq!(passed.get("API_KEY"), Some(&OsString::from("k3y-of-this-run")), "it needs no grant");
        assert_eq!(run.home().as_deref(), Some("/home/other"));
        // The value that the caller set is redacted; the home is in every path.
        let secret = |name: &str, value: &str| (name.to_owned(), value.to_owned(), Secrecy::ByRule);
        let secrets = run.granted_values(&Grants::default());
        assert_eq!(secrets, [secret("API_KEY", "k3y-of-this-run"), secret("EXTRA", "x")]);
        assert_eq!((base.get("HOME").as_deref(), base.get("API_KEY")), (Some("/home/u"), None));
        assert!(!base.for_agent(&Grants::default()).contains_key("API_KEY"));
    }

    #[test]
    fn a_login_in_a_proxys_address_is_secret_however_the_variable_is_passed() {
        let proxy = "http://ada:passw0rd@proxy:1";
        let mut process = environment();
        process.variables.insert("HTTPS_PROXY".to_owned(), OsString::from(proxy));
        let access = Access { variables: vec!["HTTPS_PROXY".to_owned()], ..Access::default() };
        let granted = Grants { requested: access.clone(), granted: access, ..Grants::default() };
        let mut listed = process.clone();
        listed.extra.insert("HTTPS_PROXY".to_owned(), Secrecy::ByRule);
        for environment in [&process, &listed] {
            for grants in [&granted, &Grants::default()] {
                let secrets = environment.secrets(grants);
                assert_eq!(secrets.redact(&format!("by {proxy}")), "by [redacted:HTTPS_PROXY]");
            }
        }
    }

    #[test]
    fn a_mark_in_the_configuration_counts_unless_the_run_says_otherwise() {
        let mut process = environment();
        process.extra.insert("TASK".to_owned(), Secrecy::Plain);
        let secret = |value: Variable| {
            let run = process.with(BTreeMap::from([("TASK".to_owned(), value)]));
            run.secrets(&Grants::default()).are_in(b"task-0123456789")
        };
        assert!(!secret("task-0123456789".into()));
        assert!(secret(Variable::secret("task-0123456789")));
        assert!(!secret(Variable::plain("task-0123456789")));
    }

    #[test]
    fn a_tool_that_installs_gets_its_own_settings_and_no_secrets_of_others() {
        let mut process = environment();
        for name in ["npm_config_registry", "PIP_INDEX_URL", "PIP_TARGET", "UV_INDEX"] {
            process.variables.insert(name.to_owned(), OsString::from("x"));
        }
        let names: Vec<OsString> = process.for_installer().into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["HOME", "LC_ALL", "PATH", "PIP_INDEX_URL", "UV_INDEX", "npm_config_registry"]);
    }

    #[test]
    fn empty_is_unset() {
        assert_eq!(environment().get("EMPTY"), None);
        assert_eq!(environment().get("TOKEN").as_deref(), Some("t0k3n"));
    }

    #[cfg(unix)]
    #[test]
    fn programs_are_found_in_path_or_by_their_absolute_path() {
        assert!(environment().find_program("sh").is_some());
        assert!(environment().find_program("/bin/sh").is_some());
        assert!(environment().find_program("bin/sh").is_none(), "a relative path depends on the current folder");
        assert!(environment().find_program("/etc/passwd").is_none(), "not a program");
        assert!(environment().find_program("no-such-program").is_none());
    }

    #[cfg(unix)]
    #[test]
    fn what_only_a_shell_can_run_is_not_a_program() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().expect("a folder");
        for (name, content, found) in
            [("script", "#!/bin/sh\necho\n", true), ("words", "echo hello\n", false), ("empty", "", false)]
        {
            let path = folder.path().join(name);
            std::fs::write(&path, content).expect("written");
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("set");
            assert_eq!(environment().find_program(&path.to_string_lossy()).is_some(), found, "{name}");
        }
    }
}
