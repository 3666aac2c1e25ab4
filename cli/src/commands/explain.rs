//! `wharf explain`: what a turn would start, without starting it.

use super::run::args::RunArgs;
use crate::host::host;
use crate::turn;
use crate::ui::{BOLD, DIM, ODD, Shell, Text, ours};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;
use wharf::adapter::{AdapterInfo, Arg, ExitBehavior, Framing, InstructionFile, Plan, Support};
use wharf::event::UnsupportedSetting;
use wharf::{Explanation, Result};

pub(crate) async fn explain(args: RunArgs, shell: &Shell) -> Result<ExitCode> {
    let (adapter, host) = turn::adapter_for(&args, host(&args.workspace)?).await?;
    let turn = turn::turn(&args, &host, &adapter, false)?;
    let options = turn::run_options(&args, &host)?;
    let mut explanation = host.explain(&adapter, turn, &options).await?;
    if let Some(plan) = explanation.plan.as_mut().filter(|_| args.control)
        && let Some(reason) = plan.no_messages.take()
    {
        plan.unsupported.push(UnsupportedSetting { name: "messages".to_owned(), reason });
    }
    if args.json {
        return shell.json(&ExplainedTurn::new(adapter.info(), &explanation));
    }
    show(adapter.info(), &explanation, shell);
    Ok(ExitCode::SUCCESS)
}

/// What a turn would start, as far as it is known without starting anything. What is not known is null.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ExplainedTurn")]
pub(crate) struct ExplainedTurn<'a> {
    /// The id of the adapter, or the name of the agent.
    adapter: &'a str,
    /// The folder that the agent would work in.
    workspace: &'a Path,
    /// The adapter's options in effect.
    options: &'a BTreeMap<String, Value>,
    /// The names of the variables that the agent would get.
    environment: &'a [String],
    /// What the adapter would do first to find its agent. It was not done.
    probes: &'a [String],
    /// Why something is not known without these probes.
    unknown: Option<&'a str>,
    /// The agent's program.
    program: Option<&'a str>,
    /// The agent's version.
    version: Option<&'a str>,
    /// Whether the adapter was tested with that version.
    support: Option<Support>,
    /// How the host would talk to the agent.
    transport: Option<&'a str>,
    /// Why that version is known not to work.
    unsupported_because: Option<&'a str>,
    /// The arguments, in order.
    args: Option<Vec<String>>,
    /// The variables that the adapter sets.
    sets: Option<BTreeMap<&'a str, String>>,
    /// The launch files: names and contents.
    files: Option<BTreeMap<&'a str, Cow<'a, str>>>,
    /// What would be written to the agent's stdin at the start.
    stdin: Option<Cow<'a, str>>,
    /// Whether stdin would stay open after that.
    stdin_open: Option<bool>,
    /// How the agent's output would be cut into frames.
    framing: Option<Framing>,
    /// How the process would exit.
    exit_behavior: Option<ExitBehavior>,
    /// Settings that the agent cannot apply.
    unsupported: Option<&'a [UnsupportedSetting]>,
    /// The files and folders of the workspace that are instructions to this agent.
    instructions: Option<Vec<Instruction<'a>>>,
    /// What a person should know about the settings.
    notices: &'a [String],
}

/// A file or a folder of the workspace that is an instruction to the agent.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Instruction")]
struct Instruction<'a> {
    /// Relative to the workspace.
    path: &'a str,
    /// Whether the agent would read it in this turn.
    read: bool,
    /// Whether it is there.
    exists: bool,
}

impl<'a> ExplainedTurn<'a> {
    fn new(info: &'a AdapterInfo, explanation: &'a Explanation) -> ExplainedTurn<'a> {
        let Explanation { binary, turn, plan, probes, unknown, environment, notices, .. } = explanation;
        let (binary, plan) = (binary.as_ref(), plan.as_ref());
        let named = |(name, value): &'a (String, Arg)| (name.as_str(), shown(value));
        let instruction = |file: &'a InstructionFile| Instruction {
            path: &file.path,
            read: file.read,
            exists: exists(explanation, file),
        };
        let content = |(name, bytes): &'a (String, Vec<u8>)| (name.as_str(), String::from_utf8_lossy(bytes));
        ExplainedTurn {
            adapter: &info.id,
            workspace: &turn.workspace,
            options: &turn.options,
            environment,
            probes,
            unknown: unknown.as_deref(),
            program: binary.map(|binary| binary.program.as_str()),
            version: binary.and_then(|binary| binary.version.as_deref()),
            support: binary.map(|binary| binary.support),
            transport: plan.map(|plan| plan.transport.as_str()),
            unsupported_because: binary.and_then(|binary| binary.unsupported_because.as_deref()),
            args: plan.map(|plan| plan.args.iter().map(shown).collect()),
            sets: plan.map(|plan| plan.variables.iter().map(named).collect()),
            files: plan.map(|plan| plan.files.iter().map(content).collect()),
            stdin: plan.map(|plan| String::from_utf8_lossy(&plan.stdin)),
            stdin_open: plan.map(|plan| plan.stdin_open),
            framing: plan.map(|plan| plan.framing),
            exit_behavior: plan.map(|plan| plan.exit_behavior),
            unsupported: plan.map(|plan| plan.unsupported.as_slice()),
            instructions: plan.map(|plan| plan.instructions.iter().map(instruction).collect()),
            notices,
        }
    }
}

