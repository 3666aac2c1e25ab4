//! The adapters that come with Wharf, as bytes.
//!
//! # Theory of operation
//!
//! The build script builds each adapter in `plugins/` as a WebAssembly component with a nested cargo, in a target folder
//! of its own so that the two do not block each other, and embeds the bytes together with the access that is granted to
//! the adapter by default (`grants.toml`). Nothing here runs anything: the host loads these bytes through the same
//! checks as any file. A packager who already has the components sets `WHARF_PREBUILT_ADAPTERS` to a folder with
//! `<id>.wasm` files; nothing is built then, and no wasm target is needed. The package that a registry has contains the
//! components built, because the sources of the adapters are not beside it.

/// An adapter that is part of the program.
#[derive(Debug, Clone, Copy)]
pub struct BundledAdapter {
    /// The id that it is loaded by.
    pub id: &'static str,
    /// The component.
    pub component: &'static [u8],
    /// The access that is granted to it, as TOML.
    pub grants: &'static str,
}

/// All bundled adapters, by id.
pub const ADAPTERS: &[BundledAdapter] = &include!(concat!(env!("OUT_DIR"), "/bundled.rs"));

#[cfg(test)]
mod tests {
    use super::*;

    /// They are part of the program, and are compiled when they are first used.
    #[test]
    fn components_stay_small() {
        // Too large: they have two protocols each. They must shrink below the limit of the others, and not grow.
        let too_large = [("copilot", 433_000), ("opencode", 415_000), ("qwen", 402_000)];
        for adapter in ADAPTERS {
            let known = too_large.iter().find(|(id, _)| *id == adapter.id);
            let limit = known.map_or(400_000, |(_, size)| *size);
            assert!(adapter.component.len() < limit, "{} has {} bytes", adapter.id, adapter.component.len());
        }
    }
}
