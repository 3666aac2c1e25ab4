//! `wharf agent`: agents are installed into a folder of wharf's, and chosen by version. The npm of most tests is a shell
//! script, so that they need none; one test uses the real npm with a registry of its own.

mod registry;

use crate::sandbox;
use registry::Registry;
use rustix::process::Signal;
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use wharf_test_support::{Finished, Sandbox, send_signal, wait_until};

/// An npm that knows two versions of Claude Code. Its `install` writes a program that prints the version, unless the file
/// `before-install` says what to do before that.
const NPM: &str = r#"#!/bin/sh
PATH=/usr/bin:/bin
here=$(dirname "$0")
echo "$*" >> "$here/npm-calls"
case "$1" in
view) echo '{"versions":["2.0.76","2.1.325","3.0.0-beta.1"],"dist-tags":{"latest":"2.1.325","next":"3.0.0-beta.1"}}' ;;
install)
    [ ! -e "$here/before-install" ] || . "$here/before-install"
    package="node_modules/@anthropic-ai/claude-code"
    mkdir -p "$package"
    echo '{"bin":{"claude":"cli.js"}}' > "$package/package.json"
    printf '#!/bin/sh\ncase "$*" in\n--version) echo "%s (Claude Code)" ;;\n"auth status") echo "{\\"loggedIn\\": true}" ;;\nesac\n' "${2##*@}" > "$package/cli.js"
    chmod +x "$package/cli.js"
    echo '{}' ;;
esac
"#;

fn program(path: &Path, content: &str) {
    fs::write(path, content).expect("written");
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("a program");
}

/// A sandbox whose PATH is one folder, with this npm in it and no agent.
fn with_npm(npm: &str) -> Sandbox {
    let sandbox = sandbox();
    fs::create_dir(sandbox.path("bin")).expect("a folder");
    program(&sandbox.path("bin/npm"), npm);
    sandbox
}

fn command(sandbox: &Sandbox, args: &[&str]) -> Command {
    let mut command = sandbox.wharf(args);
    command.env("PATH", sandbox.path("bin"));
    command
}

fn call(sandbox: &Sandbox, args: &[&str]) -> Finished {
    Finished::of(&mut command(sandbox, args))
}

/// The program and the version that a turn would use.
fn used(sandbox: &Sandbox, more: &[&str]) -> (PathBuf, Value) {
    // What is not asked is not known to `explain`.
    call(sandbox, &["doctor", "claude"]);
    let args = [&["explain", "--json", "-a", "claude"], more, &["go"]].concat();
    let explained = call(sandbox, &args).success().json();
    (PathBuf::from(explained["program"].as_str().expect("a program")), explained["version"].clone())
}

/// The files of the agents, without locks.
fn installed_files(sandbox: &Sandbox) -> Vec<PathBuf> {
    let files = sandbox.files("data/agents").into_keys();
    files.filter(|path| path.file_name().is_some_and(|name| name != ".lock")).collect()
}

#[test]
fn an_installed_agent_is_found_by_its_adapter_and_nothing_else_is_touched() {
    let sandbox = with_npm(NPM);
    let missing = call(&sandbox, &["doctor", "claude", "--json"]);
    let fix = missing.json()[0]["fix"].as_str().expect("a fix").to_owned();
    assert!(missing.code == Some(3) && fix.starts_with("`wharf agent install claude`, or npm"), "{fix}");

    let installed = call(&sandbox, &["agent", "install", "claude", "--json"]).success();
    assert!(installed.stderr.contains("installing @anthropic-ai/claude-code 2.1.325 with npm"), "{installed:?}");
    let row = installed.json();
    assert_eq!(
        (&row["agent"], &row["version"], &row["registry"]),
        (&json!("claude"), &json!("2.1.325"), &json!("npm"))
    );
    let expected = sandbox.path("data/agents/claude/2.1.325/node_modules/@anthropic-ai/claude-code/cli.js");
    assert_eq!(row["program"], json!(expected));
    assert_eq!(used(&sandbox, &[]), (expected, json!("2.1.325")));

    let doctor = call(&sandbox, &["doctor", "claude"]).success().stdout;
    assert!(
        doctor.contains("✓ claude 2.1.325, tested") && doctor.contains("installed by wharf: 2.1.325 (used)"),
        "{doctor}"
    );
    let list = call(&sandbox, &["agent", "list", "--json"]).success().json();
    assert_eq!(list, json!([row]));
    let calls = fs::read_to_string(sandbox.path("bin/npm-calls")).expect("npm was called");
    let install = calls.lines().find(|line| line.starts_with("install")).expect("an installation");
    for part in ["claude-code@2.1.325", "--ignore-scripts", "--global=false", "--prefix", "--cache"] {
        assert!(install.contains(part), "{install}");
    }
    assert!(sandbox.files("home").is_empty(), "{:?}", sandbox.files("home").keys());
    assert!(sandbox.files("workspace").is_empty());
    sandbox.expect_nothing_left();
}

