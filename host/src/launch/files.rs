//! The launch folder: a private folder with the files that an adapter gives to its agent.

use crate::error::{Error, Result};
use crate::guest::is_probe_id;
use crate::record::is_run_id;
use crate::temp_folder::TempFolder;
use wharf_core::model::Plan;

/// Creates the folder and writes the plan's files into it. They may hold prompts and tokens.
pub(super) fn launch_folder(plan: &Plan, run: &str) -> Result<TempFolder> {
    let mut folder =
        TempFolder::create(run).map_err(|error| Error::system("creating a folder for the agent's files", error))?;
    for (name, content) in &plan.files {
        folder
            .write(name, content)
            .map_err(|error| Error::system(format!("writing {}", folder.path().join(name).display()), error))?;
    }
    Ok(folder)
}

/// Removes the folders that a killed host left for a run or a probe. The id may be from a file that an agent wrote.
pub(crate) fn remove_launch_folders(id: &str) {
    if is_run_id(id) || is_probe_id(id) {
        TempFolder::remove_leftovers(id);
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
        let folder = tempfile::Builder::new().prefix("wharf-probe-forged-").tempdir().expect("a folder");
        for forged in ["forged", "probe-forged", "", "probe-"] {
            remove_launch_folders(forged);
        }
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
