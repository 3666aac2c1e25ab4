//! Files that are read for an adapter: plain files only, of a limited size.

use super::types::{Content, HostError, Result};
use super::variables::Environment;
use std::io::Read as _;
use std::path::Path;
use wharf_core::policy::Grants;

/// The largest file that is read.
const FILE_LIMIT: u64 = 16 << 20;

/// A file that the user granted.
pub(super) fn read_granted(path: &str, grants: &Grants, environment: &Environment) -> Result<Content> {
    let folder = |name: &str| grants.variable(name).ok().and_then(|()| environment.get(name));
    grants.file(path, folder)?;
    // The pattern must match where the path really leads, not only how it is spelled.
    let real = std::fs::canonicalize(path).map_err(|error| not_read(path, &error))?;
    let real_folder = |name: &str| {
        let folder = folder(name)?;
        let real = std::fs::canonicalize(&folder).ok();
        Some(real.and_then(|real| real.to_str().map(str::to_owned)).unwrap_or(folder))
    };
    grants.file(&real.to_string_lossy(), real_folder)?;
    read_limited(&real)
}

/// One of the run's own launch files.
pub(super) fn read_launch_file(name: &str, folder: Option<&Path>) -> Result<Content> {
    let folder = folder.ok_or_else(|| HostError::NotFound(name.to_owned()))?;
    if name.is_empty() || name.contains(['/', '\\']) || name.starts_with('.') {
        return Err(HostError::Denied(format!("{name:?} is not the name of a launch file")));
    }
    let path = folder.join(name);
    // The agent could have put a link there.
    match std::fs::symlink_metadata(&path) {
        Ok(found) if found.is_file() => read_limited(&path),
        Ok(_) => Err(HostError::Denied(format!("{name} is no longer a plain file"))),
        Err(error) => Err(not_read(name, &error)),
    }
}

fn not_read(path: &str, error: &std::io::Error) -> HostError {
    match error.kind() {
        std::io::ErrorKind::NotFound => HostError::NotFound(path.to_owned()),
        _ => HostError::Failed(format!("reading {path}: {error}")),
    }
}

fn read_limited(path: &Path) -> Result<Content> {
    let shown = path.to_string_lossy();
    // Opening a FIFO that nobody writes to would block for ever.
    let mut options = std::fs::OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, rustix::fs::OFlags::NONBLOCK.bits().cast_signed());
    let file = options.open(path).map_err(|error| not_read(&shown, &error))?;
    if !file.metadata().is_ok_and(|found| found.is_file()) {
        return Err(HostError::Failed(format!("{shown} is not a plain file")));
    }
    let mut content = Vec::new();
    file.take(FILE_LIMIT + 1).read_to_end(&mut content).map_err(|error| not_read(&shown, &error))?;
    if content.len() as u64 > FILE_LIMIT { Err(HostError::TooLarge) } else { Ok(Content(content)) }
}
