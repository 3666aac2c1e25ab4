//! Where the time goes: a profile of `wharf run --json`, recorded, over each corpus, for the next person to start from.
//!
//! `perf` where it works, because it sees the component's code: the engine writes a map of it when `WHARF_PROFILE` is
//! `perfmap`. It leaves a flame graph, a table of functions, and perf's own file. `cargo xtask bench --profile` builds
//! apart, with frames, so that it is told who called whom, and with the names of the components' functions. The C library
//! keeps no frames: its callers are sometimes missing. Elsewhere callgrind, which counts instructions and sees the
//! component's code as one block.

use crate::corpus::{Mix, Runtime};
use crate::stage::Stage;
use crate::{Result, failed, flame, say};
use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Stdio};

/// Bytes of the profiled turn, under perf and under callgrind, which is some fifty times slower.
const SIZES: (usize, usize) = (100_000_000, 5_000_000);

/// Leave a profile of each runtime's turns.
pub(crate) fn run(stage: &Stage, quick: bool) -> Result<()> {
    let folder = stage.folder().join("profile");
    fs::create_dir_all(&folder)?;
    let perf = works(Command::new("perf").args(["record", "-q", "-o"]).arg(folder.join("try")).args(["--", "true"]));
    let _ = fs::remove_file(folder.join("try"));
    for (runtime, mix) in Runtime::ALL.into_iter().flat_map(|runtime| Mix::ALL.map(|mix| (runtime, mix))) {
        if perf {
            record(stage, runtime, mix, if quick { SIZES.1 } else { SIZES.0 }, &folder)?;
        } else if works(Command::new("valgrind").arg("--version")) {
            count(stage, runtime, mix, &folder)?;
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

/// What the files of a profile are called.
fn name(runtime: Runtime, mix: Mix) -> String {
    format!("{}-{}", runtime.id(), mix.name())
}

fn record(stage: &Stage, runtime: Runtime, mix: Mix, size: usize, folder: &Path) -> Result<()> {
    let agent = stage.agent_of(runtime, mix, size)?;
    // Once first, so that it is not the compiler that is profiled.
    works(&mut stage.wharf_run(&stage.agent_of(runtime, mix, 0)?, false));
    let data = folder.join(format!("{}.perf.data", name(runtime, mix)));
    // Half a second of work, of which a function of one in a hundred shall be seen some twenty times.
    let arguments = ["record", "-q", "-g", "-F", "4999", "-o", &data.to_string_lossy(), "--"].map(str::to_owned);
    let status = under("perf", &arguments, &stage.wharf_run(&agent, true)).env("WHARF_PROFILE", "perfmap").status()?;
    if !status.success() {
        return Err(failed(format!("perf record: {status}")));
    }
    stage.forget_runs()?;
    let graph = folder.join(format!("{}.svg", name(runtime, mix)));
    let title = format!("wharf run --json, {}, {}, {} MB, recorded", runtime.id(), mix.name(), size / 1_000_000);
    fs::write(&graph, flame::draw(&title, &flame::fold(&samples(&data)?)))?;
    say(format!("profile: {} is the flame graph", graph.display()));
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
    say(format!("profile: `perf report -i {}` opens the whole", data.display()));
    Ok(())
}

/// What was recorded, as text. Without inlined functions: finding them starts a program for each address.
fn samples(data: &Path) -> Result<String> {
    let mut command = Command::new("perf");
    command.args(["script", "--no-inline", "-F", "comm,ip,sym,dso", "-i"]).arg(data).stdin(Stdio::null());
    let output = command.output()?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(failed(format!("perf script -i {}: {}: {}", data.display(), output.status, said.trim())));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn count(stage: &Stage, runtime: Runtime, mix: Mix, folder: &Path) -> Result<()> {
    let agent = stage.agent_of(runtime, mix, SIZES.1)?;
    works(&mut stage.wharf_run(&stage.agent_of(runtime, mix, 0)?, false));
    let out = folder.join(format!("{}.callgrind", name(runtime, mix)));
    let arguments = ["--tool=callgrind".to_owned(), format!("--callgrind-out-file={}", out.display())];
    let status = under("valgrind", &arguments, &stage.wharf_run(&agent, true)).stderr(Stdio::null()).status()?;
    if !status.success() {
        return Err(failed(format!("valgrind: {status}")));
    }
    stage.forget_runs()?;
    say(format!("profile: `callgrind_annotate {0}` or `kcachegrind {0}` opens it", out.display()));
    Ok(())
}
