//! Files that are not what their names promise: in a project, in the adapters folder, in the data folder, and on the
//! command line. No command may wait for one, or read one without end.

use crate::sandbox;
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::process::Command;
use wharf_test_support::{DONE, Finished, HELLO, SAY, Script};

fn mkfifo(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

/// With a limit of time and of address space. Guests reserve much of the latter and use little of it.
fn limited(command: &Command) -> Finished {
    let mut limited = Command::new("sh");
    limited.args(["-c", r#"ulimit -v 16000000; exec timeout 60 "$0" "$@""#]);
    limited.arg(command.get_program()).args(command.get_args());
    limited.env_clear().envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    limited.current_dir(command.get_current_dir().unwrap());
    limited.stdin(std::process::Stdio::null());
    let finished = Finished::of(&mut limited);
    assert!(finished.code.is_some_and(|code| code < 100), "{finished:?}");
    finished
}

#[test]
fn commands_that_need_no_project_do_not_read_its_file() {
    let sandbox = sandbox();
    symlink("/dev/zero", sandbox.path("workspace/.wharf.toml")).unwrap();
    for args in [&["runs"][..], &["sessions"], &["adapters"], &["adapters", "show", "echo"], &["doctor", "echo"]] {
        let finished = limited(&sandbox.wharf(args));
        assert_eq!(finished.code, Some(0), "{args:?}: {finished:?}");
    }
    let finished = limited(&sandbox.wharf(["run", "-a", "echo", "hello"]));
    assert_eq!(finished.code, Some(2), "{finished:?}");
    assert!(finished.stderr.contains(".wharf.toml cannot be read: it is a link"), "{finished:?}");
}

#[test]
fn a_pipe_in_the_adapters_folder_is_not_an_adapter() {
    let sandbox = sandbox();
    mkfifo(&sandbox.path("adapters/trap.wasm"));
    let finished = limited(&sandbox.wharf(["adapters"]));
    assert_eq!(finished.code, Some(0), "{finished:?}");
    assert!(finished.stdout.contains("echo") && !finished.stdout.contains("trap"), "{finished:?}");
}

#[test]
fn a_named_file_without_an_end_is_refused_and_a_pipe_is_read() {
    let sandbox = sandbox();
    for (args, shown) in [
        (&["--rules", "/dev/zero"][..], "/dev/zero"),
        (&["--mcp", "/dev/zero"], "/dev/zero"),
        (&["--system", "@/dev/zero"], "/dev/zero"),
        (&["--file", "/dev/zero"], "/dev/zero"),
    ] {
        let mut command = sandbox.wharf(["run", "-a", "echo"]);
        command.args(args);
        if !args.contains(&"--file") {
            command.arg("hello");
        }
        let finished = limited(&command);
        assert_eq!(finished.code, Some(2), "{args:?}: {finished:?}");
        assert!(finished.stderr.contains(shown) && finished.stderr.contains("more than"), "{args:?}: {finished:?}");
    }
    let pipe = sandbox.path("pipe");
    mkfifo(&pipe);
    let mut writer = Command::new("sh").args(["-c", "echo 'from a pipe' > \"$0\""]).arg(&pipe).spawn().unwrap();
    let finished = limited(&sandbox.wharf(["run", "-a", "echo", "--json", "--file", pipe.to_str().unwrap()]));
    writer.wait().unwrap();
    assert_eq!(finished.code, Some(0), "{finished:?}");
    assert!(finished.stdout.contains("from a pipe"), "{finished:?}");
}

#[cfg(target_os = "linux")]
#[test]
fn without_home_the_configuration_of_the_temporary_folder_is_not_read() {
    let sandbox = sandbox();
    let planted = sandbox.path("tmp/.config/wharf");
    fs::create_dir_all(&planted).unwrap();
    fs::write(planted.join("config.toml"), "planted = true\n").unwrap();
    for (variable, value) in [("HOME", None), ("XDG_CONFIG_HOME", Some(".config"))] {
        let mut command = sandbox.wharf(["adapters"]);
        command.env_remove("WHARF_CONFIG").current_dir(sandbox.path("tmp"));
        match value {
            Some(value) => command.env(variable, value),
            None => command.env_remove(variable),
        };
        let finished = Finished::of(&mut command);
        assert!(!finished.stderr.contains("planted"), "{variable}: {finished:?}");
    }
    let mut command = sandbox.wharf(["adapters"]);
    command.env("HOME", "relative").env_remove("WHARF_CONFIG");
    let finished = Finished::of(&mut command);
    assert_eq!(finished.code, Some(2), "{finished:?}");
    assert!(finished.stderr.contains("no home folder") && finished.stderr.contains("hint: set HOME"), "{finished:?}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_configuration_or_an_adapter_that_others_can_write_is_refused() {
    let sandbox = sandbox();
    let config = sandbox.path("home/.config/wharf/config.toml");
    let adapters = sandbox.path("home/.local/share/wharf/adapters");
    fs::create_dir_all(config.parent().unwrap()).unwrap();
    fs::create_dir_all(&adapters).unwrap();
    fs::write(&config, "adapter = \"echo\"\n").unwrap();
    let call = || {
        let mut command = sandbox.wharf(["adapters"]);
        command.env_remove("WHARF_CONFIG").env_remove("WHARF_ADAPTERS").env_remove("WHARF_DATA");
        Finished::of(&mut command)
    };
    assert_eq!(call().code, Some(0), "both are private");
    for (path, what) in [
        (config.as_path(), "the configuration"),
        (config.parent().unwrap(), "the configuration"),
        (&adapters, "the adapters"),
        (adapters.parent().unwrap(), "the adapters"),
    ] {
        let mode = fs::metadata(path).unwrap().permissions();
        fs::set_permissions(path, fs::Permissions::from_mode(0o777)).unwrap();
        let finished = call();
        assert_eq!(finished.code, Some(2), "{}: {finished:?}", path.display());
        let message = format!("{what} cannot be trusted: {} can be written by every user", path.display());
        assert!(finished.stderr.contains(&message) && finished.stderr.contains("hint:"), "{finished:?}");
        fs::set_permissions(path, mode).unwrap();
    }
}

#[test]
fn a_folder_whose_path_is_not_utf_8_is_refused_in_words() {
    use std::os::unix::ffi::OsStrExt as _;
    let sandbox = sandbox();
    let folder = sandbox.path("").join(std::ffi::OsStr::from_bytes(b"w\xff"));
    if fs::create_dir(&folder).is_err() {
        return; // Some file systems refuse such a name themselves.
    }
    for args in [&["run"][..], &["run", "--json"], &["explain"], &["explain", "--json"]] {
        for option in ["--workspace", "--add-dir"] {
            let mut command = sandbox.wharf(args);
            command.args(["-a", "echo", option]).arg(&folder).arg("hello");
            let finished = Finished::of(&mut command);
            assert_eq!(finished.code, Some(2), "{args:?} {option}: {finished:?}");
            let expected =
                finished.stderr.contains("its path is not UTF-8") && finished.stderr.contains("hint: rename");
            assert!(expected, "{args:?} {option}: {finished:?}");
        }
    }
}

#[test]
fn a_pipe_in_the_data_folder_blocks_no_command_and_no_run() {
    let sandbox = sandbox();
    fs::create_dir(sandbox.path("data/live")).unwrap();
    mkfifo(&sandbox.path("data/live/zzz.json"));
    let script = Script::new().line(HELLO).line(SAY).line(DONE);
    let finished = limited(&sandbox.run_command(&script, &[]));
    finished.expect(0, "completed");
    let run = sandbox.only_run();
    for name in ["receipt.json", "recording", "events.jsonl"] {
        let path = sandbox.path("data/runs").join(&run).join(name);
        fs::remove_file(&path).unwrap();
        mkfifo(&path);
    }
    for args in [&["runs"][..], &["show", "last"], &["receipt", "last", "--verify"], &["replay", "last"], &["sessions"]]
    {
        let finished = limited(&sandbox.wharf(args));
        let listed = matches!(args, ["runs" | "sessions"]);
        assert_eq!(finished.code == Some(0), listed, "{args:?}: {finished:?}");
    }
}

#[test]
fn a_pipe_beside_the_sessions_blocks_no_command() {
    for suffix in ["journal", "wal", "shm"] {
        let sandbox = sandbox();
        let path = sandbox.path(format!("data/sessions.db-{suffix}"));
        mkfifo(&path);
        for args in [&["sessions"][..], &["usage"]] {
            let finished = limited(&sandbox.wharf(args));
            let said = finished.stderr.contains(&format!("sessions.db-{suffix} is not a plain file: move it away"));
            assert!(finished.code == Some(7) && said, "{args:?}: {finished:?}");
        }
    }
}

#[test]
fn a_limit_of_file_sizes_does_not_kill_wharf() {
    let sandbox = sandbox();
    let script = Script::new().line(HELLO).step("flood-stdout 2000000").line(DONE);
    let command = sandbox.run_command(&script, &[]);
    let mut shell = sandbox.command("sh");
    shell.args(["-c", r#"ulimit -f 400; exec "$0" "$@""#]).arg(command.get_program()).args(command.get_args());
    let finished = Finished::of(&mut shell);
    finished.expect(0, "completed");
    assert!(finished.stdout.contains("incomplete"), "{}", finished.stderr);
    assert!(sandbox.text(&["runs"]).contains("completed"));
}

#[test]
fn a_start_that_fails_for_want_of_descriptors_leaves_nothing() {
    let sandbox = sandbox();
    let command = sandbox.run_command(&Script::normal(), &["--system", "be brief"]);
    for limit in 10..40 {
        let mut shell = sandbox.command("sh");
        shell.args(["-c", r#"ulimit -n $0; exec "$@""#, &limit.to_string()]);
        shell.arg(command.get_program()).args(command.get_args());
        let finished = Finished::of(&mut shell);
        let left: Vec<_> = fs::read_dir(sandbox.path("tmp")).unwrap().flatten().collect();
        assert!(left.is_empty(), "{limit}: {left:?} {finished:?}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_limit_of_processes_is_an_error_in_words() {
    use std::os::unix::process::CommandExt as _;
    let sandbox = sandbox();
    let limited = |limit: u32, args: &[&str]| {
        let mut shell = sandbox.command("sh");
        // In dash, `-p` is what `-u` is in other shells.
        let script = r#"ulimit -u $0 2>/dev/null || ulimit -p $0 || exit 99; exec "$@""#;
        shell.args(["-c", script, &limit.to_string(), crate::WHARF]).args(args);
        shell.current_dir("/");
        // The limit does not hold for root.
        if rustix::process::geteuid().is_root() {
            shell.uid(65534).gid(65534);
        }
        shell
    };
    let version = Finished::of(&mut limited(10_000, &["--version"]));
    if version.code != Some(0) {
        return; // Another user cannot execute what root has built.
    }
    for limit in 1..=3 {
        for args in [&["adapters"][..], &["run", "--json", "-a", "echo", "hello"], &["run", "-a", "echo", "hello"]] {
            let finished = Finished::of(&mut limited(limit, args));
            assert_eq!(finished.code, Some(7), "{limit} {args:?}: {finished:?}");
            let expected = finished.stderr.contains("error: starting the threads of this program")
                && finished.stderr.contains("ulimit -u");
            assert!(expected, "{limit} {args:?}: {finished:?}");
            if args.contains(&"--json") {
                assert_eq!(finished.report()["outcome"], "failed", "{limit} {args:?}: {finished:?}");
            }
        }
    }
}

#[test]
fn what_others_could_have_written_about_an_agent_is_not_used() {
    let sandbox = sandbox().with_own_cache();
    let version = || {
        let finished = Finished::of(&mut sandbox.run_command(&Script::normal(), &[]));
        let started = finished.of_type("run-started").next().expect("it started");
        started["agent"]["version"].as_str().expect("a version").to_owned()
    };
    assert_eq!(version(), "1.0.0");
    let [path] = &sandbox.files("cache/agents").into_keys().collect::<Vec<_>>()[..] else { panic!("one file") };
    let planted = fs::read_to_string(path).unwrap().replace("\"1.0.0\"", "\"6.6.6\"");
    let agents = path.parent().unwrap();
    let mode = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    fs::write(path, &planted).unwrap();
    assert_eq!(version(), "6.6.6", "only the user could have written it");
    mode(path, 0o666);
    assert_eq!(version(), "1.0.0");
    fs::write(path, &planted).unwrap();
    mode(path, 0o600);
    for folder in [agents, agents.parent().unwrap()] {
        mode(folder, 0o777);
        assert_eq!(version(), "1.0.0", "{}", folder.display());
        mode(folder, 0o700);
    }
}

#[test]
fn folders_of_a_first_run_without_a_recording_are_private() {
    let sandbox = sandbox();
    let data = sandbox.path("fresh/data");
    let command = sandbox.run_command(&Script::normal(), &["--no-record"]);
    let mut shell = sandbox.command("sh");
    shell.args(["-c", r#"umask 000; exec "$0" "$@""#]).arg(command.get_program()).args(command.get_args());
    shell.env("WHARF_DATA", &data);
    Finished::of(&mut shell).expect(0, "completed");
    let mut folders = vec![data.clone(), data.parent().unwrap().to_owned()];
    folders.extend(fs::read_dir(&data).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_dir()));
    assert!(folders.contains(&data.join("live")), "{folders:?}");
    for folder in folders {
        let mode = fs::metadata(&folder).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700, "{}", folder.display());
    }
}
