//! Where the time goes: a profile of `wharf run --json` over the mixed corpus, for the next person to start from.
//!
//! `perf` where it works, because it sees the component's code: the engine writes a map of it when `WHARF_PROFILE` is
//! `perfmap`. The bundled components have no names of their own, so that their functions are numbers there. Who called
//! whom is told only where frames are kept: `RUSTFLAGS=-Cforce-frame-pointers=yes cargo xtask bench --profile` keeps them.
//! Elsewhere callgrind, which counts instructions and sees that code as one block.

use crate::corpus::{Mix, Runtime};
use crate::stage::Stage;
use crate::{Result, failed, say};
use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Stdio};

/// Bytes of the profiled turn, under perf and under callgrind, which is some fifty times slower.
const SIZES: (usize, usize) = (100_000_000, 5_000_000);

/// Leave a profile of each runtime.
pub(crate) fn run(stage: &Stage, quick: bool) -> Result<()> {
    let folder = stage.folder().join("profile");
    fs::create_dir_all(&folder)?;
    let perf = works(Command::new("perf").args(["record", "-q", "-o"]).arg(folder.join("try")).args(["--", "true"]));
    let _ = fs::remove_file(folder.join("try"));
    for runtime in Runtime::ALL {
        if perf {
            record(stage, runtime, if quick { SIZES.1 } else { SIZES.0 }, &folder)?;
        } else if works(Command::new("valgrind").arg("--version")) {
            count(stage, runtime, &folder)?;
        } else {
            return Err(failed("a profile needs perf or valgrind, and neither can be run here; install one of them"));
        }
    }
    Ok(())
}

fn works(command: &mut Command) -> bool {
    command.stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
}

/// The same command, under a profiler.
fn under(profiler: &str, arguments: &[String], command: &Command) -> Command {
    let mut whole = Command::new(profiler);
    whole.args(arguments).arg(command.get_program()).args(command.get_args()).env_clear();
    whole.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    if let Some(folder) = command.get_current_dir() {
        whole.current_dir(folder);
    }
    whole.stdin(Stdio::null()).stdout(Stdio::null());
    whole
}

fn record(stage: &Stage, runtime: Runtime, size: usize, folder: &Path) -> Result<()> {
    let agent = stage.agent_of(runtime, Mix::Mixed, size)?;
    // Once first, so that it is not the compiler that is profiled.
    works(&mut stage.wharf_run(&stage.agent_of(runtime, Mix::Mixed, 0)?, false));
    let data = folder.join(format!("{}.perf.data", runtime.id()));
    let arguments = ["record", "-q", "-g", "-F", "997", "-o", &data.to_string_lossy(), "--"].map(str::to_owned);
    let status = under("perf", &arguments, &stage.wharf_run(&agent, true)).env("WHARF_PROFILE", "perfmap").status()?;
    if !status.success() {
        return Err(failed(format!("perf record: {status}")));
    }
    stage.forget_runs()?;
    let shown = data.display();
    let table = data.with_extension("txt");
    let report = Command::new("perf")
        .args(["report", "--stdio", "--no-children", "-g", "none", "--percent-limit", "0.5", "-i"])
        .arg(&data)
        .stdout(File::create(&table)?)
        .stderr(Stdio::null())
        .status()?;
    if report.success() {
        say(format!("profile: {} is the table of functions", table.display()));
    }
    say(format!(
        "profile: `perf report -i {shown}` opens it; `perf script -i {shown} | inferno-collapse-perf | inferno-flamegraph > flame.svg` draws it"
    ));
    Ok(())
}

fn count(stage: &Stage, runtime: Runtime, folder: &Path) -> Result<()> {
    let agent = stage.agent_of(runtime, Mix::Mixed, SIZES.1)?;
    works(&mut stage.wharf_run(&stage.agent_of(runtime, Mix::Mixed, 0)?, false));
    let out = folder.join(format!("{}.callgrind", runtime.id()));
    let arguments = ["--tool=callgrind".to_owned(), format!("--callgrind-out-file={}", out.display())];
    let status = under("valgrind", &arguments, &stage.wharf_run(&agent, true)).stderr(Stdio::null()).status()?;
    if !status.success() {
        return Err(failed(format!("valgrind: {status}")));
    }
    stage.forget_runs()?;
    say(format!("profile: `callgrind_annotate {0}` or `kcachegrind {0}` opens it", out.display()));
    Ok(())
}
