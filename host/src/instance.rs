//! One instance of an adapter: one a run, never used again after a trap.
//!
//! Every call has its limits set before it and its end translated after it: whatever a guest does, the caller gets a
//! result or a [`Fault`] with what the guest last said on its stderr, and never a panic.

use crate::adapter::{Adapter, first_line};
use crate::bindings::types;
use crate::engine::TICK;
use crate::error::Error;
use crate::event::{Exit, Failure};
use crate::info::{AdapterInfo, Binary, ModelList};
use crate::last_words::LastWords;
use crate::lift::{self, Effect};
use crate::services::Services;
use crate::turn::Turn;
use std::fmt;
use std::time::Duration;
use wasmtime::{ResourceLimiter, Store, UpdateDeadline};
use wasmtime_wasi::{ResourceTable, WasiCtx, WasiCtxBuilder, WasiCtxView, WasiView};

/// What a store holds.
pub(crate) struct State {
    wasi: WasiCtx,
    table: ResourceTable,
    limits: Fences,
    stderr: LastWords,
    /// Ticks left for the call under way.
    ticks: u64,
    /// What the host does on the adapter's behalf; nothing when nothing is granted.
    pub(crate) services: Option<Services>,
    /// The call under way, and whether the host interface is open in it.
    pub(crate) call: (&'static str, bool),
}

/// The fences around a guest's memory and tables, which remember what was refused.
struct Fences {
    /// Of all memories together.
    memory: usize,
    used: usize,
    refused: Option<String>,
}

/// Entries of one table: enough for any adapter's functions.
const TABLE: usize = 100_000;

impl ResourceLimiter for Fences {
    fn memory_growing(&mut self, now: usize, wanted: usize, _most: Option<usize>) -> wasmtime::Result<bool> {
        let used = (self.used - now).saturating_add(wanted);
        let fits = used <= self.memory;
        if fits {
            self.used = used;
        } else {
            self.refused = Some(format!("it wanted {used} bytes of memory, and {} are the most it gets", self.memory));
        }
        Ok(fits)
    }
    fn table_growing(&mut self, _now: usize, wanted: usize, _most: Option<usize>) -> wasmtime::Result<bool> {
        if wanted > TABLE {
            self.refused = Some(format!("it wanted a table of {wanted} entries, and {TABLE} are the most it gets"));
        }
        Ok(wanted <= TABLE)
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

impl WasiView for State {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView { ctx: &mut self.wasi, table: &mut self.table }
    }
}

/// An adapter trapped, ran into a limit, or broke the interface.
#[derive(Debug, Clone)]
pub struct Fault {
    /// The interface's function it happened in.
    pub call: &'static str,
    /// What happened.
    pub why: String,
    /// What the guest said on its stderr: the text of a panic.
    pub stderr: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "in {}: {}", self.call, self.why)?;
        if !self.stderr.is_empty() {
            write!(formatter, "; it said: {}", self.stderr)?;
        }
        Ok(())
    }
}

impl From<Fault> for Error {
    fn from(fault: Fault) -> Error {
        Error::adapter(fault.to_string())
    }
}

/// How long a call that may ask the host may take in all.
const OPEN_CALL: Duration = Duration::from_mins(3);

/// A running guest.
pub(crate) struct Instance {
    store: Store<State>,
    exports: crate::bindings::Adapter,
    compute_ticks: u64,
}

/// A guest's clock stands still, so that a replay sees what the run saw.
struct StillClock;

impl wasmtime_wasi::HostWallClock for StillClock {
    fn resolution(&self) -> std::time::Duration {
        std::time::Duration::from_secs(1)
    }
    fn now(&self) -> std::time::Duration {
        std::time::Duration::ZERO
    }
}

impl wasmtime_wasi::HostMonotonicClock for StillClock {
    fn resolution(&self) -> u64 {
        1
    }
    fn now(&self) -> u64 {
        0
    }
}

/// A call of an exported function, with its limits set before and its end translated after.
macro_rules! call {
    ($self:ident, $name:literal, $open:literal, $function:ident ( $($argument:expr),* )) => {{
        $self.begin($name, $open);
        let exports = $self.exports.wharf_runtime_runtime_adapter();
        let limit = $self.wall_clock($open);
        let result = tokio::time::timeout(limit, exports.$function(&mut $self.store $(, $argument)*)).await;
        // An adapter that waits (a guest can sleep without computing) is given up; its instance is not used again.
        let result = result.unwrap_or_else(|_| Err(too_long(limit)));
        $self.end($name, result)
    }};
}

