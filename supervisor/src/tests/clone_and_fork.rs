//! The initial state of an agent, cloned and forked: what it inherits, what it does not, and that a failed start leaves
//! nothing.

use std::os::unix::fs::PermissionsExt;

use tokio::io::AsyncWriteExt;
use tokio::signal::unix::{SignalKind, signal};

use super::*;
use crate::platform::close_stdio;
use crate::{Containment, Exit, SpawnErrorKind};

const METHODS: [&str; 2] = ["clone", "fork"];
const OUTPUT: &str = "WHARF_TEST_OUTPUT";

fn plain(program: &str, args: &[&str]) -> SpawnSpec {
    SpawnSpec { program: program.into(), args: args.iter().map(Into::into).collect(), stdin: false, ..shell("", "") }
}

/// The output of the same program if the standard library starts it.
fn output_with_std(program: &str, args: &[&str]) -> String {
    let output = Command::new(program).args(args).stdin(Stdio::null()).output().expect("it starts");
    String::from_utf8(output.stdout).expect("text")
}

#[tokio::test]
async fn agents_are_cloned_if_the_kernel_supports_it() {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").expect("Linux");
    let mut numbers = release.split(['.', '-']).filter_map(|part| part.parse::<u32>().ok());
    let release = (numbers.next().expect("major"), numbers.next().expect("minor"));
    let supported = release >= (5, 7) && cfg!(any(target_arch = "x86_64", target_arch = "aarch64"));
    for cgroup in [false, true] {
        let process = start(SpawnSpec { cgroup, ..shell("", "") }).await;
        assert_eq!(format!("{process:?}").contains("Cloned"), supported, "{process:?}");
    }
    let process = start_with("fork", shell("", "")).await.expect("it starts");
    assert!(format!("{process:?}").contains("Forked"), "{process:?}");
}

#[tokio::test]
async fn the_agent_is_in_its_cgroup_from_the_first_instruction() {
    for method in METHODS {
        // Without a shell in between: the state in which the program itself starts.
        let spec = SpawnSpec { cgroup: true, ..plain("/bin/cat", &["/proc/self/cgroup"]) };
        let name = format!("/wharf-{}", spec.run);
        let mut process = start_with(method, spec).await.expect("it starts");
        let contained = process.containment() == Containment::Cgroup;
        let output = read_output(&mut process).await;
        assert_eq!(
            output.lines().any(|line| line.starts_with("0::") && line.ends_with(&name)),
            contained,
            "{method}: {output}"
        );
    }
}

#[tokio::test]
async fn the_agent_leads_a_session_in_its_workspace() {
    let folder = tempfile::tempdir().expect("a folder");
    let workspace = folder.path().canonicalize().expect("the folder exists");
    for method in METHODS {
        let spec = SpawnSpec { workspace: workspace.clone(), ..shell("cut -d' ' -f1,5,6,7 /proc/$$/stat; pwd -P", "") };
        let mut process = start_with(method, spec).await.expect("it starts");
        let id = process.id();
        assert_eq!(read_output(&mut process).await, format!("{id} {id} {id} 0\n{}\n", workspace.display()), "{method}");
    }
}

#[tokio::test]
async fn stdin_stdout_and_stderr_are_connected() {
    for method in METHODS {
        let spec = SpawnSpec { stdin: true, ..shell("read word; echo out $word; echo err $word >&2; exit 9", "") };
        let mut process = start_with(method, spec).await.expect("it starts");
        process.take_stdin().expect("not taken yet").write_all(b"in\n").await.expect("it reads");
        let mut errors = String::new();
        process.take_stderr().expect("not taken yet").read_to_string(&mut errors).await.expect("text");
        assert_eq!(read_output(&mut process).await, "out in\n", "{method}");
        assert_eq!(errors, "err in\n", "{method}");
        assert_eq!(process.wait().await, Exit { code: Some(9), signal: None });
    }
}

#[tokio::test]
async fn only_the_three_standard_descriptors_are_inherited() {
    let expected = output_with_std("/bin/ls", &["/proc/self/fd"]);
    for method in METHODS {
        for stdin in [true, false] {
            for cgroup in [true, false] {
                let spec = SpawnSpec { stdin, cgroup, ..plain("/bin/ls", &["/proc/self/fd"]) };
                let mut process = start_with(method, spec).await.expect("it starts");
                assert_eq!(read_output(&mut process).await, expected, "{method} {stdin} {cgroup}");
            }
        }
    }
}

/// The masks of blocked, ignored and caught signals in a `status` of `/proc`.
fn masks(status: &str) -> [u64; 3] {
    ["SigBlk:", "SigIgn:", "SigCgt:"].map(|name| {
        let (_, rest) = status.split_once(name).expect("proc(5)");
        u64::from_str_radix(rest.split_whitespace().next().expect("a mask"), 16).expect("a number")
    })
}

