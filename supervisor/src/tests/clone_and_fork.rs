//! The first moments of an agent, cloned and forked: what it has inherited, what it has not, and what is left of one
//! that could not start.

use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

use tokio::io::AsyncWriteExt;
use tokio::signal::unix::{SignalKind, signal};

use super::crash::{children, in_role};
use super::*;
use crate::platform::close_stdio;
use crate::{Containment, Exit, SpawnErrorKind};

const WAYS: [&str; 2] = ["clone", "fork"];
const ANSWER: &str = "WHARF_TEST_ANSWER";

fn plain(program: &str, args: &[&str]) -> Order {
    Order { program: program.into(), args: args.iter().map(Into::into).collect(), stdin: false, ..shell("", "") }
}

/// What the same program says when the standard library starts it.
fn said_by_std(program: &str, args: &[&str]) -> String {
    let output = Command::new(program).args(args).stdin(Stdio::null()).output().expect("it starts");
    String::from_utf8(output.stdout).expect("text")
}

#[tokio::test]
async fn agents_are_cloned_where_the_kernel_can() {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").expect("Linux");
    let mut numbers = release.split(['.', '-']).filter_map(|part| part.parse::<u32>().ok());
    let release = (numbers.next().expect("major"), numbers.next().expect("minor"));
    let able = release >= (5, 7) && cfg!(any(target_arch = "x86_64", target_arch = "aarch64"));
    for cgroup in [false, true] {
        let process = start(Order { cgroup, ..shell("", "") }).await;
        assert_eq!(format!("{process:?}").contains("Cloned"), able, "{process:?}");
    }
    let process = start_by("fork", shell("", "")).await.expect("it starts");
    assert!(format!("{process:?}").contains("Forked"), "{process:?}");
}

#[tokio::test]
async fn in_its_cgroup_from_the_first_instruction() {
    for way in WAYS {
        // No shell in between: what the program itself is born with.
        let order = Order { cgroup: true, ..plain("/bin/cat", &["/proc/self/cgroup"]) };
        let name = format!("/wharf-{}", order.run);
        let mut process = start_by(way, order).await.expect("it starts");
        let contained = process.containment() == Containment::Cgroup;
        let said = listen(&mut process).await;
        assert_eq!(
            said.lines().any(|line| line.starts_with("0::") && line.ends_with(&name)),
            contained,
            "{way}: {said}"
        );
    }
}

#[tokio::test]
async fn leads_a_session_in_its_workspace() {
    let folder = tempfile::tempdir().expect("a folder");
    let workspace = folder.path().canonicalize().expect("there");
    for way in WAYS {
        let order = Order { workspace: workspace.clone(), ..shell("cut -d' ' -f1,5,6,7 /proc/$$/stat; pwd -P", "") };
        let mut process = start_by(way, order).await.expect("it starts");
        let id = process.id();
        assert_eq!(listen(&mut process).await, format!("{id} {id} {id} 0\n{}\n", workspace.display()), "{way}");
    }
}

#[tokio::test]
async fn the_pipes_lead_where_they_should() {
    for way in WAYS {
        let order = Order { stdin: true, ..shell("read word; echo out $word; echo err $word >&2; exit 9", "") };
        let mut process = start_by(way, order).await.expect("it starts");
        process.take_stdin().expect("once").write_all(b"in\n").await.expect("it reads");
        let mut errors = String::new();
        process.take_stderr().expect("once").read_to_string(&mut errors).await.expect("text");
        assert_eq!(listen(&mut process).await, "out in\n", "{way}");
        assert_eq!(errors, "err in\n", "{way}");
        assert_eq!(process.wait().await, Exit { code: Some(9), signal: None });
    }
}

