//! Whether code generators make named, complete types of the JSON Schemas: TypeScript and Python, compiled strictly.
//!
//! The tools are installed into the target folder, in pinned versions. What cannot be installed is skipped and counted:
//! a machine without a network still runs the other tests.

use crate::command::{Command, Error, log};
use crate::tasks::build_wharf;
use crate::workspace::Workspace;
use std::fs;
use std::path::{Path, PathBuf};

const NPM: [&str; 3] = ["ajv@8.17.1", "json-schema-to-typescript@15.0.4", "typescript@5.9.3"];
const PYPI: [&str; 3] = ["datamodel-code-generator==0.35.0", "pydantic==2.12.4", "mypy==1.18.2"];

/// What the consumers read: the file, and the command that prints it.
const PRINTED: [(&str, &[&str]); 10] = [
    ("events.jsonl", &["run", "--adapter", "echo", "--json", "--label", "task=42", "hello"]),
    ("runs.json", &["runs", "--json"]),
    ("sessions.json", &["sessions", "--json"]),
    ("receipt.json", &["receipt", "last"]),
    ("verification.json", &["receipt", "last", "--verify", "--json"]),
    ("adapters.json", &["adapters", "--json"]),
    ("adapter.json", &["adapters", "show", "claude", "--json"]),
    ("models.json", &["models", "echo", "--json"]),
    ("explain.json", &["explain", "--adapter", "echo", "--json", "hello"]),
    ("doctor.json", &["doctor", "echo", "--json"]),
];

/// The folders that are used.
struct Folders {
    /// The schemas, as files.
    schemas: PathBuf,
    /// What the commands print.
    printed: PathBuf,
    /// What wharf keeps.
    home: PathBuf,
    typescript: PathBuf,
    python: PathBuf,
    npm: PathBuf,
    venv: PathBuf,
}

impl Folders {
    fn below(target: &Path) -> Folders {
        let folder = |name: &str| target.join("schema").join(name);
        Folders {
            schemas: folder("schemas"),
            printed: folder("printed"),
            home: folder("home"),
            typescript: folder("typescript"),
            python: folder("python"),
            npm: folder("npm"),
            venv: folder("venv"),
        }
    }

    /// The results are made again each time, the tools are kept.
    fn clear(&self) -> Result<(), Error> {
        for folder in [&self.schemas, &self.printed, &self.home, &self.typescript, &self.python] {
            let _ = fs::remove_dir_all(folder);
            fs::create_dir_all(folder).map_err(|error| failed(folder, &error))?;
        }
        Ok(())
    }

    fn python_program(&self, name: &str) -> PathBuf {
        self.venv.join(if cfg!(windows) { "Scripts" } else { "bin" }).join(name)
    }
}

/// Checks both languages.
pub(crate) fn run(workspace: &Workspace) -> Result<(), Error> {
    let folders = Folders::below(&workspace.target);
    folders.clear()?;
    build_wharf().run(workspace)?;
    write_files(&folders, workspace)?;
    let mut skipped = 0;
    for (language, install, check) in [
        ("TypeScript", install_npm as fn(&Folders, &Workspace) -> Result<(), Error>, check_typescript as fn(_, _) -> _),
        ("Python", install_python, check_python),
    ] {
        match install(&folders, workspace) {
            Ok(()) => check(&folders, workspace)?,
            Err(error) => {
                skipped += 1;
                let reason = error.to_string();
                log(&format!("xtask: schema: {language} is skipped: {}", reason.lines().next().unwrap_or_default()));
            }
        }
    }
    log(&format!("xtask: schema: {} languages checked, {skipped} skipped", 2 - skipped));
    Ok(())
}

/// Writes the schemas, and what the commands print.
fn write_files(folders: &Folders, workspace: &Workspace) -> Result<(), Error> {
    let wharf = |args: &[&str]| {
        let mut command = Command::new(workspace.debug_program("wharf"), args).variable("HOME", &folders.home);
        for (name, folder) in [("WHARF_DATA", "data"), ("WHARF_CACHE", "cache"), ("WHARF_CONFIG", "config.toml")] {
            command = command.variable(name, folders.home.join(folder));
        }
        command.output(workspace)
    };
    let write = |path: PathBuf, text: String| fs::write(&path, text).map_err(|error| failed(&path, &error));
    for name in names(&wharf(&["schema", "--list"])?) {
        write(folders.schemas.join(format!("{name}.json")), wharf(&["schema", name])?)?;
    }
    for (file, args) in PRINTED {
        write(folders.printed.join(file), wharf(args)?)?;
    }
    Ok(())
}

/// The first word of each line.
fn names(list: &str) -> impl Iterator<Item = &str> {
    list.lines().filter_map(|line| line.split_whitespace().next())
}

