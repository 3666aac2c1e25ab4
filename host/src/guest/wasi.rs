//! WASI as guests get it: wasmtime's, through which nothing is available, with clocks of our own. Time stands still and a
//! wait is over at once, so that a guest cannot measure time by counting while it waits.

use std::time::Duration;
use wasmtime::component::{HasData, Linker, Resource};
use wasmtime_wasi::p2::bindings::clocks::monotonic_clock::{self, Host, Instant};
use wasmtime_wasi::p2::{DynPollable, Pollable, subscribe};
use wasmtime_wasi::{HostMonotonicClock, HostWallClock, ResourceTable, WasiView, async_trait};

/// What the clocks show: not 0, at which Go's runtime gives up.
const NOW: u64 = 1;

/// Links WASI, with the monotonic clock replaced.
pub(super) fn link<S: WasiView + 'static>(linker: &mut Linker<S>) -> wasmtime::Result<()> {
    wasmtime_wasi::p2::add_to_linker_async(linker)?;
    linker.allow_shadowing(true);
    monotonic_clock::add_to_linker::<S, FrozenClocks<'static>>(linker, |state| FrozenClocks(state.ctx().table))?;
    linker.allow_shadowing(false);
    Ok(())
}

/// The monotonic clock of a guest.
struct FrozenClocks<'a>(&'a mut ResourceTable);

impl HasData for FrozenClocks<'static> {
    type Data<'a> = FrozenClocks<'a>;
}

impl FrozenClocks<'_> {
    fn elapsed(&mut self) -> wasmtime::Result<Resource<DynPollable>> {
        let elapsed = self.0.push(Elapsed)?;
        subscribe(self.0, elapsed)
    }
}

impl Host for FrozenClocks<'_> {
    fn now(&mut self) -> wasmtime::Result<Instant> {
        Ok(NOW)
    }

    fn resolution(&mut self) -> wasmtime::Result<Instant> {
        Ok(1)
    }

    fn subscribe_instant(&mut self, _when: Instant) -> wasmtime::Result<Resource<DynPollable>> {
        self.elapsed()
    }

    fn subscribe_duration(&mut self, _duration: monotonic_clock::Duration) -> wasmtime::Result<Resource<DynPollable>> {
        self.elapsed()
    }
}

/// A wait that is over.
struct Elapsed;

#[async_trait]
impl Pollable for Elapsed {
    async fn ready(&mut self) {}
}

/// A clock that never advances.
pub(super) struct FrozenClock;

impl HostWallClock for FrozenClock {
    fn resolution(&self) -> Duration {
        Duration::from_secs(1)
    }

    fn now(&self) -> Duration {
        Duration::from_secs(NOW)
    }
}

impl HostMonotonicClock for FrozenClock {
    fn resolution(&self) -> u64 {
        1
    }

    fn now(&self) -> u64 {
        NOW
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_clock_shows_zero_at_which_go_gives_up() {
        let mut table = ResourceTable::new();
        assert_eq!(FrozenClocks(&mut table).now().expect("a time"), NOW);
        assert_eq!(HostMonotonicClock::now(&FrozenClock), NOW);
        assert_eq!(HostWallClock::now(&FrozenClock), Duration::from_secs(NOW));
        assert_ne!(NOW, 0);
    }
}
