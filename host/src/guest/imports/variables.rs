//! The host's environment, and the part of it that an agent gets: an allowlist, never all of it.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use wharf_core::policy::Grants;
use wharf_core::stream::has_login;

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

/// The host's environment, read once.
#[derive(Debug, Clone, Default)]
pub(crate) struct Environment {
    variables: BTreeMap<String, OsString>,
    /// Names that the user passes to every agent beside the base set.
    extra: Vec<String>,
}

impl Environment {
    /// The environment of this process, with the names that the user passes to agents.
    pub(crate) fn of_process(extra: &[String]) -> Environment {
        let variables = std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value)));
        Environment { variables: variables.collect(), extra: extra.to_vec() }
    }

    /// The same with some variables set, which every agent gets.
    pub(crate) fn with(&self, variables: BTreeMap<String, String>) -> Environment {
        let mut environment = self.clone();
        for (name, value) in variables {
            environment.extra.push(name.clone());
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
                || self.extra.iter().any(|extra| extra == name)
                || grants.variable(name).is_ok()
        };
        self.variables
            .iter()
            .filter(|(name, _)| passed(name))
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect()
    }

    /// The values of the variables that were granted to an adapter or passed by the user: recordings redact them. What
    /// every agent gets anyway is not secret: a user's name is in every path.
    pub(crate) fn granted_values(&self, grants: &Grants) -> Vec<(String, String)> {
        let granted = |name: &str, value: &str| {
            // A proxy's URL may contain a login.
            let base = BASE.contains(&name) && !has_login(value);
            let passed = BASE.contains(&name) || self.extra.iter().any(|extra| extra == name);
            !base && (passed || grants.variable(name).is_ok())
        };
        let values = self.variables.keys().filter_map(|name| Some((name.clone(), self.get(name)?)));
        values.filter(|(name, value)| granted(name, value)).collect()
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
        Environment { variables: variables.into(), extra: vec!["EXTRA".to_owned()] }
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
        let set = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let run = base.with(BTreeMap::from([set("HOME", "/home/other"), set("API_KEY", "k3y-of-this-run")]));
        let passed = run.for_agent(&Grants::default());
        assert_eq!(passed.get("HOME"), Some(&OsString::from("/home/other")), "it replaces the host's value");
        assert_eq!(passed.get("API_KEY"), Some(&OsString::from("k3y-of-this-run")), "it needs no grant");
        assert_eq!(run.home().as_deref(), Some("/home/other"));
        // The value that the caller set is redacted; the home is in every path.
        let secrets = run.granted_values(&Grants::default());
        assert_eq!(secrets, [set("API_KEY", "k3y-of-this-run"), set("EXTRA", "x")]);
        assert_eq!((base.get("HOME").as_deref(), base.get("API_KEY")), (Some("/home/u"), None));
        assert!(!base.for_agent(&Grants::default()).contains_key("API_KEY"));
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