impl Instance {
    /// A fresh instance. Without services nothing is granted: that is how `describe` runs.
    pub(crate) async fn start(adapter: &Adapter, services: Option<Services>) -> Result<Instance, Fault> {
        let engine = adapter.engine();
        let stderr = LastWords::default();
        let wasi = WasiCtxBuilder::new()
            .stderr(stderr.clone())
            .wall_clock(StillClock)
            .monotonic_clock(StillClock)
            .secure_random(wasmtime_wasi::random::Deterministic::new(vec![0x5a; 64]))
            .insecure_random(wasmtime_wasi::random::Deterministic::new(vec![0x5a; 64]))
            .insecure_random_seed(0x5a5a)
            .allow_tcp(false)
            .allow_udp(false)
            .build();
        let state = State {
            wasi,
            table: ResourceTable::new(),
            limits: Fences { memory: engine.limits.memory, used: 0, refused: None },
            stderr,
            ticks: 0,
            services,
            call: ("instantiation", false),
        };
        let mut store = Store::new(&engine.wasm, state);
        store.limiter(|state| &mut state.limits);
        store.set_hostcall_fuel(engine.limits.lift);
        // Only an engine that counts operators knows fuel; any other refuses it, and needs none.
        let _ = store.set_fuel(u64::MAX);
        // The guest gives way to other tasks at each tick, and traps when its ticks are used up. Ticks pass only while
        // it computes: the time it waits for the host does not count.
        store.epoch_deadline_callback(|mut store| {
            let state = store.data_mut();
            if state.ticks == 0 {
                return Ok(UpdateDeadline::Interrupt);
            }
            state.ticks -= 1;
            Ok(UpdateDeadline::Yield(1))
        });
        let compute_ticks = u64::try_from(engine.limits.compute.as_millis() / TICK.as_millis()).unwrap_or(u64::MAX);
        store.data_mut().ticks = compute_ticks;
        store.set_epoch_deadline(1);
        let limit = engine.limits.compute * 2;
        let started = tokio::time::timeout(limit, adapter.pre().instantiate_async(&mut store)).await;
        let exports = match started.unwrap_or_else(|_| Err(too_long(limit))) {
            Ok(exports) => exports,
            Err(why) => return Err(fault(&mut store, "instantiation", &why)),
        };
        Ok(Instance { store, exports, compute_ticks })
    }

    /// What is left of the fuel, where operators are counted.
    pub(crate) fn fuel(&self) -> Option<u64> {
        self.store.get_fuel().ok()
    }

    /// What the host interface answered since the last time, to be recorded.
    pub(crate) fn take_answers(&mut self) -> Vec<String> {
        self.store.data_mut().services.as_mut().map(Services::take_answers).unwrap_or_default()
    }

    /// The run's own files, for `read-launch-file`.
    pub(crate) fn services(&mut self) -> Option<&mut Services> {
        self.store.data_mut().services.as_mut()
    }

    /// How long a call may take in all. One that may ask the host waits for programs and servers, each of which has a
    /// limit of its own.
    fn wall_clock(&self, open: bool) -> Duration {
        let compute = TICK * u32::try_from(self.compute_ticks).unwrap_or(u32::MAX);
        if open { OPEN_CALL } else { compute * 2 }
    }

    fn begin(&mut self, name: &'static str, open: bool) {
        let state = self.store.data_mut();
        state.ticks = self.compute_ticks;
        state.call = (name, open);
        self.store.set_epoch_deadline(1);
    }

    fn end<T>(&mut self, name: &'static str, result: wasmtime::Result<T>) -> Result<T, Fault> {
        self.store.data_mut().call = ("no call", false);
        result.map_err(|why| fault(&mut self.store, name, &why))
    }

    pub(crate) async fn describe(&mut self) -> Result<AdapterInfo, Fault> {
        call!(self, "describe", false, call_describe()).map(AdapterInfo::from)
    }

    pub(crate) async fn resolve_binary(
        &mut self,
        around: &types::Surroundings,
    ) -> Result<Result<Binary, Failure>, Fault> {
        let result = call!(self, "resolve-binary", true, call_resolve_binary(around))?;
        Ok(result.map(Binary::from).map_err(Failure::from))
    }

    pub(crate) async fn build_args(
        &mut self,
        turn: &Turn,
        binary: &Binary,
    ) -> Result<Result<types::Launch, Failure>, Fault> {
        let result = call!(self, "build-args", false, call_build_args(&turn.into(), &binary.into()))?;
        Ok(result.map_err(Failure::from))
    }

