//! `wharf adapters`: the adapters, what they request and what is granted to them.

use crate::host::host_without_project;
use crate::ui::{BOLD, DIM, GOOD, ODD, Shell, Text, foreign, ours};
use clap::{Args, Subcommand};
use schemars::JsonSchema;
use serde::Serialize;
use std::process::ExitCode;
use wharf::adapter::{Access, Adapter, AdapterEntry, AdapterInfo, NamedAgent};
use wharf::{Host, Result};

#[derive(Debug, Clone, Args)]
pub(crate) struct AdaptersArgs {
    #[command(subcommand)]
    pub(crate) command: Option<AdaptersCommand>,
    /// Print JSON
    #[arg(long, global = true)]
    pub(crate) json: bool,
}

#[derive(Debug, Clone, Subcommand)]
pub(crate) enum AdaptersCommand {
    /// List them
    List,
    /// Show what one requests, what it is granted, and its options
    Show {
        /// An id, the name of an agent, or the path of a component
        adapter: String,
    },
}

/// An adapter in the list.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "AdapterRow")]
pub(crate) struct AdapterRow<'a> {
    /// By which it is named.
    id: &'a str,
    /// Where it comes from: `bundled`, or a path.
    source: String,
    /// Whether a bundled adapter of the same id is used instead.
    shadowed: bool,
    /// The product's name; null if it is not loaded.
    name: Option<&'a str>,
    /// The adapter's version; null if it is not loaded.
    version: Option<&'a str>,
    /// Why it cannot be loaded.
    error: Option<String>,
    /// The adapter that runs it, if the id is the name of an agent and not of an adapter.
    adapter: Option<&'a str>,
    /// The command of that agent: its program and its first arguments.
    command: Option<&'a [String]>,
}

impl<'a> AdapterRow<'a> {
    fn new(entry: &'a AdapterEntry, loaded: Option<&'a Result<Adapter>>) -> AdapterRow<'a> {
        let info = loaded.and_then(|loaded| loaded.as_ref().ok()).map(Adapter::info);
        AdapterRow {
            id: &entry.id,
            source: entry.source.to_string(),
            shadowed: entry.shadowed,
            name: info.map(|info| info.name.as_str()),
            version: info.map(|info| info.version.as_str()),
            error: loaded.and_then(|loaded| loaded.as_ref().err()).map(ToString::to_string),
            adapter: entry.agent.as_ref().map(|agent| agent.adapter.as_str()),
            command: entry.agent.as_ref().map(|agent| agent.command.as_slice()),
        }
    }
}

/// One adapter: what it requests and what it is granted.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "AdapterDetails")]
pub(crate) struct AdapterDetails<'a> {
    /// As the adapter describes itself.
    info: &'a AdapterInfo,
    /// Where it comes from: `bundled`, or a path.
    source: String,
    /// The SHA-256 of its component, in hexadecimal.
    digest: &'a str,
    /// The names under which the configuration may grant it something.
    keys: &'a [String],
    /// What it requests and is granted.
    granted: &'a Access,
    /// What it requests and is not granted.
    missing: Access,
}

pub(crate) async fn adapters(args: AdaptersArgs, shell: &Shell) -> Result<ExitCode> {
    let host = host_without_project()?;
    match args.command {
        Some(AdaptersCommand::Show { adapter }) => show(&host, &adapter, args.json, shell).await,
        Some(AdaptersCommand::List) | None => list(&host, args.json, shell).await,
    }
}

async fn list(host: &Host, json: bool, shell: &Shell) -> Result<ExitCode> {
    let mut rows = Vec::new();
    for entry in host.adapters()? {
        let loaded = if entry.shadowed { None } else { Some(host.adapter(&entry.id).await) };
        rows.push((entry, loaded));
    }
    if json {
        let rows = rows.iter().map(|(entry, loaded)| AdapterRow::new(entry, loaded.as_ref()));
        return shell.json(&rows.collect::<Vec<_>>());
    }
    for (entry, loaded) in rows {
        let id = foreign(&entry.id).padded(12).in_style(BOLD).ours(" ");
        shell.line(match loaded {
            Some(Ok(adapter)) => {
                let info = adapter.info();
                let source = match &entry.agent {
                    None => ours("(").foreign(entry.source).ours(")"),
                    Some(agent) => ours("(").foreign(by_adapter(agent)).ours(")"),
                };
                let source = source.in_style(DIM);
                id.foreign(&info.version).ours(" ").foreign(&info.name).ours(" ").then(source)
            }
            Some(Err(error)) => id.then(foreign(error).in_style(ODD)),
            None => {
                let why =
                    foreign(entry.source).ours(" is not used: list it in `shadow` in the configuration to use it");
                id.then(why.in_style(DIM))
            }
        });
    }
    Ok(ExitCode::SUCCESS)
}

