//! The copies of the interface. A published package contains only files of its own folder, so each package that needs
//! `wit/runtime.wit` has a copy of it. The copies must never differ from the original.

use crate::command::{Error, log};
use crate::workspace::Workspace;
use std::fs;
use std::path::Path;

/// The file to edit.
const ORIGINAL: &str = "wit/runtime.wit";

/// Its copies, in the packages `wharf` and `wharf-adapter`.
const COPIES: [&str; 2] = ["host/wit/runtime.wit", "plugins/sdk/wit/runtime.wit"];

/// Updates the copies.
pub(crate) fn copy(workspace: &Workspace) -> Result<(), Error> {
    let original = read(&workspace.root)?;
    for copy in COPIES {
        let path = workspace.root.join(copy);
        let failed = |error: std::io::Error| Error::Other(format!("cannot write {copy}: {error}"));
        path.parent().map_or(Ok(()), fs::create_dir_all).map_err(failed)?;
        fs::write(&path, &original).map_err(failed)?;
        log(&format!("xtask: copied {ORIGINAL} to {copy}"));
    }
    Ok(())
}

/// An error unless every copy is byte-identical to the original.
pub(crate) fn check(workspace: &Workspace) -> Result<(), Error> {
    let original = read(&workspace.root)?;
    let problem = |copy: &str| match fs::read(workspace.root.join(copy)) {
        Ok(bytes) if bytes == original => None,
        Ok(_) => Some(format!("{copy} differs from {ORIGINAL}")),
        Err(error) => Some(format!("cannot read {copy}: {error}")),
    };
    let problems: Vec<String> = COPIES.into_iter().filter_map(problem).collect();
    if problems.is_empty() {
        log("xtask: the copies of the interface are up to date");
        return Ok(());
    }
    Err(Error::Other(format!(
        "{}\nhint: edit {ORIGINAL} only, then `cargo xtask wit` updates the copies",
        problems.join("\n")
    )))
}

fn read(root: &Path) -> Result<Vec<u8>, Error> {
    fs::read(root.join(ORIGINAL)).map_err(|error| Error::Other(format!("cannot read {ORIGINAL}: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_are_checked_and_updated() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let workspace = Workspace { root: folder.path().to_owned(), target: folder.path().join("target") };
        let message = || check(&workspace).expect_err("the check fails").to_string();
        assert!(message().contains("cannot read wit/runtime.wit"), "{}", message());

        fs::create_dir(folder.path().join("wit")).expect("a folder");
        fs::write(folder.path().join(ORIGINAL), "package wharf:runtime;\n").expect("the original");
        for copy in COPIES {
            assert!(message().contains(&format!("cannot read {copy}")), "{}", message());
        }

        copy(&workspace).expect("they are copied");
        check(&workspace).expect("they are identical");

        fs::write(folder.path().join(COPIES[1]), "package wharf:runtime;\r\n").expect("another line end");
        assert!(message().contains("plugins/sdk/wit/runtime.wit differs") && !message().contains("host"));
        assert!(message().contains("`cargo xtask wit`"), "{}", message());
    }
}
