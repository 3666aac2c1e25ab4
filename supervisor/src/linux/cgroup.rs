//! A cgroup (version 2) for each run, if the system permits one.
//!
//! No process that an agent starts leaves the cgroup by changing its session or environment. If no cgroup can be created
//! (version 1 only, not delegated, read-only), runs go without.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Component, Path, PathBuf};
use std::sync::OnceLock;

use rustix::fs::OFlags;

use super::pseudofile;

/// The names of our cgroups are this and the run id.
const PREFIX: &str = "wharf-";

/// The number of the file system, from the kernel's magic.h.
const CGROUP2_MAGIC: rustix::fs::FsWord = 0x6367_7270;

/// A cgroup that holds the processes of one run.
#[derive(Debug)]
pub(crate) struct Cgroup {
    path: PathBuf,
}

impl Cgroup {
    /// Creates one below the cgroup of this process. `None` if that is not possible.
    pub(super) fn create(run: &str) -> Option<Self> {
        let own = pseudofile::read_text("/proc/self/cgroup").ok()?;
        let path = locate(mounts()?, &own)?.join(format!("{PREFIX}{run}"));
        fs::create_dir(&path).ok()?;
        Some(Self { path })
    }

    /// The cgroup that a dead host has recorded. The name is checked, because any program may have written the record.
    pub(super) fn of_dead_host(path: &Path, run: &str) -> Option<Self> {
        let name_matches = path.file_name().is_some_and(|name| name == format!("{PREFIX}{run}").as_str());
        (name_matches && path.join("cgroup.procs").is_file()).then(|| Self { path: path.to_owned() })
    }

    /// Whether it is a folder of the kernel and not one that somebody made to look like it.
    pub(super) fn is_real(&self) -> bool {
        rustix::fs::statfs(&self.path).is_ok_and(|found| found.f_type == CGROUP2_MAGIC)
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The file through which a process joins: it writes "0" to it.
    pub(super) fn procs_file(&self) -> io::Result<File> {
        File::options().write(true).open(self.path.join("cgroup.procs"))
    }

    /// The folder itself. `clone3` takes it to create a process inside the cgroup.
    pub(super) fn folder(&self) -> io::Result<File> {
        File::options().read(true).custom_flags(OFlags::DIRECTORY.bits().cast_signed()).open(&self.path)
    }

    /// Whether `pid` is in it. For a child that has not been waited for, this also works after its exit.
    pub(super) fn contains(&self, pid: i32) -> bool {
        let (Ok(text), Some(name)) = (pseudofile::read_text(format!("/proc/{pid}/cgroup")), self.path.file_name())
        else {
            return false;
        };
        v2_path(&text).is_some_and(|path| Path::new(path).components().any(|part| part.as_os_str() == name))
    }

    /// The processes in it and in the cgroups that they created below it.
    pub(super) fn pids(&self) -> HashSet<i32> {
        let mut pids = HashSet::new();
        visit_folders(&self.path, &mut |folder| {
            let text = pseudofile::read_text(folder.join("cgroup.procs")).unwrap_or_default();
            pids.extend(text.lines().filter_map(|line| line.parse::<i32>().ok()));
        });
        pids
    }

    /// Whether a process is alive in it or below it.
    pub(super) fn is_populated(&self) -> bool {
        let events = pseudofile::read_text(self.path.join("cgroup.events")).unwrap_or_default();
        events.lines().any(|line| line == "populated 1")
    }

    /// Kills all its processes at once. Before Linux 5.14 this does nothing, and the cleanup kills them one by one.
    pub(super) fn kill(&self) {
        // A failure does no harm, because the cleanup scans again.
        fs::write(self.path.join("cgroup.kill"), "1").ok();
    }

    /// Removes it, if it is empty.
    pub(super) fn remove(&self) {
        visit_folders(&self.path, &mut |folder| {
            fs::remove_dir(folder).ok();
        });
    }
}

/// Visits all folders below `folder`, then `folder` itself.
fn visit_folders(folder: &Path, visit: &mut dyn FnMut(&Path)) {
    for item in fs::read_dir(folder).into_iter().flatten().flatten() {
        if item.file_type().is_ok_and(|kind| kind.is_dir()) {
            visit_folders(&item.path(), visit);
        }
    }
    visit(folder);
}

/// The path of the version 2 hierarchy in `/proc/PID/cgroup`.
fn v2_path(cgroup: &str) -> Option<&str> {
    cgroup.lines().find_map(|line| line.strip_prefix("0::"))
}

/// A mount of the version 2 hierarchy, or of the part of it below `root`.
#[derive(Debug)]
struct Mount {
    root: String,
    point: String,
}

/// The mounts of the hierarchy. Cached, because they do not change, unlike the cgroup of this process. A failed read, for
/// example because no descriptor was free, is repeated next time.
fn mounts() -> Option<&'static [Mount]> {
    static MOUNTS: OnceLock<Vec<Mount>> = OnceLock::new();
    if let Some(mounts) = MOUNTS.get() {
        return Some(mounts);
    }
    let read = parse_mounts(&pseudofile::read_text("/proc/self/mountinfo").ok()?);
    Some(MOUNTS.get_or_init(|| read))
}

