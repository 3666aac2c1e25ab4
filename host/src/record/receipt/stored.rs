//! The receipt in the folder of a run.

use std::io;
use std::path::{Path, PathBuf};

use super::verify::{Verified, verify};
use crate::disk::{Links, read_plain_file};
use crate::error::{Error, Result};
use crate::record::folder::{RECEIPT, RECEIPT_LIMIT};

/// The receipt in the folder of a run, as it is on disk.
#[derive(Debug, Clone)]
pub struct StoredReceipt {
    folder: PathBuf,
    text: Vec<u8>,
}

impl StoredReceipt {
    pub(in crate::record) fn read(folder: &Path) -> Result<StoredReceipt> {
        let path = folder.join(RECEIPT);
        let text = read_plain_file(&path, Links::Refuse, RECEIPT_LIMIT).map_err(|error| {
            let missing = error.kind() == io::ErrorKind::NotFound;
            let message = format!("the receipt {} cannot be read: {error}", path.display());
            if missing {
                Error::invalid(message).with_hint(
                    "a run gets its receipt when it ends; one whose host was killed, or whose disk was full, has none",
                )
            } else {
                Error::system(format!("reading the receipt {}", path.display()), error)
            }
        })?;
        Ok(StoredReceipt { folder: folder.to_owned(), text })
    }

    /// The file's content: one line of JSON.
    pub fn text(&self) -> &[u8] {
        &self.text
    }

    /// Checks the receipt, and the other files of the run against it. An error means that the receipt cannot be read;
    /// anything else that is wrong is among the checks.
    pub fn verify(&self) -> Result<Verified> {
        verify(&self.folder, &self.text)
    }
}
