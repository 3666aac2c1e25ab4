//! Checks that every published crate can be packaged: cargo accepts it, and the package is complete on its own.
//!
//! It never publishes anything, and builds nothing but the components that `wharf-bundled` contains. `cargo package` itself does not notice a missing licence, or a source
//! file that includes a file from outside the package and so compiles only in this repository.

use crate::command::{Command, Error, log};
use crate::workspace::Workspace;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

/// The crates that are published. Other members that can be published are checked too; a member that must not be has
/// `publish = false`.
const PUBLISHED: [&str; 6] = ["wharf-core", "wharf-supervisor", "wharf", "wharf-cli", "wharf-adapter", "wharf-bundled"];

/// Files that every package contains.
const LICENCES: [&str; 2] = ["LICENSE-MIT", "LICENSE-APACHE"];

/// The crates that generate code from the interface and so contain it.
const WITH_INTERFACE: [&str; 2] = ["wharf", "wharf-adapter"];

/// Its path in those packages.
const INTERFACE: &str = "wit/runtime.wit";

/// The crate that contains the bundled adapters, built.
const WITH_COMPONENTS: &str = "wharf-bundled";

/// The adapters that it contains.
const BUNDLED: [&str; 8] = ["acp", "claude", "codex", "copilot", "echo", "gemini", "opencode", "qwen"];

/// A member of the workspace that can be published.
#[derive(Debug, PartialEq, Eq)]
struct Package {
    name: String,
    folder: PathBuf,
}

/// Checks all packages and reports all problems at once.
pub(crate) fn check(workspace: &Workspace) -> Result<(), Error> {
    build_components(workspace)?;
    let metadata = Command::cargo(&["metadata", "--no-deps", "--format-version", "1", "--locked"]).output(workspace)?;
    let packages = publishable(&metadata).map_err(Error::Other)?;
    let mut problems = missing(&packages);
    for package in &packages {
        let list = Command::cargo(&["package", "--list", "--allow-dirty", "--package", &package.name]);
        let list = list.output(workspace)?;
        let files: Vec<&str> = list.lines().collect();
        problems.extend(file_problems(&package.name, &files));
        for file in files.into_iter().filter(|file| is_compiled(file)) {
            let path = package.folder.join(file);
            let text = fs::read_to_string(&path)
                .map_err(|error| Error::Other(format!("cannot read {}: {error}", path.display())))?;
            let outside = paths_outside(Path::new(file), &text).into_iter();
            let problem = |path: &str| format!("{}: {file} uses {path}, which is outside the package", package.name);
            problems.extend(outside.map(problem));
        }
    }
    if !problems.is_empty() {
        return Err(Error::Other(format!("these packages are incomplete:\n  {}", problems.join("\n  "))));
    }
    log(&format!("xtask: the files of {} packages are complete", packages.len()));
    cargo_package(&packages).run(workspace)
}

/// Builds the bundled adapters and copies them into the package that contains them, each with its grants. The build
/// shares its folder with the build script of that package, so that mostly nothing has to be built.
fn build_components(workspace: &Workspace) -> Result<(), Error> {
    let build = Command::cargo(&["build", "--locked", "--profile", "adapter", "--target", "wasm32-wasip2", "--quiet"]);
    let target = workspace.adapters();
    let folder = target.to_string_lossy().into_owned();
    let packages = BUNDLED.map(|id| format!("wharf-adapter-{id}"));
    build
        .args(["--target-dir", &folder])
        .args(packages.iter().flat_map(|package| ["--package", package]))
        .run(workspace)?;
    let plugins = workspace.root.join("plugins");
    let components = plugins.join("bundled/components");
    let failed = |error: std::io::Error| Error::Other(format!("cannot write {}: {error}", components.display()));
    fs::create_dir_all(&components).map_err(failed)?;
    for id in BUNDLED {
        let component = target.join("wasm32-wasip2/adapter").join(format!("wharf_adapter_{id}.wasm"));
        fs::copy(component, components.join(format!("{id}.wasm"))).map_err(failed)?;
        fs::copy(plugins.join(id).join("grants.toml"), components.join(format!("{id}.toml"))).map_err(failed)?;
    }
    Ok(())
}

