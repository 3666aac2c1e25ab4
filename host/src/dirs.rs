//! Where wharf keeps its files: the configuration, the data (runs, sessions), the cache, the user's adapters.

use std::path::PathBuf;

/// The folders. Each can be moved by an environment variable.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Dirs {
    /// The user's configuration file: `$WHARF_CONFIG`.
    pub config: PathBuf,
    /// Runs and sessions: `$WHARF_DATA`.
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

    /// Those of this user.
    pub fn from_env() -> Dirs {
        let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let home = variable("HOME").or_else(|| variable("USERPROFILE")).unwrap_or_else(std::env::temp_dir);
        let (config, data, cache) = if cfg!(windows) {
            let local = variable("LOCALAPPDATA").unwrap_or_else(|| home.clone());
            (variable("APPDATA").unwrap_or_else(|| home.clone()), local.clone(), local.join("cache"))
        } else if cfg!(target_os = "macos") {
            let library = home.join("Library");
            (library.join("Application Support"), library.join("Application Support"), library.join("Caches"))
        } else {
            (
                variable("XDG_CONFIG_HOME").unwrap_or_else(|| home.join(".config")),
                variable("XDG_DATA_HOME").unwrap_or_else(|| home.join(".local/share")),
                variable("XDG_CACHE_HOME").unwrap_or_else(|| home.join(".cache")),
            )
        };
        let data = variable("WHARF_DATA").unwrap_or_else(|| data.join("wharf"));
        Dirs {
            config: variable("WHARF_CONFIG").unwrap_or_else(|| config.join("wharf/config.toml")),
            cache: variable("WHARF_CACHE").unwrap_or_else(|| cache.join("wharf")),
            adapters: variable("WHARF_ADAPTERS").unwrap_or_else(|| data.join("adapters")),
            data,
        }
    }

    /// Where the processes of live runs are noted.
    pub(crate) fn live_runs(&self) -> PathBuf {
        self.data.join("live")
    }

    pub(crate) fn sessions(&self) -> PathBuf {
        self.data.join("sessions.db")
    }

    pub(crate) fn runs(&self) -> PathBuf {
        self.data.join("runs")
    }
}
