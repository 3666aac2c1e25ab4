//! The environment of one run: the host's, with what the caller sets for this run only. Two runs in one process never
//! see each other's.

use super::options::RunOptions;
use crate::disk::private_folder;
use crate::error::{Error, Result};
use crate::guest::{Adapter, Environment};
use std::path::Path;

/// Variables that lead to folders below the usual home. With another home, an agent must find its own there.
const BELOW_HOME: [&str; 5] =
    ["XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR"];

/// Variables that name the home, and the folders below it on Windows.
const HOME: [(&str, &str); 4] =
    [("HOME", ""), ("USERPROFILE", ""), ("APPDATA", "AppData/Roaming"), ("LOCALAPPDATA", "AppData/Local")];

/// The environment for a run of this adapter.
pub(crate) fn environment_for(base: &Environment, adapter: &Adapter, options: &RunOptions) -> Result<Environment> {
    let state_variable = adapter.info().state_variable.as_deref();
    let home = match (&options.home, &options.state_dir) {
        (Some(_), Some(_)) if state_variable.is_none() => {
            let id = &adapter.info().id;
            return Err(Error::invalid(format!(
                "the agent of {id} keeps its state in its home folder, and both are set"
            ))
            .with_hint("set the home folder, or the state folder, not both"));
        }
        // An agent without a variable for its state keeps it below the home.
        (None, Some(folder)) if state_variable.is_none() => Some(folder),
        (home, _) => home.as_ref(),
    };
    let mut variables = options.variables.clone();
    let mut environment = base.clone();
    if let Some(home) = home {
        environment = environment.without(&BELOW_HOME);
        for (name, below) in HOME.into_iter().filter(|(name, _)| *name == "HOME" || cfg!(windows)) {
            let folder = if below.is_empty() { home.clone() } else { home.join(below) };
            variables.insert(name.to_owned(), text(&folder)?.into());
        }
    }
    if let (Some(folder), Some(name)) = (&options.state_dir, state_variable) {
        variables.insert(name.to_owned(), text(folder)?.into());
    }
    for name in variables.keys() {
        if name.is_empty() || name.contains(['=', '\0']) {
            return Err(Error::invalid(format!("{name:?} cannot be the name of an environment variable")));
        }
    }
    Ok(environment.with(variables))
}

/// Refuses a home folder that does not exist: the agent would work without its settings, or write them nowhere.
pub(super) fn check_home(options: &RunOptions) -> Result<()> {
    match &options.home {
        Some(home) if !home.is_dir() => {
            Err(Error::invalid(format!("the home folder {} does not exist, or is not a folder", home.display()))
                .with_hint("create it, or use --state-dir, which creates its folder"))
        }
        _ => Ok(()),
    }
}

/// Creates the agent's state folder if it is missing. It will hold logins: only its owner may enter it.
pub(super) fn create_state_dir(options: &RunOptions) -> Result<()> {
    let Some(folder) = &options.state_dir else { return Ok(()) };
    private_folder()
        .recursive(true)
        .create(folder)
        .map_err(|error| Error::system(format!("creating the agent's state folder {}", folder.display()), error))
}

fn text(path: &Path) -> Result<String> {
    let absolute = std::path::absolute(path)
        .map_err(|error| Error::system(format!("finding the folder {}", path.display()), error))?;
    let text = absolute.to_str().map(str::to_owned);
    text.ok_or_else(|| Error::invalid(format!("the folder {} is not valid UTF-8", path.display())))
}
