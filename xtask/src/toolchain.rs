//! Targets of the Rust toolchain: the one for adapters, and those that the supervisor is checked for. Missing ones are
//! installed with rustup.

use crate::command::{Command, Error, log};
use crate::workspace::Workspace;
use std::env;
use std::path::PathBuf;

/// The target of adapters.
pub(crate) const TARGET: &str = "wasm32-wasip2";

/// Systems with their own code in the supervisor, which is checked for them on every machine.
pub(crate) const FOREIGN: [&str; 2] = ["x86_64-pc-windows-gnu", "aarch64-apple-darwin"];

/// The commands that find and install a target.
pub(crate) struct Tools {
    target: String,
    /// Prints the folder with the compiler's libraries.
    sysroot: Command,
    /// Succeeds if rustup is installed.
    rustup: Command,
    /// Installs the target.
    add: Command,
}

impl Tools {
    /// With the compiler that cargo uses.
    pub(crate) fn from_env(target: &str) -> Tools {
        let rustc = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
        Tools {
            target: target.to_owned(),
            sysroot: Command::new(rustc, &["--print", "sysroot"]),
            rustup: Command::new("rustup", &["--version"]),
            add: Command::new("rustup", &["target", "add", target]).note(" (it was missing)"),
        }
    }
}

/// Installs the target unless the compiler has it.
pub(crate) fn ensure(workspace: &Workspace, tools: &Tools) -> Result<(), Error> {
    let target = &tools.target;
    let sysroot = tools.sysroot.output(workspace)?;
    let folder = PathBuf::from(sysroot.trim()).join("lib").join("rustlib").join(target);
    if folder.is_dir() {
        log(&format!("xtask: the target {target} is installed"));
        return Ok(());
    }
    if tools.rustup.output(workspace).is_err() {
        return Err(Error::Other(format!(
            "the target {target} is missing, and so is rustup, which would install it\n\
             hint: install rustup from https://rustup.rs, or your distribution's package of the Rust standard library \
             for {target}, which creates {}",
            folder.display()
        )));
    }
    tools.add.run(workspace)?;
    if folder.is_dir() {
        return Ok(());
    }
    Err(Error::Other(format!(
        "rustup added the target {target} to another toolchain: the compiler in use still has no {}\n\
         hint: put rustup's programs first in PATH, or install the target for this compiler by hand",
        folder.display()
    )))
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::fs;

    /// A fake toolchain made of shell commands, in a temporary folder.
    struct Toolchain(Workspace);

    impl Toolchain {
        fn new(test: &str) -> Toolchain {
            let root = env::temp_dir().join(format!("xtask-{test}-{}", std::process::id()));
            fs::create_dir_all(&root).expect("the temporary folder can be written to");
            Toolchain(Workspace { target: root.join("target"), root })
        }

        fn ensure(&self, sysroot: &str, rustup: &str, add: &str) -> Result<(), String> {
            let shell = |command: &str| Command::new("sh", &["-c", command]);
            let tools =
                Tools { target: TARGET.to_owned(), sysroot: shell(sysroot), rustup: shell(rustup), add: shell(add) };
            ensure(&self.0, &tools).map_err(|error| error.to_string())
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
    fn without_rustup_the_error_has_a_hint() {
        let error = Toolchain::new("no-rustup").ensure(SYSROOT, "exit 127", "exit 0").expect_err("nothing installs it");
        assert!(error.contains("rustup.rs") && error.contains("sysroot/lib/rustlib/wasm32-wasip2"), "{error}");
    }

    #[test]
    fn a_failure_of_rustup_or_another_toolchain_is_reported() {
        let toolchain = Toolchain::new("rustup");
        let error = toolchain.ensure(SYSROOT, "exit 0", "exit 3").expect_err("it fails");
        assert!(error.contains("exit status: 3"), "{error}");
        let error = toolchain.ensure(SYSROOT, "exit 0", "exit 0").expect_err("the target is still missing");
        assert!(error.contains("another toolchain"), "{error}");
    }

    #[test]
    fn a_failure_of_the_compiler_is_reported() {
        let error =
            Toolchain::new("rustc").ensure("echo broken >&2; exit 1", "exit 0", "exit 0").expect_err("it fails");
        assert!(error.contains("broken"), "{error}");
    }

    #[test]
    fn the_real_commands_name_the_target() {
        for target in [&[TARGET][..], &FOREIGN].concat() {
            let tools = Tools::from_env(target);
            assert!(tools.sysroot.to_string().ends_with("--print sysroot"));
            assert_eq!(tools.add.to_string(), format!("rustup target add {target}"));
        }
    }
}
