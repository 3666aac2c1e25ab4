//! The WebAssembly engine: one for each host, with its cache of compiled code and the ticks that interrupt guests.

use super::cache::{self, Cache};
use super::compiler::{CompileLimits, Compiler, Failure};
use super::settings::settings;
use super::source::Source;
use crate::error::{Error, Result};
use bytes::Bytes;
use std::path::Path;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Semaphore;
use wasmtime::component::Component;
use wasmtime::{Config, PoolingAllocationConfig, ProfilingStrategy};

/// The length of a tick: a computing guest is checked this often.
pub(crate) const TICK: Duration = Duration::from_millis(10);

/// How many components one engine compiles at a time: each may take all the memory that is allowed for one.
const COMPILERS: usize = 2;

/// After this time, somebody who waits for a compilation is told so.
const NOTICE_AFTER: Duration = Duration::from_millis(300);

/// What a guest may use.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    /// Bytes of memory of one instance.
    pub memory: usize,
    /// How long one call may compute, not counting what it waits for the host.
    pub compute: Duration,
    /// Bytes that a guest may return to the host in one call.
    pub lift: usize,
    /// The largest component that is loaded.
    pub component: usize,
    /// What compiling it may take.
    pub compile: CompileLimits,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            memory: 256 << 20,
            compute: Duration::from_secs(10),
            lift: 128 << 20,
            component: 32 << 20,
            compile: CompileLimits::default(),
        }
    }
}

/// The variable that, set to `perfmap`, makes the engine write a map of the guests' functions for `perf`.
const PROFILE: &str = "WHARF_PROFILE";

/// Compiles and runs adapters.
#[derive(Clone)]
pub(crate) struct Engine {
    pub(crate) wasm: wasmtime::Engine,
    pub(crate) limits: Limits,
    cache: Option<Cache>,
    compiler: Compiler,
    compiling: Arc<Semaphore>,
}

impl Engine {
    /// An engine that keeps compiled code in `cache`, keyed by the component's content and the engine's settings.
    pub(crate) fn new(cache: Option<&Path>, limits: Limits) -> Result<Engine> {
        let mut config = settings();
        if std::env::var_os(PROFILE).is_some_and(|value| value == "perfmap") {
            config.profiler(ProfilingStrategy::PerfMap);
        }
        let engine = Engine::with_config(&config, limits)?;
        let cache = cache.map(|folder| Cache::new(folder.to_owned()));
        Ok(Engine { cache, compiler: Compiler::best(), ..engine })
    }

    /// The component with this digest, if it was compiled before and passed all checks then.
    pub(super) fn cached(&self, digest: &str) -> Option<Component> {
        self.cache.as_ref()?.find(&self.wasm, digest)
    }

    /// Compiles a component, without blocking the thread of the caller.
    pub(super) async fn compile(&self, component: Bytes, source: &Source) -> Result<Vec<u8>, Failure> {
        let _permit = self.compiling.acquire().await;
        // What is part of this program is trusted, and compiled where nothing can be missing.
        let compiler = if *source == Source::Bundled { Compiler::Thread } else { self.compiler };
        let mut compiling = pin!(compiler.compile(&self.wasm, component, self.limits.compile));
        if let Ok(compiled) = tokio::time::timeout(NOTICE_AFTER, &mut compiling).await {
            return compiled;
        }
        if *source != Source::Bundled {
            let once = if self.cache.is_some() { ", once (cached afterwards)" } else { "" };
            tracing::info!(target: "wharf::compiler", "compiling {source}{once}");
        }
        compiling.await
    }

    /// A component from the code that [`compile`](Engine::compile) gave.
    pub(super) fn load(&self, code: &[u8]) -> wasmtime::Result<Component> {
        cache::deserialize(&self.wasm, code)
    }

    /// Keeps the code of a component that has passed all checks.
    pub(super) async fn keep(&self, digest: String, code: Vec<u8>) {
        if let Some(cache) = self.cache.clone() {
            let engine = self.wasm.clone();
            // If it fails, the component is compiled again.
            let _ = tokio::task::spawn_blocking(move || cache.store(&engine, &digest, &code)).await;
        }
    }

    /// An engine that counts the operators that guests execute, as fuel.
    pub(crate) fn counting(limits: Limits) -> Result<Engine> {
        Engine::with_config(settings().consume_fuel(true), limits)
    }

    /// An engine that takes the memory of instances from a pool. For comparison in the benchmark: runs do not use it.
    pub(crate) fn pooled(limits: Limits, instances: u32) -> Result<Engine> {
        let mut pool = PoolingAllocationConfig::new();
        pool.total_component_instances(instances)
            .total_core_instances(instances * 8)
            .total_memories(instances * 2)
            .total_tables(instances * 8)
            .total_stacks(instances)
            .max_memory_size(limits.memory);
        Engine::with_config(settings().allocation_strategy(pool), limits)
    }

    fn with_config(config: &Config, limits: Limits) -> Result<Engine> {
        let wasm =
            wasmtime::Engine::new(config).map_err(|error| Error::system("starting the WebAssembly engine", error))?;
        let weak = wasm.weak();
        std::thread::Builder::new()
            .name("wharf-epochs".to_owned())
            .spawn(move || {
                while let Some(engine) = weak.upgrade() {
                    engine.increment_epoch();
                    drop(engine);
                    std::thread::sleep(TICK);
                }
            })
            .map_err(|error| Error::system("starting the thread that interrupts guests", error))?;
        let compiling = Arc::new(Semaphore::new(COMPILERS));
        Ok(Engine { wasm, limits, cache: None, compiler: Compiler::Thread, compiling })
    }
}
