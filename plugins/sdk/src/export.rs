//! Turns an implementation of the trait into the component's exports.

use crate::bindings::exports::wharf::runtime::runtime_adapter::Guest;
use crate::host::Imported;
use crate::{
    Adapter, AdapterInfo, Binary, Chunk, Effect, Effects, Environment, ErrorClass, Evidence, Failure, Input, Launch,
    ModelList, PromptDelivery, Turn,
};
use std::cell::RefCell;
use std::marker::PhantomData;

/// Makes the component's exports from an [`Adapter`].
///
/// With the default feature `allocator` it also sets the component's global allocator, which is made for many short
/// strings. In a native build the macro does nothing, so that the adapter's logic can be tested there.
#[macro_export]
macro_rules! export {
    ($adapter:ty) => {
        #[cfg(target_family = "wasm")]
        const _: () = {
            use $crate::bindings;
            $crate::set_allocator!();
            thread_local! {
                static ADAPTER: $crate::Slot<$adapter> = const { $crate::Slot::new() };
            }
            impl $crate::InSlot for $adapter {
                fn with<R>(work: impl FnOnce(&mut Self) -> R) -> R {
                    ADAPTER.with(|slot| slot.with(work))
                }
            }
            type Component = $crate::Exported<$adapter>;
    $crate::bindings::export_component!(Component with_types_in $crate::bindings);
        };
    };
}

/// Sets the global allocator of a component. The feature is one of this crate, so the macro that is exported depends on
/// it, and not the code inside the macro.
#[cfg(feature = "allocator")]
#[doc(hidden)]
#[macro_export]
macro_rules! set_allocator {
    () => {
        #[global_allocator]
        static ALLOCATOR: $crate::Allocator = $crate::Allocator;
    };
}

/// Leaves the global allocator to the adapter.
#[cfg(not(feature = "allocator"))]
#[doc(hidden)]
#[macro_export]
macro_rules! set_allocator {
    () => {};
}

/// Holds the one adapter value of an instance, from its first use on. The value is never dropped, as it lives as long as the
/// instance: so a component does not contain the code to drop it.
#[doc(hidden)]
pub struct Slot<A: 'static>(RefCell<Option<&'static mut A>>);

impl<A: Default> Slot<A> {
    #[doc(hidden)]
    pub const fn new() -> Slot<A> {
        Slot(RefCell::new(None))
    }

    #[doc(hidden)]
    pub fn with<R>(&self, work: impl FnOnce(&mut A) -> R) -> R {
        work(self.0.borrow_mut().get_or_insert_with(Slot::create))
    }

    /// Not inlined, as every export would contain it.
    #[cold]
    #[inline(never)]
    fn create() -> &'static mut A {
        Box::leak(Box::default())
    }
}

/// Gives access to the one adapter value of an instance; [`export!`] implements it.
#[doc(hidden)]
pub trait InSlot: Adapter {
    fn with<R>(work: impl FnOnce(&mut Self) -> R) -> R;
}

/// What `build-args` was given: the other calls are about the same turn.
struct KeptTurn {
    turn: Turn,
    binary: Binary,
    transport: String,
}

thread_local! {
    static TURN: RefCell<Option<KeptTurn>> = const { RefCell::new(None) };
}

/// Implements the component's exports by calling the trait.
#[doc(hidden)]
pub struct Exported<A>(PhantomData<A>);

impl<A: InSlot> Guest for Exported<A> {
    fn describe() -> AdapterInfo {
        A::describe()
    }
    fn resolve_binary(environment: Environment) -> Result<Binary, Failure> {
        A::with(|adapter| adapter.resolve_binary(&Imported, &environment))
    }
    fn build_args(turn: Turn, binary: Binary, transport: String) -> Result<Launch, Failure> {
        let launch = A::with(|adapter| adapter.build_args(&turn, &binary, &transport));
        TURN.with(|kept| *kept.borrow_mut() = Some(KeptTurn { turn, binary, transport }));
        launch
    }
    fn build_prompt() -> Result<PromptDelivery, Failure> {
        TURN.with(|kept| match &*kept.borrow() {
            Some(KeptTurn { turn, binary, transport }) => {
                A::with(|adapter| adapter.build_prompt(turn, binary, transport))
            }
            None => Err(Failure::new(ErrorClass::Protocol, "build-prompt was called before build-args")),
        })
    }
    fn parse_chunk(chunk: Chunk) -> Vec<Effect> {
        effects::<A>(|adapter, out| adapter.parse_chunk(&chunk, out))
    }
    fn handle(input: Input) -> Vec<Effect> {
        effects::<A>(|adapter, out| match input {
            Input::Exited(exit) => adapter.finish(&Imported, exit, out),
            Input::NextTurn(next) => TURN.with(|kept| {
                if let Some(KeptTurn { turn, .. }) = &mut *kept.borrow_mut() {
                    turn.follow(next);
                    adapter.next_turn(turn, out);
                }
            }),
            input => adapter.handle(input, out),
        })
    }
    fn parse_error(evidence: Evidence) -> Option<Failure> {
        A::with(|adapter| adapter.parse_error(&evidence))
    }
    fn list_models(binary: Option<Binary>) -> ModelList {
        A::with(|adapter| adapter.list_models(&Imported, binary.as_ref()))
    }
}

fn effects<A: InSlot>(work: impl FnOnce(&mut A, &mut Effects)) -> Vec<Effect> {
    let mut out = Effects::default();
    A::with(|adapter| work(adapter, &mut out));
    out.into_vec()
}