fn parse_mounts(mountinfo: &str) -> Vec<Mount> {
    let parse = |line: &str| {
        let (mount, kind) = line.split_once(" - ")?;
        if kind.split(' ').next()? != "cgroup2" {
            return None;
        }
        let mut fields = mount.split(' ').skip(3);
        Some(Mount { root: unescape(fields.next()?), point: unescape(fields.next()?) })
    };
    mountinfo.lines().filter_map(parse).collect()
}

/// The folder of this process's cgroup. `cgroup` is the content of `/proc/self/cgroup`.
fn locate(mounts: &[Mount], cgroup: &str) -> Option<PathBuf> {
    let own = Path::new(v2_path(cgroup)?);
    // A cgroup outside of our namespace is shown as "/../..".
    if own.components().any(|part| part == Component::ParentDir) {
        return None;
    }
    mounts.iter().find_map(|mount| Some(Path::new(&mount.point).join(own.strip_prefix(&mount.root).ok()?)))
}

/// The kernel writes spaces, tabs, newlines and backslashes in octal.
fn unescape(text: &str) -> String {
    text.replace("\\040", " ").replace("\\011", "\t").replace("\\012", "\n").replace("\\134", "\\")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cgroup_of_this_process_is_found_below_its_mount() {
        let pure = "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n";
        let hybrid = "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n\
                      32 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n\
                      41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";
        let bound = "30 23 0:26 /docker/abc /sys/fs/cgroup ro - cgroup2 cgroup rw\n";
        let blank = "30 23 0:26 / /mnt/my\\040groups rw - cgroup2 none rw\n";
        let table = [
            (pure, "0::/user.slice/a.scope\n", Some("/sys/fs/cgroup/user.slice/a.scope")),
            (pure, "0::/\n", Some("/sys/fs/cgroup")),
            (hybrid, "4:memory:/x\n0::/\n", Some("/sys/fs/cgroup/unified")),
            (hybrid, "4:memory:/x\n", None),
            (bound, "0::/docker/abc/inner\n", Some("/sys/fs/cgroup/inner")),
            (bound, "0::/elsewhere\n", None),
            (blank, "0::/a\n", Some("/mnt/my groups/a")),
            (pure, "0::/../..\n", None),
            ("", "0::/\n", None),
            ("garbage\n - cgroup2\n", "0::/\n", None),
        ];
        for (mounts, own, expected) in table {
            assert_eq!(locate(&parse_mounts(mounts), own), expected.map(PathBuf::from), "{own:?} in {mounts:?}");
        }
    }

    #[test]
    fn a_record_may_name_only_the_cgroup_of_its_run() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("wharf-a");
        fs::create_dir(&path).expect("created");
        assert!(Cgroup::of_dead_host(&path, "a").is_none(), "not a cgroup");
        fs::write(path.join("cgroup.procs"), "").expect("written");
        assert!(Cgroup::of_dead_host(&path, "a").is_some());
        assert!(Cgroup::of_dead_host(&path, "b").is_none());
        assert!(Cgroup::of_dead_host(Path::new("/"), "a").is_none());
    }
}
