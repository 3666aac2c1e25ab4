//! `wharf explain`: what a turn would start, without starting it.

use super::run::args::RunArgs;
use crate::host::host;
use crate::turn;
use crate::ui::{BOLD, DIM, ODD, Shell, Text, ours};
use serde_json::Value;
use std::collections::BTreeMap;
use std::process::ExitCode;
use wharf::adapter::{AdapterInfo, Arg};
use wharf::{Explanation, Result};

pub(crate) async fn explain(args: RunArgs, shell: &Shell) -> Result<ExitCode> {
    let (adapter, host) = turn::adapter_for(&args, host(&args.workspace)?).await?;
    let turn = turn::turn(&args, &host, &adapter, false)?;
    let options = turn::run_options(&args, &host, false)?;
    let explanation = host.explain(&adapter, turn, &options).await?;
    if args.json {
        return shell.json(&json(adapter.info(), &explanation));
    }
    show(adapter.info(), &explanation, shell);
    Ok(ExitCode::SUCCESS)
}

fn json(info: &AdapterInfo, explanation: &Explanation) -> Value {
    let mut object = serde_json::json!({
        "adapter": info.id,
        "workspace": explanation.turn.workspace,
        "options": explanation.turn.options,
        "environment": explanation.environment,
        "probes": explanation.probes,
        "unknown": explanation.unknown,
    });
    let mut add = |more: Value| {
        if let (Value::Object(object), Value::Object(more)) = (&mut object, more) {
            object.extend(more);
        }
    };
    if let Some(binary) = &explanation.binary {
        add(serde_json::json!({ "program": binary.program, "version": binary.version, "support": binary.support }));
    }
    if let Some(plan) = &explanation.plan {
        add(serde_json::json!({
            "args": plan.args.iter().map(shown).collect::<Vec<_>>(),
            "sets": plan.variables.iter().map(|(name, value)| (name.clone(), shown(value))).collect::<BTreeMap<_, _>>(),
            "files": plan.files.iter().map(|(name, content)| (name.clone(), String::from_utf8_lossy(content).into_owned()))
                .collect::<BTreeMap<_, _>>(),
            "stdin": String::from_utf8_lossy(&plan.stdin),
            "stdin_open": plan.stdin_open,
            "framing": plan.framing,
            "exit_behavior": plan.exit_behavior,
            "unsupported": plan.unsupported,
        }));
    }
    object
}

fn show(info: &AdapterInfo, explanation: &Explanation, shell: &Shell) {
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
    // What they say counts: which files of the workspace are read, for example.
    for option in &info.options {
        if let Some(value) = explanation.turn.options.get(&option.name) {
            let text = head("option").foreign(&option.name).ours(" = ").foreign(value);
            shell.line(text.ours(": ").foreign(&option.help));
        }
    }
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
