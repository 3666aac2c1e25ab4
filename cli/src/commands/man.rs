//! `wharf man`: the man page, or all of them in a folder.

use crate::ui::Shell;
use std::path::Path;
use std::process::ExitCode;
use wharf::{Error, Result};

pub(crate) fn man(folder: Option<&Path>, command: clap::Command, shell: &Shell) -> Result<ExitCode> {
    if let Some(folder) = folder {
        let failed = |error: std::io::Error| Error::system(format!("writing man pages to {}", folder.display()), error);
        std::fs::create_dir_all(folder).map_err(failed)?;
        clap_mangen::generate_to(command, folder).map_err(failed)?;
        Ok(ExitCode::SUCCESS)
    } else {
        let mut page = Vec::new();
        clap_mangen::Man::new(command)
            .render(&mut page)
            .map_err(|error| Error::system("rendering the man page", error))?;
        shell.bytes(&page)
    }
}
