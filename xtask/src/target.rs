//! The toolchain's other targets: that which adapters are built for, and those that the supervisor is checked for.
//! Installed through rustup where they are missing.

use crate::step::{Failed, Step, say};
use crate::workspace::Workspace;
use std::env;
use std::path::PathBuf;

/// What adapters are built for.
pub(crate) const TARGET: &str = "wasm32-wasip2";

/// Systems that the supervisor has code of their own for, and that CI does not run on.
pub(crate) const FOREIGN: [&str; 2] = ["x86_64-pc-windows-gnu", "aarch64-apple-darwin"];

/// How to ask the toolchain for a target.
pub(crate) struct Tools {
    target: &'static str,
    /// Prints where the compiler's libraries are.
    sysroot: Step,
    /// Succeeds where rustup is installed.
    rustup: Step,
    /// Installs the target.
    add: Step,
}

impl Tools {
    /// Those that cargo would use.
    pub(crate) fn of_process(target: &'static str) -> Tools {
        let rustc = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
        Tools {
            target,
            sysroot: Step::new(rustc, &["--print", "sysroot"]),
            rustup: Step::new("rustup", &["--version"]),
            add: Step::new("rustup", &["target", "add", target]).note(" (it was missing)"),
        }
    }
}

/// Install the target unless the compiler has it.
pub(crate) fn ensure(workspace: &Workspace, tools: &Tools) -> Result<(), Failed> {
    let target = tools.target;
    let sysroot = tools.sysroot.output(workspace)?;
    let folder = PathBuf::from(sysroot.trim()).join("lib").join("rustlib").join(target);
    if folder.is_dir() {
        say(&format!("xtask: the target {target} is installed"));
        return Ok(());
    }
    if tools.rustup.output(workspace).is_err() {
        return Err(Failed::Other(format!(
            "the target {target} is missing, and so is rustup, which would install it\n\
             hint: install rustup from https://rustup.rs, or your distribution's package of the Rust standard library \
             for {target}, so that there is {}",
            folder.display()
        )));
    }
    tools.add.run(workspace)?;
    if folder.is_dir() {
        return Ok(());
    }
    Err(Failed::Other(format!(
        "rustup added the target {target} to another toolchain: the compiler in use still has no {}\n\
         hint: put rustup's programs first in PATH, or install the target for this compiler by hand",
        folder.display()
    )))
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::fs;

    /// A toolchain of shell commands, in a folder of its own.
    struct Toolchain(Workspace);

    impl Toolchain {
        fn new(test: &str) -> Toolchain {
            let root = env::temp_dir().join(format!("xtask-{test}-{}", std::process::id()));
            fs::create_dir_all(&root).expect("the temporary folder can be written to");
            Toolchain(Workspace { target: root.join("target"), root })
        }

        fn ensure(&self, sysroot: &str, rustup: &str, add: &str) -> Result<(), String> {
            let shell = |command: &str| Step::new("sh", &["-c", command]);
            let tools = Tools { target: TARGET, sysroot: shell(sysroot), rustup: shell(rustup), add: shell(add) };
            ensure(&self.0, &tools).map_err(|failed| failed.to_string())
        }
    }

    impl Drop for Toolchain {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0.root);
        }
    }

    const SYSROOT: &str = "echo $PWD/sysroot";

    #[test]
    fn a_missing_target_is_installed_once() {
        let toolchain = Toolchain::new("install");
        let add = "echo called >> log; mkdir -p sysroot/lib/rustlib/wasm32-wasip2";
        assert_eq!(toolchain.ensure(SYSROOT, "exit 0", add), Ok(()));
        assert_eq!(toolchain.ensure(SYSROOT, "exit 0", add), Ok(()));
        let log = fs::read_to_string(toolchain.0.root.join("log")).expect("rustup was called");
        assert_eq!(log, "called\n");
    }

    #[test]
    fn without_rustup_it_says_what_to_do() {
        let why = Toolchain::new("no-rustup").ensure(SYSROOT, "exit 127", "exit 0").expect_err("nothing installs it");
        assert!(why.contains("rustup.rs") && why.contains("sysroot/lib/rustlib/wasm32-wasip2"), "{why}");
    }

    #[test]
    fn rustup_that_fails_or_serves_another_compiler_is_reported() {
        let toolchain = Toolchain::new("rustup");
        let why = toolchain.ensure(SYSROOT, "exit 0", "exit 3").expect_err("it fails");
        assert!(why.contains("exit status: 3"), "{why}");
        let why = toolchain.ensure(SYSROOT, "exit 0", "exit 0").expect_err("the target is still missing");
        assert!(why.contains("another toolchain"), "{why}");
    }

    #[test]
    fn a_compiler_that_fails_is_reported() {
        let why = Toolchain::new("rustc").ensure("echo broken >&2; exit 1", "exit 0", "exit 0").expect_err("it fails");
        assert!(why.contains("broken"), "{why}");
    }

    #[test]
    fn the_installed_tools_are_asked_the_right_questions() {
        for target in [&[TARGET][..], &FOREIGN].concat() {
            let tools = Tools::of_process(target);
            assert!(tools.sysroot.to_string().ends_with("--print sysroot"));
            assert_eq!(tools.add.to_string(), format!("rustup target add {target}"));
        }
    }
}
