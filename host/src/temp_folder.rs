//! A private temporary folder for one process that wharf starts. It is removed with everything in it when its value is
//! dropped, and by the next host if this one is killed.

use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::path::Path;

/// The folder. Only its owner may enter it, under any umask.
pub(crate) struct TempFolder {
    folder: tempfile::TempDir,
    /// The files that were written.
    files: Vec<String>,
}

impl TempFolder {
    /// An empty folder for what has this id: a run, or a probe.
    pub(crate) fn create(id: &str) -> io::Result<TempFolder> {
        let prefix = prefix(id);
        let mut builder = tempfile::Builder::new();
        builder.prefix(&prefix);
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o700));
        Ok(TempFolder { folder: builder.tempdir()?, files: Vec::new() })
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Writes a file that only the owner may read.
    pub(crate) fn write(&mut self, name: &str, content: &[u8]) -> io::Result<()> {
        self.files.push(name.to_owned());
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        options.open(self.path().join(name)).and_then(|mut file| file.write_all(content))
    }

    /// Removes the folders that a killed host left for this id. The id must have been checked: any other text could be
    /// the beginning of anything.
    pub(crate) fn remove_leftovers(id: &str) {
        let prefix = prefix(id);
        for entry in std::fs::read_dir(std::env::temp_dir()).into_iter().flatten().flatten() {
            if entry.file_name().to_string_lossy().starts_with(&prefix) {
                let _ = std::fs::remove_dir_all(entry.path());
            }
        }
    }
}

impl Drop for TempFolder {
    /// Listing a folder needs a descriptor, and a start may fail because there is none. Files with known names are
    /// removed without one. What is left after that, the [`TempDir`](tempfile::TempDir) removes.
    fn drop(&mut self) {
        for name in &self.files {
            let _ = std::fs::remove_file(self.path().join(name));
        }
        let _ = std::fs::remove_dir(self.path());
    }
}

/// How the name of a folder starts: this finds the folders of a killed host.
fn prefix(id: &str) -> String {
    format!("wharf-{id}-")
}