/// In one command, because packages that depend on each other are found there and not in the registry.
fn cargo_package(packages: &[Package]) -> Command {
    let command = Command::cargo(&["package", "--no-verify", "--allow-dirty", "--offline", "--locked", "--quiet"]);
    let command = command.note(" (if crates are missing, `cargo fetch` downloads them)");
    command.args(packages.iter().flat_map(|package| ["--package", &package.name]))
}

/// The members that have no `publish = false`, from the output of `cargo metadata`.
fn publishable(metadata: &str) -> Result<Vec<Package>, String> {
    let metadata: Value =
        serde_json::from_str(metadata).map_err(|error| format!("`cargo metadata` printed invalid JSON: {error}"))?;
    let packages = metadata["packages"].as_array().into_iter().flatten();
    let packages = packages.filter(|package| package["publish"].as_array().is_none_or(|list| !list.is_empty()));
    let package = |package: &Value| {
        let folder = Path::new(package["manifest_path"].as_str()?).parent()?;
        Some(Package { name: package["name"].as_str()?.to_owned(), folder: folder.to_owned() })
    };
    packages
        .map(|value| package(value).ok_or_else(|| format!("`cargo metadata` has an incomplete package: {value}")))
        .collect()
}

/// Crates that should be published and cannot be.
fn missing(packages: &[Package]) -> Vec<String> {
    let missing = PUBLISHED.into_iter().filter(|name| !packages.iter().any(|package| package.name == *name));
    missing.map(|name| format!("{name}: the workspace has no such package, or it has `publish = false`")).collect()
}

/// What is wrong with the list of files of a package.
fn file_problems(name: &str, files: &[&str]) -> Vec<String> {
    let interface = WITH_INTERFACE.contains(&name).then_some((INTERFACE, "`cargo xtask wit` copies it"));
    let licences = LICENCES.map(|file| (file.to_owned(), "link or copy it from the root of the repository"));
    let interface = interface.map(|(file, hint)| (file.to_owned(), hint));
    let components = BUNDLED.iter().flat_map(|id| [format!("components/{id}.wasm"), format!("components/{id}.toml")]);
    let components =
        components.filter(|_| name == WITH_COMPONENTS).map(|file| (file, "`cargo xtask package` builds it"));
    let required = licences.into_iter().chain(interface).chain(components);
    let required = required.filter(|(file, _)| !files.contains(&file.as_str()));
    let outside = files.iter().filter(|file| file.starts_with('/') || file.split(['/', '\\']).any(|part| part == ".."));
    let outside = outside.map(|file| format!("{name}: {file} is outside the package"));
    required.map(|(file, hint)| format!("{name}: {file} is missing; {hint}")).chain(outside).collect()
}

/// Whether a file is compiled when somebody depends on the package. Tests and examples are not.
fn is_compiled(file: &str) -> bool {
    let is_rust = Path::new(file).extension().is_some_and(|extension| extension == "rs");
    let is_test = file.ends_with("/tests.rs") || file.ends_with("_tests.rs") || file.contains("/tests/");
    file == "build.rs" || (file.starts_with("src/") && is_rust && !is_test)
}

/// Paths in string literals of a source file that lead out of its package.
fn paths_outside<'a>(file: &Path, text: &'a str) -> Vec<&'a str> {
    // What follows is compiled only for tests.
    let text = text.split("#[cfg(test)]").next().unwrap_or_default();
    let depth_of_file = file.components().count() - 1;
    // The first are relative to the file, the others to the folder of the package.
    let starts = [
        ("include_str!(\"", depth_of_file),
        ("include_bytes!(\"", depth_of_file),
        ("include!(\"", depth_of_file),
        ("#[path = \"", depth_of_file),
        ("path: \"", 0),
        ("env!(\"CARGO_MANIFEST_DIR\"), \"/", 0),
    ];
    let found = starts.into_iter().flat_map(|(start, depth)| {
        let literals = text.split(start).skip(1).filter_map(|rest| rest.split('"').next());
        literals.filter(move |path| leaves(path, depth))
    });
    found.collect()
}

