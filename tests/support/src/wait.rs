//! Waiting for a condition instead of for a time.

use std::time::{Duration, Instant};

/// How long a test waits for anything. Long, because the machine may be busy; nothing takes that long if it works.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// How many times in a row a number must be the same to count as stable.
const SAME: u32 = 100;

/// Waits until a condition holds. Panics after [`PATIENCE`].
#[track_caller]
pub fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let started = Instant::now();
    while !holds() {
        assert!(started.elapsed() < PATIENCE, "it did not happen: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Waits until a number has started to grow and then stays the same over many looks. Gives the number.
#[track_caller]
pub fn wait_until_stable(what: &str, mut number: impl FnMut() -> u64) -> u64 {
    let (mut last, mut same) = (0, 0);
    wait_until(what, || {
        let now = number();
        same = if now > 0 && now == last { same + 1 } else { 0 };
        last = now;
        same == SAME
    });
    last
}
