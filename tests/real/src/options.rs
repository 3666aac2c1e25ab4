//! The command line, which `cargo xtask real` writes.

use std::path::PathBuf;

/// Which agent is driven.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Copilot,
    Claude,
}

/// What is to be run.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Options {
    pub(crate) kind: Kind,
    /// The agent's version.
    pub(crate) version: String,
    /// Where npm installed it.
    pub(crate) install: PathBuf,
    /// Where scenarios keep their things.
    pub(crate) work: PathBuf,
    /// The `wharf` to drive.
    pub(crate) wharf: PathBuf,
    /// The folders of PATH after those of the agent.
    pub(crate) path: String,
    /// A component to be used instead of the bundled one, to try a change without building the host.
    pub(crate) adapter: Option<PathBuf>,
    /// Only scenarios whose name has this in it.
    pub(crate) scenario: Option<String>,
    /// The file whose table is brought up to date.
    pub(crate) table: Option<PathBuf>,
}

impl Options {
    pub(crate) fn parse(words: &[String]) -> Result<Options, String> {
        let value = |name: &str| -> Option<String> {
            let at = words.iter().position(|word| word == name)?;
            words.get(at + 1).cloned()
        };
        let needed = |name: &str| value(name).ok_or_else(|| format!("{name} is missing"));
        let kind = match needed("--agent")?.as_str() {
            "copilot" => Kind::Copilot,
            "claude" => Kind::Claude,
            other => return Err(format!("there is no agent `{other}`")),
        };
        Ok(Options {
            kind,
            version: needed("--version")?,
            install: needed("--install")?.into(),
            work: needed("--work")?.into(),
            wharf: needed("--wharf")?.into(),
            path: needed("--path")?,
            adapter: value("--adapter").map(PathBuf::from),
            scenario: value("--scenario"),
            table: value("--table").map(PathBuf::from),
        })
    }
}
