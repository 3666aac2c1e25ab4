//! What an installation has put into a folder: plain data, before it is a version that can be found.

use crate::agents::Manifest;

/// What was put into a folder.
pub(super) struct Content {
    pub(super) version: String,
    pub(super) manifest: Manifest,
}
