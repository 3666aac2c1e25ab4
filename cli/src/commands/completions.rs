//! `wharf completions`: a completion script for a shell.

use crate::ui::Shell;
use std::process::ExitCode;
use wharf::Result;

pub(crate) fn completions(kind: clap_complete::Shell, command: &mut clap::Command, shell: &Shell) -> Result<ExitCode> {
    let mut script = Vec::new();
    clap_complete::generate(kind, command, "wharf", &mut script);
    shell.bytes(&script)
}
