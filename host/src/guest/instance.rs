//! One instance of an adapter. Each run has its own, and it is never used again after a trap.
//!
//! The limits are set before every call, and its result is translated after it: whatever a guest does, the caller gets
//! a value or a [`Fault`] with the end of the guest's stderr, never a panic.

use super::clean::Clean;
use super::component::{Linked, first_line};
use super::engine::TICK;
use super::fault::Fault;
use super::imports::Imports;
use super::state::{Call, State};
use super::v0_1::{Chunk, EffectList, Exports};
use std::time::Duration;
use wasmtime::{Store, UpdateDeadline};
use wharf_core::model::{AdapterInfo, Binary, Exit, Failure, ModelList, Turn};
use wharf_core::turn::{AdapterInput, Effect};

pub(crate) use super::v0_1::{Launch, PromptDelivery};

/// How long a call that may call the host may take in total.
const OPEN_CALL: Duration = Duration::from_mins(3);

/// A running guest.
pub(crate) struct Instance {
    store: Store<State>,
    exports: Exports,
    compute: Duration,
}

/// Calls an exported function: sets the limits before, and translates the result after.
macro_rules! call {
    ($self:ident, $name:literal, $open:literal, $function:ident ( $($argument:expr),* )) => {{
        $self.begin($name, $open);
        let limit = if $open { OPEN_CALL } else { $self.compute * 2 };
        let result = tokio::time::timeout(limit, $self.exports.$function(&mut $self.store $(, $argument)*)).await;
        // An adapter that sleeps without computing is given up; its instance is not used again.
        let result = result.unwrap_or_else(|_| Err(too_long(limit)));
        $self.end($name, result)
    }};
}

impl Instance {
    /// A fresh instance. Without imports nothing is granted: that is how `describe` runs.
    pub(crate) async fn start(component: &Linked, imports: Option<Imports>) -> Result<Instance, Fault> {
        let engine = &component.engine;
        let mut store = Store::new(&engine.wasm, State::new(engine.limits.memory, imports));
        store.limiter(|state| &mut state.limits);
        store.set_hostcall_fuel(engine.limits.lift);
        // Only an engine that counts operators has fuel; any other refuses it and needs none.
        let _ = store.set_fuel(u64::MAX);
        // The guest yields to other tasks at each tick, and traps when its ticks are used up. Ticks pass only while it
        // computes: the time it waits for the host does not count.
        store.epoch_deadline_callback(|mut store| {
            let state = store.data_mut();
            if state.ticks == 0 {
                return Ok(UpdateDeadline::Interrupt);
            }
            state.ticks -= 1;
            Ok(UpdateDeadline::Yield(1))
        });
        let compute = engine.limits.compute;
        store.data_mut().ticks = ticks(compute);
        store.set_epoch_deadline(1);
        let limit = compute * 2;
        let started = tokio::time::timeout(limit, Exports::instantiate(&component.pre, &mut store)).await;
        let exports = match started.unwrap_or_else(|_| Err(too_long(limit))) {
            Ok(exports) => exports,
            Err(error) => return Err(fault(&mut store, "instantiation", compute, &error)),
        };
        Ok(Instance { store, exports, compute })
    }

    /// The fuel that is left, if operators are counted.
    pub(crate) fn fuel(&self) -> Option<u64> {
        self.store.get_fuel().ok()
    }

    /// The host's answers since the last call, for the recording.
    pub(crate) fn take_answers(&mut self) -> Vec<String> {
        self.imports().map(Imports::take_answers).unwrap_or_default()
    }

    /// What the host does on the adapter's behalf.
    pub(crate) fn imports(&mut self) -> Option<&mut Imports> {
        self.store.data_mut().imports.as_mut()
    }

    fn begin(&mut self, name: &'static str, host_open: bool) {
        let state = self.store.data_mut();
        state.ticks = ticks(self.compute);
        state.call = Call { name, host_open };
        self.store.set_epoch_deadline(1);
    }

    fn end<T>(&mut self, name: &'static str, result: wasmtime::Result<T>) -> Result<T, Fault> {
        let state = self.store.data_mut();
        state.call = Call { name: "no call", host_open: false };
        if let Some(imports) = &mut state.imports {
            imports.end_call();
        }
        result.map_err(|error| fault(&mut self.store, name, self.compute, &error))
    }

    /// The words of the adapter without secrets. Faults have none when they are made.
    fn cleaned<T: Clean>(&mut self, result: Result<T, Fault>) -> Result<T, Fault> {
        let mut value = result?;
        if let Some(imports) = self.imports() {
            value.clean(imports.secrets());
        }
        Ok(value)
    }

    pub(crate) async fn describe(&mut self) -> Result<AdapterInfo, Fault> {
        call!(self, "describe", false, describe())
    }

