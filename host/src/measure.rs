//! What the benchmark (`bench/`) looks at from inside: an adapter's component that parses, without a run around it, and
//! the operators that it executes.
//!
//! No part of the interface of this library: it may change at any time, and nothing else uses it.

use crate::adapter::Adapter;
use crate::bindings::types;
use crate::catalog;
use crate::config::Config;
use crate::engine::{Engine, Limits};
use crate::error::Result;
use crate::info::{Binary, Login, Support};
use crate::instance::Instance;
use crate::prepare::plan_unchecked;
use crate::turn::Turn;
use std::path::Path;

/// A component in the middle of a turn.
pub struct Parser {
    instance: Instance,
    offset: u64,
}

impl Parser {
    /// An instance that has built its arguments for a turn of this version of its runtime.
    pub async fn start(adapter: &Adapter, runtime_version: &str) -> Result<Parser> {
        let turn = Turn::new("Do it.").complete(&adapter.info().id, &adapter.info().options)?;
        let binary = Binary {
            program: "/unknown".to_owned(),
            leading_args: vec![],
            version: Some(runtime_version.to_owned()),
            support: Support::BestEffort,
            capabilities: vec![],
            login: Login::Unknown,
            notes: vec![],
        };
        let mut instance = Instance::start(adapter, None).await?;
        let _ = plan_unchecked(&adapter.info().id, &mut instance, &turn, &binary).await?;
        Ok(Parser { instance, offset: 0 })
    }

    /// Parse whole lines. Gives the number of effects, each of them lifted, the places of its texts checked.
    pub async fn parse(&mut self, lines: &str) -> Result<usize> {
        let data = types::Frames::Text(lines.to_owned());
        let chunk = types::Chunk { origin: types::Origin::Stdout, offset: self.offset, data };
        self.offset += lines.len() as u64;
        let mut count = 0;
        self.instance.parse_chunk(chunk).await?.try_each(|effect| {
            std::hint::black_box(effect);
            count += 1;
        })?;
        Ok(count)
    }

    /// The operators executed so far; none where the adapter was not loaded by [`counted`].
    pub fn operators(&mut self) -> Option<u64> {
        self.instance.fuel().map(|left| u64::MAX - left)
    }
}

/// A bundled adapter in an engine whose instances take their memory from a pool of so many, or each for itself, as those
/// of runs do.
pub async fn pooled(id: &str, pool: Option<u32>) -> Result<Adapter> {
    let engine = match pool {
        Some(instances) => Engine::pooled(Limits::default(), instances)?,
        None => Engine::new(None, Limits::default())?,
    };
    catalog::load(&engine, Path::new("/nonexistent"), &Config::default(), id).await
}

/// A bundled adapter in an engine that counts operators. It is compiled anew, for such code is not what runs.
pub async fn counted(id: &str) -> Result<Adapter> {
    let engine = Engine::counting(Limits::default())?;
    catalog::load(&engine, Path::new("/nonexistent"), &Config::default(), id).await
}