#[tokio::test]
async fn no_descriptors_but_the_three() {
    let expected = said_by_std("/bin/ls", &["/proc/self/fd"]);
    for way in WAYS {
        for stdin in [true, false] {
            for cgroup in [true, false] {
                let order = Order { stdin, cgroup, ..plain("/bin/ls", &["/proc/self/fd"]) };
                let mut process = start_by(way, order).await.expect("it starts");
                assert_eq!(listen(&mut process).await, expected, "{way} {stdin} {cgroup}");
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

/// In a host that blocks SIGUSR1, ignores SIGUSR2, handles SIGHUP, and ignores SIGPIPE as Rust programs do.
pub(super) async fn compare_signals() {
    /// The rest is for real-time signals, two of which glibc ignores in what it starts with `posix_spawn`.
    const STANDARD: u64 = (1 << 31) - 1;
    let bit = |signal: SignalKind| 1_u64 << (signal.as_raw_value() - 1);
    let _handled = signal(SignalKind::hangup()).expect("Unix");
    let args = ["/proc/self/status"];
    let own = masks(&fs::read_to_string(args[0]).expect("Linux"));
    assert_ne!(own[1] & bit(SignalKind::pipe()), 0, "{own:x?}");
    assert_ne!(own[2] & bit(SignalKind::hangup()), 0, "{own:x?}");
    let by_std = masks(&said_by_std("/bin/cat", &args));
    let mut agents = Vec::new();
    for way in WAYS {
        let mut process = start_by(way, plain("/bin/cat", &args)).await.expect("it starts");
        agents.push(masks(&listen(&mut process).await));
    }
    assert_eq!(agents[0], agents[1], "cloned and forked");
    assert_eq!(agents[0].map(|mask| mask & STANDARD), by_std.map(|mask| mask & STANDARD));
    assert_ne!(agents[0][0] & bit(SignalKind::user_defined1()), 0, "{agents:x?}");
    assert_ne!(agents[0][1] & bit(SignalKind::user_defined2()), 0, "{agents:x?}");
    assert_eq!(agents[0][1] & bit(SignalKind::pipe()), 0, "{agents:x?}");
    assert_eq!(agents[0][2], 0, "{agents:x?}");
}

#[test]
fn the_mask_and_the_ignored_signals_are_those_of_any_child() {
    let role = in_role("signals");
    let mut command = Command::new("env");
    command.args(["--block-signal=USR1", "--ignore-signal=USR2"]).arg(role.get_program()).args(role.get_args());
    command.envs(role.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let output = command.output().expect("env is everywhere");
    let said = [output.stdout, output.stderr].concat();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&said));
}

/// Without 0, 1 and 2 the first pipes get these numbers. The standard library's way does not work then.
pub(super) async fn start_with_stdio_closed() {
    let mut answers = Vec::new();
    close_stdio();
    for stdin in [true, false] {
        let order = Order { stdin, ..shell("read word; echo out $word; echo err $word >&2", "") };
        let mut process = start(order).await;
        if let Some(mut stdin) = process.take_stdin() {
            stdin.write_all(b"in\n").await.expect("it reads");
        }
        let mut errors = String::new();
        process.take_stderr().expect("once").read_to_string(&mut errors).await.expect("text");
        answers.push(format!("{}{errors}", listen(&mut process).await));
    }
    // There is nowhere to print to.
    fs::write(std::env::var_os(ANSWER).expect("set by the test"), answers.concat()).expect("written");
}

#[test]
fn a_host_without_standard_descriptors_starts_agents_as_well() {
    let folder = tempfile::tempdir().expect("a folder");
    let answer = folder.path().join("answer");
    in_role("closed").env(ANSWER, &answer).stdout(Stdio::null()).status().expect("this very program");
    let said = fs::read_to_string(&answer).expect("it came to its end");
    assert_eq!(said, "out in\nerr in\nout\nerr\n");
}

#[tokio::test]
async fn what_cannot_be_executed_is_told_alike() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = |name: &str, content: &[u8], mode: u32| {
        let path = folder.path().join(name);
        fs::write(&path, content).expect("written");
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("ours");
        path
    };
    let base = plain("/bin/true", &[]);
    let table = [
        (Order { program: "/nowhere/agent".into(), ..base.clone() }, SpawnErrorKind::ProgramNotFound),
        (Order { program: "/bin/true/agent".into(), ..base.clone() }, SpawnErrorKind::ProgramNotFound),
        (Order { program: file("plain", b"text", 0o644), ..base.clone() }, SpawnErrorKind::NotExecutable),
        (Order { program: folder.path().into(), ..base.clone() }, SpawnErrorKind::NotExecutable),
        (Order { program: file("script", b"#!/nowhere\n", 0o755), ..base.clone() }, SpawnErrorKind::NotExecutable),
        (Order { workspace: "/nowhere".into(), ..base.clone() }, SpawnErrorKind::Workspace),
        (Order { args: vec!["a".repeat(4 << 20).into()], ..base.clone() }, SpawnErrorKind::ArgumentsTooLong),
        (Order { program: "/bin/tr\0ue".into(), ..base.clone() }, SpawnErrorKind::Invalid),
    ];
    for (order, kind) in table {
        for way in WAYS {
            let error = start_by(way, order.clone()).await.expect_err("it cannot start");
            assert_eq!(error.kind(), kind, "{way}: {error}");
        }
    }
    // ENOEXEC: glibc hands such a file to the shell, other libraries refuse it. It is the library's to say.
    let order = Order { program: file("formless", b"echo shell $1\n", 0o755), ..plain("/", &["word"]) };
    let mut outcomes = Vec::new();
    for way in WAYS {
        outcomes.push(match start_by(way, order.clone()).await {
            Ok(mut process) => listen(&mut process).await,
            Err(error) => format!("{:?}", error.kind()),
        });
    }
    assert_eq!(outcomes[0], outcomes[1]);
    assert!(["shell word\n", "NotExecutable"].contains(&&*outcomes[0]), "{outcomes:?}");
}

#[tokio::test]
async fn a_large_host_is_not_harmed() {
    let memory: Vec<u32> = (0..64 << 20).step_by(4).collect();
    let mut process = start(shell("echo up", "")).await;
    assert_eq!(listen(&mut process).await, "up\n");
    assert!(memory.iter().zip((0..).step_by(4)).all(|(&found, written): (_, u32)| found == written));
}

/// One after the other and at once, those that start and those that do not.
pub(super) async fn start_many() {
    let descriptors = || fs::read_dir("/proc/self/fd").expect("Linux").count();
    // Whatever the first one needs for good is there afterwards.
    start(shell("", "")).await.sweep(Duration::ZERO).await;
    let before = descriptors();
    for way in WAYS {
        for number in 0..200 {
            let mut process = start_by(way, plain("/bin/true", &[])).await.expect("it starts");
            assert_eq!(process.wait().await.code, Some(0));
            if number % 10 == 0 {
                start_by(way, plain("/nowhere/agent", &[])).await.expect_err("there is none");
                start_by(way, Order { workspace: "/nowhere".into(), ..shell("", "") }).await.expect_err("no such");
            }
        }
        assert_eq!(children(), [0; 0], "{way}");
        assert_eq!(descriptors(), before, "{way}");
        let mut runs = tokio::task::JoinSet::new();
        for number in 0..100 {
            runs.spawn(async move {
                let order = Order { cgroup: number % 2 == 0, ..shell(&format!("echo {number}; exit {number}"), "") };
                let mut process = start_by(way, order).await.expect("it starts");
                assert_eq!(listen(&mut process).await, format!("{number}\n"));
                assert_eq!(process.wait().await.code, Some(number));
                assert_eq!(process.sweep(Duration::ZERO).await.killed, []);
            });
        }
        while let Some(result) = runs.join_next().await {
            result.expect("it ran");
        }
        assert_eq!(children(), [0; 0], "{way}");
        assert_eq!(descriptors(), before, "{way}");
    }
}

#[test]
fn hundreds_leave_no_zombie_and_no_descriptor() {
    let output = in_role("many").output().expect("this very program");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}

#[tokio::test]
async fn a_wait_may_be_given_up_and_taken_up_again() {
    for way in WAYS {
        let mut process = start_by(way, shell("echo up; read end; exit 6", "")).await.expect("it starts");
        let stdin = process.take_stdin();
        let mut lines = lines(&mut process);
        expect_line(&mut lines, "up").await;
        for _ in 0..3 {
            assert!(tokio::time::timeout(Duration::from_millis(5), process.wait()).await.is_err(), "{way}: it runs");
        }
        drop(stdin);
        for _ in 0..2 {
            let exit = tokio::time::timeout(DEADLINE, process.wait()).await.expect("it ends");
            assert_eq!(exit, Exit { code: Some(6), signal: None }, "{way}");
        }
    }
}

#[test]
fn another_runtime_may_wait_when_the_first_is_gone() {
    let runtime = || tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let folder = tempfile::tempdir().expect("a folder");
    let order =
        Order { workspace: folder.path().into(), stdin: false, ..shell("mkfifo end; read end <end; exit 7", "") };
    let mut process = runtime().block_on(start(order));
    let end = folder.path().join("end");
    wait_until("the agent waits", DEADLINE, || end.exists());
    let ender = std::thread::spawn(move || fs::write(end, "now\n"));
    let exit = runtime().block_on(async { tokio::time::timeout(DEADLINE, process.wait()).await });
    assert_eq!(exit.expect("it ends"), Exit { code: Some(7), signal: None });
    ender.join().expect("no panic").expect("read");
}
