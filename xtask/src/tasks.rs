//! What each task consists of.

use crate::args::{SoakArgs, TestArgs};
use crate::command::{Command, Error, log, print, run_all};
use crate::guests;
use crate::toolchain::{self, TARGET};
use crate::workspace::Workspace;
use crate::{dependencies, package, wit};
use std::path::{Path, PathBuf};

/// Builds the `wharf` binary.
pub(crate) fn build_wharf() -> Command {
    Command::cargo(&["build", "--locked", "--package", "wharf-cli", "--bin", "wharf"])
}

/// Builds wharf and runs its demo, which detects itself whether stdout is a terminal with colours.
pub(crate) fn demo(workspace: &Workspace) -> Vec<Command> {
    let build = build_wharf().note(" (takes minutes the first time: it builds the sandbox)");
    vec![build, Command::new(workspace.debug_program("wharf"), &["demo"])]
}

/// All tests, those of the documentation too.
pub(crate) fn test(args: &TestArgs) -> Vec<Command> {
    vec![Command::cargo(&["test", "--workspace", "--locked"]).args(&args.cargo)]
}

/// Many runs in one process. In the dev profile, which is usually built: a leak shows in any profile.
pub(crate) fn soak(workspace: &Workspace, args: &SoakArgs) -> Vec<Command> {
    let soak = Command::new(workspace.debug_program("examples/soak"), &["--agent"]);
    vec![
        Command::cargo(&["build", "--locked", "--package", "wharf-fake-agent"]),
        Command::cargo(&["build", "--locked", "--package", "wharf", "--example", "soak"]),
        soak.args([workspace.debug_program("wharf-fake-agent")]).args(args.forwarded()),
    ]
}

/// The linters, fastest first. rustdoc reuses the metadata of the dependencies that clippy has built.
pub(crate) fn lint(workspace: &Workspace) -> Result<(), Error> {
    formatter().run(workspace)?;
    wit::check(workspace)?;
    dependencies::check(workspace)?;
    run_all(workspace, &linters())?;
    // After clippy, which downloads what this needs offline.
    package::check(workspace)?;
    for target in toolchain::FOREIGN {
        let command = clippy_for(target);
        // A machine that cannot install a target cannot check it. CI can.
        match toolchain::ensure(workspace, &toolchain::Tools::from_env(target)) {
            Ok(()) => command.run(workspace)?,
            Err(error) => log(&format!("xtask: {command}: skipped: {error}")),
        }
    }
    deny(workspace)
}

/// Clippy for another system, of the package that differs between systems. It needs that system's Rust libraries, but
/// no C compiler.
fn clippy_for(target: &str) -> Command {
    let args = ["clippy", "--package", "wharf-supervisor", "--all-targets", "--locked", "--target"];
    Command::cargo(&args).args([target, "--", "-D", "warnings"])
}

/// Licences, sources and duplicates need only the lock file. Advisories need a database from the network.
fn deny(workspace: &Workspace) -> Result<(), Error> {
    if Command::cargo(&["deny", "--version"]).output(workspace).is_err() {
        log("xtask: cargo deny check: skipped; `cargo install --locked cargo-deny` installs it");
        return Ok(());
    }
    Command::cargo(&["deny", "--locked", "--log-level", "error", "check", "bans", "licenses", "sources"])
        .run(workspace)?;
    if Command::cargo(&["deny", "--locked", "fetch", "db"]).output(workspace).is_err() {
        log("xtask: cargo deny check advisories: skipped: the database cannot be fetched");
        return Ok(());
    }
    Command::cargo(&["deny", "--locked", "check", "advisories"]).run(workspace)
}

fn formatter() -> Command {
    Command::cargo(&["fmt", "--all", "--check"])
}

fn linters() -> [Command; 3] {
    [
        // Without its features: as an embedder with its own components builds it.
        Command::cargo(&["clippy", "--package", "wharf", "--lib", "--locked", "--", "-D", "warnings"]),
        Command::cargo(&["clippy", "--workspace", "--all-targets", "--locked", "--", "-D", "warnings"]),
        Command::cargo(&["doc", "--workspace", "--no-deps", "--locked"]).variable("RUSTDOCFLAGS", "-Dwarnings"),
    ]
}