fn show(info: &AdapterInfo, explanation: &Explanation, shell: &Shell) {
    for notice in &explanation.notices {
        shell.line(odd_head("notice").foreign(notice));
    }
    for probe in &explanation.probes {
        shell.line(head("would first").foreign(probe));
    }
    if let Some(reason) = &explanation.unknown {
        shell.line(odd_head("unknown").ours("the rest is not known without that: ").foreign(reason));
    }
    if let Some(binary) = &explanation.binary {
        let version = binary.version.as_deref().unwrap_or("unknown version");
        shell.line(head("program").foreign(&binary.program).ours(" (").foreign(version).ours(")"));
    }
    shell.line(head("workspace").foreign(explanation.turn.workspace.display()));
    let environment = head("environment").foreign(explanation.environment.join(" "));
    let Some(plan) = &explanation.plan else {
        shell.line(environment);
        return;
    };
    shell.line(head("transport").foreign(&plan.transport));
    if plan.args.is_empty() {
        shell.line(head("arguments"));
    }
    for (at, arg) in plan.args.iter().enumerate() {
        let start = if at == 0 { head("arguments") } else { ours(INDENT) };
        shell.line(start.foreign(shown(arg)));
    }
    for (name, value) in &plan.variables {
        shell.line(head("sets").foreign(name).ours("=").foreign(shown(value)));
    }
    for option in &info.options {
        if let Some(value) = explanation.turn.options.get(&option.name) {
            let text = head("option").foreign(&option.name).ours(" = ").foreign(value);
            shell.line(text.ours(": ").foreign(&option.help));
        }
    }
    show_instructions(explanation, plan, shell);
    shell.line(environment);
    for (name, content) in &plan.files {
        shell.line(head("file").foreign(name).ours(", ").foreign(content.len()).ours(" bytes"));
    }
    let then = if plan.stdin_open { " bytes, stays open" } else { " bytes, then closed" };
    shell.line(head("stdin").foreign(plan.stdin.len()).ours(then));
    for line in String::from_utf8_lossy(&plan.stdin).lines().take(20) {
        shell.line(ours(INDENT).foreign(line).in_style(DIM));
    }
    for setting in &plan.unsupported {
        shell.line(odd_head("unsupported").foreign(&setting.name).ours(": ").foreign(&setting.reason));
    }
}

/// Which files of the workspace are instructions to the agent.
fn show_instructions(explanation: &Explanation, plan: &Plan, shell: &Shell) {
    let (found, missing): (Vec<_>, Vec<_>) = plan.instructions.iter().partition(|file| exists(explanation, file));
    for file in &found {
        let read = if file.read { ": read" } else { ": not read" };
        shell.line(head("instructions").foreign(&file.path).ours(read));
    }
    let read: Vec<&str> = missing.iter().filter(|file| file.read).map(|file| file.path.as_str()).collect();
    if found.is_empty() && !read.is_empty() {
        let text = head("instructions").ours("none in the workspace; these would be read: ");
        shell.line(text.foreign(read.join(", ")));
    }
}

fn exists(explanation: &Explanation, file: &InstructionFile) -> bool {
    explanation.turn.workspace.join(&file.path).symlink_metadata().is_ok()
}

/// What a line without a head starts with.
const INDENT: &str = "             ";

/// The start of a line: what it is about.
fn head(name: &'static str) -> Text {
    ours(name).padded(12).in_style(BOLD).ours(" ")
}

/// The same for what a person should notice.
fn odd_head(name: &'static str) -> Text {
    ours(name).padded(12).in_style(ODD).ours(" ")
}

/// An argument for people: the path of a launch file is known only when the agent is started.
fn shown(arg: &Arg) -> String {
    match &arg.file {
        Some(file) => format!("{}<file {file}>", arg.text),
        None => arg.text.clone(),
    }
}
