//! What is built for the tests: the guests as components, and the agents. Each is built once a test process.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

/// The root of the repository.
pub fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the repository exists")
}

/// The folder that cargo builds in, found from the test program: `<target>/<profile>/deps/<program>`.
pub fn target_folder() -> PathBuf {
    let program = std::env::current_exe().expect("the path of the test program");
    program.ancestors().nth(3).expect("the test program is in the target folder").to_owned()
}

/// Where the tests build: beside the other targets, so that no cargo waits for the lock of another.
fn adapters_folder() -> PathBuf {
    target_folder().join("adapters")
}

fn build(args: &[&str]) {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(["build", "--quiet", "--locked", "--target-dir"]).arg(adapters_folder()).args(args);
    cargo.current_dir(repository()).stdin(Stdio::null());
    // What describes the package under test, or was set for the host, would build other packages again.
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        let outer = ["CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_ENCODED_"].iter().any(|prefix| text.starts_with(prefix));
        if outer || text == "RUSTFLAGS" {
            cargo.env_remove(&name);
        }
    }
    let output = cargo.output().expect("cargo starts, because it started this test");
    assert!(output.status.success(), "cargo build {args:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// A component of a package of this workspace, by the name of its file.
fn component(name: &str) -> PathBuf {
    static BUILT: OnceLock<()> = OnceLock::new();
    BUILT.get_or_init(|| {
        let packages = ["wharf-adapter-echo", "wharf-faulty-guest", "wharf-looping-guest"];
        let mut args = vec!["--target", "wasm32-wasip2", "--profile", "adapter"];
        args.extend(packages.iter().flat_map(|package| ["--package", package]));
        build(&args);
    });
    adapters_folder().join("wasm32-wasip2/adapter").join(name).with_extension("wasm")
}

/// The echo adapter as a file; the bundled one is the same.
pub fn echo_component() -> PathBuf {
    component("wharf_adapter_echo")
}

/// The adapter that misbehaves as its option `fault` says.
pub fn faulty_guest() -> PathBuf {
    component("wharf_faulty_guest")
}

/// The adapter whose `describe` does not return.
pub fn looping_guest() -> PathBuf {
    component("wharf_looping_guest")
}

fn agents() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        build(&["--package", "wharf-fake-agent", "--package", "wharf-standalone-echo-agent"]);
        adapters_folder().join("debug")
    })
}

/// The agent that follows a script; tests/fake-agent/README.md lists its steps.
pub fn fake_agent() -> &'static Path {
    static PATH: OnceLock<PathBuf> = OnceLock::new();
    PATH.get_or_init(|| agents().join("wharf-fake-agent"))
}

/// The echo agent as a program.
pub fn echo_agent() -> &'static Path {
    static PATH: OnceLock<PathBuf> = OnceLock::new();
    PATH.get_or_init(|| agents().join("wharf-echo-agent"))
}
