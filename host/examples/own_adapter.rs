//! Loads an adapter from a file and grants it access, without a configuration file and without the bundled adapters.
//!
//! ```text
//! cargo run -p wharf --example own_adapter -- ./adapter_tutorial.wasm "one two three"
//! ```
//!
//! The component is the one of docs/writing-an-adapter.md. Its agent, `scribe`, must be in `PATH`.

#![expect(clippy::print_stdout, reason = "an example prints")]

use wharf::adapter::Access;
use wharf::{Config, Dirs, Error, Host, Result, RunOptions, Turn};

fn main() -> Result<()> {
    // First of all: the child that compiles the component, with limits, is this program once more.
    wharf::compile_in_child();
    let runtime = tokio::runtime::Runtime::new().map_err(|error| Error::system("starting the threads", error))?;
    runtime.block_on(turn())
}

async fn turn() -> Result<()> {
    let mut args = std::env::args().skip(1);
    let component = args.next().unwrap_or_else(|| "./adapter_tutorial.wasm".to_owned());
    let prompt = args.next().unwrap_or_else(|| "one two three".to_owned());

    // An adapter gets the access that it requests and that is granted here: to this file, by its absolute path.
    let mut config = Config::default();
    let mut access = Access::default();
    access.programs.push("scribe".to_owned());
    access.variables.push("SCRIBE_KEY".to_owned());
    let path = std::fs::canonicalize(&component).unwrap_or_default();
    config.grants.insert(path.to_string_lossy().into_owned(), access);

    // Recordings, sessions and compiled adapters go below this folder, apart from the user's own.
    let dirs = Dirs::below(std::env::temp_dir().join("own-adapter"));
    let host = Host::new(dirs, config)?;
    let adapter = host.adapter(&component).await?;
    println!("{} {} from {}", adapter.info().name, adapter.info().version, adapter.source());

    let grants = host.grants(&adapter)?;
    println!("requests the programs {:?}, may use {:?}", grants.requested.programs, grants.granted.programs);

    // A variable of this run only. Its value is removed from everything that is recorded.
    let mut options = RunOptions::default();
    options.variables.insert("SCRIBE_KEY".to_owned(), "anything-will-do".into());

    let run = host.start(&adapter, Turn::new(prompt), options).await?;
    let report = run.finish().await?;
    println!("{}: {}", report.outcome, report.answer.unwrap_or_default());

    // The receipt says what ran; `verify` compares it with the files that it seals.
    let recorded = host.runs().find("last")?;
    println!("receipt of {} holds: {}", recorded.id(), recorded.receipt()?.verify()?.holds());
    Ok(())
}
