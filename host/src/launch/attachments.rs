//! The attachments of a turn: files are found and read before the adapter sees them, because it has no files itself.

use crate::disk::{Links, read_plain_file};
use crate::error::{Error, Result};
use std::path::Path;
use wharf_core::model::{ATTACHMENT_LIMIT, Attachment};

/// How many bytes the attachments of one turn may have together, as far as an adapter gets them.
const TOTAL_LIMIT: usize = 16 << 20;

/// The attachments with absolute paths and with their bytes. A file beyond the limit keeps its path only.
pub(super) fn complete(attachments: &mut [Attachment]) -> Result<()> {
    let mut total = 0_usize;
    for attachment in attachments {
        if let Some(path) = attachment.path.take() {
            let found = std::fs::canonicalize(&path)
                .map_err(|error| refused(&path, &error.to_string()).with_hint("name a file that exists"))?;
            attachment.bytes = read(&found)?;
            attachment.path = Some(found);
        } else if attachment.bytes.as_ref().is_some_and(|bytes| bytes.len() > ATTACHMENT_LIMIT) {
            return Err(Error::invalid(format!(
                "the attachment {} cannot be used: it has more than {ATTACHMENT_LIMIT} bytes",
                attachment.name
            ))
            .with_hint("write it to a file, and attach that"));
        }
        total = total.saturating_add(attachment.bytes.as_ref().map_or(0, Vec::len));
    }
    if total > TOTAL_LIMIT {
        return Err(Error::invalid(format!("the attachments have {total} bytes, more than {TOTAL_LIMIT} together"))
            .with_hint("attach less, or name the files in the prompt"));
    }
    Ok(())
}

/// The content of a file; none if it is too large to pass on.
fn read(path: &Path) -> Result<Option<Vec<u8>>> {
    match read_plain_file(path, Links::Follow, ATTACHMENT_LIMIT as u64) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == std::io::ErrorKind::FileTooLarge => Ok(None),
        Err(error) => Err(refused(path, &error.to_string())),
    }
}

fn refused(path: &Path, reason: &str) -> Error {
    Error::invalid(format!("the attachment {} cannot be used: {reason}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_and_one_beyond_the_limit_keeps_its_path() {
        let folder = tempfile::tempdir().expect("a folder");
        let small = folder.path().join("small.png");
        std::fs::write(&small, b"picture").expect("written");
        let large = folder.path().join("large.bin");
        std::fs::File::create(&large).and_then(|file| file.set_len(ATTACHMENT_LIMIT as u64 + 1)).expect("a file");
        let mut attachments = [Attachment::file(&small), Attachment::file(&large)];
        complete(&mut attachments).expect("both can be used");
        assert_eq!(attachments[0].bytes.as_deref(), Some(&b"picture"[..]));
        assert!(attachments[1].bytes.is_none() && attachments[1].path.is_some());
    }

    #[test]
    fn what_cannot_be_attached_is_refused_with_its_name() {
        let folder = tempfile::tempdir().expect("a folder");
        for path in [folder.path().join("missing"), folder.path().to_owned()] {
            let error = complete(&mut [Attachment::file(&path)]).expect_err("refused");
            assert!(error.to_string().contains(&path.display().to_string()), "{error}");
        }
        let large = || Attachment::bytes("a", "image/png", vec![0; ATTACHMENT_LIMIT]);
        assert!(complete(&mut [large(), large(), large()]).is_err(), "too much together");
    }
}