#[test]
fn the_version_is_chosen_by_the_run_then_by_the_configuration_then_by_path_and_then_it_is_the_newest() {
    let sandbox = with_npm(NPM);
    for version in ["2.1.325", "2.0.76"] {
        let _ = call(&sandbox, &["agent", "install", &format!("claude@{version}")]).success();
    }
    let folder = |version: &str| sandbox.path("data/agents/claude").join(version);
    assert!(used(&sandbox, &[]).0.starts_with(folder("2.1.325")), "the newest");
    let path = sandbox.path("bin/claude");
    program(&path, "#!/bin/sh\necho '2.1.197 (Claude Code)'\n");
    assert_eq!(used(&sandbox, &[]).0, path, "what is in PATH is used before");
    sandbox.write("config.toml", "[agents.claude]\nversion = \"2.0.76\"\n");
    assert!(used(&sandbox, &[]).0.starts_with(folder("2.0.76")), "what the configuration chooses");
    assert!(used(&sandbox, &["--agent-version", "2.1.325"]).0.starts_with(folder("2.1.325")), "what the run chooses");
    assert_eq!(used(&sandbox, &["--program", path.to_str().expect("UTF-8")]).0, path, "what the user named");
    let both = call(&sandbox, &["explain", "-a", "claude", "--program", "/x", "--agent-version", "1", "go"]);
    assert_eq!(both.code, Some(2), "{both:?}");
    let doctor = call(&sandbox, &["doctor", "claude"]).success().stdout;
    assert!(doctor.contains("installed by wharf: 2.1.325, 2.0.76 (used)"), "{doctor}");
    let list = call(&sandbox, &["agent", "list"]).success().stdout;
    let versions: Vec<&str> = list.lines().filter_map(|line| line.split_whitespace().nth(1)).collect();
    assert!(versions == ["2.1.325", "2.0.76"] && list.contains("2.0.76 (chosen)"), "{list}");
}

#[test]
fn a_version_that_is_chosen_and_not_installed_is_never_replaced_by_another() {
    let sandbox = with_npm(NPM);
    program(&sandbox.path("bin/claude"), "#!/bin/sh\necho '2.1.197 (Claude Code)'\n");
    sandbox.write("config.toml", "[agents.claude]\nversion = \"2.0.76\"\n");
    let doctor = call(&sandbox, &["doctor", "claude", "--json"]);
    let entry = &doctor.json()[0];
    assert_eq!((doctor.code, &entry["reason"]), (Some(3), &json!("not-found")), "{entry}");
    assert_eq!(entry["fix"], "`wharf agent install claude@2.0.76`");
    for args in [&["run", "-a", "claude", "go"][..], &["explain", "-a", "claude", "go"]] {
        let refused = call(&sandbox, args);
        assert!(
            refused.code == Some(3) && refused.stderr.contains("2.0.76 is chosen, and is not installed"),
            "{refused:?}"
        );
        assert!(refused.stderr.contains("wharf agent install claude@2.0.76"), "{refused:?}");
    }
    let refused = call(&sandbox, &["run", "-a", "claude", "--agent-version", "9.9.9", "go"]);
    assert!(refused.code == Some(3) && refused.stderr.contains("wharf agent install claude@9.9.9"), "{refused:?}");
    let refused = call(&sandbox, &["run", "-a", "echo", "--agent-version", "1.0.0", "go"]);
    assert!(refused.code == Some(2) && refused.stderr.contains("installs no agent"), "{refused:?}");
}

