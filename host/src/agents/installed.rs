//! One installed version of an agent, and the file that describes it.

use crate::disk::{Links, read_plain_file, write_atomically};
use crate::packages::Registry;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::io;
use std::path::{Component, Path, PathBuf};
use std::time::SystemTime;
use wharf_core::model::time::{self, Rfc3339};

/// The name of the file in the folder of a version. A folder without it was not installed completely.
const FILE: &str = "wharf.json";

/// The largest such file.
const LIMIT: u64 = 64 << 10;

/// An installed version of an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[non_exhaustive]
pub struct InstalledAgent {
    /// The agent's name.
    pub agent: String,
    /// Its version.
    pub version: String,
    /// Where it was downloaded from.
    pub registry: Registry,
    /// The name of its package there.
    pub package: String,
    /// The path of its program.
    pub program: PathBuf,
    /// The version of Node.js that the package requires, as it says so: `>=22`; null if it says nothing.
    pub node: Option<String>,
    /// When it was installed.
    #[serde(with = "time::rfc3339")]
    #[schemars(with = "Rfc3339")]
    pub installed: SystemTime,
    /// The folder that contains it.
    pub folder: PathBuf,
    /// The path of the program that it starts in turn, by the variable that names it.
    #[serde(skip)]
    pub(crate) companion: Option<(String, PathBuf)>,
}

/// What the file says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Manifest {
    pub(crate) registry: Registry,
    pub(crate) package: String,
    /// Relative to the folder.
    pub(crate) program: PathBuf,
    #[serde(default)]
    pub(crate) node: Option<String>,
    #[serde(with = "time::rfc3339")]
    pub(crate) installed: SystemTime,
    /// A variable, and the path of a program, relative to the folder.
    #[serde(default)]
    pub(crate) companion: Option<(String, PathBuf)>,
}

impl Manifest {
    /// Writes it into the folder of a version, as the last file.
    pub(crate) fn write(&self, folder: &Path) -> io::Result<()> {
        let text = serde_json::to_vec_pretty(self).map_err(io::Error::other)?;
        write_atomically(&folder.join(FILE), &[&text])
    }

    fn read(folder: &Path) -> Option<Manifest> {
        let content = read_plain_file(&folder.join(FILE), Links::Refuse, LIMIT).ok()?;
        let manifest: Manifest = serde_json::from_slice(&content).ok()?;
        let companion = manifest.companion.iter().map(|(_, path)| path);
        std::iter::once(&manifest.program).chain(companion).all(|path| is_inside(path)).then_some(manifest)
    }
}

/// Whether a path stays in the folder that it is relative to.
fn is_inside(path: &Path) -> bool {
    path.components().all(|part| matches!(part, Component::Normal(_)))
}

impl InstalledAgent {
    /// The agent in the folder of a version; none if it was not installed completely.
    pub(super) fn read(agent: &str, version: &str, folder: &Path) -> Option<InstalledAgent> {
        let manifest = Manifest::read(folder)?;
        Some(InstalledAgent {
            agent: agent.to_owned(),
            version: version.to_owned(),
            registry: manifest.registry,
            package: manifest.package,
            program: folder.join(manifest.program),
            node: manifest.node,
            installed: manifest.installed,
            companion: manifest.companion.map(|(variable, path)| (variable, folder.join(path))),
            folder: folder.to_owned(),
        })
    }
}
