//! Many runs of the fake agent in one process, and what is left of them: memory, descriptors, processes, files.
//!
//! `cargo xtask soak` builds and runs it. A part of the runs comes first, so that everything that a process needs once
//! exists before it is measured. It stops early when its time is over, and says so. Exits with 1 on a leak.
//!
//! ```text
//! soak --agent PATH [--runs 10000] [--parallel 100] [--seconds 165]
//! ```

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use wharf::adapter::Adapter;
use wharf::event::Outcome;
use wharf::{Config, Dirs, Host, RunOptions, Turn};

/// What the resident memory may grow by between the two measurements: the allocator keeps memory for later.
const MEMORY: u64 = 32 << 20;

/// One of so many runs comes before the first measurement.
const WARM: usize = 10;

/// What agents do, and how their turns end. A run without an outcome is dropped in the middle of its turn.
const SCRIPTS: [(&str, &str, Option<Outcome>); 6] = [
    ("good", "line {\"type\":\"done\"}\n", Some(Outcome::Completed)),
    ("talks", "flood-stdout 100000\nflood-stderr 20000\nline {\"type\":\"done\"}\nexit 1\n", Some(Outcome::Completed)),
    ("fails", "stderr rate limit exceeded\\n\nexit 1\n", Some(Outcome::Failed)),
    ("dies", "stdout {\"type\":\"sa\ndie KILL\n", Some(Outcome::Failed)),
    ("leaves", "setsid-child 600\nline {\"type\":\"done\"}\n", Some(Outcome::Completed)),
    ("dropped", "children 1 600\nsilence\n", None),
];

/// The command line.
#[derive(Debug, Clone)]
struct Args {
    agent: PathBuf,
    runs: usize,
    parallel: usize,
    time: Duration,
}

impl Args {
    fn parse(words: &[String]) -> Result<Args, Box<dyn Error>> {
        let mut args = Args { agent: PathBuf::new(), runs: 10_000, parallel: 100, time: Duration::from_secs(165) };
        for pair in words.chunks(2) {
            let [name, value] = pair else { return Err(format!("{} needs a value", pair[0]).into()) };
            match name.as_str() {
                "--agent" => args.agent = value.into(),
                "--runs" => args.runs = value.parse()?,
                "--parallel" => args.parallel = value.parse()?,
                "--seconds" => args.time = Duration::from_secs(value.parse()?),
                other => return Err(format!("there is no flag {other}").into()),
            }
        }
        if !args.agent.is_absolute() || args.parallel == 0 {
            return Err("--agent takes an absolute path, --parallel at least 1".into());
        }
        Ok(args)
    }
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let result = match std::env::var_os(INSIDE) {
        None => start_inside(&words),
        Some(folder) => Args::parse(&words).and_then(|args| soak(&args, Path::new(&folder))),
    };
    match result {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            print(&format!("soak: {error}"));
            ExitCode::from(2)
        }
    }
}

/// The variable that holds the folder for everything, in the process that does the work.
const INSIDE: &str = "SOAK_FOLDER";

/// Starts this program again with its own folder for temporary files, so that whatever is left there was left by it.
fn start_inside(words: &[String]) -> Result<bool, Box<dyn Error>> {
    let folder = tempfile::Builder::new().prefix("wharf-soak-").tempdir()?;
    std::fs::create_dir(folder.path().join("tmp"))?;
    let mut command = Command::new(std::env::current_exe()?);
    command.args(words).env(INSIDE, folder.path()).env("TMPDIR", folder.path().join("tmp"));
    Ok(command.status()?.success())
}

fn soak(args: &Args, folder: &Path) -> Result<bool, Box<dyn Error>> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    // This process starts nothing but agents, so it may adopt the processes that they leave behind.
    wharf::become_subreaper()?;
    let mut config = Config::default();
    config.programs.insert("echo".to_owned(), args.agent.clone());
    config.recording.keep_runs = 2 * args.parallel;
    let host = Host::new(Dirs::below(folder), config)?;
    let tag = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
    for (name, steps, _) in SCRIPTS {
        std::fs::write(folder.join(name), format!("tag {tag}\n{steps}"))?;
    }
    let adapter = runtime.block_on(host.adapter("echo"))?;

    let started = Instant::now();
    let warm = (args.runs / WARM).max(args.parallel.min(args.runs));
    let mut bad = Vec::new();
    let first = runtime.block_on(many(&host, &adapter, folder, warm, args.parallel, started + args.time, &mut bad));
    let before = Figures::take(folder, &tag)?;
    print(&format!("{:<22}{before}", format!("after {first} runs:")));
    let rest = args.runs.saturating_sub(first);
    let second = runtime.block_on(many(&host, &adapter, folder, rest, args.parallel, started + args.time, &mut bad));
    let took = started.elapsed();
    let after = Figures::take(folder, &tag)?;
    let done = first + second;
    print(&format!("{:<22}{after}", format!("after {done} runs:")));
    #[expect(clippy::cast_precision_loss, reason = "shown to one digit")]
    let rate = done as f64 / took.as_secs_f64();
    print(&format!(
        "{done} runs, {} at a time, in {:.1} s: {rate:.1} runs a second",
        args.parallel,
        took.as_secs_f64()
    ));
    if done < args.runs {
        print(&format!("the time was over before all {} runs were done", args.runs));
    }
    bad.truncate(10);
    bad.extend(after.leaks(&before));
    for what in &bad {
        print(&format!("WRONG: {what}"));
    }
    Ok(bad.is_empty())
}

