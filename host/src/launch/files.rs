//! The launch folder: a private folder with the files that an adapter gives to its agent.

use crate::error::{Error, Result};
use crate::record::is_run_id;
use std::io::Write as _;
use std::path::Path;
use wharf_core::model::Plan;

/// The folder, which is removed with everything in it when the value is dropped.
pub(super) struct LaunchFolder {
    folder: tempfile::TempDir,
    /// The files that were written.
    files: Vec<String>,
}

impl LaunchFolder {
    pub(super) fn path(&self) -> &Path {
        self.folder.path()
    }
}

impl Drop for LaunchFolder {
    /// Listing a folder needs a descriptor, and a start may fail because there is none. Files with known names are
    /// removed without one. What is left after that, the [`TempDir`](tempfile::TempDir) removes.
    fn drop(&mut self) {
        for name in &self.files {
            let _ = std::fs::remove_file(self.path().join(name));
        }
        let _ = std::fs::remove_dir(self.path());
    }
}

/// Creates the folder and writes the plan's files into it. They may hold prompts and tokens: only the owner may read
/// them, under any umask.
pub(super) fn launch_folder(plan: &Plan, run: &str) -> Result<LaunchFolder> {
    let mut builder = tempfile::Builder::new();
    let prefix = launch_prefix(run);
    builder.prefix(&prefix);
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o700));
    let folder = builder.tempdir().map_err(|error| Error::system("creating a folder for the agent's files", error))?;
    let mut folder = LaunchFolder { folder, files: Vec::new() };
    for (name, content) in &plan.files {
        folder.files.push(name.clone());
        let path = folder.path().join(name);
        let mut options = std::fs::OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        options
            .open(&path)
            .and_then(|mut file| file.write_all(content))
            .map_err(|error| Error::system(format!("writing {}", path.display()), error))?;
    }
    Ok(folder)
}

/// How the name of a run's launch folder starts: this finds the folders of a killed host.
fn launch_prefix(run: &str) -> String {
    format!("wharf-{run}-")
}

/// Removes the launch folders that a killed host left. The run may be from a file that an agent wrote: another text than
/// the id of a run could be the beginning of anything.
pub(crate) fn remove_launch_folders(run: &str) {
    if !is_run_id(run) {
        return;
    }
    let prefix = launch_prefix(run);
    for entry in std::fs::read_dir(std::env::temp_dir()).into_iter().flatten().flatten() {
        if entry.file_name().to_string_lossy().starts_with(&prefix) {
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;
    use std::process::Command;

    #[test]
    fn a_launch_folder_is_removed_with_what_the_agent_put_into_it() {
        let mut plan = Plan::new("/bin/agent");
        plan.files = vec![("a".to_owned(), vec![]), ("b".to_owned(), vec![])];
        for more in [false, true] {
            let folder = launch_folder(&plan, "20261116T015713-ab12cd34").expect("created");
            let path = folder.path().to_owned();
            if more {
                std::fs::create_dir_all(path.join("c/d")).expect("created");
            }
            drop(folder);
            assert!(!path.exists());
        }
    }

    #[test]
    fn a_forged_run_id_removes_no_folder() {
        let folder = tempfile::Builder::new().prefix("wharf-forged-").tempdir().expect("a folder");
        remove_launch_folders("forged");
        assert!(folder.path().exists());
    }

    /// The umask belongs to the whole process, so this test runs itself again in another one.
    #[test]
    fn launch_files_are_private_under_any_umask() {
        const INSIDE: &str = "WHARF_TEST_LAUNCH_FILES_WITHOUT_UMASK";
        if std::env::var_os(INSIDE).is_none() {
            let (_, module) = module_path!().split_once("::").expect("the tests are in a module");
            let output = Command::new("sh")
                .args(["-c", r#"umask 000; exec "$0" "$@""#])
                .arg(std::env::current_exe().expect("this program"))
                .args(["--exact", &format!("{module}::launch_files_are_private_under_any_umask")])
                .env(INSIDE, "1")
                .output()
                .expect("a shell");
            let stdout = String::from_utf8_lossy(&output.stdout);
            assert!(output.status.success() && stdout.contains("1 passed"), "{stdout}");
            return;
        }
        let mut plan = Plan::new("/bin/agent");
        plan.files = vec![("prompt.txt".to_owned(), b"secret".to_vec())];
        let folder = launch_folder(&plan, "20261116T015713-ab12cd34").expect("created");
        let mode = |path: &std::path::Path| std::fs::metadata(path).expect("it exists").permissions().mode() & 0o777;
        let file = folder.path().join("prompt.txt");
        assert_eq!(std::fs::read(&file).expect("readable"), b"secret");
        assert_eq!((mode(folder.path()), mode(&file)), (0o700, 0o600));
        let control = folder.path().join("control");
        std::fs::write(&control, "").expect("written");
        assert_eq!(mode(&control), 0o666, "the umask is really 000");
    }
}
