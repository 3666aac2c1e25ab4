//! What narrows a list of runs or sessions.

use crate::labels::labels;
use clap::Args;
use std::path::PathBuf;
use wharf::{Labels, Result};

#[derive(Debug, Clone, Args)]
pub(crate) struct FilterArgs {
    /// Only those with this label, as NAME=VALUE; repeat it for several
    #[arg(long = "label", value_name = "NAME=VALUE")]
    labels: Vec<String>,
    /// Only those in this folder
    #[arg(short = 'C', long, value_name = "FOLDER")]
    workspace: Option<PathBuf>,
    /// How many to list
    #[arg(short = 'n', long, default_value_t = 20)]
    pub(crate) limit: usize,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

impl FilterArgs {
    /// The labels, parsed.
    pub(crate) fn labels(&self) -> Result<Labels> {
        labels(&self.labels)
    }

    /// The folder as runs and sessions have it: its real path, unless it does not exist any more.
    pub(crate) fn workspace(&self) -> Option<PathBuf> {
        self.workspace.as_ref().map(|folder| std::fs::canonicalize(folder).unwrap_or_else(|_| folder.clone()))
    }
}
