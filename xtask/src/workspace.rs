//! The folders of the repository and of its builds.

use std::env;
use std::path::{Path, PathBuf};

/// The folders that the tasks work in.
#[derive(Debug, Clone)]
pub(crate) struct Workspace {
    /// The root of the repository.
    pub(crate) root: PathBuf,
    /// Cargo's target folder. Absolute, because commands run in the root and xtask may be started elsewhere.
    pub(crate) target: PathBuf,
}

impl Workspace {
    /// From the environment. Cargo sets the manifest's folder at run time; without cargo, the folder in which xtask was
    /// built is used.
    pub(crate) fn from_env() -> Workspace {
        let manifest =
            env::var_os("CARGO_MANIFEST_DIR").map_or_else(|| env!("CARGO_MANIFEST_DIR").into(), PathBuf::from);
        let root = manifest.parent().map_or_else(|| manifest.clone(), Path::to_owned);
        let named = env::var_os("CARGO_TARGET_DIR").filter(|value| !value.is_empty()).map(PathBuf::from);
        let here = env::current_dir().unwrap_or_else(|_| root.clone());
        let target = target_folder(named.as_deref(), &here, &root);
        Workspace { root, target }
    }

    /// A program that cargo built in the dev profile.
    pub(crate) fn debug_program(&self, name: &str) -> PathBuf {
        self.target.join("debug").join(format!("{name}{}", env::consts::EXE_SUFFIX))
    }

    /// The target folder of components, separate from native builds. The build script that bundles the adapters uses the same
    /// folder.
    pub(crate) fn adapters(&self) -> PathBuf {
        self.target.join("adapters")
    }
}

/// A relative `CARGO_TARGET_DIR` is relative to the folder in which cargo was started, not to the workspace.
fn target_folder(named: Option<&Path>, here: &Path, root: &Path) -> PathBuf {
    named.map_or_else(|| root.join("target"), |named| here.join(named))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_target_folder() {
        let (here, root) = (Path::new("/repository/host"), Path::new("/repository"));
        for (named, folder) in
            [(None, "/repository/target"), (Some("/elsewhere"), "/elsewhere"), (Some("out"), "/repository/host/out")]
        {
            assert_eq!(target_folder(named.map(Path::new), here, root), Path::new(folder), "{named:?}");
        }
    }
}
