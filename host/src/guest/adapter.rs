//! A loaded adapter: a component that passed the checks and described itself.

use super::component::{Linked, Refusal};
use super::engine::Engine;
use super::instance::Instance;
use crate::digest::sha256;
use crate::error::{Error, Result};
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use wharf_core::model::{AdapterId, AdapterInfo};

/// Where an adapter came from.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Source {
    /// It is part of the program.
    Bundled,
    /// A file.
    File(PathBuf),
}

impl fmt::Display for Source {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Source::Bundled => formatter.write_str("bundled"),
            Source::File(path) => write!(formatter, "{}", path.display()),
        }
    }
}

/// An adapter that is ready to run. Cheap to clone.
#[derive(Clone)]
pub struct Adapter {
    inner: Arc<Inner>,
}

struct Inner {
    info: AdapterInfo,
    digest: String,
    source: Source,
    component: Linked,
}

impl fmt::Debug for Adapter {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Adapter").field("info", &self.inner.info).field("source", &self.inner.source).finish()
    }
}

impl Adapter {
    /// How it describes itself.
    pub fn info(&self) -> &AdapterInfo {
        &self.inner.info
    }

    /// The SHA-256 of the component, in hexadecimal.
    pub fn digest(&self) -> &str {
        &self.inner.digest
    }

    /// Where it came from.
    pub fn source(&self) -> &Source {
        &self.inner.source
    }

    /// Its identity, as a run reports it.
    pub fn id(&self) -> AdapterId {
        let AdapterInfo { id, version, .. } = self.info();
        AdapterId { id: id.clone(), version: version.clone(), sha256: self.digest().to_owned() }
    }

    pub(crate) fn component(&self) -> &Linked {
        &self.inner.component
    }

    /// Checks a component, compiles it, and lets it describe itself with nothing granted.
    pub(crate) async fn load(engine: &Engine, bytes: &[u8], source: Source) -> Result<Adapter> {
        let refuse = |reason: String| Error::adapter(format!("the adapter {source} was refused: {reason}"));
        let digest = sha256(bytes);
        let component = Linked::new(engine, bytes, &digest).map_err(|Refusal { reason, hint }| {
            let error = refuse(reason);
            if let Some(hint) = hint { error.with_hint(hint) } else { error }
        })?;
        let describe = async { Instance::start(&component, None).await?.describe().await };
        let info = describe.await.map_err(|fault| refuse(fault.to_string()))?;
        check_info(&info).map_err(refuse)?;
        Ok(Adapter { inner: Arc::new(Inner { info, digest, source: source.clone(), component }) })
    }
}

fn check_info(info: &AdapterInfo) -> Result<(), String> {
    let plain = |character: char| character.is_ascii_lowercase() || character.is_ascii_digit() || character == '-';
    if info.id.is_empty() || info.id.len() > 64 || !info.id.chars().all(plain) {
        return Err(format!("its id {:?} is not made of lower-case letters, digits and hyphens", info.id));
    }
    Ok(())
}