#[test]
fn a_version_is_removed_by_its_name_and_a_wrong_name_removes_nothing() {
    let sandbox = with_npm(NPM);
    for version in ["2.1.325", "2.0.76"] {
        let _ = call(&sandbox, &["agent", "install", &format!("claude@{version}")]).success();
    }
    for (names, words) in [
        (&["claude@2.0.76", "claude@1.0.0"][..], "claude 1.0.0 is not installed"),
        (&["claude"], "installed: 2.1.325, 2.0.76"),
        (&["../claude@2.0.76"], "is not installed"),
    ] {
        let refused = call(&sandbox, &[&["agent", "remove"], names].concat());
        assert!(refused.code == Some(2) && refused.stderr.contains(words), "{refused:?}");
    }
    let removed = call(&sandbox, &["agent", "remove", "claude@2.1.325", "claude@2.1.325"]).success();
    assert_eq!(removed.stderr, "removed claude 2.1.325\n");
    let list = call(&sandbox, &["agent", "list", "--json"]).success().json();
    assert_eq!(list.as_array().map(|list| (list.len(), list[0]["version"].clone())), Some((1, json!("2.0.76"))));
}

#[test]
fn what_cannot_be_installed_is_refused_with_a_reason_and_leaves_nothing() {
    let failing = |code: &str, summary: &str| {
        let report = format!(r#"{{"error":{{"code":"{code}","summary":"{summary}"}}}}"#);
        NPM.replace("    [ ! -e", &format!("    mkdir -p node_modules/half; echo '{report}'; exit 1\n    [ ! -e"))
    };
    for (npm, agent, code, words) in [
        (NPM.to_owned(), "nope", 2, "wharf knows no package of an agent `nope`"),
        (NPM.to_owned(), "claude@1.2.3", 2, "some that it has: 2.1.325, 2.0.76"),
        (NPM.to_owned(), "claude@", 2, "has no version after the `@`"),
        (failing("ENOSPC", "ENOSPC: no space left on device, write"), "claude", 7, "the disk is full"),
        (failing("ECONNRESET", "network read ECONNRESET"), "claude", 7, "cannot be reached"),
        (failing("EINTEGRITY", "the checksum is wrong"), "claude", 7, "the checksum is wrong (EINTEGRITY)"),
        (NPM.replace("cli.js\"\n    echo", "other.js\"\n    echo"), "claude", 3, "has no program `claude` for"),
    ] {
        let sandbox = with_npm(&npm);
        let refused = call(&sandbox, &["agent", "install", agent]);
        assert_eq!(refused.code, Some(code), "{agent}: {refused:?}");
        assert!(refused.stderr.contains(words), "{agent}: {refused:?}");
        assert!(installed_files(&sandbox).is_empty(), "{:?}", installed_files(&sandbox));
    }
    let sandbox = with_npm(NPM);
    fs::remove_file(sandbox.path("bin/npm")).expect("removed");
    let refused = call(&sandbox, &["agent", "install", "claude"]);
    assert!(refused.code == Some(7) && refused.stderr.contains("https://nodejs.org"), "{refused:?}");
    let refused = call(&sandbox, &["agent", "install", "vibe"]);
    assert!(refused.code == Some(7) && refused.stderr.contains("neither `uv` nor `python3`"), "{refused:?}");
}

/// Lets the installation wait until a pipe is written to, and waits until it does.
fn start_blocked(sandbox: &Sandbox) -> std::process::Child {
    let pipe = sandbox.path("go");
    assert!(Command::new("mkfifo").arg(&pipe).status().expect("every system has mkfifo").success());
    let started = sandbox.path("started");
    let before = format!("mkdir -p node_modules/half; : > '{}'; read line < '{}'\n", started.display(), pipe.display());
    sandbox.write("bin/before-install", before);
    let mut install = command(sandbox, &["agent", "install", "claude"]);
    let child = install.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    wait_until("npm installs", || started.exists());
    child
}

#[test]
fn an_interrupted_installation_leaves_neither_files_nor_processes() {
    for (signal, code) in [(Signal::INT, Some(130)), (Signal::KILL, None)] {
        let sandbox = with_npm(NPM);
        let child = start_blocked(&sandbox);
        send_signal(&child, signal);
        let ended: Finished = child.wait_with_output().expect("it ends").into();
        assert_eq!(ended.code, code, "{ended:?}");
        fs::remove_file(sandbox.path("bin/before-install")).expect("removed");
        // A killed one could not clean up: the next command does.
        let list = call(&sandbox, &["agent", "list", "--json"]).success().json();
        assert_eq!(list, json!([]));
        let npm = sandbox.path("bin/npm");
        let left = || wharf_test_support::processes_with(npm.to_str().expect("UTF-8"));
        wait_until("npm is gone", || left().is_empty());
        if code.is_some() {
            assert!(!sandbox.path("data/agents/claude/.unfinished").exists());
        }
        let _ = call(&sandbox, &["agent", "install", "claude"]).success();
        assert!(!sandbox.path("data/agents/claude/.unfinished").exists());
    }
}

#[test]
fn of_two_installations_at_once_the_second_waits_and_finds_the_first_ones() {
    let sandbox = with_npm(NPM);
    let first = start_blocked(&sandbox);
    let mut second = command(&sandbox, &["agent", "install", "claude"]);
    let mut second = second.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    let mut lines = std::io::BufRead::lines(std::io::BufReader::new(second.stderr.take().expect("a pipe")));
    let waits = lines.by_ref().map(|line| line.expect("UTF-8")).find(|line| line.starts_with("waiting"));
    assert_eq!(waits.as_deref(), Some("waiting for another installation of claude"));
    fs::write(sandbox.path("go"), "\n").expect("it is read");
    let first: Finished = first.wait_with_output().expect("it ends").into();
    assert_eq!(first.code, Some(0), "{first:?}");
    assert_eq!(lines.next().expect("a line").expect("UTF-8"), "claude 2.1.325 is already installed");
    assert!(second.wait().expect("it ends").success());
    let calls = fs::read_to_string(sandbox.path("bin/npm-calls")).expect("npm was called");
    assert_eq!(calls.lines().filter(|line| line.starts_with("install")).count(), 1, "{calls}");
}

#[test]
fn the_agents_that_can_be_installed_are_listed() {
    let sandbox = with_npm(NPM);
    let listed = call(&sandbox, &["agent", "list", "--available", "--json"]).success().json();
    let find =
        |name: &str| listed.as_array().expect("a list").iter().find(|row| row["agent"] == name).expect(name).clone();
    assert_eq!(find("claude")["package"], "@anthropic-ai/claude-code");
    assert_eq!((&find("claude")["adapter"], &find("claude")["args"]), (&json!("claude"), &json!([])));
    assert_eq!((&find("kimi")["adapter"], &find("kimi")["args"]), (&json!("acp"), &json!(["acp"])));
    assert_eq!(find("vibe")["registry"], "pypi");
    let text = call(&sandbox, &["agent", "list"]).success();
    assert!(text.stdout.is_empty() && text.stderr.contains("--available"), "{text:?}");
}

/// The path of a program, or none, which skips a test.
#[expect(clippy::print_stderr, reason = "a skipped test says so")]
fn real(name: &str) -> Option<PathBuf> {
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&folders).map(|folder| folder.join(name)).find(|path| path.is_file());
    if found.is_none() {
        eprintln!("skipped: there is no {name}");
    }
    found
}

