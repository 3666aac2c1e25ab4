//! The child's side: a program that compiles one component from stdin to stdout, under limits that it sets itself before
//! it reads anything, and exits.

use super::limits::CompileLimits;
use super::reply::Reply;
use crate::disk::read_at_most;
use crate::guest::settings::settings;
use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use wasmtime::OutOfMemory;

/// The variable that makes a program a compiler. Its value is the limits.
const REQUEST: &str = "WHARF_COMPILE";

/// The variable that says how many threads the compiler starts.
const THREADS: &str = "RAYON_NUM_THREADS";

/// The most threads: more need more memory than they save time.
const MOST_THREADS: usize = 8;

/// What a program may need to start at all.
const LOADER: [&str; 3] = ["LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "SystemRoot"];

/// Whether this program can be started as a compiler.
static SERVES: AtomicBool = AtomicBool::new(false);

/// Makes hosts of this program compile adapters in a child process, with limits of time and memory.
///
/// Call it first in `main`, before any thread is started. The child is this program once more: there, the call compiles
/// one component and exits, so that nothing after it is executed. In the program itself it returns at once.
///
/// A component of a few kilobytes can keep a compiler busy for hours, or make it take all memory. Without this call,
/// adapters are compiled in the process of the host, on another thread, and such a component is not stopped. Call it in
/// every program that loads adapters which its user has not written.
///
/// ```no_run
/// fn main() -> Result<(), Box<dyn std::error::Error>> {
///     wharf::compile_in_child();
///     tokio::runtime::Runtime::new()?.block_on(async {
///         let adapter = wharf::Host::from_env()?.adapter("./mine.wasm").await?;
///         println!("{}", adapter.info().name);
///         Ok(())
///     })
/// }
/// ```
pub fn compile_in_child() {
    if let Some(limits) = std::env::var_os(REQUEST).and_then(|word| CompileLimits::from_word(&word)) {
        std::process::exit(match serve(limits) {
            Ok(()) => 0,
            Err(error) => {
                let _ = io::Write::write_all(&mut io::stderr(), format!("{error}\n").as_bytes());
                1
            }
        });
    }
    SERVES.store(true, Ordering::Relaxed);
}

/// Whether this program can be started as a compiler.
pub(super) fn is_served() -> bool {
    SERVES.load(Ordering::Relaxed)
}

/// The program to start as a compiler: this one.
pub(super) fn program() -> io::Result<PathBuf> {
    if cfg!(target_os = "linux") {
        // The link leads to this very program, also after another version was installed in its place.
        return Ok(PathBuf::from("/proc/self/exe"));
    }
    std::env::current_exe()
}

/// The environment of the child: nothing of ours but what it needs to start.
pub(super) fn environment(limits: CompileLimits) -> Vec<(OsString, OsString)> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(MOST_THREADS);
    let own = [(REQUEST.into(), limits.to_word().into()), (THREADS.into(), threads.to_string().into())];
    let loader = LOADER.iter().filter_map(|name| Some((OsString::from(name), std::env::var_os(name)?)));
    own.into_iter().chain(loader).collect()
}

/// Compiles what is on stdin.
fn serve(limits: CompileLimits) -> io::Result<()> {
    restrict(limits).map_err(|error| io::Error::other(format!("setting the limits of the compiler: {error}")))?;
    let component = read_at_most(io::stdin().lock(), limits.bytes)?;
    let engine = wasmtime::Engine::new(settings().parallel_compilation(true)).map_err(io::Error::other)?;
    let reply = match engine.precompile_component(&component) {
        Ok(code) => Reply::Code(code),
        Err(error) if error.downcast_ref::<OutOfMemory>().is_some() => Reply::OutOfMemory,
        Err(error) => Reply::Invalid(format!("{error:#}")),
    };
    reply.write(&mut io::stdout().lock())
}

/// Limits this process, for good.
#[cfg(unix)]
fn restrict(limits: CompileLimits) -> io::Result<()> {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let lower = |resource, current: u64, maximum: u64| {
        let allowed = getrlimit(resource).maximum.unwrap_or(u64::MAX);
        let (current, maximum) = (Some(current.min(allowed)), Some(maximum.min(allowed)));
        setrlimit(resource, Rlimit { current, maximum })
    };
    // The first ends the process with a signal of its own, by which its parent knows the reason.
    lower(Resource::Cpu, limits.seconds, limits.seconds.saturating_add(1))?;
    lower(Resource::Core, 0, 0)?;
    lower(Resource::Fsize, 0, 0)?;
    // Private memory, and not addresses, of which every thread reserves many. Systems other than Linux count it
    // differently, or not at all, and may refuse the limit.
    match lower(Resource::Data, limits.bytes, limits.bytes) {
        Err(error) if cfg!(target_os = "linux") => Err(error.into()),
        _ => Ok(()),
    }
}

/// There are no such limits: the parent's clock is the only one.
#[cfg(not(unix))]
#[expect(clippy::unnecessary_wraps, reason = "as on Unix")]
fn restrict(_limits: CompileLimits) -> io::Result<()> {
    Ok(())
}
