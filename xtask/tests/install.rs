//! `install.sh`, run against releases in a local folder. A stub of `uname` selects the system.

#![cfg(unix)]

use sha2::{Digest as _, Sha256};
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tempfile::TempDir;

/// The systems that have a release: what `uname` prints, and the target.
const SYSTEMS: [(&str, &str, &str); 5] = [
    ("Linux", "x86_64", "x86_64-unknown-linux-gnu"),
    ("Linux", "aarch64", "aarch64-unknown-linux-gnu"),
    ("Linux", "arm64", "aarch64-unknown-linux-gnu"),
    ("Darwin", "x86_64", "x86_64-apple-darwin"),
    ("Darwin", "arm64", "aarch64-apple-darwin"),
];

/// The programs that the script may use, besides those that download.
const PROGRAMS: [&str; 15] = [
    "cat",
    "chmod",
    "cp",
    "cut",
    "grep",
    "gzip",
    "ldd",
    "mkdir",
    "mktemp",
    "mv",
    "perl",
    "rm",
    "sha256sum",
    "shasum",
    "tar",
];

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// A temporary folder with `releases`, `home`, and `bin`, which is the whole PATH.
struct Machine(TempDir);

impl Machine {
    fn new(system: &str, machine: &str) -> Machine {
        let folder = Machine(tempfile::tempdir().expect("a temporary folder"));
        fs::create_dir(folder.path("bin")).expect("a folder");
        for program in PROGRAMS {
            folder.link(program);
        }
        let uname = format!("#!/bin/sh\ncase $1 in -s) echo {system} ;; -m) echo {machine} ;; esac\n");
        folder.write_program("uname", &uname);
        folder
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Makes a program of the real PATH available, if it is installed.
    fn link(&self, program: &str) {
        if let Some(found) = find(program) {
            symlink(found, self.path("bin").join(program)).expect("a link");
        }
    }

    fn write_program(&self, name: &str, text: &str) {
        let path = self.path("bin").join(name);
        fs::write(&path, text).expect("a program");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("it is executable");
    }

    /// Adds a release whose program prints its version, and makes it the latest.
    fn release(&self, target: &str, version: &str) -> PathBuf {
        let name = format!("wharf-{target}-{version}");
        let staged = self.path("staged").join(&name);
        fs::create_dir_all(&staged).expect("a folder");
        let program = staged.join("wharf");
        fs::write(&program, format!("#!/bin/sh\necho wharf {version}\n")).expect("a program");
        let folder = self.path("releases").join("download").join(version);
        fs::create_dir_all(&folder).expect("a folder");
        let archive = folder.join(format!("{name}.tar.gz"));
        let tar = Command::new("tar").arg("-C").arg(self.path("staged")).arg("-czf").arg(&archive).arg(&name).status();
        assert!(tar.expect("tar starts").success());
        let digest = Sha256::digest(fs::read(&archive).expect("an archive"));
        fs::write(folder.join(format!("{name}.tar.gz.sha256")), format!("{digest:x}  {name}.tar.gz\n"))
            .expect("a file");
        let latest = self.path("releases").join("latest").join("download");
        fs::create_dir_all(&latest).expect("a folder");
        fs::write(latest.join("version.txt"), format!("{version}\n")).expect("a file");
        archive
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new("/bin/sh");
        command.arg(repository().join("install.sh")).args(args).env_clear();
        command.env("PATH", self.path("bin")).env("HOME", self.path("home")).env("TMPDIR", self.0.path());
        command.env("WHARF_INSTALL_BASE_URL", format!("file://{}", self.path("releases").display()));
        command
    }

    fn install(&self, args: &[&str]) -> Output {
        self.command(args).output().expect("sh starts")
    }

    /// What the installed program prints; none if it is not installed.
    fn installed(&self) -> Option<String> {
        let program = self.path("home/.local/bin/wharf");
        let output = program.exists().then(|| Command::new(program).output().expect("it is executable"))?;
        Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    }

    /// It must fail with this exit code and message, and install nothing.
    fn fails(&self, output: &Output, code: i32, part: &str) {
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{stderr}");
        // The program that downloads may print its own message first.
        let message = stderr.find("install.sh: ").map(|at| &stderr[at..]);
        assert!(message.is_some_and(|message| message.contains(part)), "{stderr}");
        assert_eq!(self.installed(), None);
    }
}

fn find(program: &str) -> Option<PathBuf> {
    std::env::split_paths(&std::env::var_os("PATH")?).map(|folder| folder.join(program)).find(|path| path.is_file())
}

fn stdout(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn every_system_gets_its_latest_release() {
    for (system, processor, target) in SYSTEMS {
        let machine = Machine::new(system, processor);
        machine.release(target, "v0.1.0");
        machine.release(target, "v0.2.0");
        let output = stdout(&machine.install(&[]));
        assert!(output.contains("wharf v0.2.0 is installed") && output.contains("hint: add "), "{output}");
        assert_eq!(machine.installed().as_deref(), Some("wharf v0.2.0"), "{system} {processor}");
        let leftovers: Vec<_> = fs::read_dir(machine.path("home/.local/bin")).expect("a folder").flatten().collect();
        assert_eq!(leftovers.len(), 1, "{leftovers:?}");
        let mut temporary = fs::read_dir(machine.0.path()).expect("a folder").flatten();
        assert!(!temporary.any(|entry| entry.file_name().to_string_lossy().starts_with("tmp.")));
    }
}

#[test]
fn a_version_can_be_chosen_and_replaces_the_installed_one() {
    let machine = Machine::new("Linux", "x86_64");
    machine.release("x86_64-unknown-linux-gnu", "v0.1.0");
    machine.release("x86_64-unknown-linux-gnu", "v0.2.0-rc.1");
    for (args, version) in [
        (&["--version", "v0.1.0"][..], "wharf v0.1.0"),
        (&["--version=v0.2.0-rc.1"], "wharf v0.2.0-rc.1"),
        (&["--version", "0.1.0"], "wharf v0.1.0"),
    ] {
        stdout(&machine.install(args));
        assert_eq!(machine.installed().as_deref(), Some(version), "{args:?}");
    }
}

#[test]
fn the_folder_can_be_chosen() {
    let machine = Machine::new("Darwin", "arm64");
    machine.release("aarch64-apple-darwin", "v0.1.0");
    let folder = machine.path("a folder/bin");
    let path = format!("{}:{}", machine.path("bin").display(), folder.display());
    let output = machine.command(&[]).env("WHARF_INSTALL_DIR", &folder).env("PATH", path).env_remove("HOME").output();
    let output = stdout(&output.expect("sh starts"));
    assert!(folder.join("wharf").is_file() && !output.contains("hint:"), "{output}");
    let output = machine.command(&[]).env_remove("HOME").output().expect("sh starts");
    machine.fails(&output, 1, "WHARF_INSTALL_DIR");
}

#[test]
fn unsupported_systems_are_named() {
    for (system, processor) in [("FreeBSD", "amd64"), ("Linux", "riscv64"), ("MINGW64_NT-10.0", "x86_64")] {
        let machine = Machine::new(system, processor);
        machine.fails(&machine.install(&[]), 1, &format!("there is no release for {system} on {processor}"));
    }
    let machine = Machine::new("Linux", "x86_64");
    let _ = fs::remove_file(machine.path("bin/ldd"));
    machine.write_program("ldd", "#!/bin/sh\necho 'musl libc (x86_64)' >&2\nexit 1\n");
    machine.fails(&machine.install(&[]), 1, "there is no release for Linux with musl");
}

#[test]
fn a_wrong_checksum_installs_nothing() {
    let machine = Machine::new("Linux", "x86_64");
    let archive = machine.release("x86_64-unknown-linux-gnu", "v0.1.0");
    let mut bytes = fs::read(&archive).expect("an archive");
    bytes.push(0);
    fs::write(&archive, bytes).expect("it is changed");
    machine.fails(&machine.install(&[]), 1, "the checksum of wharf-x86_64-unknown-linux-gnu-v0.1.0.tar.gz is wrong");
    fs::write(archive.with_file_name("wharf-x86_64-unknown-linux-gnu-v0.1.0.tar.gz.sha256"), "")
        .expect("an empty file");
    machine.fails(&machine.install(&[]), 1, "is wrong");
}

#[test]
fn a_release_that_does_not_exist_is_named() {
    let machine = Machine::new("Linux", "x86_64");
    machine.fails(&machine.install(&[]), 1, "cannot download file://");
    machine.release("x86_64-unknown-linux-gnu", "v0.1.0");
    machine.fails(&machine.install(&["--version", "v9.9.9"]), 1, "v9.9.9/wharf-x86_64-unknown-linux-gnu-v9.9.9.tar.gz");
}

#[test]
fn missing_programs_are_named() {
    let machine = Machine::new("Linux", "x86_64");
    let output = machine.command(&[]).env("WHARF_INSTALL_BASE_URL", "http://127.0.0.1:9").output();
    machine.fails(&output.expect("sh starts"), 1, "neither curl nor wget is installed");
    machine.release("x86_64-unknown-linux-gnu", "v0.1.0");
    for program in ["sha256sum", "shasum"] {
        let _ = fs::remove_file(machine.path("bin").join(program));
    }
    machine.fails(&machine.install(&[]), 1, "neither sha256sum nor shasum is installed");
}

#[test]
fn arguments_are_checked_and_the_help_is_complete() {
    let machine = Machine::new("Linux", "x86_64");
    for (args, part) in [
        (&["--fast"][..], "unknown argument: --fast"),
        (&["--version"], "--version needs a value"),
        (&["--version", "latest"], "not a version: vlatest"),
        (&["--version", "1.2.3/../../x"], "not a version"),
    ] {
        machine.fails(&machine.install(args), 2, part);
    }
    let help = stdout(&machine.install(&["--help"]));
    for word in ["--version", "--help", "WHARF_INSTALL_DIR", "WHARF_INSTALL_BASE_URL"] {
        assert!(help.contains(word), "{help}");
    }
}

#[test]
fn curl_and_wget_both_download() {
    // If neither is installed, there is nothing to test.
    for program in ["curl", "wget"].into_iter().filter(|program| find(program).is_some()) {
        let machine = Machine::new("Linux", "x86_64");
        machine.release("x86_64-unknown-linux-gnu", "v0.1.0");
        machine.link(program);
        let url = serve(machine.path("releases"));
        let install = |args: &[&str]| {
            let output = machine.command(args).env("WHARF_INSTALL_BASE_URL", &url).output();
            output.expect("sh starts")
        };
        machine.fails(&install(&["--version", "v9.9.9"]), 1, "cannot download http://");
        stdout(&install(&[]));
        assert_eq!(machine.installed().as_deref(), Some("wharf v0.1.0"), "{program}");
    }
}

/// Serves the files of a folder over HTTP until the test program exits.
fn serve(folder: PathBuf) -> String {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut lines = BufReader::new(&stream).lines().map_while(Result::ok);
            let path = lines.next().and_then(|line| line.split(' ').nth(1).map(str::to_owned)).unwrap_or_default();
            lines.find(String::is_empty);
            let (status, body) = match fs::read(folder.join(path.trim_start_matches('/'))) {
                Ok(body) => ("200 OK", body),
                Err(_) => ("404 Not Found", vec![]),
            };
            let head = format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n", body.len());
            let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(&body));
        }
    });
    url
}

#[test]
fn the_release_builds_what_is_installed() {
    let workflow = fs::read_to_string(repository().join(".github/workflows/release.yml")).expect("a workflow");
    let targets: Vec<&str> =
        workflow.lines().filter_map(|line| line.split_once("target: ")?.1.split(',').next()).collect();
    for (_, _, target) in SYSTEMS {
        assert!(targets.contains(&target), "{target} is not in {targets:?}");
    }
    assert!(workflow.contains("dist/version.txt"), "install.sh reads the latest version from it");
}