/// Runs in a host that blocks SIGUSR1, ignores SIGUSR2, handles SIGHUP, and ignores SIGPIPE as Rust programs do.
pub(super) async fn compare_signals() {
    /// The others are real-time signals, two of which glibc ignores in processes that it starts with `posix_spawn`.
    const STANDARD: u64 = (1 << 31) - 1;
    let bit = |signal: SignalKind| 1_u64 << (signal.as_raw_value() - 1);
    let _handled = signal(SignalKind::hangup()).expect("Unix");
    let args = ["/proc/self/status"];
    let own = masks(&fs::read_to_string(args[0]).expect("Linux"));
    assert_ne!(own[1] & bit(SignalKind::pipe()), 0, "{own:x?}");
    assert_ne!(own[2] & bit(SignalKind::hangup()), 0, "{own:x?}");
    let with_std = masks(&output_with_std("/bin/cat", &args));
    let mut agents = Vec::new();
    for method in METHODS {
        let mut process = start_with(method, plain("/bin/cat", &args)).await.expect("it starts");
        agents.push(masks(&read_output(&mut process).await));
    }
    assert_eq!(agents[0], agents[1], "cloned and forked");
    assert_eq!(agents[0].map(|mask| mask & STANDARD), with_std.map(|mask| mask & STANDARD));
    assert_ne!(agents[0][0] & bit(SignalKind::user_defined1()), 0, "{agents:x?}");
    assert_ne!(agents[0][1] & bit(SignalKind::user_defined2()), 0, "{agents:x?}");
    assert_eq!(agents[0][1] & bit(SignalKind::pipe()), 0, "{agents:x?}");
    assert_eq!(agents[0][2], 0, "{agents:x?}");
}

#[test]
fn the_signal_mask_and_ignored_signals_are_the_same_as_with_std() {
    let role = in_role("signals");
    let mut command = Command::new("env");
    command.args(["--block-signal=USR1", "--ignore-signal=USR2"]).arg(role.get_program()).args(role.get_args());
    command.envs(role.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let output = command.output().expect("every system has env");
    let text = [output.stdout, output.stderr].concat();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&text));
}

/// If 0, 1 and 2 are closed, the first pipes get these numbers. Spawning with the standard library fails then.
pub(super) async fn start_with_stdio_closed() {
    let mut outputs = Vec::new();
    close_stdio();
    for stdin in [true, false] {
        let spec = SpawnSpec { stdin, ..shell("read word; echo out $word; echo err $word >&2", "") };
        let mut process = start(spec).await;
        if let Some(mut stdin) = process.take_stdin() {
            stdin.write_all(b"in\n").await.expect("it reads");
        }
        let mut errors = String::new();
        process.take_stderr().expect("not taken yet").read_to_string(&mut errors).await.expect("text");
        outputs.push(format!("{}{errors}", read_output(&mut process).await));
    }
    // Stdout is closed, so the output goes to a file.
    fs::write(std::env::var_os(OUTPUT).expect("set by the test"), outputs.concat()).expect("written");
}

#[test]
fn a_host_without_standard_descriptors_can_start_agents() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("output");
    in_role("closed").env(OUTPUT, &file).stdout(Stdio::null()).status().expect("the test binary");
    let output = fs::read_to_string(&file).expect("it ran to its end");
    assert_eq!(output, "out in\nerr in\nout\nerr\n");
}

#[tokio::test]
async fn clone_and_fork_report_the_same_errors() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = |name: &str, content: &[u8], mode: u32| {
        let path = folder.path().join(name);
        fs::write(&path, content).expect("written");
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("our file");
        path
    };
    let base = plain("/bin/true", &[]);
    let table = [
        (SpawnSpec { program: "/nowhere/agent".into(), ..base.clone() }, SpawnErrorKind::ProgramNotFound),
        (SpawnSpec { program: "/bin/true/agent".into(), ..base.clone() }, SpawnErrorKind::ProgramNotFound),
        (SpawnSpec { program: file("plain", b"text", 0o644), ..base.clone() }, SpawnErrorKind::NotExecutable),
        (SpawnSpec { program: folder.path().into(), ..base.clone() }, SpawnErrorKind::NotExecutable),
        (SpawnSpec { program: file("script", b"#!/nowhere\n", 0o755), ..base.clone() }, SpawnErrorKind::NotExecutable),
        (SpawnSpec { workspace: "/nowhere".into(), ..base.clone() }, SpawnErrorKind::Workspace),
        (SpawnSpec { args: vec!["a".repeat(4 << 20).into()], ..base.clone() }, SpawnErrorKind::ArgumentsTooLong),
        (SpawnSpec { program: "/bin/tr\0ue".into(), ..base.clone() }, SpawnErrorKind::Invalid),
    ];
    for (spec, kind) in table {
        for method in METHODS {
            let error = start_with(method, spec.clone()).await.expect_err("it cannot start");
            assert_eq!(error.kind(), kind, "{method}: {error}");
        }
    }
    // ENOEXEC: glibc runs such a file with the shell, other C libraries reject it. Both methods must do the same.
    let spec = SpawnSpec { program: file("no-format", b"echo shell $1\n", 0o755), ..plain("/", &["word"]) };
    let mut outcomes = Vec::new();
    for method in METHODS {
        outcomes.push(match start_with(method, spec.clone()).await {
            Ok(mut process) => read_output(&mut process).await,
            Err(error) => format!("{:?}", error.kind()),
        });
    }
    assert_eq!(outcomes[0], outcomes[1]);
    assert!(["shell word\n", "NotExecutable"].contains(&&*outcomes[0]), "{outcomes:?}");
}

