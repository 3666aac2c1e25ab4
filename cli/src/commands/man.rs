//! `wharf man`: the man page, or all of them in a folder. Each has the exit codes and the environment variables, because
//! each command has its own page.

use crate::args::{EXIT_CODES, VARIABLES};
use crate::ui::Shell;
use clap::Command;
use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, roman};
use std::io;
use std::path::Path;
use std::process::ExitCode;
use wharf::{Error, Result};

pub(crate) fn man(folder: Option<&Path>, command: Command, shell: &Shell) -> Result<ExitCode> {
    let mut command = command.disable_help_subcommand(true);
    command.build();
    if let Some(folder) = folder {
        let failed = |error: io::Error| Error::system(format!("writing man pages to {}", folder.display()), error);
        std::fs::create_dir_all(folder).and_then(|()| write_all(&command, folder)).map_err(failed)?;
        Ok(ExitCode::SUCCESS)
    } else {
        let page = page(&command, &Man::new(command.clone()));
        shell.bytes(&page.map_err(|error| Error::system("rendering the man page", error))?)
    }
}

/// The pages of a command and of those below it.
fn write_all(command: &Command, folder: &Path) -> io::Result<()> {
    for inner in command.get_subcommands().filter(|inner| !inner.is_hide_set()) {
        write_all(inner, folder)?;
    }
    let man = Man::new(command.clone());
    std::fs::write(folder.join(man.get_filename()), page(command, &man)?)
}

fn page(command: &Command, man: &Man) -> io::Result<Vec<u8>> {
    let mut page = Vec::new();
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    man.render_description_section(&mut page)?;
    man.render_options_section(&mut page)?;
    if command.get_subcommands().any(|inner| !inner.is_hide_set()) {
        man.render_subcommands_section(&mut page)?;
    }
    let mut roff = Roff::new();
    for (title, rows) in [("EXIT STATUS", &EXIT_CODES[..]), ("ENVIRONMENT", &VARIABLES[..])] {
        roff.control("SH", [title]);
        for (name, meaning) in rows {
            roff.control("TP", []);
            roff.text([bold(*name)]);
            roff.text([roman(*meaning)]);
        }
    }
    roff.to_writer(&mut page)?;
    man.render_version_section(&mut page)?;
    Ok(page)
}