#[test]
fn the_real_npm_installs_from_a_registry_without_running_scripts() {
    let (Some(npm), Some(node)) = (real("npm"), real("node")) else { return };
    let sandbox = sandbox();
    fs::create_dir(sandbox.path("bin")).expect("a folder");
    symlink(npm, sandbox.path("bin/npm")).expect("a link");
    symlink(node, sandbox.path("bin/node")).expect("a link");
    let registry = Registry::start(&sandbox, "@anthropic-ai/claude-code", &["2.0.76", "2.1.325"]);
    sandbox.write("home/.npmrc", format!("registry={}\n", registry.url()));
    let refused = call(&sandbox, &["agent", "install", "claude@2.0.77"]);
    assert!(refused.code == Some(2) && refused.stderr.contains("some that it has: 2.0.76, 2.1.325"), "{refused:?}");
    let _ = call(&sandbox, &["agent", "install", "claude@2.0.76"]).success();
    let _ = call(&sandbox, &["agent", "install", "claude"]).success();
    assert!(used(&sandbox, &[]).0.starts_with(sandbox.path("data/agents/claude/2.1.325")));
    assert!(!sandbox.path("script-ran").exists(), "an install script was run");
    let home: Vec<_> = sandbox.files("home").into_keys().collect();
    assert_eq!(home, [sandbox.path("home/.npmrc")]);
    let unknown = call(&sandbox, &["agent", "install", "copilot"]);
    assert!(unknown.code == Some(7) && unknown.stderr.contains("the registry has no such package"), "{unknown:?}");
    drop(registry);
    let offline = call(&sandbox, &["agent", "install", "codex"]);
    assert!(offline.code == Some(7) && offline.stderr.contains("cannot be reached"), "{offline:?}");
}