/// Whether a relative path leads out of the folder that is `depth` levels above where it starts.
fn leaves(path: &str, depth: usize) -> bool {
    let mut depth = depth;
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." if depth == 0 => return true,
            ".." => depth -= 1,
            _ => depth += 1,
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(name: &str) -> Package {
        Package { name: name.to_owned(), folder: format!("/repository/{name}").into() }
    }

    #[test]
    fn members_are_publishable_unless_they_say_otherwise() {
        let metadata = r#"{ "packages": [
            { "name": "a", "publish": null, "manifest_path": "/repository/a/Cargo.toml" },
            { "name": "b", "publish": [], "manifest_path": "/repository/b/Cargo.toml" },
            { "name": "c", "publish": ["crates-io"], "manifest_path": "/repository/c/Cargo.toml" }
        ] }"#;
        assert_eq!(publishable(metadata), Ok(vec![package("a"), package("c")]));
        assert!(publishable("no JSON").is_err());
        assert!(publishable(r#"{ "packages": [{}] }"#).is_err());
    }

    #[test]
    fn every_crate_of_the_list_must_exist() {
        let all = PUBLISHED.map(package);
        assert!(missing(&all).is_empty());
        let problems = missing(&all[1..]);
        assert!(problems.len() == 1 && problems[0].starts_with("wharf-core: "), "{problems:?}");
    }

    #[test]
    fn a_package_contains_the_licences_and_the_interface() {
        let complete = ["Cargo.toml", "LICENSE-APACHE", "LICENSE-MIT", "src/lib.rs", "wit/runtime.wit"];
        assert!(file_problems("wharf", &complete).is_empty());
        assert!(file_problems("wharf-core", &complete[..4]).is_empty());
        let problems = file_problems("wharf", &complete[..4]);
        assert!(problems.len() == 1 && problems[0].contains("`cargo xtask wit`"), "{problems:?}");
        let problems = file_problems("wharf-core", &["LICENSE-MIT", "../secret", "/etc/passwd", "src/..rs"]);
        let expected = ["LICENSE-APACHE is missing", "../secret is outside", "/etc/passwd is outside"];
        assert_eq!(problems.len(), expected.len(), "{problems:?}");
        for (problem, part) in problems.iter().zip(expected) {
            assert!(problem.contains(part), "{problem}");
        }
    }

    #[test]
    fn paths_that_lead_out_of_the_package_are_found() {
        for (file, text, outside) in [
            ("src/lib.rs", "include_str!(\"../README.md\")", None),
            ("src/lib.rs", "include_str!(\"../../README.md\")", Some("../../README.md")),
            ("src/a/b.rs", "include_bytes!(\"../../data\")", None),
            ("src/a/b.rs", "include!(\"../../../data\")", Some("../../../data")),
            ("src/lib.rs", "path: \"wit\",", None),
            ("src/lib.rs", "path: \"../wit\",", Some("../wit")),
            ("src/lib.rs", "#[path = \"../../x.rs\"] mod x;", Some("../../x.rs")),
            ("build.rs", "concat!(env!(\"CARGO_MANIFEST_DIR\"), \"/../wit\")", Some("../wit")),
            ("src/lib.rs", "#[cfg(test)]\nmod tests { include_str!(\"../../README.md\") }", None),
            ("src/lib.rs", "println!(\"../../x\")", None),
        ] {
            assert_eq!(paths_outside(Path::new(file), text), Vec::from_iter(outside), "{file}: {text}");
        }
    }

    #[test]
    fn only_compiled_files_are_searched() {
        for (file, expected) in [
            ("src/lib.rs", true),
            ("build.rs", true),
            ("src/json/tests.rs", false),
            ("src/driver_tests.rs", false),
            ("tests/cli.rs", false),
            ("examples/soak.rs", false),
            ("src/data.json", false),
        ] {
            assert_eq!(is_compiled(file), expected, "{file}");
        }
    }

    #[test]
    fn all_packages_are_packaged_in_one_command() {
        let shown = cargo_package(&[package("a"), package("b")]).to_string();
        assert!(shown.starts_with("cargo package --no-verify --allow-dirty --offline "), "{shown}");
        assert!(shown.ends_with("--package a --package b"), "{shown}");
    }
}
