//! Files and folders that only their owner may read, and atomic writes.

use std::fs::DirBuilder;
use std::io::{self, Write as _};
use std::path::Path;

/// A builder of folders that only their owner may enter.
pub(crate) fn private_folder() -> DirBuilder {
    #[cfg_attr(not(unix), expect(unused_mut, reason = "modes exist on Unix only"))]
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder
}

/// Writes a file under another name in the same folder and renames it: another process sees all of it or nothing. Only
/// its owner may read it.
pub(crate) fn write_atomically(path: &Path, content: &[&[u8]]) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    content.iter().try_for_each(|part| file.write_all(part))?;
    file.persist(path)?;
    Ok(())
}
