//! `wharf receipt`: the receipt of a run, or whether it holds.

use crate::host::host_without_project;
use crate::ui::{BAD, GOOD, Shell, ours};
use clap::Args;
use std::process::ExitCode;
use wharf::Result;

#[derive(Debug, Clone, Args)]
pub(crate) struct ReceiptArgs {
    /// The run: an id, its beginning, or `last`
    pub(crate) run: String,
    /// Check the receipt, the recording and the events against their digests
    #[arg(long)]
    pub(crate) verify: bool,
    /// Print JSON, as a receipt is in any case
    #[arg(long)]
    pub(crate) json: bool,
}

pub(crate) fn receipt(args: &ReceiptArgs, shell: &Shell) -> Result<ExitCode> {
    let receipt = host_without_project()?.runs().find(&args.run)?.receipt()?;
    if !args.verify {
        shell.json_lines(receipt.text());
        return Ok(ExitCode::SUCCESS);
    }
    let verified = receipt.verify()?;
    if args.json {
        shell.json(&verified)?;
    } else {
        for check in &verified.checks {
            let mark = if check.holds() { ours("✓").in_style(GOOD) } else { ours("✗").in_style(BAD) };
            shell.line(mark.ours(" ").foreign(check));
        }
    }
    Ok(if verified.holds() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
