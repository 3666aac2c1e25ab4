//! The interface as wasmtime sees it, generated from `wit/`. Nothing outside of the library sees these types: the
//! modules that use them convert to and from the library's own.

#![allow(missing_docs, unreachable_pub, clippy::all, clippy::pedantic, reason = "generated")]

wasmtime::component::bindgen!({
    path: "../wit",
    world: "adapter",
    imports: { default: async | trappable },
    exports: { default: async },
    require_store_data_send: true,
    additional_derives: [PartialEq],
});

pub use self::wharf::runtime::{host, types};
