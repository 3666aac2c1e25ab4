//! The process table, as `/proc` shows it.
//!
//! A process is named by its number *and* its start time: numbers are used again.

use std::fs;
use std::io;
use std::sync::OnceLock;

use super::{own_pid, pseudofile};

/// A process that cannot be confused with a later one of the same number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Identity {
    pub(super) pid: i32,
    /// In clock ticks since the boot.
    pub(super) start: u64,
}

impl Identity {
    /// Of a process that is there now.
    pub(super) fn of(pid: i32) -> io::Result<Self> {
        Entry::of(pid).map(|entry| entry.identity())
    }

    /// Of this process, read once. The number is compared for the sake of a host that has forked.
    pub(super) fn own() -> io::Result<Self> {
        static OWN: OnceLock<Identity> = OnceLock::new();
        if let Some(own) = OWN.get().filter(|own| own.pid == own_pid()) {
            return Ok(*own);
        }
        let own = Self::of(own_pid())?;
        OWN.get_or_init(|| own);
        Ok(own)
    }
}

/// One line of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) pid: i32,
    pub(super) parent: i32,
    pub(super) session: i32,
    pub(super) start: u64,
    /// Not a zombie: something of it still runs.
    pub(super) living: bool,
    /// On its way out, be it by itself or by a signal: it runs no more of its program.
    pub(super) ending: bool,
}

impl Entry {
    /// Of a process that is there now.
    pub(super) fn of(pid: i32) -> io::Result<Self> {
        let stat = pseudofile::read(format!("/proc/{pid}/stat"))?;
        parse(&stat).ok_or_else(|| io::Error::other(format!("/proc/{pid}/stat is not understood")))
    }

    pub(super) fn identity(&self) -> Identity {
        Identity { pid: self.pid, start: self.start }
    }
}

/// All processes. One that starts or ends meanwhile may be missing, so that one look proves little: see the sweep.
pub(super) fn read() -> Vec<Entry> {
    let Ok(folder) = fs::read_dir("/proc") else { return Vec::new() };
    folder
        .flatten()
        .filter_map(|item| item.file_name().to_str()?.parse().ok())
        .filter_map(|pid| Entry::of(pid).ok())
        .collect()
}

/// What a process was started as, for people, of bounded length.
pub(super) fn command(pid: i32) -> String {
    const LIMIT: usize = 300;
    let mut line = pseudofile::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    line.truncate(LIMIT * 4);
    let words = String::from_utf8_lossy(&line).replace('\0', " ");
    let words = words.trim_end();
    if words.is_empty() {
        let name = pseudofile::read(format!("/proc/{pid}/comm")).unwrap_or_default();
        return format!("[{}]", String::from_utf8_lossy(&name).trim_end());
    }
    words.chars().take(LIMIT).collect()
}

/// `PF_EXITING` among the kernel's flags of a process.
const EXITING: u32 = 4;

/// Reads `/proc/PID/stat`. The second field is the program's name in parentheses and may contain anything, further
/// parentheses too, so the fields are counted from the last one.
fn parse(stat: &[u8]) -> Option<Entry> {
    let close = stat.iter().rposition(|&byte| byte == b')')?;
    let open = stat.iter().position(|&byte| byte == b'(')?;
    let pid = str::from_utf8(&stat[..open]).ok()?.trim().parse().ok()?;
    let rest = str::from_utf8(&stat[close + 1..]).ok()?;
    // Numbered as in proc(5), where the state is field 3.
    let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
    let field = |number: usize| fields.get(number - 3).copied();
    let ended = matches!(field(3)?, "Z" | "X" | "x");
    // A process whose first thread has ended looks like a zombie while its other threads run on.
    let threads: u32 = field(20)?.parse().ok()?;
    let flags: u32 = field(9)?.parse().ok()?;
    Some(Entry {
        pid,
        parent: field(4)?.parse().ok()?,
        session: field(6)?.parse().ok()?,
        start: field(22)?.parse().ok()?,
        living: !ended || threads > 1,
        ending: flags & EXITING != 0 && threads <= 1,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stat(name: &str, state: &str, flags: u32, threads: u32) -> String {
        format!("4711 ({name}) {state} 10 11 12 0 -1 {flags} 1 2 3 4 5 6 7 8 20 0 {threads} 0 987654 1 2 3\n")
    }

    #[test]
    fn names_may_contain_anything() {
        for name in ["sh", "a b", ")", "((", "x) Z 1 1 1 (y", "\u{e9}\n"] {
            let expected = Entry { pid: 4711, parent: 10, session: 12, start: 987_654, living: true, ending: false };
            assert_eq!(parse(stat(name, "S", 4_194_304, 1).as_bytes()), Some(expected), "{name:?}");
        }
    }

    #[test]
    fn a_zombie_with_threads_lives() {
        let table = [
            ("R", 0, 1, true, false),
            ("R", 4_194_308, 1, true, true),
            ("R", 4, 2, true, false),
            ("T", 0, 1, true, false),
            ("Z", 4, 1, false, true),
            ("X", 4, 0, false, true),
            ("Z", 4, 3, true, false),
        ];
        for (state, flags, threads, living, ending) in table {
            let entry = parse(stat("sh", state, flags, threads).as_bytes()).expect("well formed");
            assert_eq!((entry.living, entry.ending), (living, ending), "{state} {flags} {threads}");
        }
    }

    #[test]
    fn what_is_cut_short_is_refused() {
        for text in ["", "1", "1 (sh)", "1 (sh) S 2 3", "x (sh) S", "1 )( S"] {
            assert_eq!(parse(text.as_bytes()), None, "{text:?}");
        }
    }

    #[test]
    fn finds_this_very_process() {
        let pid = i32::try_from(std::process::id()).expect("process ids are positive");
        let found = read().into_iter().find(|entry| entry.pid == pid).expect("we run");
        assert!(found.living);
        assert_eq!(Some(found.identity()), Identity::of(pid).ok());
        let program = std::env::current_exe().expect("we run");
        let name = program.file_name().expect("a file").to_string_lossy().into_owned();
        assert!(command(pid).contains(&name), "{}", command(pid));
    }
}
