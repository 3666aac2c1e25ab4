//! The settings of every WebAssembly engine. A host and the child that compiles for it have the same, or the host would
//! refuse the child's code.

use wasmtime::{Config, OptLevel};

pub(super) fn settings() -> Config {
    let mut config = Config::new();
    config.epoch_interruption(true).cranelift_opt_level(OptLevel::Speed).wasm_component_model(true);
    // Memories keep wasmtime's reservation of 4 GiB of addresses (not of memory): with less, each access of a guest
    // needs a bounds check, which makes the guest slower by half.
    config.max_wasm_stack(1 << 20).async_stack_size(2 << 20);
    // The threads that compile would stay for as long as the host. The child has some, and exits.
    config.parallel_compilation(false);
    config
}