fn install_npm(folders: &Folders, workspace: &Workspace) -> Result<(), Error> {
    let prefix = folders.npm.to_string_lossy();
    let install = ["install", "--prefix", &prefix, "--no-audit", "--no-fund", "--ignore-scripts", "--no-package-lock"];
    once(&folders.npm, &NPM, || Command::new("npm", &install).args(NPM).output(workspace).map(drop))
}

fn install_python(folders: &Folders, workspace: &Workspace) -> Result<(), Error> {
    once(&folders.venv, &PYPI, || {
        Command::new("python3", &["-m", "venv"]).args([&folders.venv]).output(workspace)?;
        let pip = Command::new(folders.python_program("python"), &["-m", "pip", "install", "--quiet"]);
        pip.args(PYPI).output(workspace).map(drop)
    })
}

/// Installs unless these versions are installed. The marker is written last, so that a partial installation is repeated.
fn once(folder: &Path, versions: &[&str], install: impl Fn() -> Result<(), Error>) -> Result<(), Error> {
    let marker = folder.join("installed");
    let versions = versions.join("\n");
    if fs::read_to_string(&marker).is_ok_and(|installed| installed == versions) {
        return Ok(());
    }
    fs::create_dir_all(folder).map_err(|error| failed(folder, &error))?;
    install()?;
    fs::write(&marker, versions).map_err(|error| failed(&marker, &error))
}

fn check_typescript(folders: &Folders, workspace: &Workspace) -> Result<(), Error> {
    let sources = workspace.root.join("tests").join("schema");
    for name in ["consumer.ts", "tsconfig.json"] {
        let copy = folders.typescript.join(name);
        fs::copy(sources.join(name), &copy).map_err(|error| failed(&copy, &error))?;
    }
    let compile = Command::new("node", &[]).args([sources.join("compile.cjs")]);
    compile.args([&folders.npm, &folders.schemas, &folders.typescript]).run(workspace)?;
    let tsc = Command::new("node", &[]).args([folders.npm.join("node_modules/typescript/bin/tsc")]);
    tsc.args(["--project".into(), folders.typescript.clone()]).run(workspace)
}

fn check_python(folders: &Folders, workspace: &Workspace) -> Result<(), Error> {
    for schema in files(&folders.schemas)? {
        let name = schema.file_stem().unwrap_or_default().to_string_lossy().replace('-', "_");
        let codegen = Command::new(folders.python_program("datamodel-codegen"), &["--input-file-type", "jsonschema"]);
        let options = ["--output-model-type", "pydantic_v2.BaseModel", "--target-python-version", "3.11"];
        let codegen = codegen.args(options).args(["--use-annotated", "--use-title-as-name", "--disable-timestamp"]);
        let codegen = codegen.args(["--input".into(), schema.clone(), "--output".into()]);
        codegen.args([folders.python.join(name).with_extension("py")]).output(workspace)?;
    }
    let consumer = folders.python.join("consumer.py");
    let source = workspace.root.join("tests").join("schema").join("consumer.py");
    fs::copy(source, &consumer).map_err(|error| failed(&consumer, &error))?;
    let mypy =
        Command::new(folders.python_program("mypy"), &["--strict", "--cache-dir"]).args([folders.venv.join("mypy")]);
    mypy.args([&folders.python]).run(workspace)?;
    Command::new(folders.python_program("python"), &[]).args([&consumer, &folders.printed]).run(workspace)
}

/// The files in a folder, in a stable order.
fn files(folder: &Path) -> Result<Vec<PathBuf>, Error> {
    let entries = fs::read_dir(folder).map_err(|error| failed(folder, &error))?;
    let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).filter(|path| path.is_file()).collect();
    files.sort();
    Ok(files)
}

fn failed(path: &Path, error: &std::io::Error) -> Error {
    Error::Other(format!("cannot use {}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_installed_is_installed_once_and_again_for_other_versions() {
        let folder = tempfile::tempdir().expect("a folder");
        let count = std::cell::Cell::new(0);
        let install = |versions: &[&str], works: bool| {
            once(folder.path(), versions, || {
                count.set(count.get() + 1);
                if works { Ok(()) } else { Err(Error::Other("no network".to_owned())) }
            })
        };
        assert!(install(&["a@1"], false).is_err());
        assert!(install(&["a@1"], true).is_ok() && install(&["a@1"], true).is_ok());
        assert_eq!(count.get(), 2);
        assert!(install(&["a@2"], true).is_ok());
        assert_eq!(count.get(), 3);
    }

    #[test]
    fn every_version_is_pinned() {
        assert!(NPM.iter().all(|package| package.contains('@')));
        assert!(PYPI.iter().all(|package| package.contains("==")));
    }

    #[test]
    fn the_name_of_a_schema_is_the_first_word_of_its_line() {
        assert_eq!(names("event   One line.\nruns  x\n\n").collect::<Vec<_>>(), ["event", "runs"]);
    }
}