/// Builds the test guests as components and prints their paths to stdout.
pub(crate) fn guests(workspace: &Workspace) -> Result<(), Error> {
    let names = guests::packages(&workspace.root.join("tests").join("guests")).map_err(Error::Other)?;
    build_guests(&names, &workspace.adapters()).run(workspace)?;
    for component in names.iter().map(|name| component(name, &workspace.adapters())) {
        if !component.is_file() {
            return Err(Error::Other(format!("cargo built no {}: is the package a cdylib?", component.display())));
        }
        print(&component.display().to_string());
    }
    Ok(())
}

fn build_guests(names: &[String], folder: &Path) -> Command {
    let build = Command::cargo(&["build", "--locked", "--profile", "adapter", "--target", TARGET, "--target-dir"]);
    build.args([folder]).args(names.iter().flat_map(|name| ["--package", name]))
}

fn component(package: &str, folder: &Path) -> PathBuf {
    folder.join(TARGET).join("adapter").join(format!("{}.wasm", package.replace('-', "_")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(commands: &[Command]) -> Vec<String> {
        commands.iter().map(ToString::to_string).collect()
    }

    #[cfg(unix)]
    fn workspace() -> Workspace {
        Workspace { root: "/repository".into(), target: "/elsewhere".into() }
    }

    #[cfg(unix)]
    #[test]
    fn the_demo_runs_the_binary_from_the_target_folder() {
        let wharf = Path::new("/elsewhere/debug").join(format!("wharf{}", std::env::consts::EXE_SUFFIX));
        let commands = demo(&workspace());
        assert_eq!(shown(&commands), ["cargo build --locked --package wharf-cli --bin wharf", "wharf demo"]);
        assert_eq!(commands[1], Command::new(wharf, &["demo"]));
    }

    #[test]
    fn arguments_are_passed_to_cargo_test() {
        let args = TestArgs { cargo: ["outcome", "--", "--nocapture"].map(Into::into).to_vec() };
        assert_eq!(shown(&test(&args)), ["cargo test --workspace --locked outcome -- --nocapture"]);
    }

    #[cfg(unix)]
    #[test]
    fn the_soak_runs_the_agent_from_the_target_folder() {
        let Ok(crate::args::Task::Soak(args)) = crate::args::parse("soak --runs 5") else { panic!("it parses") };
        let shown = shown(&soak(&workspace(), &args));
        let agent = format!("/elsewhere/debug/wharf-fake-agent{}", std::env::consts::EXE_SUFFIX);
        assert_eq!(shown[2], format!("soak --agent {agent} --runs 5"));
        assert!(shown[1].ends_with("--example soak"), "{shown:?}");
    }

    #[test]
    fn every_linter_treats_warnings_as_errors() {
        let shown = shown(&linters());
        assert!(formatter().to_string().ends_with("--check"));
        assert!(shown[..2].iter().all(|clippy| clippy.ends_with("-- -D warnings")), "{shown:?}");
        assert!(shown[2].starts_with("RUSTDOCFLAGS=-Dwarnings "), "{shown:?}");
        let windows = clippy_for("x86_64-pc-windows-gnu").to_string();
        assert!(windows.ends_with("--target x86_64-pc-windows-gnu -- -D warnings"), "{windows}");
    }

    #[test]
    fn guests_have_their_own_target_folder() {
        let names = ["wharf-a-guest", "wharf-b-guest"].map(str::to_owned);
        let build = build_guests(&names, Path::new("/target/adapters")).to_string();
        assert!(build.contains("--target wasm32-wasip2 --target-dir /target/adapters"), "{build}");
        assert!(build.ends_with("--package wharf-a-guest --package wharf-b-guest"), "{build}");
        let expected = Path::new("/target/adapters/wasm32-wasip2/adapter/wharf_a_guest.wasm");
        assert_eq!(component("wharf-a-guest", Path::new("/target/adapters")), expected);
    }
}
