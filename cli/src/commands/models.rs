//! `wharf models`: the models that an agent offers, and the user's shorthands for them.

use crate::host::host;
use crate::ui::{BOLD, DIM, GOOD, Shell, foreign, ours};
use clap::Args;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
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
    let shorthands = host.config().models.of(adapter.config_keys());
    if args.json {
        shell.json(&ListedModels { list: &list, shorthands })?;
    } else {
        show(&list, &shorthands, shell);
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

/// The models that an agent offers, and the user's own names for them.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ListedModels")]
pub(crate) struct ListedModels<'a> {
    #[serde(flatten)]
    list: &'a ModelList,
    /// The shorthands of the configuration that this agent has an entry for, with its own names.
    shorthands: BTreeMap<&'a str, &'a str>,
}

fn show(list: &ModelList, shorthands: &BTreeMap<&str, &str>, shell: &Shell) {
    for (shorthand, model) in shorthands {
        let id = foreign(shorthand).padded(28).in_style(BOLD);
        shell.line(ours("  ").then(id).ours(" ").foreign(model).then(ours(" (shorthand)").in_style(DIM)));
    }
    let ModelList::Models(models) = list else { return };
    for model in models {
        let mark = ours(if model.is_default { "*" } else { " " }).in_style(GOOD);
        let context = model.context.map(|tokens| format!(" {}k", tokens / 1000)).unwrap_or_default();
        let efforts = if model.efforts.is_empty() { String::new() } else { format!(" [{}]", model.efforts.join(" ")) };
        let id = foreign(&model.id).padded(28).in_style(BOLD);
        let details = foreign(context).foreign(efforts).in_style(DIM);
        shell.line(mark.ours(" ").then(id).ours(" ").foreign(&model.name).then(details));
    }
}
