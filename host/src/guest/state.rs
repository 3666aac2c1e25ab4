//! What the store of a guest holds: its WASI context, its limits, and its imports.

use super::imports::Imports;
use super::stderr_tail::StderrTail;
use super::wasi::FrozenClock;
use wasmtime::ResourceLimiter;
use wasmtime_wasi::{ResourceTable, WasiCtx, WasiCtxBuilder, WasiCtxView, WasiView};

/// What a store holds.
pub(crate) struct State {
    wasi: WasiCtx,
    table: ResourceTable,
    pub(super) limits: MemoryLimiter,
    pub(super) stderr: StderrTail,
    /// Ticks left for the current call.
    pub(super) ticks: u64,
    /// What the host does on the adapter's behalf; none if nothing is granted.
    pub(super) imports: Option<Imports>,
    /// The current call.
    pub(super) call: Call,
}

/// A call of the guest.
#[derive(Debug, Clone, Copy)]
pub(super) struct Call {
    /// The function of the interface.
    pub(super) name: &'static str,
    /// Whether it may call the host.
    pub(super) host_open: bool,
}

impl State {
    /// The state of a fresh guest with this much memory.
    pub(super) fn new(memory: usize, imports: Option<Imports>) -> State {
        let stderr = StderrTail::default();
        // A replay must see what the run saw: the clocks never advance and the randomness is constant.
        let wasi = WasiCtxBuilder::new()
            .stderr(stderr.clone())
            .wall_clock(FrozenClock)
            .monotonic_clock(FrozenClock)
            .secure_random(wasmtime_wasi::random::Deterministic::new(vec![0x5a; 64]))
            .insecure_random(wasmtime_wasi::random::Deterministic::new(vec![0x5a; 64]))
            .insecure_random_seed(0x5a5a)
            .allow_tcp(false)
            .allow_udp(false)
            .allow_ip_name_lookup(false)
            .build();
        State {
            wasi,
            table: ResourceTable::new(),
            limits: MemoryLimiter { limit: memory, used: 0, refused: None },
            stderr,
            ticks: 0,
            imports,
            call: Call { name: "instantiation", host_open: false },
        }
    }

    /// The imports, in a call that may use them.
    pub(super) fn open_imports(&mut self, function: &str) -> wasmtime::Result<&mut Imports> {
        let Call { name, host_open } = self.call;
        if !host_open {
            return Err(wasmtime::Error::msg(format!(
                "it called host.{function} during {name}, where the host cannot be called"
            )));
        }
        self.imports.as_mut().ok_or_else(|| wasmtime::Error::msg("nothing is granted here"))
    }
}

impl WasiView for State {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView { ctx: &mut self.wasi, table: &mut self.table }
    }
}

/// Limits a guest's memory and tables, and remembers what was refused.
pub(super) struct MemoryLimiter {
    /// For all memories together, in bytes.
    limit: usize,
    used: usize,
    pub(super) refused: Option<String>,
}

/// Entries of one table: enough for any adapter's functions.
const TABLE_LIMIT: usize = 100_000;

impl ResourceLimiter for MemoryLimiter {
    fn memory_growing(&mut self, current: usize, desired: usize, _most: Option<usize>) -> wasmtime::Result<bool> {
        let used = (self.used - current).saturating_add(desired);
        let allowed = used <= self.limit;
        if allowed {
            self.used = used;
        } else {
            self.refused = Some(format!("exceeded the memory limit of {} bytes (it requested {used})", self.limit));
        }
        Ok(allowed)
    }

    fn table_growing(&mut self, _current: usize, desired: usize, _most: Option<usize>) -> wasmtime::Result<bool> {
        if desired > TABLE_LIMIT {
            self.refused = Some(format!("exceeded the limit of {TABLE_LIMIT} table entries (it requested {desired})"));
        }
        Ok(desired <= TABLE_LIMIT)
    }

    fn instances(&self) -> usize {
        64
    }

    fn memories(&self) -> usize {
        8
    }

    fn tables(&self) -> usize {
        32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_is_for_all_memories_together() {
        let mut limiter = MemoryLimiter { limit: 100, used: 0, refused: None };
        let grow = |limiter: &mut MemoryLimiter, current, desired| {
            limiter.memory_growing(current, desired, None).expect("an answer")
        };
        assert!(grow(&mut limiter, 0, 40) && grow(&mut limiter, 0, 30));
        assert!(grow(&mut limiter, 40, 70), "100 in all");
        assert!(!grow(&mut limiter, 30, 31) && !grow(&mut limiter, 0, usize::MAX));
        assert!(limiter.refused.is_some_and(|reason| reason.contains("limit of 100 bytes")));
    }
}
