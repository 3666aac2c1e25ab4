//! Many runs of the tests' agent in one process, and what is left of them: memory, descriptors, processes, files.
//!
//! `cargo xtask soak` builds and runs it. A part of the runs comes first, so that what a process needs once is there
//! when the first figures are taken. It stops early when its time is over, and says so. Exits with 1 on a leak.
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
use wharf::{Adapter, Config, Host, Outcome, Places, RecordingConfig, RunOptions, Turn};

/// What the resident memory may grow by between the two looks: the allocator keeps what it has had once.
const MEMORY: u64 = 32 << 20;

/// The share of the runs that comes before the first figures.
const WARM: usize = 10;

/// What agents do, and how their turns end. The last is dropped in mid-turn instead.
const SCRIPTS: [(&str, &str, Option<Outcome>); 6] = [
    ("good", "line {\"type\":\"done\"}\n", Some(Outcome::Completed)),
    ("talks", "flood-stdout 100000\nflood-stderr 20000\nline {\"type\":\"done\"}\nexit 1\n", Some(Outcome::Completed)),
    ("fails", "stderr rate limit exceeded\\n\nexit 1\n", Some(Outcome::Failed)),
    ("dies", "stdout {\"type\":\"sa\ndie KILL\n", Some(Outcome::Failed)),
    ("leaves", "setsid-child 600\nline {\"type\":\"done\"}\n", Some(Outcome::Completed)),
    ("dropped", "children 1 600\nsilence\n", None),
];

/// What is asked for.
#[derive(Debug, Clone)]
struct Order {
    agent: PathBuf,
    runs: usize,
    parallel: usize,
    time: Duration,
}

impl Order {
    fn parse(words: &[String]) -> Result<Order, Box<dyn Error>> {
        let mut order = Order { agent: PathBuf::new(), runs: 10_000, parallel: 100, time: Duration::from_secs(165) };
        for pair in words.chunks(2) {
            let [name, value] = pair else { return Err(format!("{} needs a value", pair[0]).into()) };
            match name.as_str() {
                "--agent" => order.agent = value.into(),
                "--runs" => order.runs = value.parse()?,
                "--parallel" => order.parallel = value.parse()?,
                "--seconds" => order.time = Duration::from_secs(value.parse()?),
                other => return Err(format!("there is no flag {other}").into()),
            }
        }
        if !order.agent.is_absolute() || order.parallel == 0 {
            return Err("--agent takes an absolute path, --parallel at least 1".into());
        }
        Ok(order)
    }
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let done = match std::env::var_os(INSIDE) {
        None => start_inside(&words),
        Some(folder) => Order::parse(&words).and_then(|order| soak(&order, Path::new(&folder))),
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(why) => {
            say(&format!("soak: {why}"));
            ExitCode::from(2)
        }
    }
}

/// The variable that holds the folder for everything, in the process that does the work.
const INSIDE: &str = "SOAK_FOLDER";

/// Starts this program again with temporary files of its own, so that what is left there is ours.
fn start_inside(words: &[String]) -> Result<bool, Box<dyn Error>> {
    let folder = tempfile::Builder::new().prefix("wharf-soak-").tempdir()?;
    std::fs::create_dir(folder.path().join("tmp"))?;
    let mut command = Command::new(std::env::current_exe()?);
    command.args(words).env(INSIDE, folder.path()).env("TMPDIR", folder.path().join("tmp"));
    Ok(command.status()?.success())
}

fn soak(order: &Order, folder: &Path) -> Result<bool, Box<dyn Error>> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    // This process starts nothing but agents, so it may take in what they leave.
    wharf::become_subreaper()?;
    let places = Places {
        config: folder.join("config.toml"),
        data: folder.join("data"),
        cache: folder.join("cache"),
        adapters: folder.join("adapters"),
    };
    let programs = [("echo".to_owned(), order.agent.clone())].into();
    let recording = RecordingConfig { keep_runs: 2 * order.parallel, ..RecordingConfig::default() };
    let host = Host::new(places, Config { programs, recording, ..Config::default() })?;
    let tag = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
    for (name, steps, _) in SCRIPTS {
        std::fs::write(folder.join(name), format!("tag {tag}\n{steps}"))?;
    }
    let adapter = runtime.block_on(host.adapter("echo"))?;

    let begun = Instant::now();
    let warm = (order.runs / WARM).max(order.parallel.min(order.runs));
    let mut bad = Vec::new();
    let first = runtime.block_on(many(&host, &adapter, folder, warm, order.parallel, begun + order.time, &mut bad));
    let before = Figures::take(folder, &tag)?;
    say(&format!("{:<22}{before}", format!("after {first} runs:")));
    let rest = order.runs.saturating_sub(first);
    let second = runtime.block_on(many(&host, &adapter, folder, rest, order.parallel, begun + order.time, &mut bad));
    let took = begun.elapsed();
    let after = Figures::take(folder, &tag)?;
    let done = first + second;
    say(&format!("{:<22}{after}", format!("after {done} runs:")));
    #[expect(clippy::cast_precision_loss, reason = "shown to one digit")]
    let rate = done as f64 / took.as_secs_f64();
    say(&format!("{done} runs, {} at a time, in {:.1} s: {rate:.1} runs a second", order.parallel, took.as_secs_f64()));
    if done < order.runs {
        say(&format!("the time was over before all {} were done", order.runs));
    }
    bad.truncate(10);
    bad.extend(after.leaks(&before));
    for what in &bad {
        say(&format!("WRONG: {what}"));
    }
    Ok(bad.is_empty())
}

/// Runs so many turns, so many at a time, until a deadline. Gives how many were run.
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
            Err(why) => bad.push(why.to_string()),
        }
    }
    done
}

/// One turn. Most go well, as most do; the error says what went otherwise than its script.
async fn one(host: &Host, adapter: &Adapter, folder: &Path, number: usize) -> Result<(), String> {
    let which = if number.is_multiple_of(4) { number / 4 % SCRIPTS.len() } else { 0 };
    let (name, _, expected) = SCRIPTS[which];
    let mut turn = Turn { workspace: folder.to_owned(), ..Turn::new("go") };
    turn.options.insert("script".to_owned(), folder.join(name).to_string_lossy().into_owned().into());
    let run = host.start(adapter, turn, RunOptions::default()).await.map_err(|why| format!("{name}: {why}"))?;
    let Some(expected) = expected else {
        tokio::time::sleep(Duration::from_millis(50)).await;
        drop(run);
        return Ok(());
    };
    let report = run.finish().await.map_err(|why| format!("{name}: {why}"))?;
    if report.outcome == expected { Ok(()) } else { Err(format!("{name}: {:?} {:?}", report.outcome, report.error)) }
}

/// What this process has, and what there is of its agents.
#[derive(Debug, Clone, Copy)]
struct Figures {
    resident: u64,
    descriptors: usize,
    threads: usize,
    processes: usize,
    temporary: usize,
}

impl Figures {
    /// Once nothing is being cleared away any more; what is still there after ten seconds counts as left.
    fn take(folder: &Path, tag: &str) -> std::io::Result<Figures> {
        let begun = Instant::now();
        let mut figures = Figures::now(folder, tag)?;
        while begun.elapsed() < Duration::from_secs(10) {
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
            leaks.push(format!("{} descriptors more", self.descriptors - before.descriptors));
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

#[expect(clippy::print_stdout, reason = "the figures are what it is for")]
fn say(line: &str) {
    println!("{line}");
}
