//! What was found of a runtime, remembered for a while: asking a CLI for its version takes up to seconds, and a turn
//! should not wait for that each time. A program that changed, another adapter or another environment asks anew.

use crate::adapter::{Adapter, digest};
use crate::grants::Policy;
use crate::info::Binary;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// How long it is remembered.
const REMEMBERED: Duration = Duration::from_secs(3600);

/// A program that was found, and what it is made of.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Resolved {
    /// As the adapter found it.
    pub(crate) binary: Binary,
    /// The SHA-256 of the program's file.
    pub(crate) program_digest: Option<String>,
    /// Its size and time of change, by which a changed program is known.
    stamp: Option<(u64, u128)>,
}

/// Where one adapter's runtime is remembered, in one environment.
pub(crate) struct Remembered {
    path: PathBuf,
}

impl Remembered {
    /// The key holds everything that the answer may depend on; values only as a digest.
    pub(crate) fn open(cache: &Path, adapter: &Adapter, policy: &Policy, variables: &[(String, String)]) -> Remembered {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let key = format!("{}|{:?}|{:?}|{:?}|{variables:?}|{path:?}", adapter.digest(), policy.named_program, policy.grants, policy.home);
        Remembered { path: cache.join("runtimes").join(format!("{}.json", &digest(key.as_bytes())[..32])) }
    }

    pub(crate) fn recall(&self) -> Option<Resolved> {
        let written = std::fs::metadata(&self.path).ok()?.modified().ok()?;
        let fresh = SystemTime::now().duration_since(written).is_ok_and(|age| age < REMEMBERED);
        let resolved: Resolved = serde_json::from_slice(&std::fs::read(&self.path).ok()?).ok()?;
        let same = resolved.stamp.is_some() && stamp(&resolved.binary.program) == resolved.stamp;
        (fresh && same).then_some(resolved)
    }

    /// Remember it. Where that fails, the next turn asks again: no harm done.
    pub(crate) fn keep(&self, binary: Binary) -> Resolved {
        let stamp = stamp(&binary.program);
        let program_digest = crate::receipt::file_sha256(Path::new(&binary.program)).ok();
        let resolved = Resolved { binary, program_digest, stamp };
        if let (Some(folder), Ok(text)) = (self.path.parent(), serde_json::to_vec(&resolved)) {
            let _ = std::fs::create_dir_all(folder);
            // Written beside and moved, so that another process never reads half of it.
            if let Ok(mut file) = tempfile::NamedTempFile::new_in(folder) {
                use std::io::Write as _;
                if file.write_all(&text).is_ok() {
                    let _ = file.persist(&self.path);
                }
            }
        }
        resolved
    }
}

fn stamp(program: &str) -> Option<(u64, u128)> {
    let found = std::fs::metadata(program).ok()?;
    let changed = found.modified().ok()?.duration_since(SystemTime::UNIX_EPOCH).ok()?;
    Some((found.len(), changed.as_nanos()))
}
