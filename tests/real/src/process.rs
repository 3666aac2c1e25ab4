//! Processes of the scenarios: running, ended, and looked for.

use std::fs;
use std::process::Command;
use std::time::{Duration, Instant};

/// Ctrl-C for a process that this program started.
pub(crate) fn interrupt(id: u32) -> Result<(), String> {
    match Command::new("kill").args(["-INT", &id.to_string()]).status() {
        Ok(status) if status.success() => Ok(()),
        failed => Err(format!("the process {id} cannot be interrupted: {failed:?}")),
    }
}

/// Whether a process is there and not merely waiting to be reaped.
pub(crate) fn is_alive(id: u32) -> bool {
    state(id).is_some_and(|state| state != 'Z' && state != 'X')
}

fn state(id: u32) -> Option<char> {
    after_name(id)?.chars().next()
}

/// What `/proc/ID/stat` says after the name, which may have anything in it: the state, the parent and so on.
fn after_name(id: u32) -> Option<String> {
    let stat = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    Some(stat.rsplit_once(") ")?.1.to_owned())
}

/// The words that each child of a process was started with.
pub(crate) fn children(parent: u32) -> Vec<Vec<String>> {
    let ids = fs::read_dir("/proc").into_iter().flatten().flatten();
    let ids = ids.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let is_child = |id: &u32| {
        after_name(*id).is_some_and(|stat| stat.split(' ').nth(1).is_some_and(|id| id == parent.to_string()))
    };
    ids.filter(is_child).filter_map(command_line).collect()
}

fn command_line(id: u32) -> Option<Vec<String>> {
    let bytes = fs::read(format!("/proc/{id}/cmdline")).ok()?;
    let words = bytes.strip_suffix(b"\0")?.split(|byte| *byte == 0);
    Some(words.map(|word| String::from_utf8_lossy(word).into_owned()).collect())
}

/// Wait until something is there, or give up.
pub(crate) fn wait_for<T>(what: &str, limit: Duration, mut look: impl FnMut() -> Option<T>) -> Result<T, String> {
    let started = Instant::now();
    loop {
        if let Some(found) = look() {
            return Ok(found);
        }
        if started.elapsed() > limit {
            return Err(format!("{what} did not come within {} s", limit.as_secs()));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_is_found_and_its_end_is_seen() {
        let mut child = Command::new("sleep").arg("3141").spawn().expect("a child");
        let words = ["sleep".to_owned(), "3141".to_owned()];
        // Until it has called exec it is still a copy of this program.
        let found = || children(std::process::id()).contains(&words.to_vec()).then_some(());
        wait_for("the child", Duration::from_secs(10), found).expect("found");
        assert!(is_alive(child.id()));
        interrupt(child.id()).expect("interrupted");
        let gone = || (!is_alive(child.id())).then_some(());
        wait_for("its end", Duration::from_secs(10), gone).expect("gone, though nobody reaped it");
        child.wait().expect("reaped");
    }
}