/// How an agent that has no adapter of its own is run.
fn by_adapter(agent: &NamedAgent) -> String {
    let command = agent.command.join(" ");
    format!("by {}{}{command}", agent.adapter, if command.is_empty() { "" } else { ": " })
}

/// One of the four lists.
type List = fn(&Access) -> &Vec<String>;

async fn show(host: &Host, name: &str, json: bool, shell: &Shell) -> Result<ExitCode> {
    let adapter = host.adapter(name).await?;
    let grants = host.grants(&adapter)?;
    let info = adapter.info();
    if json {
        return shell.json(&AdapterDetails {
            info,
            source: adapter.source().to_string(),
            digest: adapter.digest(),
            keys: adapter.config_keys(),
            granted: &grants.granted,
            missing: grants.missing(),
        });
    }
    let id = foreign(&info.id).in_style(BOLD);
    shell.line(id.ours(" ").foreign(&info.version).ours(" — ").foreign(&info.name));
    if let Some(agent) = adapter.agent() {
        shell.line(ours("  runs         ").foreign(by_adapter(agent)));
    }
    shell.line(ours("  source       ").foreign(adapter.source()));
    shell.line(ours("  sha256       ").foreign(adapter.digest()));
    shell.line(ours("  tested with  ").foreign(info.tested_with.join(", ")));
    let missing = grants.missing();
    let lists: [(&'static str, List); 4] = [
        ("programs", |access| &access.programs),
        ("origins", |access| &access.origins),
        ("variables", |access| &access.variables),
        ("files", |access| &access.files),
    ];
    for (title, list) in lists {
        for item in list(&info.access) {
            let state = if list(&missing).contains(item) {
                ours("not granted").in_style(ODD)
            } else {
                ours("granted").in_style(GOOD)
            };
            let title = ours("  ").then(ours(title).padded(12));
            shell.line(title.ours(" ").foreign(item).ours(" ").then(state));
        }
    }
    for option in &info.options {
        let name = foreign(&option.name).in_style(BOLD);
        let choices = option.choices.join("|");
        let choices = if choices.is_empty() { Text::default() } else { ours(" [").foreign(choices).ours("]") };
        let default = option.default.as_ref().map(|default| ours(" (default ").foreign(default).ours(")"));
        let default = default.unwrap_or_default().in_style(DIM);
        shell.line(ours("  option       ").then(name).then(choices).ours(": ").foreign(&option.help).then(default));
    }
    for name in info.access.variables.iter().filter(|name| wharf::loads_code(name)) {
        let reason = " makes programs load other code: if it is granted, the adapter can read it and the agent gets yours; \
                      the adapter can never set it";
        shell.warn(foreign(name).ours(reason));
    }
    if missing != Access::default() {
        let file = host.dirs().config.display();
        shell.say(ours("\nto grant what is missing, add this to ").foreign(file).ours(":\n"));
        for (at, key) in adapter.config_keys().iter().enumerate() {
            let head = ours(if at == 0 { "[grants." } else { "# or, whatever its content: [grants." });
            shell.say(head.foreign(toml_key(key)).ours("]"));
        }
        for (title, list) in lists {
            if !list(&missing).is_empty() {
                shell.say(ours(title).ours(" = ").foreign(serde_json::json!(list(&missing))));
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// A key as TOML needs it: quoted, unless it is an id.
fn toml_key(key: &str) -> String {
    let bare = key.chars().all(|character| character.is_ascii_alphanumeric() || character == '-');
    if bare { key.to_owned() } else { serde_json::json!(key).to_string() }
}
