//! Where wharf keeps its files: the configuration, the data (runs, sessions), the cache, the user's adapters.

use crate::disk::others_may_write;
use crate::error::{Error, ErrorKind, Result};
use std::path::{Path, PathBuf};

/// The folders. Each can be moved by an environment variable.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Dirs {
    /// The user's configuration file: `$WHARF_CONFIG`.
    pub config: PathBuf,
    /// Runs, sessions and installed agents: `$WHARF_DATA`.
    pub data: PathBuf,
    /// Compiled adapters and lists of models: `$WHARF_CACHE`.
    pub cache: PathBuf,
    /// The user's own adapters: `$WHARF_ADAPTERS`.
    pub adapters: PathBuf,
}

impl Dirs {
    /// All below one folder, for a program that keeps its runs apart from the user's.
    pub fn below(folder: impl Into<PathBuf>) -> Dirs {
        let folder = folder.into();
        Dirs {
            config: folder.join("config.toml"),
            data: folder.join("data"),
            cache: folder.join("cache"),
            adapters: folder.join("adapters"),
        }
    }

    /// Those of this user: below `$HOME`, or without it below the home folder of the user's entry in the system's list of
    /// users. It is an error if there is neither, and if other users could have written the configuration or the
    /// adapters that are found there. What a `WHARF_` variable names is not checked: it was chosen on purpose.
    pub fn from_env() -> Result<Dirs> {
        let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let dirs = Dirs::from_variables(variable, std::env::home_dir())?;
        if variable("WHARF_CONFIG").is_none() {
            check_writers("the configuration", &dirs.config)?;
        }
        if variable("WHARF_ADAPTERS").or_else(|| variable("WHARF_DATA")).is_none() {
            check_writers("the adapters", &dirs.adapters)?;
        }
        if variable("WHARF_DATA").is_none() {
            check_writers("the installed agents", &dirs.agents())?;
        }
        Ok(dirs)
    }

    fn from_variables(variable: impl Fn(&str) -> Option<PathBuf>, home: Option<PathBuf>) -> Result<Dirs> {
        let home = home.filter(|home| home.is_absolute());
        let below_home = |folder: &str| match &home {
            Some(home) => Ok(home.join(folder)),
            None => Err(no_home()),
        };
        // The XDG specification says that a relative path is to be ignored.
        let base = |name: &str, folder: &str| match variable(name).filter(|path| path.is_absolute()) {
            Some(path) => Ok(path),
            None => below_home(folder),
        };
        let bases: [(&str, &str); 3] = if cfg!(windows) {
            [("APPDATA", ""), ("LOCALAPPDATA", ""), ("LOCALAPPDATA", "")]
        } else if cfg!(target_os = "macos") {
            // The variables of the XDG specification are not used there.
            [("", "Library/Application Support"), ("", "Library/Application Support"), ("", "Library/Caches")]
        } else {
            [("XDG_CONFIG_HOME", ".config"), ("XDG_DATA_HOME", ".local/share"), ("XDG_CACHE_HOME", ".cache")]
        };
        let named = |name: &str, at: usize, folder: &str| -> Result<PathBuf> {
            match variable(name) {
                Some(path) => Ok(path),
                None => Ok(base(bases[at].0, bases[at].1)?.join(folder)),
            }
        };
        let data = named("WHARF_DATA", 1, "wharf")?;
        Ok(Dirs {
            config: named("WHARF_CONFIG", 0, "wharf/config.toml")?,
            cache: named("WHARF_CACHE", 2, if cfg!(windows) { "cache/wharf" } else { "wharf" })?,
            adapters: variable("WHARF_ADAPTERS").unwrap_or_else(|| data.join("adapters")),
            data,
        })
    }

    /// Where the processes of live runs are noted.
    pub(crate) fn live_runs(&self) -> PathBuf {
        self.data.join("live")
    }

    /// The agents that were installed by wharf.
    pub(crate) fn agents(&self) -> PathBuf {
        // The path of a program must be absolute.
        let folder = self.data.join("agents");
        std::path::absolute(&folder).unwrap_or(folder)
    }

    pub(crate) fn sessions(&self) -> PathBuf {
        self.data.join("sessions.db")
    }

    pub(crate) fn runs(&self) -> PathBuf {
        self.data.join("runs")
    }
}

fn no_home() -> Error {
    Error::new(
        ErrorKind::Config,
        "this user has no home folder: HOME is not the path of one, and the system knows none",
    )
    .with_hint("set HOME, or all of WHARF_CONFIG, WHARF_DATA and WHARF_CACHE")
}

/// A configuration grants, and adapters get what is granted: only the user may write either, and their folder.
fn check_writers(what: &str, path: &Path) -> Result<()> {
    let folder = path.parent().unwrap_or(path);
    match others_may_write(path).or_else(|| others_may_write(folder)) {
        None => Ok(()),
        Some(found) => {
            let error = Error::new(ErrorKind::Config, format!("{what} cannot be trusted: {found}"));
            Err(error.with_hint("make it yours and writable for you alone, with chown and chmod go-w"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(all(unix, not(target_os = "macos")))]
    #[test]
    fn without_a_home_nothing_is_read_from_the_temporary_folder() {
        let from = |variables: &[(&str, &str)], home: Option<&str>| {
            let find = |name: &str| variables.iter().find(|(one, _)| *one == name).map(|(_, value)| value.into());
            Dirs::from_variables(find, home.map(PathBuf::from))
        };
        for home in [None, Some(""), Some("relative")] {
            let error = from(&[("TMPDIR", "/tmp"), ("XDG_CONFIG_HOME", "/c")], home).expect_err("refused");
            assert!(error.to_string().contains("no home folder") && error.hint().is_some(), "{error}");
        }
        let named = [("WHARF_CONFIG", "/c.toml"), ("WHARF_DATA", "/d"), ("WHARF_CACHE", "/x")];
        let dirs = from(&named, None).expect("all are named");
        assert_eq!(dirs.adapters, Path::new("/d/adapters"));
        let absolute = from(&[("XDG_CONFIG_HOME", "/c"), ("XDG_DATA_HOME", "/d")], Some("/h")).expect("a home");
        assert_eq!((absolute.config, absolute.cache), ("/c/wharf/config.toml".into(), "/h/.cache/wharf".into()));
    }

    #[cfg(all(unix, not(target_os = "macos")))]
    #[test]
    fn a_relative_xdg_folder_is_ignored() {
        let find = |name: &str| name.starts_with("XDG_").then(|| PathBuf::from("project/owned"));
        let dirs = Dirs::from_variables(find, Some("/h".into())).expect("a home");
        assert_eq!(dirs.config, Path::new("/h/.config/wharf/config.toml"));
        assert_eq!((dirs.data, dirs.cache), ("/h/.local/share/wharf".into(), "/h/.cache/wharf".into()));
    }
}
