//! The program of an agent in an installed npm package: the native one for this platform, or the one that the package
//! names.

use crate::packages::{Package, npm_arch, npm_os};
use serde::Deserialize;
use serde_json::Value;
use std::path::{Component, Path, PathBuf};
use wharf_core::model::parse_json;

/// The program that was found.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Found {
    /// Relative to the folder.
    pub(super) program: PathBuf,
    /// Which Node.js it requires; none if it requires none, or does not say.
    pub(super) node: Option<String>,
}

/// What matters of a `package.json`.
#[derive(Deserialize, Default)]
#[serde(default)]
struct PackageFile {
    bin: Value,
    engines: Engines,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Engines {
    node: Option<String>,
}

/// Finds the program of a package that was installed into a folder. `is_program` says whether a file can be started.
pub(super) fn find(folder: &Path, package: &Package, is_program: impl Fn(&Path) -> bool) -> Option<Found> {
    let modules = Path::new("node_modules");
    let native = package.native.iter().flat_map(|prefix| native_programs(prefix, package.program));
    if let Some(program) = native.map(|path| modules.join(path)).find(|path| is_program(&folder.join(path))) {
        return Some(Found { program, node: None });
    }
    let own = modules.join(package.name());
    let text = std::fs::read_to_string(folder.join(&own).join("package.json")).ok()?;
    let file: PackageFile = serde_json::from_value(parse_json(&text).ok()?).ok()?;
    let (name, path) = bin(&file.bin, package.program)?;
    let program = if cfg!(windows) {
        modules.join(".bin").join(format!("{name}.cmd"))
    } else {
        own.join(path.components().filter(|part| matches!(part, Component::Normal(_))).collect::<PathBuf>())
    };
    is_program(&folder.join(&program)).then_some(Found { program, node: file.engines.node })
}

/// The program that a package names: that of this name, or the only one.
fn bin<'a>(bin: &'a Value, program: &'a str) -> Option<(&'a str, &'a Path)> {
    match bin {
        Value::String(path) => Some((program, Path::new(path))),
        Value::Object(programs) => {
            let named = programs.get_key_value(program);
            let (name, path) = named.or_else(|| programs.iter().next().filter(|_| programs.len() == 1))?;
            Some((name, Path::new(path.as_str()?)))
        }
        _ => None,
    }
}

/// Where the packages for this platform may have the program, the best first.
fn native_programs(prefix: &str, program: &str) -> Vec<String> {
    let file = if cfg!(windows) { format!("{program}.exe") } else { program.to_owned() };
    let systems: &[&str] = match (npm_os(), has_glibc()) {
        ("linux", true) => &["linux-{arch}"],
        ("linux", false) => &["linux-{arch}-musl", "linuxmusl-{arch}"],
        ("win32", _) => &["win32-{arch}", "windows-{arch}"],
        ("darwin", _) => &["darwin-{arch}"],
        _ => &[],
    };
    let mut programs = Vec::new();
    for system in systems {
        let package = format!("{prefix}-{}", system.replace("{arch}", npm_arch()));
        // Some packages have another program for processors that lack newer instructions.
        let (head, musl) = package.strip_suffix("-musl").map_or((package.as_str(), ""), |head| (head, "-musl"));
        let baseline = format!("{head}-baseline{musl}");
        let packages = if has_avx2() { [package.clone(), baseline] } else { [baseline, package.clone()] };
        for package in packages {
            programs.extend([format!("{package}/{file}"), format!("{package}/bin/{file}")]);
        }
    }
    programs
}

/// Whether programs that need the GNU C library can be started.
fn has_glibc() -> bool {
    let loaders = ["/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1", "/lib64/ld-linux-aarch64.so.1"];
    cfg!(target_env = "gnu") || loaders.iter().any(|loader| Path::new(loader).exists())
}

#[cfg(target_arch = "x86_64")]
fn has_avx2() -> bool {
    std::arch::is_x86_feature_detected!("avx2")
}

#[cfg(not(target_arch = "x86_64"))]
fn has_avx2() -> bool {
    true
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::fs;

    /// A folder with these files; those whose path starts with `!` cannot be started.
    fn found(agent: &str, files: &[(&str, &str)]) -> Option<Found> {
        let folder = tempfile::tempdir().expect("a folder");
        for (path, content) in files {
            let path = folder.path().join("node_modules").join(path);
            fs::create_dir_all(path.parent().expect("a folder")).expect("created");
            fs::write(path, content).expect("written");
        }
        let is_program = |path: &Path| fs::read_to_string(path).is_ok_and(|content| content.starts_with("#!"));
        find(folder.path(), Package::of(agent).expect("known"), is_program)
    }

    fn platform() -> String {
        let musl = if npm_os() == "linux" && !has_glibc() { "-musl" } else { "" };
        format!("{}-{}{musl}", npm_os(), npm_arch())
    }

    #[test]
    fn the_native_program_is_used_and_otherwise_the_one_that_the_package_names() {
        let own =
            ("@anthropic-ai/claude-code/package.json", r#"{"bin":{"claude":"./cli.js"},"engines":{"node":">=18"}}"#);
        let native = format!("@anthropic-ai/claude-code-{}/claude", platform());
        let program = |path: &str| Path::new("node_modules").join(path);
        let script = ("@anthropic-ai/claude-code/cli.js", "#!/usr/bin/env node");
        let both = found("claude", &[own, script, (&native, "#!native")]).expect("found");
        assert_eq!(both, Found { program: program(&native), node: None });
        let launcher = found("claude", &[own, script]).expect("found");
        let expected = Found { program: program("@anthropic-ai/claude-code/cli.js"), node: Some(">=18".to_owned()) };
        assert_eq!(launcher, expected);
        // What an install script would replace is a text that no system can start.
        assert_eq!(found("claude", &[own, ("@anthropic-ai/claude-code/cli.js", "echo not installed")]), None);
        assert_eq!(found("claude", &[]), None);
    }

    #[test]
    fn a_package_with_one_program_may_give_it_any_name() {
        let name = Package::of("goose").expect("known").name();
        let file = (format!("{name}/package.json"), r#"{"bin":{"goose-binary-x":"./bin/goose"}}"#);
        let program = (format!("{name}/bin/goose"), "#!");
        let goose = found("goose", &[(&file.0, file.1), (&program.0, program.1)]).expect("found");
        assert_eq!(goose.program, Path::new("node_modules").join(&program.0));
        let several = r#"{"bin":{"a":"a.js","b":"b.js"}}"#;
        assert_eq!(found("goose", &[(&file.0, several), (&format!("{name}/a.js"), "#!")]), None);
    }

    #[test]
    fn a_package_cannot_name_a_program_outside_of_itself() {
        let name = Package::of("kimi").expect("known").name();
        let file = (format!("{name}/package.json"), r#"{"bin":{"kimi":"../../../../bin/sh"}}"#);
        assert_eq!(found("kimi", &[(&file.0, file.1)]), None);
    }
}
