//! A loaded adapter: a component that passed the checks and described itself.

use super::component::{Linked, refused};
use super::engine::Engine;
use super::instance::Instance;
use super::named_agent::NamedAgent;
use super::source::Source;
use crate::digest::sha256;
use crate::error::Result;
use bytes::Bytes;
use std::fmt;
use std::sync::Arc;
use wharf_core::model::{AdapterId, AdapterInfo};

/// An adapter that is ready to run. Cheap to clone.
#[derive(Clone)]
pub struct Adapter {
    inner: Arc<Inner>,
    /// Set if it runs an agent under another name.
    named: Option<Arc<Named>>,
}

/// An adapter under the name of an agent.
struct Named {
    agent: NamedAgent,
    info: AdapterInfo,
    config_keys: Vec<String>,
}

struct Inner {
    info: AdapterInfo,
    digest: String,
    source: Source,
    config_keys: Vec<String>,
    component: Linked,
}

impl fmt::Debug for Adapter {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = formatter.debug_struct("Adapter");
        shown.field("info", self.info()).field("source", &self.inner.source).finish_non_exhaustive()
    }
}

impl Adapter {
    /// How it describes itself. The id is the name of the agent, if it runs one of another name: see [`Adapter::agent`].
    pub fn info(&self) -> &AdapterInfo {
        self.named.as_ref().map_or(&self.inner.info, |named| &named.info)
    }

    /// The agent of another name that it runs, by the configuration.
    pub fn agent(&self) -> Option<&NamedAgent> {
        self.named.as_ref().map(|named| &named.agent)
    }

    /// The id of the component itself.
    pub(crate) fn component_id(&self) -> &str {
        &self.inner.info.id
    }

    /// The SHA-256 of the component, in hexadecimal.
    pub fn digest(&self) -> &str {
        &self.inner.digest
    }

    /// Where it came from.
    pub fn source(&self) -> &Source {
        &self.inner.source
    }

    /// The names under which the configuration may grant it access, name its program and set its options: `[grants.KEY]`.
    /// A bundled or installed adapter has its id. A file that was named by its path has its digest and its real path:
    /// it can give itself any id, so its id is not a name for it. One that runs an agent of another name has that name, and
    /// then its own id. The first key is the most exact one.
    pub fn config_keys(&self) -> &[String] {
        self.named.as_ref().map_or(&self.inner.config_keys, |named| &named.config_keys)
    }

    /// What it is called on a command line: its id, or its path if it is a file that was named so.
    pub fn name(&self) -> String {
        match &self.inner.source {
            Source::File(path) => path.to_string_lossy().into_owned(),
            _ => self.info().id.clone(),
        }
    }

    /// The same adapter, which runs an agent of another name.
    pub(super) fn running(&self, agent: NamedAgent) -> Adapter {
        let info = AdapterInfo { id: agent.name.clone(), ..self.inner.info.clone() };
        let config_keys = std::iter::once(agent.name.clone()).chain(self.inner.config_keys.iter().cloned()).collect();
        Adapter { inner: self.inner.clone(), named: Some(Arc::new(Named { agent, info, config_keys })) }
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
    pub(crate) async fn load(engine: &Engine, bytes: Bytes, source: Source) -> Result<Adapter> {
        let digest = sha256(&bytes);
        let (component, code) = Linked::new(engine, bytes, &digest, &source).await?;
        let describe = async { Instance::start(&component, None).await?.describe().await };
        let info = describe.await.map_err(|fault| refused(&source, fault.to_string()))?;
        check_info(&info).map_err(|reason| refused(&source, reason))?;
        if let Some(code) = code {
            engine.keep(digest.clone(), code).await;
        }
        let config_keys = config_keys(&source, &info.id, &digest);
        let inner = Inner { info, digest, source: source.clone(), config_keys, component };
        Ok(Adapter { inner: Arc::new(inner), named: None })
    }
}

/// By where an adapter comes from, never by what it says of itself: the catalog loads bundled and installed adapters only
/// under their own id.
fn config_keys(source: &Source, id: &str, digest: &str) -> Vec<String> {
    match source {
        Source::Bundled | Source::Installed(_) => vec![id.to_owned()],
        Source::File(path) => {
            // On Windows the resolved form (`\\?\C:\…`) is not what a user would write.
            let real = if cfg!(windows) { std::path::absolute(path) } else { std::fs::canonicalize(path) };
            let real = real.ok().and_then(|real| real.to_str().map(str::to_owned));
            std::iter::once(format!("sha256:{digest}")).chain(real).collect()
        }
    }
}

fn check_info(info: &AdapterInfo) -> Result<(), String> {
    let plain = |character: char| character.is_ascii_lowercase() || character.is_ascii_digit() || character == '-';
    if info.id.is_empty() || info.id.len() > 64 || !info.id.chars().all(plain) {
        return Err(format!("its id {:?} is not made of lower-case letters, digits and hyphens", info.id));
    }
    wharf_core::policy::check_requested(&info.access)
}
