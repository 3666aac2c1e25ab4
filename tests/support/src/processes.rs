//! What /proc says about processes.

use std::fs;

/// The command lines of all processes, with the ids.
pub(crate) fn command_lines() -> impl Iterator<Item = (u32, String)> {
    let entries = fs::read_dir("/proc").expect("Linux has /proc").filter_map(Result::ok);
    entries.filter_map(|entry| {
        let id = entry.file_name().to_str()?.parse().ok()?;
        let line = fs::read(entry.path().join("cmdline")).ok()?;
        Some((id, String::from_utf8_lossy(&line).replace('\0', " ")))
    })
}

/// The command lines of all processes that contain a text.
pub fn processes_with(text: &str) -> Vec<String> {
    command_lines().map(|(_, line)| line).filter(|line| line.contains(text)).collect()
}

/// The resident memory of a process, in bytes.
pub fn resident_memory(process: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).expect("the process is alive");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("the process is alive");
    line.trim().trim_end_matches("kB").trim().parse::<u64>().expect("a number") * 1024
}

/// How many bytes a process has written so far, to any file or pipe.
pub fn bytes_written(process: u32) -> u64 {
    let io = fs::read_to_string(format!("/proc/{process}/io")).expect("the process is alive");
    io.lines().find_map(|line| line.strip_prefix("wchar: ")?.parse().ok()).expect("the kernel counts it")
}
