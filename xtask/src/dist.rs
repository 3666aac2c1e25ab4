//! The archive of a release for one target, and its checksum. `install.sh` and cargo-binstall rely on the names.

use crate::command::{Command, Error, print};
use crate::toolchain;
use crate::workspace::Workspace;
use sha2::{Digest as _, Sha256};
use std::fs;
use std::path::Path;

/// All packages have the version of the workspace.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The files of the archive, in addition to the program.
const FILES: [&str; 3] = ["LICENSE-MIT", "LICENSE-APACHE", "README.md"];

/// The arguments of `cargo xtask dist`.
#[derive(Debug, clap::Args, PartialEq, Eq)]
pub(crate) struct DistArgs {
    /// A target of the Rust toolchain, for example x86_64-unknown-linux-gnu.
    target: String,
}

/// Builds the archive in `target/dist` and prints its path.
pub(crate) fn run(args: &DistArgs, workspace: &Workspace) -> Result<(), Error> {
    let target = args.target.as_str();
    toolchain::ensure(workspace, &toolchain::Tools::from_env(target))?;
    build(target).run(workspace)?;
    let (dist, name) = (workspace.target.join("dist"), name(target));
    let program = if is_windows(target) { "wharf.exe" } else { "wharf" };
    stage(workspace, &workspace.target.join(target).join("release").join(program), &dist.join(&name))?;
    let archive = dist.join(archive(target));
    pack(target, &dist, &archive).run(workspace)?;
    let file_name = archive.file_name().unwrap_or_default().to_string_lossy();
    let bytes = fs::read(&archive).map_err(|error| failed("read", &archive, &error))?;
    let checksum = dist.join(format!("{file_name}.sha256"));
    fs::write(&checksum, checksum_line(&bytes, &file_name)).map_err(|error| failed("write", &checksum, &error))?;
    print(&archive.display().to_string());
    Ok(())
}

fn build(target: &str) -> Command {
    let args = ["build", "--release", "--locked", "--package", "wharf-cli", "--bin", "wharf", "--target", target];
    Command::cargo(&args)
}

fn is_windows(target: &str) -> bool {
    target.contains("-windows-")
}

/// The name of the archive without its extension, and of the folder in it.
fn name(target: &str) -> String {
    format!("wharf-{target}-v{VERSION}")
}

fn archive(target: &str) -> String {
    let extension = if is_windows(target) { "zip" } else { "tar.gz" };
    format!("{}.{extension}", name(target))
}

/// Copies the files of the archive into an empty folder.
fn stage(workspace: &Workspace, program: &Path, folder: &Path) -> Result<(), Error> {
    if folder.exists() {
        fs::remove_dir_all(folder).map_err(|error| failed("remove", folder, &error))?;
    }
    fs::create_dir_all(folder).map_err(|error| failed("create", folder, &error))?;
    let files = FILES.map(|file| workspace.root.join(file));
    for file in files.iter().map(std::path::PathBuf::as_path).chain([program]) {
        let copy = folder.join(file.file_name().unwrap_or_default());
        fs::copy(file, copy).map_err(|error| failed("copy", file, &error))?;
    }
    Ok(())
}

/// Windows has no program that writes zip files on every version, but it has PowerShell.
fn pack(target: &str, dist: &Path, archive: &Path) -> Command {
    let name = name(target);
    if is_windows(target) {
        let script = format!(
            "Compress-Archive -Force -Path '{}' -DestinationPath '{}'",
            dist.join(name).display(),
            archive.display()
        );
        return Command::new("powershell", &["-NoProfile", "-Command", &script]);
    }
    Command::new("tar", &["-C"]).args([dist]).args(["-czf"]).args([archive]).args([name])
}

/// A line as `sha256sum` writes it.
fn checksum_line(bytes: &[u8], file_name: &str) -> String {
    format!("{:x}  {file_name}\n", Sha256::digest(bytes))
}

fn failed(what: &str, path: &Path, error: &std::io::Error) -> Error {
    Error::Other(format!("cannot {what} {}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn archives_are_named_by_target_and_version() {
        let linux = format!("wharf-x86_64-unknown-linux-gnu-v{VERSION}.tar.gz");
        assert_eq!(archive("x86_64-unknown-linux-gnu"), linux);
        assert_eq!(archive("x86_64-pc-windows-msvc"), format!("wharf-x86_64-pc-windows-msvc-v{VERSION}.zip"));
        let build = build("x86_64-apple-darwin").to_string();
        assert!(build.ends_with("--package wharf-cli --bin wharf --target x86_64-apple-darwin"), "{build}");
    }

    #[test]
    fn checksums_have_the_format_of_sha256sum() {
        let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855  wharf.tar.gz\n";
        assert_eq!(checksum_line(b"", "wharf.tar.gz"), empty);
    }

    #[cfg(unix)]
    #[test]
    fn the_archive_has_one_folder_with_the_program_and_the_licences() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let workspace = Workspace { root: folder.path().to_owned(), target: folder.path().join("target") };
        for file in FILES.into_iter().chain(["wharf"]) {
            fs::write(folder.path().join(file), file).expect("a file");
        }
        let (target, dist) = ("x86_64-unknown-linux-gnu", workspace.target.join("dist"));
        let archive = dist.join(archive(target));
        // Twice: leftovers of the first build must not be in the second archive.
        for leftover in [true, false] {
            stage(&workspace, &folder.path().join("wharf"), &dist.join(name(target))).expect("the files are copied");
            if leftover {
                fs::write(dist.join(name(target)).join("leftover"), "").expect("a file");
            }
            pack(target, &dist, &archive).run(&workspace).expect("tar works");
        }
        let list = Command::new("tar", &["-tzf"]).args([&archive]).output(&workspace).expect("tar works");
        let mut files: Vec<&str> = list.lines().filter_map(|line| line.strip_prefix(&name(target))).collect();
        files.sort_unstable();
        assert_eq!(files, ["/", "/LICENSE-APACHE", "/LICENSE-MIT", "/README.md", "/wharf"]);
    }
}
