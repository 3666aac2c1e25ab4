//! The processes of a scenario: interrupts them, lists them and waits for them.

use std::fs;
use std::process::Command;
use std::time::{Duration, Instant};

/// Sends SIGINT to a process that this program started.
pub(crate) fn interrupt(id: u32) -> Result<(), String> {
    match Command::new("kill").args(["-INT", &id.to_string()]).status() {
        Ok(status) if status.success() => Ok(()),
        failed => Err(format!("cannot interrupt process {id}: {failed:?}")),
    }
}

/// Whether a process runs: a zombie does not.
pub(crate) fn is_alive(id: u32) -> bool {
    state(id).is_some_and(|state| state != 'Z' && state != 'X')
}

fn state(id: u32) -> Option<char> {
    after_name(id)?.chars().next()
}

/// The part of `/proc/ID/stat` after the name, which can contain any character: the state, the parent and so on.
fn after_name(id: u32) -> Option<String> {
    let stat = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    Some(stat.rsplit_once(") ")?.1.to_owned())
}

/// The command line of each child of a process.
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
    let args = bytes.strip_suffix(b"\0")?.split(|byte| *byte == 0);
    Some(args.map(|arg| String::from_utf8_lossy(arg).into_owned()).collect())
}

/// Polls until `look` finds something, or fails after the time limit.
pub(crate) fn wait_for<T>(what: &str, limit: Duration, mut look: impl FnMut() -> Option<T>) -> Result<T, String> {
    let started = Instant::now();
    loop {
        if let Some(found) = look() {
            return Ok(found);
        }
        if started.elapsed() > limit {
            return Err(format!("{what}: nothing within {} s", limit.as_secs()));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_child_is_found_while_it_runs() {
        let mut child = Command::new("sleep").arg("3141").spawn().expect("a child");
        let args = ["sleep".to_owned(), "3141".to_owned()];
        // Before it calls exec it is a copy of this program.
        let found = || children(std::process::id()).contains(&args.to_vec()).then_some(());
        wait_for("the child", Duration::from_secs(10), found).expect("found");
        assert!(is_alive(child.id()));
        interrupt(child.id()).expect("interrupted");
        let exited = || (!is_alive(child.id())).then_some(());
        wait_for("its exit", Duration::from_secs(10), exited).expect("it exited, even if it is not reaped yet");
        child.wait().expect("reaped");
    }
}
