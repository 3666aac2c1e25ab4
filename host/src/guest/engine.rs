//! The WebAssembly engine: one for each host, with its cache of compiled code and the ticks that interrupt guests.

use super::cache::Cache;
use crate::error::{Error, Result};
use std::path::Path;
use std::time::Duration;
use wasmtime::component::Component;
use wasmtime::{Config, OptLevel, PoolingAllocationConfig, ProfilingStrategy};

/// The length of a tick: a computing guest is checked this often.
pub(crate) const TICK: Duration = Duration::from_millis(10);

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
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { memory: 256 << 20, compute: Duration::from_secs(10), lift: 128 << 20, component: 32 << 20 }
    }
}

/// The variable that, set to `perfmap`, makes the engine write a map of the guests' functions for `perf`.
const PROFILE: &str = "WHARF_PROFILE";

/// The settings of every engine.
fn settings() -> Config {
    let mut config = Config::new();
    config.epoch_interruption(true).cranelift_opt_level(OptLevel::Speed).wasm_component_model(true);
    // Memories keep wasmtime's reservation of 4 GiB of addresses (not of memory): with less, each access of a guest
    // needs a bounds check, which makes the guest slower by half.
    config.max_wasm_stack(1 << 20).async_stack_size(2 << 20);
    config
}

/// Compiles and runs adapters.
#[derive(Clone)]
pub(crate) struct Engine {
    pub(crate) wasm: wasmtime::Engine,
    pub(crate) limits: Limits,
    cache: Option<Cache>,
}

impl Engine {
    /// An engine that keeps compiled code in `cache`, keyed by the component's content and the engine's settings.
    pub(crate) fn new(cache: Option<&Path>, limits: Limits) -> Result<Engine> {
        let mut config = settings();
        if std::env::var_os(PROFILE).is_some_and(|value| value == "perfmap") {
            config.profiler(ProfilingStrategy::PerfMap);
        }
        let engine = Engine::with_config(&config, limits)?;
        Ok(Engine { cache: cache.map(|folder| Cache::new(folder.to_owned())), ..engine })
    }

    /// A component, compiled now or taken from the cache, by its bytes and their digest.
    pub(crate) fn component(&self, bytes: &[u8], digest: &str) -> wasmtime::Result<Component> {
        if let Some(component) = self.cache.as_ref().and_then(|cache| cache.find(&self.wasm, digest)) {
            return Ok(component);
        }
        let component = Component::new(&self.wasm, bytes)?;
        if let Some(cache) = &self.cache {
            cache.store(&self.wasm, digest, &component);
        }
        Ok(component)
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
        Ok(Engine { wasm, limits, cache: None })
    }
}
