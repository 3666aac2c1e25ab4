//! Where the repository is, and where its builds go.

use std::env;
use std::path::{Path, PathBuf};

/// The folders that the chores work in.
#[derive(Debug, Clone)]
pub(crate) struct Workspace {
    /// The repository.
    pub(crate) root: PathBuf,
    /// Where cargo builds. Absolute, because the steps do not run where xtask was started.
    pub(crate) target: PathBuf,
}

impl Workspace {
    /// As the environment says. Cargo names the manifest's folder at run time; a binary that was copied elsewhere
    /// falls back on where it was built.
    pub(crate) fn of_process() -> Workspace {
        let manifest =
            env::var_os("CARGO_MANIFEST_DIR").map_or_else(|| env!("CARGO_MANIFEST_DIR").into(), PathBuf::from);
        let root = manifest.parent().map_or_else(|| manifest.clone(), Path::to_owned);
        let named = env::var_os("CARGO_TARGET_DIR").filter(|value| !value.is_empty()).map(PathBuf::from);
        let here = env::current_dir().unwrap_or_else(|_| root.clone());
        let target = target_folder(named.as_deref(), &here, &root);
        Workspace { root, target }
    }

    /// Where the components are built, apart from the native builds. The host's build script uses the same folder.
    pub(crate) fn adapters(&self) -> PathBuf {
        self.target.join("adapters")
    }
}

/// Cargo takes a relative `CARGO_TARGET_DIR` from where it was started, not from the workspace.
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
