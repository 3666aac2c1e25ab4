//! Where the time goes: a `perf` profile of `wharf run --json`, recorded, for each corpus.
//!
//! `perf` sees the component's functions too, because with `WHARF_PROFILE=perfmap` the engine writes a map of them.
//! `cargo xtask bench --profile` builds with frame pointers and with the names of the components' functions. The C library
//! is built without frame pointers, so some of its callers are missing.

use crate::corpus::{AgentKind, Mix};
use crate::stage::Stage;
use crate::{Result, error, progress};
use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Stdio};

/// Bytes of the profiled turn, and with `--quick`.
const SIZES: (usize, usize) = (100_000_000, 5_000_000);

/// Samples per second. The work takes half a second, and a function with 1 % of it should still get twenty samples.
const FREQUENCY: &str = "4999";

/// Writes a profile of each corpus.
pub(crate) fn run(stage: &Stage, quick: bool) -> Result<()> {
    let folder = stage.folder().join("profile");
    fs::create_dir_all(&folder)?;
    for (kind, mix) in AgentKind::ALL.into_iter().flat_map(|kind| Mix::ALL.map(|mix| (kind, mix))) {
        record(stage, kind, mix, if quick { SIZES.1 } else { SIZES.0 }, &folder)?;
    }
    Ok(())
}

fn record(stage: &Stage, kind: AgentKind, mix: Mix, size: usize, folder: &Path) -> Result<()> {
    // An unprofiled run first, so that the compilation of the adapter is not in the profile.
    stage.wharf_run(&stage.agent_with_turn(kind, mix, 0)?, false).stdout(Stdio::null()).status()?;
    let command = stage.wharf_run(&stage.agent_with_turn(kind, mix, size)?, true);
    let data = folder.join(format!("{}-{}.perf.data", kind.id(), mix.name()));
    let mut perf = Command::new("perf");
    perf.args(["record", "-q", "-g", "-F", FREQUENCY, "-o"]).arg(&data).arg("--");
    perf.arg(command.get_program()).args(command.get_args()).env_clear();
    perf.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?)))).env("WHARF_PROFILE", "perfmap");
    if let Some(folder) = command.get_current_dir() {
        perf.current_dir(folder);
    }
    let status = perf.stdin(Stdio::null()).stdout(Stdio::null()).status();
    let status = status.map_err(|cause| error(format!("starting `perf`: {cause}; install it to get a profile")))?;
    if !status.success() {
        return Err(error(format!("`perf record` failed: {status}")));
    }
    stage.delete_runs()?;
    let table = data.with_extension("txt");
    let status = Command::new("perf")
        .args(["report", "--stdio", "--no-children", "-g", "none", "--percent-limit", "0.5", "-i"])
        .arg(&data)
        .stdout(File::create(&table)?)
        .stderr(Stdio::null())
        .status()?;
    if !status.success() {
        return Err(error(format!("`perf report -i {}` failed: {status}", data.display())));
    }
    progress(format!("profile: {} is the table of functions", table.display()));
    progress(format!("profile: `perf report -i {}` opens the whole profile", data.display()));
    Ok(())
}
