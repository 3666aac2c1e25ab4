//! `wharf models`: the models that an agent offers.

use crate::host::host;
use crate::ui::{BOLD, DIM, GOOD, Shell, foreign, ours};
use clap::Args;
use std::path::Path;
use std::process::ExitCode;
use wharf::adapter::ModelList;
use wharf::{Error, Result};

#[derive(Debug, Clone, Args)]
pub(crate) struct ModelsArgs {
    /// The adapter: an id, or the path of a component
    #[arg(env = "WHARF_ADAPTER")]
    pub(crate) adapter: Option<String>,
    /// Ask the agent again, instead of using a recent list
    #[arg(long)]
    pub(crate) refresh: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

pub(crate) async fn models(args: ModelsArgs, shell: &Shell) -> Result<ExitCode> {
    let host = host(Path::new("."))?;
    let name = args.adapter.or_else(|| host.config().adapter.clone());
    let name = name.ok_or_else(|| Error::invalid("no adapter is named").with_hint("`wharf adapters` lists them"))?;
    let adapter = host.adapter(&name).await?;
    let list = host.models(&adapter, args.refresh).await?;
    if args.json {
        shell.json(&list)?;
    } else if let ModelList::Models(models) = &list {
        for model in models {
            let mark = ours(if model.is_default { "*" } else { " " }).in_style(GOOD);
            let context = model.context.map(|tokens| format!(" {}k", tokens / 1000)).unwrap_or_default();
            let efforts =
                if model.efforts.is_empty() { String::new() } else { format!(" [{}]", model.efforts.join(" ")) };
            let id = foreign(&model.id).padded(28).in_style(BOLD);
            let details = foreign(context).foreign(efforts).in_style(DIM);
            shell.line(mark.ours(" ").then(id).ours(" ").foreign(&model.name).then(details));
        }
    }
    match list {
        ModelList::Models(_) => Ok(ExitCode::SUCCESS),
        ModelList::Unsupported => Err(Error::invalid(format!("the adapter {name} cannot list models"))),
        ModelList::Unavailable(reason) => {
            Err(Error::agent(format!("the models of {name} cannot be listed now: {reason}")))
        }
        ModelList::NeedsAuth(action) => {
            Err(Error::agent(format!("the models of {name} cannot be listed without a login")).with_hint(action))
        }
    }
}
