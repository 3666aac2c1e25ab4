//! The host that the commands use.

use std::path::Path;
use wharf::{Config, Dirs, Host, Result};

/// The host for a workspace. The echo adapter's agent is this program, unless the user names another.
pub(crate) fn host(workspace: &Path) -> Result<Host> {
    let dirs = Dirs::from_env();
    let mut config = Config::load(&dirs.config, workspace)?;
    if let Ok(program) = std::env::current_exe() {
        config.programs.entry("echo".to_owned()).or_insert(program);
    }
    Host::new(dirs, config)
}

/// The host for a command that has no workspace.
pub(crate) fn host_here() -> Result<Host> {
    host(Path::new("."))
}
