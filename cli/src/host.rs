//! The host that the commands use.

use std::path::Path;
use wharf::{Config, Dirs, Host, Result};

/// The host for a workspace.
pub(crate) fn host(workspace: &Path) -> Result<Host> {
    let dirs = Dirs::from_env()?;
    let config = Config::load(&dirs.config, workspace)?;
    with_echo(dirs, config)
}

/// The host for a command that concerns no project: it does not read the project's file.
pub(crate) fn host_without_project() -> Result<Host> {
    let dirs = Dirs::from_env()?;
    let config = Config::load_user(&dirs.config)?;
    with_echo(dirs, config)
}

/// The echo adapter's agent is this program, unless the user names another.
fn with_echo(dirs: Dirs, mut config: Config) -> Result<Host> {
    if let Ok(program) = std::env::current_exe() {
        config.programs.entry("echo".to_owned()).or_insert(program);
    }
    Host::new(dirs, config)
}
