//! The environment as the host sees it, and the part of it that an agent gets: an allowlist, never the whole.

use crate::grants::Policy;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// What every agent gets where it is set: who and where the user is, how to speak to the terminal and in which
/// language, where programs and temporary files are, and how to get out of the local network.
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

/// The host's environment, taken once.
#[derive(Debug, Clone, Default)]
pub(crate) struct Environment {
    variables: BTreeMap<String, OsString>,
    /// Names that the user passes on to every agent beside the base set.
    extra: Vec<String>,
}

impl Environment {
    /// The environment of this process, with the names that the user passes on.
    pub(crate) fn of_process(extra: &[String]) -> Environment {
        let variables = std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value)));
        Environment { variables: variables.collect(), extra: extra.to_vec() }
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

    /// What an agent gets: the base set, what was granted to its adapter, what the user passes on.
    pub(crate) fn for_agent(&self, policy: &Policy) -> BTreeMap<String, OsString> {
        let passed = |name: &str| {
            BASE.contains(&name)
                || name.starts_with("LC_")
                || self.extra.iter().any(|extra| extra == name)
                || policy.variable(name).is_ok()
        };
        self.variables
            .iter()
            .filter(|(name, _)| passed(name))
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect()
    }

    /// The values of the variables that were granted to an adapter or passed on by the user: what recordings redact.
    /// What every agent gets anyway is no secret: a user's name stands in every path.
    pub(crate) fn granted_values(&self, policy: &Policy) -> Vec<(String, String)> {
        let base = |name: &String| BASE.contains(&name.as_str());
        let granted = |name: &&String| !base(name) && (policy.variable(name).is_ok() || self.extra.contains(name));
        self.variables.keys().filter(granted).filter_map(|name| Some((name.clone(), self.get(name)?))).collect()
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

/// Something that the kernel itself can start: a binary, or a script that names its interpreter. Anything else the C
/// library would hand to a shell, and programs are never run by a shell.
#[cfg(unix)]
fn is_program(path: &Path) -> bool {
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
    // One that may be run and not read is taken at its word.
    let Ok(mut file) = std::fs::File::open(path) else { return executable };
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
    use crate::info::Needs;

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
        let needs = Needs { variables: vec!["TOKEN".to_owned()], ..Needs::default() };
        let policy = Policy { needs: needs.clone(), grants: needs, ..Policy::default() };
        let names: Vec<String> = environment().for_agent(&policy).into_keys().collect();
        assert_eq!(names, ["EXTRA", "HOME", "LC_ALL", "PATH", "TOKEN"]);
        let names: Vec<String> = environment().for_agent(&Policy::default()).into_keys().collect();
        assert_eq!(names, ["EXTRA", "HOME", "LC_ALL", "PATH"], "what is not granted is not passed on");
    }

    #[test]
    fn empty_is_unset() {
        assert_eq!(environment().get("EMPTY"), None);
        assert_eq!(environment().get("TOKEN").as_deref(), Some("t0k3n"));
    }

    #[cfg(unix)]
    #[test]
    fn programs_are_found_in_path_or_by_their_whole_path() {
        assert!(environment().find_program("sh").is_some());
        assert!(environment().find_program("/bin/sh").is_some());
        assert!(environment().find_program("bin/sh").is_none(), "a relative path depends on where we stand");
        assert!(environment().find_program("/etc/passwd").is_none(), "not a program");
        assert!(environment().find_program("no-such-program").is_none());
    }

    #[cfg(unix)]
    #[test]
    fn what_only_a_shell_would_run_is_no_program() {
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