    /// Finds the agent. `program` is the one that the user named, `home` the user's home.
    pub(crate) async fn resolve_binary(
        &mut self,
        program: Option<String>,
        home: Option<String>,
    ) -> Result<Result<Binary, Failure>, Fault> {
        let found = call!(self, "resolve-binary", true, resolve_binary(program, home));
        self.cleaned(found)
    }

    pub(crate) async fn build_args(
        &mut self,
        turn: &Turn,
        binary: &Binary,
        transport: &str,
    ) -> Result<Result<Launch, Failure>, Fault> {
        let launch = call!(self, "build-args", false, build_args(turn, binary, transport));
        self.cleaned(launch)
    }

    /// Of the turn that `build-args` was given.
    pub(crate) async fn build_prompt(&mut self) -> Result<Result<PromptDelivery, Failure>, Fault> {
        let prompt = call!(self, "build-prompt", false, build_prompt());
        self.cleaned(prompt)
    }

    /// The text of the effects may be borrowed from the chunk, which is returned with them.
    pub(crate) async fn parse_chunk(&mut self, chunk: Chunk) -> Result<Effects, Fault> {
        let list = call!(self, "parse-chunk", false, parse_chunk(chunk))?;
        Ok(Effects { call: "parse-chunk", list })
    }

    pub(crate) async fn handle(&mut self, input: &AdapterInput) -> Result<Effects, Fault> {
        let list = call!(self, "handle", false, handle(input))?;
        Ok(Effects { call: "handle", list })
    }

    /// A frame was skipped because it is too large.
    pub(crate) async fn oversized(&mut self, stderr: bool, length: u64, head: String) -> Result<Effects, Fault> {
        let list = call!(self, "handle", false, oversized(stderr, length, head))?;
        Ok(Effects { call: "handle", list })
    }

    pub(crate) async fn finish(&mut self, exit: Exit) -> Result<Effects, Fault> {
        let list = call!(self, "finish", true, finish(exit))?;
        Ok(Effects { call: "finish", list })
    }

    pub(crate) async fn parse_error(
        &mut self,
        exit: Exit,
        stdout: String,
        stderr: String,
    ) -> Result<Option<Failure>, Fault> {
        let failure = call!(self, "parse-error", false, parse_error(exit, stdout, stderr));
        self.cleaned(failure)
    }

    pub(crate) async fn list_models(&mut self, binary: Option<&Binary>) -> Result<ModelList, Fault> {
        let list = call!(self, "list-models", true, list_models(binary));
        self.cleaned(list)
    }
}

/// What a call returned, not checked yet.
pub(crate) struct Effects {
    call: &'static str,
    list: EffectList,
}

impl Effects {
    /// Takes the effects one by one, each after a check. Those before the first that violates the interface take
    /// effect.
    pub(crate) fn try_each(self, take: impl FnMut(Effect<'_>)) -> Result<(), Fault> {
        let call = self.call;
        self.list.try_each(take).map_err(|violation| Fault::new(call, violation.to_string()))
    }
}

fn ticks(compute: Duration) -> u64 {
    u64::try_from(compute.as_millis() / TICK.as_millis()).unwrap_or(u64::MAX)
}

fn too_long(limit: Duration) -> wasmtime::Error {
    wasmtime::Error::msg(format!("it did not return within {} s", limit.as_secs()))
}

/// Why a call failed, with the limit that it exceeded.
fn fault(store: &mut Store<State>, call: &'static str, compute: Duration, error: &wasmtime::Error) -> Fault {
    let state = store.data_mut();
    let stderr = state.stderr.text();
    let reason = match (state.limits.refused.take(), error.downcast_ref::<wasmtime::Trap>()) {
        (Some(refused), _) => format!("the adapter was stopped: it {refused}"),
        (None, Some(wasmtime::Trap::Interrupt)) => {
            format!("the adapter was stopped: it exceeded the {} s compute limit", compute.as_secs())
        }
        (None, Some(wasmtime::Trap::StackOverflow)) => "the adapter overflowed its stack".to_owned(),
        (None, Some(wasmtime::Trap::UnreachableCodeReached)) if !stderr.is_empty() => "the adapter panicked".to_owned(),
        (None, Some(trap)) => format!("the adapter trapped: {trap}"),
        (None, None) => format!("the adapter was stopped: {}", last_cause(error)),
    };
    let mut fault = Fault { call, reason, stderr };
    if let Some(imports) = &state.imports {
        fault.clean(imports.secrets());
    }
    fault
}

/// The innermost cause: the host's own message, if a host function refused.
fn last_cause(error: &wasmtime::Error) -> String {
    error.chain().last().map_or_else(|| first_line(error), std::string::ToString::to_string)
}
