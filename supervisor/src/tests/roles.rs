//! Some tests need a separate host process. They start the test binary again, in one of these roles.

use super::{clone_and_fork, separate_host};

/// The entry point of all roles. Without a role, as when all ignored tests are run, it does nothing.
#[test]
#[ignore = "a role that other tests start"]
fn role() {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime");
    match std::env::var(super::ROLE).as_deref() {
        Ok("host") => runtime.block_on(separate_host::host()),
        Ok("subreaper") => runtime.block_on(separate_host::subreaper()),
        Ok("escape") => runtime.block_on(separate_host::escape()),
        Ok("interrupter") => runtime.block_on(separate_host::interrupter()),
        Ok("signals") => runtime.block_on(clone_and_fork::compare_signals()),
        Ok("closed") => runtime.block_on(clone_and_fork::start_with_stdio_closed()),
        Ok("many") => runtime.block_on(clone_and_fork::start_many()),
        _ => {}
    }
}
