//! Which project's file counts for a workspace: the nearest one, up to the root of the repository.
//!
//! Without a repository only the workspace itself is looked at: a folder above it may be anybody's. For the same reason
//! the search ends at a folder that belongs to another user, or that everybody may write to, such as `/tmp`.

use std::path::{Path, PathBuf};

/// The name of the project's file.
pub const PROJECT_FILE: &str = ".wharf.toml";

/// The path of the project's file. If there is none, the path that it would have in the workspace.
pub(crate) fn project_file(workspace: &Path) -> PathBuf {
    let own = workspace.join(PROJECT_FILE);
    let Ok(folder) = std::fs::canonicalize(workspace) else { return own };
    let mut found = None;
    for (levels, folder) in folder.ancestors().enumerate() {
        if levels > 0 && !is_ours(folder) {
            break;
        }
        let file = folder.join(PROJECT_FILE);
        // Whatever it is: what is not a plain file is refused when it is read, not skipped.
        if found.is_none() && file.symlink_metadata().is_ok() {
            found = Some(file);
        }
        if folder.join(".git").symlink_metadata().is_ok() {
            return found.unwrap_or(own);
        }
    }
    own
}

/// Whether nobody else could have put a file there.
#[cfg(unix)]
fn is_ours(folder: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let user = rustix::process::geteuid().as_raw();
    folder.symlink_metadata().is_ok_and(|found| found.uid() == user && found.mode() & 0o002 == 0)
}

#[cfg(not(unix))]
fn is_ours(_folder: &Path) -> bool {
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn the_nearest_file_in_the_repository_counts() {
        let root = tempfile::tempdir().expect("a folder");
        let root = fs::canonicalize(root.path()).expect("a path");
        let deep = root.join("repository/a/b");
        fs::create_dir_all(&deep).expect("folders");
        let write = |folder: &Path| fs::write(folder.join(PROJECT_FILE), "").expect("written");
        let own = deep.join(PROJECT_FILE);
        write(&root);
        write(&root.join("repository"));
        assert_eq!(project_file(&deep), own, "there is no repository");
        fs::create_dir(root.join("repository/.git")).expect("a folder");
        assert_eq!(project_file(&deep), root.join("repository").join(PROJECT_FILE));
        write(&root.join("repository/a"));
        assert_eq!(project_file(&deep), root.join("repository/a").join(PROJECT_FILE));
        // A worktree or a submodule has a file of that name.
        fs::write(deep.join(".git"), "gitdir: elsewhere").expect("written");
        assert_eq!(project_file(&deep), own, "the search ends at the repository");
        assert_eq!(project_file(Path::new("/no/such/folder")), Path::new("/no/such/folder/.wharf.toml"));
    }

    #[cfg(unix)]
    #[test]
    fn a_folder_that_everybody_may_write_to_ends_the_search() {
        use std::os::unix::fs::PermissionsExt as _;
        let root = tempfile::tempdir().expect("a folder");
        let root = fs::canonicalize(root.path()).expect("a path");
        let deep = root.join("a");
        fs::create_dir_all(&deep).expect("folders");
        fs::create_dir(root.join(".git")).expect("a folder");
        fs::write(root.join(PROJECT_FILE), "").expect("written");
        assert_eq!(project_file(&deep), root.join(PROJECT_FILE));
        fs::set_permissions(&root, fs::Permissions::from_mode(0o777)).expect("changed");
        assert_eq!(project_file(&deep), deep.join(PROJECT_FILE));
    }
}
