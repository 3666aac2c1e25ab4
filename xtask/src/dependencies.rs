//! Checks that a crate does not depend on what it must stay free of: the borders between the crates, kept by cargo.

use crate::command::{Command, Error};
use crate::workspace::Workspace;

/// A crate, the features it is built with, and the crates that must not be among its dependencies.
const BORDERS: [(&str, &[&str]); 2] = [
    // No I/O and no sandbox: a program that only reads events builds neither.
    ("wharf-core", &["tokio", "wasmtime", "reqwest", "rusqlite", "rustix", "tempfile", "wharf", "wharf-supervisor"]),
    // Nothing of the command line, and no adapters that need a wasm target to build.
    ("wharf", &["clap", "clap_complete", "clap_mangen", "anstream", "anstyle", "wharf-echo-agent", "wharf-bundled"]),
];

/// Checks all borders and reports all violations at once.
pub(crate) fn check(workspace: &Workspace) -> Result<(), Error> {
    let mut problems = Vec::new();
    for (package, forbidden) in BORDERS {
        let tree = ["tree", "--locked", "--no-default-features", "--edges", "normal,build", "--prefix", "none"];
        let tree = Command::cargo(&tree).args(["--package", package]).output(workspace)?;
        let found = violations(&tree, forbidden);
        problems.extend(found.into_iter().map(|name| format!("{package} depends on {name}")));
    }
    if problems.is_empty() {
        return Ok(());
    }
    Err(Error::Other(format!("dependencies across a border:\n  {}", problems.join("\n  "))))
}

/// The forbidden crates in the output of `cargo tree`, whose first line is the package itself.
fn violations<'a>(tree: &str, forbidden: &[&'a str]) -> Vec<&'a str> {
    let names: Vec<&str> = tree.lines().skip(1).filter_map(|line| line.split_whitespace().next()).collect();
    forbidden.iter().copied().filter(|name| names.contains(name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_forbidden_dependency_is_found_and_the_package_itself_is_not_one() {
        let tree = "wharf v0.1.0 (/x)\nserde v1.0.0\ntokio v1.2.3 (*)\ntokio-util v0.7.0\n";
        assert_eq!(violations(tree, &["tokio", "wasmtime", "wharf"]), ["tokio"]);
        assert!(violations(tree, &["wasmtime", "tokio-utils"]).is_empty());
    }
}
