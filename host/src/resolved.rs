//! What was found of a runtime, remembered for a while: asking a CLI for its version takes up to seconds, and a turn
//! should not wait for that each time. A program that changed, another adapter or another environment asks anew. Lists
//! of models are remembered the same way; that there was none is forgotten sooner.

use crate::adapter::{Adapter, digest};
use crate::grants::Policy;
use crate::info::{Binary, ModelList};
use crate::redact::Secrets;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// How long it is remembered.
const REMEMBERED: Duration = Duration::from_hours(1);

/// How long it is remembered that there was no list of models: long enough not to ask a broken server in every turn.
const REFUSED: Duration = Duration::from_mins(1);

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
    models: PathBuf,
    secrets: Secrets,
}

impl Remembered {
    /// The key holds everything that the answer may depend on; values only as a digest.
    pub(crate) fn open(cache: &Path, adapter: &Adapter, policy: &Policy, variables: &[(String, String)]) -> Remembered {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let key = format!(
            "{}|{:?}|{:?}|{:?}|{variables:?}|{}",
            adapter.digest(),
            policy.named_program,
            policy.grants,
            policy.home,
            path.display()
        );
        let name = format!("{}.json", &digest(key.as_bytes())[..32]);
        Remembered {
            path: cache.join("runtimes").join(&name),
            models: cache.join("models").join(name),
            secrets: Secrets::new(variables.iter().cloned()),
        }
    }

    /// The list of models, as it was not long ago.
    pub(crate) fn recall_models(&self) -> Option<ModelList> {
        let list: ModelList = serde_json::from_slice(&std::fs::read(&self.models).ok()?).ok()?;
        let limit = if matches!(list, ModelList::Models(_)) { REMEMBERED } else { REFUSED };
        (age(&self.models)? < limit).then_some(list)
    }

    /// Remember a list of models.
    pub(crate) fn keep_models(&self, list: &ModelList) {
        self.write(&self.models, list);
    }

    pub(crate) fn recall(&self) -> Option<Resolved> {
        let fresh = age(&self.path)? < REMEMBERED;
        let resolved: Resolved = serde_json::from_slice(&std::fs::read(&self.path).ok()?).ok()?;
        let same = resolved.stamp.is_some() && stamp(&resolved.binary.program) == resolved.stamp;
        (fresh && same).then_some(resolved)
    }

    /// Remember it. Where that fails, the next turn asks again: no harm done.
    pub(crate) fn keep(&self, binary: Binary) -> Resolved {
        let stamp = stamp(&binary.program);
        let program_digest = crate::receipt::file_sha256(Path::new(&binary.program)).ok();
        let resolved = Resolved { binary, program_digest, stamp };
        self.write(&self.path, &resolved);
        resolved
    }

    /// What an adapter found may hold what it read from a variable.
    fn write(&self, path: &Path, what: &impl Serialize) {
        if let Ok(text) = serde_json::to_string(what) {
            write(path, self.secrets.redact(&text).as_bytes());
        }
    }
}

fn age(path: &Path) -> Option<Duration> {
    let written = std::fs::metadata(path).ok()?.modified().ok()?;
    SystemTime::now().duration_since(written).ok()
}

/// Written beside and moved, so that another process never reads half of it.
fn write(path: &Path, text: &[u8]) {
    use std::io::Write as _;
    let Some(folder) = path.parent() else { return };
    let _ = std::fs::create_dir_all(folder);
    if let Ok(mut file) = tempfile::NamedTempFile::new_in(folder)
        && file.write_all(text).is_ok()
    {
        let _ = file.persist(path);
    }
}

fn stamp(program: &str) -> Option<(u64, u128)> {
    let found = std::fs::metadata(program).ok()?;
    let changed = found.modified().ok()?.duration_since(SystemTime::UNIX_EPOCH).ok()?;
    Some((found.len(), changed.as_nanos()))
}
