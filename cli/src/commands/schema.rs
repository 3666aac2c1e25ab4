//! `wharf schema`: the JSON Schemas of everything that goes in and comes out as JSON or TOML.

use super::adapters::{AdapterDetails, AdapterRow};
use super::agent::{AgentRow, AvailableAgent};
use super::doctor::DoctorEntry;
use super::explain::ExplainedTurn;
use super::models::ListedModels;
use crate::ui::input::Control;
use crate::ui::{BOLD, Shell, foreign};
use clap::Args;
use schemars::JsonSchema;
use serde_json::Value;
use std::process::ExitCode;
use wharf::ask::AskRules;
use wharf::event::Event;
use wharf::recording::{ReceiptFile, RunEntry, Verified};
use wharf::schema::{Direction, EVENT_SCHEMA, SchemaHead};
use wharf::session::{SessionEntry, UsageGroup};
use wharf::{Config, Error, Labels, ProjectConfig, Result};

#[derive(Debug, Clone, Args)]
pub(crate) struct SchemaArgs {
    /// What the schema describes: see --list
    #[arg(default_value = "event")]
    pub(crate) name: String,
    /// List the names
    #[arg(long, conflicts_with = "name")]
    pub(crate) list: bool,
}

/// A schema that the command can print.
struct Entry {
    head: SchemaHead,
    build: fn(&SchemaHead) -> Value,
}

const fn written<T: JsonSchema>(name: &'static str, title: &'static str, description: &'static str) -> Entry {
    let head = SchemaHead { name, title, description, direction: Direction::Out };
    Entry { head, build: SchemaHead::schema_of::<T> }
}

const fn read<T: JsonSchema>(name: &'static str, title: &'static str, description: &'static str) -> Entry {
    let head = SchemaHead { name, title, description, direction: Direction::In };
    Entry { head, build: SchemaHead::schema_of::<T> }
}

const SCHEMAS: [Entry; 20] = [
    Entry { head: EVENT_SCHEMA, build: SchemaHead::schema_of::<Event> },
    read::<Control>("control", "WharfControl", "One line on the standard input of `wharf run --json --control`."),
    written::<Vec<RunEntry>>("runs", "WharfRuns", "`wharf runs --json`: the recorded runs, newest first."),
    written::<Vec<SessionEntry>>("sessions", "WharfSessions", "`wharf sessions --json`: the sessions, latest first."),
    written::<SessionEntry>("session", "WharfSession", "`wharf sessions SESSION --json`: one session."),
    written::<Vec<UsageGroup>>("usage", "WharfUsage", "`wharf usage --json`: what the runs have used."),
    written::<Vec<AdapterRow<'_>>>("adapters", "WharfAdapters", "`wharf adapters --json`: the adapters."),
    written::<AdapterDetails<'_>>("adapter", "WharfAdapter", "`wharf adapters show ADAPTER --json`: one adapter."),
    written::<Vec<DoctorEntry<'_>>>("doctor", "WharfDoctor", "`wharf doctor --json`: which agents are usable."),
    written::<Vec<AgentRow<'_>>>("agents", "WharfAgents", "`wharf agent list --json`: the installed agents."),
    written::<AgentRow<'_>>("agent", "WharfAgent", "`wharf agent install NAME --json`: what was installed."),
    written::<Vec<AvailableAgent>>(
        "available-agents",
        "WharfAvailableAgents",
        "`wharf agent list --available --json`: what can be installed.",
    ),
    written::<ListedModels<'_>>("models", "WharfModels", "`wharf models --json`: the models, or why there is no list."),
    written::<ExplainedTurn<'_>>("explain", "WharfExplain", "`wharf explain --json`: what a turn would start."),
    written::<ReceiptFile>("receipt", "WharfReceipt", "`wharf receipt RUN`: the receipt of a run, as its file has it."),
    written::<Verified>("verification", "WharfVerification", "`wharf receipt RUN --verify --json`: whether it holds."),
    read::<AskRules>("rules", "WharfRules", "The TOML file of `wharf run --rules`: which asks are answered how."),
    read::<Config>("config", "WharfConfig", "The user's configuration, a TOML file."),
    read::<ProjectConfig>("project-config", "WharfProjectConfig", "A project's `.wharf.toml`."),
    written::<Labels>("labels", "WharfLabels", "The labels of a run: names and values."),
];

pub(crate) fn schema(args: &SchemaArgs, shell: &Shell) -> Result<ExitCode> {
    if args.list {
        for Entry { head, .. } in &SCHEMAS {
            shell.line(foreign(format!("{:<15}", head.name)).in_style(BOLD).ours(" ").ours(head.description));
        }
        return Ok(ExitCode::SUCCESS);
    }
    let Some(Entry { head, build }) = SCHEMAS.iter().find(|entry| entry.head.name == args.name) else {
        let names: Vec<&str> = SCHEMAS.iter().map(|entry| entry.head.name).collect();
        return Err(Error::invalid(format!("there is no schema `{}`", args.name))
            .with_hint(format!("one of {}", names.join(", "))));
    };
    shell.json(&build(head))
}
