//! What was found about an agent, cached for a while: asking a CLI for its version takes up to seconds, and a turn
//! should not wait for that each time. If the program, the adapter or the environment changed, the agent is asked
//! again. Lists of models are cached in the same way; a missing list is cached for a shorter time.

use crate::digest::{file_sha256, sha256};
use crate::disk::{Links, others_may_write, private_folder, read_plain_file, write_atomically};
use crate::guest::{Adapter, Environment};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};
use wharf_core::model::{Binary, ModelList};
use wharf_core::policy::Grants;
use wharf_core::stream::Secrets;

/// How long an agent and its models are remembered.
const REMEMBERED: Duration = Duration::from_hours(1);

/// How long a missing list of models is remembered: long enough not to ask a broken server in every turn.
const REFUSED: Duration = Duration::from_mins(1);

/// The largest file of what is remembered.
const LIMIT: u64 = 4 << 20;

/// A program that was found, and the state of its file.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Resolved {
    /// As the adapter found it.
    pub(crate) binary: Binary,
    /// The SHA-256 of the program's file.
    pub(crate) program_digest: Option<String>,
    /// The size and modification time of the file, which show that it changed.
    stamp: Option<(u64, u128)>,
}

/// Where one adapter's agent is remembered, for one environment.
pub(crate) struct Remembered {
    /// What other users could have written is not used: it names the arguments of a program.
    trusted: bool,
    path: PathBuf,
    models: PathBuf,
    secrets: Secrets,
}

impl Remembered {
    /// The key contains everything that the answer may depend on, as a digest.
    pub(crate) fn open(cache: &Path, adapter: &Adapter, grants: &Grants, environment: &Environment) -> Remembered {
        let variables = environment.granted_values(grants);
        let key = format!(
            "{}|{:?}|{:?}|{:?}|{:?}|{variables:?}|{:?}",
            adapter.digest(),
            adapter.agent().map(|agent| &agent.command),
            grants.named_program,
            grants.granted,
            grants.home,
            environment.get("PATH")
        );
        let name = format!("{}.json", &sha256(key.as_bytes())[..32]);
        let folders = [cache.to_owned(), cache.join("agents"), cache.join("models")];
        Remembered {
            trusted: folders.iter().all(|folder| others_may_write(folder).is_none()),
            path: cache.join("agents").join(&name),
            models: cache.join("models").join(name),
            secrets: environment.secrets(grants),
        }
    }

    /// The list of models, if it is recent.
    pub(crate) fn recall_models(&self) -> Option<ModelList> {
        let list: ModelList = self.read(&self.models)?;
        let limit = if matches!(list, ModelList::Models(_)) { REMEMBERED } else { REFUSED };
        (age(&self.models)? < limit).then_some(list)
    }

    /// Remembers a list of models.
    pub(crate) fn keep_models(&self, list: &ModelList) {
        self.write(&self.models, list);
    }

    pub(crate) fn recall(&self) -> Option<Resolved> {
        let fresh = age(&self.path)? < REMEMBERED;
        let resolved: Resolved = self.read(&self.path)?;
        let same = resolved.stamp.is_some() && stamp(&resolved.binary.program) == resolved.stamp;
        (fresh && same).then_some(resolved)
    }

    /// Remembers an agent. If that fails, the next turn asks again.
    pub(crate) fn keep(&self, binary: Binary) -> Resolved {
        let stamp = stamp(&binary.program);
        let program_digest = file_sha256(Path::new(&binary.program)).ok();
        let resolved = Resolved { binary, program_digest, stamp };
        self.write(&self.path, &resolved);
        resolved
    }

    fn read<T: for<'a> Deserialize<'a>>(&self, path: &Path) -> Option<T> {
        if !self.trusted || others_may_write(path).is_some() {
            return None;
        }
        serde_json::from_slice(&read_plain_file(path, Links::Refuse, LIMIT).ok()?).ok()
    }

    /// Redacted, because an adapter may have included the value of a variable.
    fn write(&self, path: &Path, what: &impl Serialize) {
        if let Ok(text) = serde_json::to_string(what)
            && self.trusted
        {
            let _ = path.parent().map(|folder| private_folder().recursive(true).create(folder));
            let _ = write_atomically(path, &[self.secrets.redact(&text).as_bytes()]);
        }
    }
}

fn age(path: &Path) -> Option<Duration> {
    let written = std::fs::metadata(path).ok()?.modified().ok()?;
    SystemTime::now().duration_since(written).ok()
}

fn stamp(program: &str) -> Option<(u64, u128)> {
    let found = std::fs::metadata(program).ok()?;
    let changed = found.modified().ok()?.duration_since(SystemTime::UNIX_EPOCH).ok()?;
    Some((found.len(), changed.as_nanos()))
}
