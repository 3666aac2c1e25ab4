//! The process table, as `/proc` shows it.
//!
//! A process is identified by its process id *and* its start time, because ids are reused.

use std::fs;
use std::io;
use std::sync::OnceLock;

use rustix::process::getpid;

use super::pseudofile;

/// Identifies a process even if its process id is reused later.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct ProcessIdentity {
    pub(super) pid: i32,
    /// In clock ticks since boot.
    pub(super) start_time: u64,
}

impl ProcessIdentity {
    /// The identity of the process that has this id now.
    pub(super) fn of(pid: i32) -> io::Result<Self> {
        ProcessEntry::of(pid).map(|entry| entry.identity())
    }

    /// The identity of this process, cached. The id is compared because the host may have forked since.
    pub(super) fn own() -> io::Result<Self> {
        static OWN: OnceLock<ProcessIdentity> = OnceLock::new();
        if let Some(own) = OWN.get().filter(|own| own.pid == own_pid()) {
            return Ok(*own);
        }
        let own = Self::of(own_pid())?;
        OWN.get_or_init(|| own);
        Ok(own)
    }
}

/// One process in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ProcessEntry {
    pub(super) pid: i32,
    pub(super) parent: i32,
    pub(super) session: i32,
    pub(super) start_time: u64,
    /// Not a zombie: at least one of its threads still runs.
    pub(super) alive: bool,
    /// It is exiting, by itself or by a signal, and runs no more of its program.
    pub(super) exiting: bool,
}

impl ProcessEntry {
    /// The process that has this id now.
    pub(super) fn of(pid: i32) -> io::Result<Self> {
        let stat = pseudofile::read(format!("/proc/{pid}/stat"))?;
        parse(&stat).ok_or_else(|| io::Error::other(format!("/proc/{pid}/stat has an unknown format")))
    }

    pub(super) fn identity(&self) -> ProcessIdentity {
        ProcessIdentity { pid: self.pid, start_time: self.start_time }
    }
}

/// The id of this process.
pub(super) fn own_pid() -> i32 {
    getpid().as_raw_pid()
}

/// All processes. One that starts or exits during the read may be missing, so a single scan proves little: see
/// [`ProcessTree::clean_up`](super::process_tree::ProcessTree::clean_up).
pub(super) fn read() -> Vec<ProcessEntry> {
    let Ok(folder) = fs::read_dir("/proc") else { return Vec::new() };
    folder
        .flatten()
        .filter_map(|item| item.file_name().to_str()?.parse().ok())
        .filter_map(|pid| ProcessEntry::of(pid).ok())
        .collect()
}

/// The command line of a process for people, of limited length.
pub(super) fn command(pid: i32) -> String {
    const LIMIT: usize = 300;
    let mut line = pseudofile::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    line.truncate(LIMIT * 4);
    let args = String::from_utf8_lossy(&line).replace('\0', " ");
    let args = args.trim_end();
    if args.is_empty() {
        let name = pseudofile::read(format!("/proc/{pid}/comm")).unwrap_or_default();
        return format!("[{}]", String::from_utf8_lossy(&name).trim_end());
    }
    args.chars().take(LIMIT).collect()
}

/// `PF_EXITING` among the kernel's flags of a process.
const EXITING: u32 = 4;

/// Parses `/proc/PID/stat`. The second field is the program's name in parentheses. It may contain anything, also
/// parentheses, so the fields are counted from the last one.
fn parse(stat: &[u8]) -> Option<ProcessEntry> {
    let close = stat.iter().rposition(|&byte| byte == b')')?;
    let open = stat.iter().position(|&byte| byte == b'(')?;
    let pid = str::from_utf8(&stat[..open]).ok()?.trim().parse().ok()?;
    let rest = str::from_utf8(&stat[close + 1..]).ok()?;
    // Numbered as in proc(5), where the state is field 3.
    let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
    let field = |number: usize| fields.get(number - 3).copied();
    let zombie = matches!(field(3)?, "Z" | "X" | "x");
    // A process whose first thread has exited looks like a zombie while its other threads still run.
    let threads: u32 = field(20)?.parse().ok()?;
    let flags: u32 = field(9)?.parse().ok()?;
    Some(ProcessEntry {
        pid,
        parent: field(4)?.parse().ok()?,
        session: field(6)?.parse().ok()?,
        start_time: field(22)?.parse().ok()?,
        alive: !zombie || threads > 1,
        exiting: flags & EXITING != 0 && threads <= 1,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stat(name: &str, state: &str, flags: u32, threads: u32) -> String {
        format!("4711 ({name}) {state} 10 11 12 0 -1 {flags} 1 2 3 4 5 6 7 8 20 0 {threads} 0 987654 1 2 3\n")
    }

    #[test]
    fn program_names_may_contain_anything() {
        for name in ["sh", "a b", ")", "((", "x) Z 1 1 1 (y", "\u{e9}\n"] {
            let expected =
                ProcessEntry { pid: 4711, parent: 10, session: 12, start_time: 987_654, alive: true, exiting: false };
            assert_eq!(parse(stat(name, "S", 4_194_304, 1).as_bytes()), Some(expected), "{name:?}");
        }
    }

    #[test]
    fn a_zombie_with_running_threads_is_alive() {
        let table = [
            ("R", 0, 1, true, false),
            ("R", 4_194_308, 1, true, true),
            ("R", 4, 2, true, false),
            ("T", 0, 1, true, false),
            ("Z", 4, 1, false, true),
            ("X", 4, 0, false, true),
            ("Z", 4, 3, true, false),
        ];
        for (state, flags, threads, alive, exiting) in table {
            let entry = parse(stat("sh", state, flags, threads).as_bytes()).expect("well formed");
            assert_eq!((entry.alive, entry.exiting), (alive, exiting), "{state} {flags} {threads}");
        }
    }

    #[test]
    fn truncated_lines_are_rejected() {
        for text in ["", "1", "1 (sh)", "1 (sh) S 2 3", "x (sh) S", "1 )( S"] {
            assert_eq!(parse(text.as_bytes()), None, "{text:?}");
        }
    }

    #[test]
    fn the_table_contains_this_process() {
        let pid = i32::try_from(std::process::id()).expect("process ids are positive");
        let found = read().into_iter().find(|entry| entry.pid == pid).expect("this process runs");
        assert!(found.alive);
        assert_eq!(Some(found.identity()), ProcessIdentity::of(pid).ok());
        let program = std::env::current_exe().expect("this process runs");
        let name = program.file_name().expect("a file").to_string_lossy().into_owned();
        assert!(command(pid).contains(&name), "{}", command(pid));
    }
}
