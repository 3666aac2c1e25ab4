//! The interface `wharf:runtime@0.1` as wasmtime sees it. The only module that names WIT types: [`lift`] turns a
//! guest's values into those of `wharf-core` (and [`launch`] a launch), [`lower`] does the reverse, and [`imports`] offers the host to the guest.

mod activity;
mod ask;
mod budget;
mod exports;
mod imports;
mod launch;
mod lift;
mod lower;
mod text;

use super::state::State;
use wasmtime::Engine;
use wasmtime::component::{Component, HasSelf, Linker};

pub(super) use exports::{EffectList, Exports};
pub(crate) use launch::{Launch, PromptDelivery};
pub(crate) use lower::Chunk;

#[allow(missing_docs, unreachable_pub, clippy::all, clippy::pedantic, reason = "generated")]
mod bindings {
    wasmtime::component::bindgen!({
        path: "wit",
        world: "adapter",
        imports: { default: async | trappable },
        exports: { default: async },
        require_store_data_send: true,
        additional_derives: [PartialEq],
    });

    pub use self::wharf::runtime::{host, types};
}

/// A component whose imports are linked.
pub(super) type Pre = bindings::AdapterPre<State>;

/// Links a component to the host's side of the interface, and to a WASI through which nothing is available.
pub(super) fn link(engine: &Engine, component: &Component) -> wasmtime::Result<Pre> {
    let mut linker = Linker::new(engine);
    crate::guest::wasi::link(&mut linker)?;
    bindings::host::add_to_linker::<State, HasSelf<State>>(&mut linker, |state| state)?;
    bindings::types::add_to_linker::<State, HasSelf<State>>(&mut linker, |state| state)?;
    linker.instantiate_pre(component).and_then(Pre::new)
}

#[cfg(test)]
mod tests {
    #[test]
    fn no_comment_of_the_interface_ends_a_comment_in_generated_code() {
        let wit = include_str!("../../../wit/runtime.wit");
        assert!(!wit.contains("*/"), "in the languages of generated bindings, this ends a comment");
    }
}
