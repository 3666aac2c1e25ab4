//! Builds the bundled adapters as components: see src/lib.rs.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The adapters that come with the host, by id; each is `plugins/<id>`.
const BUNDLED: [&str; 8] = ["acp", "claude", "codex", "copilot", "echo", "gemini", "opencode", "qwen"];
const TARGET: &str = "wasm32-wasip2";

fn main() {
    println!("cargo::rerun-if-env-changed=WHARF_PREBUILT_ADAPTERS");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    let package = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let root = package.join("../..");
    let in_repository = BUNDLED.iter().all(|id| root.join("plugins").join(id).join("Cargo.toml").is_file());
    match env::var_os("WHARF_PREBUILT_ADAPTERS") {
        Some(folder) => copy_prebuilt("WHARF_PREBUILT_ADAPTERS", Path::new(&folder), &out),
        None if in_repository => build(&root, &out),
        // A package from a registry has no sources of adapters beside it: it contains them built.
        None => copy_prebuilt("this package", &package.join("components"), &out),
    }
    let entries: Vec<String> = BUNDLED
        .iter()
        .map(|id| {
            let grants = if in_repository {
                root.join("plugins").join(id).join("grants.toml")
            } else {
                package.join("components").join(format!("{id}.toml"))
            };
            let grants = grants.canonicalize().unwrap_or_else(|error| panic!("{}: {error}", grants.display()));
            println!("cargo::rerun-if-changed={}", grants.display());
            let component = out.join(format!("{id}.wasm"));
            // As Rust string literals, whatever characters the paths contain.
            let [component, grants] = [component, grants].map(|path| format!("{:?}", path.to_string_lossy()));
            format!(
                "BundledAdapter {{ id: {id:?}, component: include_bytes!({component}), grants: include_str!({grants}) }}"
            )
        })
        .collect();
    fs::write(out.join("bundled.rs"), format!("[{}]", entries.join(",\n"))).expect("OUT_DIR can be written to");
}

fn copy_prebuilt(source: &str, folder: &Path, out: &Path) {
    for id in BUNDLED {
        let from = folder.join(format!("{id}.wasm"));
        println!("cargo::rerun-if-changed={}", from.display());
        if let Err(error) = fs::copy(&from, out.join(format!("{id}.wasm"))) {
            fail(&format!("{source}: {} cannot be copied: {error}", from.display()));
        }
    }
}

fn build(root: &Path, out: &Path) {
    // In a folder beside the other targets, so that `cargo clean` removes it too and all profiles share it.
    let target_folder = root.join(env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into())).join("adapters");
    let mut cargo = Command::new(env::var_os("CARGO").expect("cargo sets CARGO"));
    cargo.current_dir(root).args(["build", "--locked", "--profile", "adapter", "--target", TARGET, "--target-dir"]);
    cargo.arg(&target_folder);
    for id in BUNDLED {
        cargo.args(["--package", &format!("wharf-adapter-{id}")]);
    }
    // What the outer cargo set for the host must not reach the guests.
    for (name, _) in env::vars_os() {
        let name_text = name.to_string_lossy();
        if name_text.starts_with("CARGO_ENCODED")
            || name_text.starts_with("CARGO_CFG")
            || name_text == "RUSTFLAGS"
            || name_text == "RUSTC_WORKSPACE_WRAPPER"
        {
            cargo.env_remove(&name);
        }
    }
    match cargo.output() {
        Ok(output) if output.status.success() => {}
        Ok(output) => {
            let stderr = String::from_utf8_lossy(&output.stderr);
            let missing = stderr.contains("can't find crate for") || stderr.contains("target may not be installed");
            let advice = if missing {
                format!("run `rustup target add {TARGET}`, or `cargo xtask test`, which does it for you\n\n")
            } else {
                String::new()
            };
            fail(&format!("the bundled adapters could not be built.\n{advice}{stderr}"));
        }
        Err(error) => fail(&format!("cargo could not be started to build the bundled adapters: {error}")),
    }
    for id in BUNDLED {
        let built = target_folder.join(TARGET).join("adapter").join(format!("wharf_adapter_{id}.wasm"));
        let component = fs::read(&built).unwrap_or_else(|error| panic!("{}: {error}", built.display()));
        fs::write(out.join(format!("{id}.wasm")), without_names(&component)).expect("OUT_DIR can be written to");
        rerun_if_changed(&built.with_extension("d"));
    }
}

/// The component without its custom sections, which name its parts for people: 6 KB that every user would load.
fn without_names(component: &[u8]) -> Vec<u8> {
    const HEADER: usize = 8;
    const CUSTOM: u8 = 0;
    let mut kept = component[..HEADER].to_vec();
    let mut at = HEADER;
    while at < component.len() {
        let (mut size, mut length, mut shift) = (at + 1, 0_usize, 0);
        loop {
            length |= usize::from(component[size] & 0x7f) << shift;
            shift += 7;
            size += 1;
            if component[size - 1] < 0x80 {
                break;
            }
        }
        let end = size + length;
        if component[at] != CUSTOM {
            kept.extend_from_slice(&component[at..end]);
        }
        at = end;
    }
    kept
}

/// Reports the files that the component depends on to the outer cargo.
fn rerun_if_changed(dep_info: &Path) {
    let text = fs::read_to_string(dep_info).unwrap_or_else(|error| panic!("{}: {error}", dep_info.display()));
    let listed = text.split_once(": ").map_or("", |(_, files)| files);
    // A space in a path is written as `\ `.
    for file in listed.replace("\\ ", "\0").split_whitespace() {
        println!("cargo::rerun-if-changed={}", file.replace('\0', " "));
    }
}

fn fail(message: &str) -> ! {
    for line in message.lines() {
        println!("cargo::error={line}");
    }
    std::process::exit(1);
}
