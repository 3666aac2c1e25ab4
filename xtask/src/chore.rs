//! What the chores consist of.

use crate::guest;
use crate::step::{Failed, Step, print, run_all, say};
use crate::target::{self, TARGET};
use crate::workspace::Workspace;
use std::path::{Path, PathBuf};

/// Build wharf and let it show a turn. It finds out by itself whether stdout is a terminal that takes colour.
pub(crate) fn demo(workspace: &Workspace) -> Vec<Step> {
    let wharf = workspace.target.join("debug").join(format!("wharf{}", std::env::consts::EXE_SUFFIX));
    let build = Step::cargo(&["build", "--locked", "--package", "wharf"]);
    vec![build.note(" (some minutes the first time: it builds the sandbox)"), Step::new(wharf, &["demo"])]
}

/// All tests, the documentation's too.
pub(crate) fn test(arguments: &[String]) -> Vec<Step> {
    vec![Step::cargo(&["test", "--workspace", "--locked"]).arguments(arguments)]
}

/// Many runs in one process. In the dev profile, which is built already: what leaks there leaks in any.
pub(crate) fn soak(workspace: &Workspace, flags: &[String]) -> Vec<Step> {
    let built = |name: &str| workspace.target.join("debug").join(format!("{name}{}", std::env::consts::EXE_SUFFIX));
    let soak = Step::new(built("examples/soak"), &["--agent"]).arguments([built("wharf-fake-agent")]);
    vec![
        Step::cargo(&["build", "--locked", "--package", "wharf-fake-agent"]),
        Step::cargo(&["build", "--locked", "--package", "wharf", "--example", "soak"]),
        soak.arguments(flags),
    ]
}

/// The linters, quickest first. rustdoc uses the metadata of the dependencies that clippy has made.
pub(crate) fn lint(workspace: &Workspace) -> Result<(), Failed> {
    run_all(workspace, &lints())?;
    for target in target::FOREIGN {
        let step = foreign(target);
        // Whoever cannot install a target cannot check it; CI can.
        match target::ensure(workspace, &target::Tools::of_process(target)) {
            Ok(()) => step.run(workspace)?,
            Err(why) => say(&format!("xtask: {step}: skipped, {why}")),
        }
    }
    deny(workspace)
}

/// The part that differs between systems, for another one. It needs that system's Rust libraries, no C compiler.
fn foreign(target: &str) -> Step {
    let words = ["clippy", "--package", "wharf-supervisor", "--all-targets", "--locked", "--target"];
    Step::cargo(&words).arguments([target, "--", "-D", "warnings"])
}

/// Licences, sources and duplicates need nothing but the lock file; advisories need a database from outside.
fn deny(workspace: &Workspace) -> Result<(), Failed> {
    if Step::cargo(&["deny", "--version"]).output(workspace).is_err() {
        say("xtask: cargo deny check: skipped, `cargo install --locked cargo-deny` installs it");
        return Ok(());
    }
    Step::cargo(&["deny", "--locked", "--log-level", "error", "check", "bans", "licenses", "sources"])
        .run(workspace)?;
    if Step::cargo(&["deny", "--locked", "fetch", "db"]).output(workspace).is_err() {
        say("xtask: cargo deny check advisories: skipped, the database cannot be fetched");
        return Ok(());
    }
    Step::cargo(&["deny", "--locked", "check", "advisories"]).run(workspace)
}

fn lints() -> [Step; 3] {
    [
        Step::cargo(&["fmt", "--all", "--check"]),
        Step::cargo(&["clippy", "--workspace", "--all-targets", "--locked", "--", "-D", "warnings"]),
        Step::cargo(&["doc", "--workspace", "--no-deps", "--locked"]).variable("RUSTDOCFLAGS", "-Dwarnings"),
    ]
}

/// The guests of the tests as components. Prints the path of each to stdout.
pub(crate) fn guests(workspace: &Workspace) -> Result<(), Failed> {
    let names = guest::packages(&workspace.root.join("tests").join("guests")).map_err(Failed::Other)?;
    build_guests(&names, &workspace.adapters()).run(workspace)?;
    for component in names.iter().map(|name| component(name, &workspace.adapters())) {
        if !component.is_file() {
            return Err(Failed::Other(format!("cargo built no {}: is the package a cdylib?", component.display())));
        }
        print(&component.display().to_string());
    }
    Ok(())
}

fn build_guests(names: &[String], folder: &Path) -> Step {
    let step = Step::cargo(&["build", "--locked", "--profile", "adapter", "--target", TARGET, "--target-dir"]);
    step.arguments([folder]).arguments(names.iter().flat_map(|name| ["--package", name]))
}

fn component(package: &str, folder: &Path) -> PathBuf {
    folder.join(TARGET).join("adapter").join(format!("{}.wasm", package.replace('-', "_")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(steps: &[Step]) -> Vec<String> {
        steps.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn the_demo_runs_what_was_built_in_the_target_folder() {
        let workspace = Workspace { root: "/repository".into(), target: "/elsewhere".into() };
        let wharf = workspace.target.join("debug").join(format!("wharf{}", std::env::consts::EXE_SUFFIX));
        let steps = demo(&workspace);
        assert_eq!(shown(&steps), ["cargo build --locked --package wharf", "wharf demo"]);
        assert_eq!(steps[1], Step::new(wharf, &["demo"]));
    }

    #[test]
    fn arguments_go_to_cargo_test() {
        let arguments = ["outcome", "--", "--nocapture"].map(str::to_owned);
        assert_eq!(shown(&test(&arguments)), ["cargo test --workspace --locked outcome -- --nocapture"]);
    }

    #[test]
    fn the_soak_runs_the_agent_that_was_built() {
        let workspace = Workspace { root: "/repository".into(), target: "/elsewhere".into() };
        let shown = shown(&soak(&workspace, &["--runs".to_owned(), "5".to_owned()]));
        assert_eq!(shown[2], "soak --agent /elsewhere/debug/wharf-fake-agent --runs 5");
        assert!(shown[1].ends_with("--example soak"), "{shown:?}");
    }

    #[test]
    fn every_lint_makes_warnings_errors() {
        let shown = shown(&lints());
        assert!(shown[0].ends_with("--check"), "{shown:?}");
        assert!(shown[1].ends_with("-- -D warnings"), "{shown:?}");
        assert!(shown[2].starts_with("RUSTDOCFLAGS=-Dwarnings "), "{shown:?}");
        let windows = foreign("x86_64-pc-windows-gnu").to_string();
        assert!(windows.ends_with("--target x86_64-pc-windows-gnu -- -D warnings"), "{windows}");
    }

    #[test]
    fn guests_are_built_apart_from_the_native_builds() {
        let names = ["wharf-a-guest", "wharf-b-guest"].map(str::to_owned);
        let step = build_guests(&names, Path::new("/target/adapters")).to_string();
        assert!(step.contains("--target wasm32-wasip2 --target-dir /target/adapters"), "{step}");
        assert!(step.ends_with("--package wharf-a-guest --package wharf-b-guest"), "{step}");
        let built = Path::new("/target/adapters/wasm32-wasip2/adapter/wharf_a_guest.wasm");
        assert_eq!(component("wharf-a-guest", Path::new("/target/adapters")), built);
    }
}