/// Runs `runs` turns, `parallel` at a time, until a deadline. Gives how many were run.
async fn many(
    host: &Host,
    adapter: &Adapter,
    folder: &Path,
    runs: usize,
    parallel: usize,
    deadline: Instant,
    bad: &mut Vec<String>,
) -> usize {
    let next = Arc::new(AtomicUsize::new(0));
    let workers: Vec<_> = (0..parallel)
        .map(|_| {
            let (host, adapter, folder, next) = (host.clone(), adapter.clone(), folder.to_owned(), Arc::clone(&next));
            tokio::spawn(async move {
                let (mut done, mut bad) = (0, Vec::new());
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= runs || Instant::now() >= deadline {
                        return (done, bad);
                    }
                    bad.extend(one(&host, &adapter, &folder, number).await.err());
                    done += 1;
                }
            })
        })
        .collect();
    let mut done = 0;
    for worker in workers {
        match worker.await {
            Ok((count, wrong)) => {
                done += count;
                bad.extend(wrong);
            }
            Err(error) => bad.push(error.to_string()),
        }
    }
    done
}

/// One turn. Most succeed, as in real use; the error says what differed from the script.
async fn one(host: &Host, adapter: &Adapter, folder: &Path, number: usize) -> Result<(), String> {
    let which = if number.is_multiple_of(4) { number / 4 % SCRIPTS.len() } else { 0 };
    let (name, _, expected) = SCRIPTS[which];
    let script = folder.join(name).to_string_lossy().into_owned();
    let turn = Turn::new("go").with_workspace(folder).with_option("script", script);
    let run = host.start(adapter, turn, RunOptions::default()).await.map_err(|error| format!("{name}: {error}"))?;
    let Some(expected) = expected else {
        tokio::time::sleep(Duration::from_millis(50)).await;
        drop(run);
        return Ok(());
    };
    let report = run.finish().await.map_err(|error| format!("{name}: {error}"))?;
    if report.outcome == expected { Ok(()) } else { Err(format!("{name}: {} {:?}", report.outcome, report.error)) }
}

/// What this process uses, and what is left of its agents.
#[derive(Debug, Clone, Copy)]
struct Figures {
    resident: u64,
    descriptors: usize,
    threads: usize,
    processes: usize,
    temporary: usize,
}

impl Figures {
    /// Waits until nothing is being cleaned up any more; what is still there after ten seconds counts as left.
    fn take(folder: &Path, tag: &str) -> std::io::Result<Figures> {
        let started = Instant::now();
        let mut figures = Figures::now(folder, tag)?;
        while started.elapsed() < Duration::from_secs(10) {
            std::thread::sleep(Duration::from_millis(500));
            let last = std::mem::replace(&mut figures, Figures::now(folder, tag)?);
            if figures.processes == 0 && figures.temporary == 0 && last.descriptors == figures.descriptors {
                break;
            }
        }
        Ok(figures)
    }

    fn now(folder: &Path, tag: &str) -> std::io::Result<Figures> {
        let pages = std::fs::read_to_string("/proc/self/statm")?;
        let pages = pages.split_whitespace().nth(1).and_then(|pages| pages.parse::<u64>().ok()).unwrap_or_default();
        let count = |path: &Path| std::fs::read_dir(path).map(Iterator::count);
        let agents =
            std::fs::read_dir("/proc")?.flatten().filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
        let ours = agents.filter(|line| {
            let line = String::from_utf8_lossy(line);
            line.contains(tag) && line.contains("wharf-fake-agent") && !line.contains("--agent\0")
        });
        Ok(Figures {
            resident: pages * 4096,
            descriptors: count(Path::new("/proc/self/fd"))?,
            threads: count(Path::new("/proc/self/task"))?,
            processes: ours.count(),
            temporary: count(&folder.join("tmp"))?,
        })
    }

    fn leaks(&self, before: &Figures) -> Vec<String> {
        let mut leaks = Vec::new();
        if self.resident > before.resident + MEMORY {
            leaks.push(format!("the memory grew by {} bytes", self.resident - before.resident));
        }
        if self.descriptors > before.descriptors {
            leaks.push(format!("{} more descriptors", self.descriptors - before.descriptors));
        }
        if self.processes > 0 {
            leaks.push(format!("{} processes are left", self.processes));
        }
        if self.temporary > 0 {
            leaks.push(format!("{} temporary files are left", self.temporary));
        }
        leaks
    }
}

impl std::fmt::Display for Figures {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            formatter,
            "{} MiB resident, {} descriptors, {} threads, {} processes left, {} temporary files left",
            self.resident >> 20,
            self.descriptors,
            self.threads,
            self.processes,
            self.temporary
        )
    }
}

#[expect(clippy::print_stdout, reason = "the figures are its result")]
fn print(line: &str) {
    println!("{line}");
}
