//! PyPI: an agent in its own virtual environment, made by `uv` if there is one, and otherwise by Python and pip. Wheels
//! only, because anything else runs code of the package while it is installed.

use super::content::Content;
use super::npm::no_such_version;
use super::tool::{Base, Call, Ended, circumstance, last_lines};
use crate::agents::{Change, Manifest, compare, is_version};
use crate::error::{Error, Result};
use crate::packages::{Package, Registry};
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;
use wharf_core::model::time::whole_millis;

/// The names of Python, the newest first: many agents need a new one.
const PYTHONS: [&str; 5] = ["python3.14", "python3.13", "python3.12", "python3", "python"];

/// The largest script of a virtual environment.
const SCRIPT: u64 = 64 << 10;

/// Python, or `uv`.
pub(super) struct Python<'a> {
    base: Base<'a>,
    program: PathBuf,
    is_uv: bool,
    cache: PathBuf,
}

impl<'a> Python<'a> {
    pub(super) async fn find(base: Base<'a>, cache: &Path) -> Result<Python<'a>> {
        if cfg!(windows) {
            return Err(Error::invalid("wharf installs nothing from PyPI on Windows")
                .with_hint("install it with uv or pip, and name its program under `[programs]`"));
        }
        if let Some(program) = base.environment.find_program("uv") {
            return Ok(Python { base, program, is_uv: true, cache: cache.join("uv") });
        }
        for name in PYTHONS {
            let Some(program) = base.environment.find_program(name) else { continue };
            let python = Python { base, program, is_uv: false, cache: cache.join("pip") };
            // A version manager may have put a file there that only says that this version is not active.
            if python.call(&["--version"], &std::env::temp_dir()).await.is_ok_and(|ended| ended.success) {
                return Ok(python);
            }
        }
        Err(Error::system("installing an agent from PyPI", "there is neither `uv` nor `python3` in PATH")
            .with_hint("install uv (https://docs.astral.sh/uv) or Python"))
    }

    pub(super) async fn install(&self, package: &Package, version: Option<String>, change: &Change) -> Result<Content> {
        let (name, folder) = (package.name(), change.path());
        let tool = if self.is_uv { "uv" } else { "pip" };
        let shown = version.as_deref().unwrap_or("in its newest version");
        let attempt = format!("installing {name} {shown} with {tool}");
        (self.base.progress)(&attempt);
        let requirement = version.as_ref().map_or_else(|| name.clone(), |version| format!("{name}=={version}"));
        let environment = folder.join("venv");
        let made = self.make(&environment, &folder).await?;
        if !made.success {
            return Err(failed(&attempt, &name, None, &made));
        }
        let ended = self.fill(&environment, &requirement, &folder).await?;
        if !ended.success {
            return Err(failed(&attempt, &name, version.as_deref(), &ended));
        }
        let found = installed_version(&environment, &name).ok_or_else(|| {
            Error::system(&attempt, "the package is not in the virtual environment that was made for it")
        })?;
        let program = Path::new("venv/bin").join(package.program);
        if self.base.environment.find_program(&folder.join(&program).to_string_lossy()).is_none() {
            return Err(Error::agent(format!("{name} {found} has no program `{}`", package.program))
                .with_hint("install another version"));
        }
        if !is_version(&found) {
            return Err(Error::agent(format!("{name} calls its version {found:?}")));
        }
        move_scripts(&environment.join("bin"), &folder, &change.path_of(&found))
            .map_err(|error| Error::system(&attempt, error))?;
        let installed = whole_millis(SystemTime::now());
        let (registry, node, companion) = (Registry::Pypi, None, None);
        let manifest = Manifest { registry, package: name, program, node, installed, companion };
        Ok(Content { version: found, manifest })
    }

    /// Makes a virtual environment.
    async fn make(&self, environment: &Path, folder: &Path) -> Result<Ended> {
        let path = environment.to_string_lossy().into_owned();
        if self.is_uv {
            self.call(&["venv", "--no-project", "--no-config", &path], folder).await
        } else {
            self.call(&["-m", "venv", &path], folder).await
        }
    }

    /// Installs a package into it.
    async fn fill(&self, environment: &Path, requirement: &str, folder: &Path) -> Result<Ended> {
        let python = environment.join("bin/python");
        let text = python.to_string_lossy().into_owned();
        if self.is_uv {
            return self
                .call(&["pip", "install", "--only-binary", ":all:", "--python", &text, requirement], folder)
                .await;
        }
        let args = ["-m", "pip", "install", "--no-input", "--no-user", "--disable-pip-version-check"];
        let args = args.into_iter().chain(["--only-binary", ":all:", requirement]);
        self.call_with(python.clone(), &args.collect::<Vec<_>>(), folder).await
    }

    async fn call(&self, args: &[&str], folder: &Path) -> Result<Ended> {
        self.call_with(self.program.clone(), args, folder).await
    }

    async fn call_with(&self, program: PathBuf, args: &[&str], folder: &Path) -> Result<Ended> {
        let cache = self.cache.clone().into_os_string();
        let mut variables: Vec<(&'static str, OsString)> = vec![("PYTHONDONTWRITEBYTECODE", "1".into())];
        if self.is_uv {
            // A Python that uv downloads is kept beside its cache, not among the user's.
            let pythons = self.cache.join("python").into_os_string();
            variables.extend([("UV_CACHE_DIR", cache), ("UV_PYTHON_INSTALL_DIR", pythons)]);
        } else {
            variables.push(("PIP_CACHE_DIR", cache));
        }
        let args = args.iter().map(OsString::from).collect();
        Call { base: self.base, program, args, folder, variables }.run().await
    }
}

/// The version of a package in a virtual environment, by the name of its `dist-info` folder.
fn installed_version(environment: &Path, name: &str) -> Option<String> {
    let normal = |name: &str| name.to_lowercase().replace(['-', '.'], "_");
    let wanted = normal(name);
    for library in std::fs::read_dir(environment.join("lib")).ok()?.flatten() {
        for entry in std::fs::read_dir(library.path().join("site-packages")).into_iter().flatten().flatten() {
            let file = entry.file_name().to_string_lossy().into_owned();
            let found = file.strip_suffix(".dist-info").and_then(|start| start.rsplit_once('-'));
            if let Some((_, version)) = found.filter(|(name, _)| normal(name) == wanted) {
                return Some(version.to_owned());
            }
        }
    }
    None
}

/// The scripts of a virtual environment start with its path. They are changed to where it will be.
fn move_scripts(scripts: &Path, from: &Path, to: &Path) -> io::Result<()> {
    let (from, to) = (from.to_string_lossy().into_owned(), to.to_string_lossy().into_owned());
    for entry in std::fs::read_dir(scripts)?.flatten() {
        let found = entry.metadata()?;
        if !entry.file_type()?.is_file() || found.len() > SCRIPT {
            continue;
        }
        let path = entry.path();
        let Ok(text) = std::fs::read_to_string(&path) else { continue };
        if text.contains(&from) {
            std::fs::write(&path, text.replace(&from, &to))?;
        }
    }
    Ok(())
}

/// Why it failed. Both tools list the versions that there are.
fn failed(attempt: &str, name: &str, requested: Option<&str>, ended: &Ended) -> Error {
    let text = format!("{}\n{}", ended.stdout, ended.stderr);
    if let Some(error) = circumstance(attempt, &text) {
        return error;
    }
    let versions = listed_versions(&text);
    if let Some(requested) = requested.filter(|requested| !versions.is_empty() && !versions.contains(requested)) {
        return no_such_version(name, requested, &versions);
    }
    let reason = last_lines(&text, 3);
    let error = Error::system(attempt, if reason.is_empty() { "it gave no reason".to_owned() } else { reason });
    if text.contains("require a different python") || text.contains("Requires-Python") {
        return error.with_hint("it needs a newer Python: install one, or uv, which downloads one");
    }
    error
}

/// The versions in pip's `(from versions: 1.0, 1.1)`, from the newest to the oldest.
fn listed_versions(text: &str) -> Vec<&str> {
    let list = text.split_once("(from versions: ").and_then(|(_, rest)| rest.split_once(')')).map(|(list, _)| list);
    let mut versions: Vec<&str> = list.unwrap_or_default().split(", ").filter(|version| is_version(version)).collect();
    versions.sort_by(|a, b| compare(b, a));
    versions
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn ended(stderr: &str) -> Ended {
        Ended { success: false, stdout: String::new(), stderr: stderr.to_owned() }
    }

    #[test]
    fn an_unknown_version_is_refused_with_some_that_pip_lists() {
        let stderr = "ERROR: Could not find a version that satisfies the requirement p==9 (from versions: 1.0, 1.10, 1.9)\n\
            ERROR: No matching distribution found for p==9\n";
        let error = failed("x", "p", Some("9"), &ended(stderr));
        assert_eq!(
            (error.to_string().as_str(), error.hint()),
            ("p has no version 9", Some("some that it has: 1.10, 1.9, 1.0"))
        );
    }

    #[test]
    fn an_old_python_is_told_from_a_missing_version() {
        let stderr = "ERROR: Ignored the following versions that require a different python version: 3.0.3 Requires-Python >=3.12\n\
            ERROR: Could not find a version that satisfies the requirement p (from versions: none)\n\
            ERROR: No matching distribution found for p\n";
        let error = failed("installing p with pip", "p", None, &ended(stderr));
        assert!(error.to_string().contains("No matching distribution"), "{error}");
        assert!(error.hint().is_some_and(|hint| hint.contains("newer Python")), "{error:?}");
    }

    #[test]
    fn a_virtual_environment_works_where_it_is_moved_to() {
        let folder = tempfile::tempdir().expect("a folder");
        let (from, to) = (folder.path().join(".unfinished"), folder.path().join("1.0"));
        let scripts = from.join("venv/bin");
        std::fs::create_dir_all(from.join("venv/lib/python3.12/site-packages/My_Agent-1.0.dist-info"))
            .expect("created");
        std::fs::create_dir_all(&scripts).expect("created");
        let script = format!("#!{}/venv/bin/python\nprint()\n", from.display());
        std::fs::write(scripts.join("agent"), script).expect("written");
        std::os::unix::fs::symlink("/usr/bin/python3", scripts.join("python")).expect("a link");
        assert_eq!(installed_version(&from.join("venv"), "my-agent").as_deref(), Some("1.0"));
        assert_eq!(installed_version(&from.join("venv"), "my"), None);
        move_scripts(&scripts, &from, &to).expect("changed");
        let moved = std::fs::read_to_string(scripts.join("agent")).expect("read");
        assert_eq!(moved, format!("#!{}/venv/bin/python\nprint()\n", to.display()));
        assert!(scripts.join("python").symlink_metadata().expect("there").is_symlink());
    }
}
