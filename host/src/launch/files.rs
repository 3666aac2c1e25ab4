//! The launch folder: a private folder with the files that an adapter gives to its agent.

use crate::error::{Error, Result};
use std::io::Write as _;
use wharf_core::model::Plan;

/// Creates the folder and writes the plan's files into it. They may hold prompts and tokens: only the owner may read
/// them, under any umask.
pub(super) fn launch_folder(plan: &Plan, run: &str) -> Result<tempfile::TempDir> {
    let mut builder = tempfile::Builder::new();
    let prefix = launch_prefix(run);
    builder.prefix(&prefix);
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o700));
    let folder = builder.tempdir().map_err(|error| Error::system("creating a folder for the agent's files", error))?;
    for (name, content) in &plan.files {
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

/// Removes the launch folders that a killed host left.
pub(crate) fn remove_launch_folders(run: &str) {
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
