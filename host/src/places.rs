//! Where wharf keeps its files: the configuration, the data (runs, sessions), the cache, the user's adapters.

use std::path::PathBuf;

/// The folders. Each can be moved by a variable of its own, which tests and farms use.
#[derive(Debug, Clone)]
pub struct Places {
    /// The user's configuration file: `$WHARF_CONFIG`.
    pub config: PathBuf,
    /// Runs and sessions: `$WHARF_DATA`.
    pub data: PathBuf,
    /// Compiled adapters and lists of models: `$WHARF_CACHE`.
    pub cache: PathBuf,
    /// The user's own adapters: `$WHARF_ADAPTERS`.
    pub adapters: PathBuf,
}

impl Places {
    /// Where they are for this user.
    pub fn of_user() -> Places {
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
        Places {
            config: variable("WHARF_CONFIG").unwrap_or_else(|| config.join("wharf/config.toml")),
            cache: variable("WHARF_CACHE").unwrap_or_else(|| cache.join("wharf")),
            adapters: variable("WHARF_ADAPTERS").unwrap_or_else(|| data.join("adapters")),
            data,
        }
    }
}
