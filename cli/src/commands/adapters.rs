//! `wharf adapters`: the adapters, what they request and what is granted to them.

use crate::host::host_without_project;
use crate::ui::{BOLD, DIM, GOOD, ODD, Shell, styled, visible};
use clap::{Args, Subcommand};
use std::process::ExitCode;
use wharf::adapter::{Access, Adapter};
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
        /// An id, or the path of a component
        adapter: String,
    },
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
        let rows: Vec<serde_json::Value> = rows
            .iter()
            .map(|(entry, loaded)| {
                let info = loaded.as_ref().and_then(|loaded| loaded.as_ref().ok()).map(Adapter::info);
                let error = loaded.as_ref().and_then(|loaded| loaded.as_ref().err()).map(ToString::to_string);
                serde_json::json!({
                    "id": entry.id, "source": entry.source.to_string(), "shadowed": entry.shadowed,
                    "name": info.map(|info| &info.name), "version": info.map(|info| &info.version), "error": error,
                })
            })
            .collect();
        return shell.json(&rows);
    }
    for (entry, loaded) in rows {
        let id = styled(BOLD, format!("{:<12}", entry.id));
        match loaded {
            Some(Ok(adapter)) => {
                let info = adapter.info();
                shell.line(format!(
                    "{id} {} {} {}",
                    visible(&info.version),
                    visible(&info.name),
                    styled(DIM, format!("({})", entry.source))
                ));
            }
            Some(Err(error)) => shell.line(format!("{id} {}", styled(ODD, visible(&error.to_string())))),
            None => shell.line(format!(
                "{id} {}",
                styled(
                    DIM,
                    format!("{} is not used: list it in `shadow` in the configuration to use it", entry.source)
                )
            )),
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// One of the four lists.
type List = fn(&Access) -> &Vec<String>;

async fn show(host: &Host, name: &str, json: bool, shell: &Shell) -> Result<ExitCode> {
    let adapter = host.adapter(name).await?;
    let grants = host.grants(&adapter)?;
    let info = adapter.info();
    if json {
        return shell.json(&serde_json::json!({
            "info": info, "source": adapter.source().to_string(), "digest": adapter.digest(), "keys": adapter.config_keys(),
            "granted": grants.granted, "missing": grants.missing(),
        }));
    }
    shell.line(format!("{} {} — {}", styled(BOLD, &info.id), visible(&info.version), visible(&info.name)));
    shell.line(format!("  source       {}", adapter.source()));
    shell.line(format!("  sha256       {}", adapter.digest()));
    shell.line(format!("  tested with  {}", visible(&info.tested_with)));
    let missing = grants.missing();
    let lists: [(&str, List); 4] = [
        ("programs", |access| &access.programs),
        ("origins", |access| &access.origins),
        ("variables", |access| &access.variables),
        ("files", |access| &access.files),
    ];
    for (title, list) in lists {
        for item in list(&info.access) {
            let state =
                if list(&missing).contains(item) { styled(ODD, "not granted") } else { styled(GOOD, "granted") };
            shell.line(format!("  {title:<12} {} {state}", visible(item)));
        }
    }
    for option in &info.options {
        let default = option.default.as_ref().map(|default| format!(" (default {default})")).unwrap_or_default();
        let choices =
            if option.choices.is_empty() { String::new() } else { format!(" [{}]", option.choices.join("|")) };
        shell.line(format!(
            "  option       {}{}: {}{}",
            styled(BOLD, visible(&option.name)),
            visible(&choices),
            visible(&option.help),
            styled(DIM, visible(&default))
        ));
    }
    if missing != Access::default() {
        shell.say(format!("\nto grant what is missing, add this to {}:\n", host.dirs().config.display()));
        for (at, key) in adapter.config_keys().iter().enumerate() {
            let key = toml_key(key);
            shell.say(visible(&if at == 0 {
                format!("[grants.{key}]")
            } else {
                format!("# or, whatever its content: [grants.{key}]")
            }));
        }
        for (title, list) in lists {
            if !list(&missing).is_empty() {
                shell.say(visible(&format!("{title} = {}", serde_json::json!(list(&missing)))));
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
