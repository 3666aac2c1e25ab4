//! For the benchmark: a component that parses without a run. Not part of the library's interface.

use crate::agents::Agents;
use crate::config::Config;
use crate::error::Result;
use crate::guest::{Adapter, Catalog, Chunk, Engine, Instance, Limits};
use crate::launch::plan_unchecked;
use std::path::Path;
use wharf_core::model::{Binary, Transport, Turn};
use wharf_core::stream::frame::Frames;

/// An adapter that parses lines, and nothing else.
pub struct Parser {
    instance: Instance,
    offset: u64,
}

impl Parser {
    /// A fresh instance that has built its arguments for a turn of this version of its agent.
    pub async fn start(adapter: &Adapter, agent_version: &str) -> Result<Parser> {
        let info = adapter.info();
        let turn = Turn::new("Do it.").complete(&info.id, &info.options, String::new)?;
        let mut binary = Binary::new("/unknown");
        binary.version = Some(agent_version.to_owned());
        let mut instance = Instance::start(adapter.component(), None).await?;
        let _ = plan_unchecked(&info.id, &mut instance, &turn, &binary, &Transport::named("")).await?;
        Ok(Parser { instance, offset: 0 })
    }

    /// Parses complete lines. Returns the number of effects, each lifted and its text checked.
    pub async fn parse(&mut self, lines: &str) -> Result<usize> {
        let chunk = Chunk { stderr: false, offset: self.offset, frames: Frames::Text(lines.to_owned()) };
        self.offset += lines.len() as u64;
        let mut count = 0;
        self.instance.parse_chunk(chunk).await?.try_each(|effect| {
            std::hint::black_box(effect);
            count += 1;
        })?;
        Ok(count)
    }

    /// The operators executed so far; none if the adapter was not loaded by [`counted`].
    pub fn operators(&mut self) -> Option<u64> {
        self.instance.fuel().map(|left| u64::MAX - left)
    }
}

/// A bundled adapter in an engine whose instances take their memory from a pool of so many, or each for itself, as
/// those of runs do.
pub async fn pooled(id: &str, pool: Option<u32>) -> Result<Adapter> {
    let engine = match pool {
        Some(instances) => Engine::pooled(Limits::default(), instances)?,
        None => Engine::new(None, Limits::default())?,
    };
    load(&engine, id).await
}

async fn load(engine: &Engine, id: &str) -> Result<Adapter> {
    let agents = Agents::new("/nonexistent".into());
    let catalog = Catalog { folder: Path::new("/nonexistent"), config: &Config::default(), agents: &agents };
    catalog.load(engine, id).await
}

/// A bundled adapter in an engine that counts operators. It is compiled again, because such code is not what runs.
pub async fn counted(id: &str) -> Result<Adapter> {
    let engine = Engine::counting(Limits::default())?;
    load(&engine, id).await
}