    pub(crate) async fn build_prompt(
        &mut self,
        turn: &Turn,
        binary: &Binary,
    ) -> Result<Result<types::PromptDelivery, Failure>, Fault> {
        let result = call!(self, "build-prompt", false, call_build_prompt(&turn.into(), &binary.into()))?;
        Ok(result.map_err(Failure::from))
    }

    /// Its effects' texts may stand in the chunk, which comes back with them.
    pub(crate) async fn parse_chunk(&mut self, chunk: types::Chunk) -> Result<Effects, Fault> {
        let list = call!(self, "parse-chunk", false, call_parse_chunk(&chunk))?;
        let chunk = if let types::Frames::Text(text) = chunk.data { text } else { String::new() };
        Ok(Effects { call: "parse-chunk", list, chunk })
    }

    pub(crate) async fn respond(&mut self, reply: &types::Reply) -> Result<Effects, Fault> {
        let list = call!(self, "respond", false, call_respond(reply))?;
        Ok(Effects { call: "respond", list, chunk: String::new() })
    }

    pub(crate) async fn finish(&mut self, exit: Exit) -> Result<Effects, Fault> {
        let exit = types::ExitStatus { code: exit.code, signal: exit.signal };
        let list = call!(self, "finish", true, call_finish(exit))?;
        Ok(Effects { call: "finish", list, chunk: String::new() })
    }

    pub(crate) async fn parse_error(&mut self, evidence: &types::Evidence) -> Result<Option<Failure>, Fault> {
        Ok(call!(self, "parse-error", false, call_parse_error(evidence))?.map(Failure::from))
    }

    pub(crate) async fn list_models(&mut self, binary: Option<&Binary>) -> Result<ModelList, Fault> {
        let binary = binary.map(types::Binary::from);
        Ok(call!(self, "list-models", true, call_list_models(binary.as_ref()))?.into())
    }
}

fn too_long(limit: Duration) -> wasmtime::Error {
    wasmtime::Error::msg(format!("it did not come to an end within {} seconds", limit.as_secs()))
}

/// What a call gave, not looked at yet.
pub(crate) struct Effects {
    call: &'static str,
    list: Vec<types::Effect>,
    chunk: String,
}

impl Effects {
    /// One after the other, each checked when it is its turn. Those before the first that breaks the interface count.
    pub(crate) fn try_each(mut self, mut take: impl FnMut(Effect<'_>)) -> Result<(), Fault> {
        let breach = |breach: lift::Breach| Fault { call: self.call, why: breach.to_string(), stderr: String::new() };
        self.list.iter_mut().try_for_each(|effect| {
            take(lift::effect(effect, &self.chunk).map_err(breach)?);
            Ok(())
        })
    }
}

/// Why a call ended badly, in words that say which limit it was.
fn fault(store: &mut Store<State>, call: &'static str, why: &wasmtime::Error) -> Fault {
    let state = store.data_mut();
    let stderr = state.stderr.text();
    let why = match (state.limits.refused.take(), why.downcast_ref::<wasmtime::Trap>()) {
        (Some(refused), _) => format!("the adapter was stopped: {refused}"),
        (None, Some(wasmtime::Trap::Interrupt)) => "the adapter was stopped: it computed longer than it may".to_owned(),
        (None, Some(wasmtime::Trap::StackOverflow)) => "the adapter overflowed its stack".to_owned(),
        (None, Some(wasmtime::Trap::UnreachableCodeReached)) if !stderr.is_empty() => "the adapter panicked".to_owned(),
        (None, Some(trap)) => format!("the adapter trapped: {trap}"),
        (None, None) => format!("the adapter was stopped: {}", last_cause(why)),
    };
    Fault { call, why, stderr }
}

/// The innermost cause, which is ours where a host function refused.
fn last_cause(why: &wasmtime::Error) -> String {
    why.chain().last().map_or_else(|| first_line(why), std::string::ToString::to_string)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_memories_get_no_more_than_one_would() {
        let mut fences = Fences { memory: 100, used: 0, refused: None };
        let grow = |fences: &mut Fences, now, wanted| fences.memory_growing(now, wanted, None).expect("an answer");
        assert!(grow(&mut fences, 0, 40) && grow(&mut fences, 0, 30));
        assert!(grow(&mut fences, 40, 70), "100 in all");
        assert!(!grow(&mut fences, 30, 31) && !grow(&mut fences, 0, usize::MAX));
        assert!(fences.refused.is_some_and(|why| why.contains("100 are the most")));
    }
}