#[tokio::test]
async fn the_memory_of_a_large_host_is_unchanged() {
    let memory: Vec<u32> = (0..64 << 20).step_by(4).collect();
    let mut process = start(shell("echo up", "")).await;
    assert_eq!(read_output(&mut process).await, "up\n");
    assert!(memory.iter().zip((0..).step_by(4)).all(|(&found, written): (_, u32)| found == written));
}

/// Starts agents one after the other and in parallel, some of which fail to start.
pub(super) async fn start_many() {
    let descriptors = || fs::read_dir("/proc/self/fd").expect("Linux").count();
    // The first start opens descriptors that stay open.
    start(shell("", "")).await.clean_up(Duration::ZERO).await;
    let before = descriptors();
    for method in METHODS {
        for number in 0..200 {
            let mut process = start_with(method, plain("/bin/true", &[])).await.expect("it starts");
            assert_eq!(process.wait().await.code, Some(0));
            if number % 10 == 0 {
                start_with(method, plain("/nowhere/agent", &[])).await.expect_err("no such program");
                start_with(method, SpawnSpec { workspace: "/nowhere".into(), ..shell("", "") })
                    .await
                    .expect_err("no such folder");
            }
        }
        assert_eq!(children(), [0; 0], "{method}");
        assert_eq!(descriptors(), before, "{method}");
        let mut runs = tokio::task::JoinSet::new();
        for number in 0..100 {
            runs.spawn(async move {
                let spec = SpawnSpec { cgroup: number % 2 == 0, ..shell(&format!("echo {number}; exit {number}"), "") };
                let mut process = start_with(method, spec).await.expect("it starts");
                assert_eq!(read_output(&mut process).await, format!("{number}\n"));
                assert_eq!(process.wait().await.code, Some(number));
                assert_eq!(process.clean_up(Duration::ZERO).await.killed, []);
            });
        }
        while let Some(result) = runs.join_next().await {
            result.expect("it ran");
        }
        assert_eq!(children(), [0; 0], "{method}");
        assert_eq!(descriptors(), before, "{method}");
    }
}

#[test]
fn hundreds_of_agents_leave_no_zombies_and_no_descriptors() {
    let output = in_role("many").output().expect("the test binary");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}

#[tokio::test]
async fn a_cancelled_wait_can_be_repeated() {
    for method in METHODS {
        let mut process = start_with(method, shell("echo up; read end; exit 6", "")).await.expect("it starts");
        let stdin = process.take_stdin();
        let mut lines = lines(&mut process);
        expect_line(&mut lines, "up").await;
        for _ in 0..3 {
            assert!(tokio::time::timeout(Duration::from_millis(5), process.wait()).await.is_err(), "{method}: it runs");
        }
        drop(stdin);
        for _ in 0..2 {
            let exit = tokio::time::timeout(DEADLINE, process.wait()).await.expect("it exits");
            assert_eq!(exit, Exit { code: Some(6), signal: None }, "{method}");
        }
    }
}

#[test]
fn another_runtime_can_wait_after_the_first_is_shut_down() {
    let runtime = || tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let folder = tempfile::tempdir().expect("a folder");
    let spec =
        SpawnSpec { workspace: folder.path().into(), stdin: false, ..shell("mkfifo end; read end <end; exit 7", "") };
    let mut process = runtime().block_on(start(spec));
    let end = folder.path().join("end");
    wait_until("the agent waits", DEADLINE, || end.exists());
    let writer = std::thread::spawn(move || fs::write(end, "now\n"));
    let exit = runtime().block_on(async { tokio::time::timeout(DEADLINE, process.wait()).await });
    assert_eq!(exit.expect("it exits"), Exit { code: Some(7), signal: None });
    writer.join().expect("no panic").expect("read");
}
