//! `wharf explain`: what a turn would start, without starting it.

use super::run::args::RunArgs;
use crate::host::host;
use crate::turn;
use crate::ui::{BOLD, DIM, ODD, Shell, styled, visible};
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
    let head = |name: &str| styled(BOLD, format!("{name:<12}"));
    for probe in &explanation.probes {
        shell.line(format!("{} {}", head("would first"), visible(probe)));
    }
    if let Some(reason) = &explanation.unknown {
        let text = format!("the rest is not known without that: {reason}");
        shell.line(format!("{} {}", styled(ODD, format!("{:<12}", "unknown")), visible(&text)));
    }
    if let Some(binary) = &explanation.binary {
        let version = binary.version.as_deref().unwrap_or("unknown version");
        shell.line(format!("{} {} ({})", head("program"), visible(&binary.program), visible(version)));
    }
    shell.line(format!("{} {}", head("workspace"), visible(&explanation.turn.workspace.display().to_string())));
    let Some(plan) = &explanation.plan else {
        shell.line(format!("{} {}", head("environment"), explanation.environment.join(" ")));
        return;
    };
    let arguments: Vec<String> = plan.args.iter().map(shown).collect();
    shell.line(format!("{} {}", head("arguments"), visible(&arguments.join("\n             "))));
    for (name, value) in &plan.variables {
        shell.line(format!("{} {}", head("sets"), visible(&format!("{name}={}", shown(value)))));
    }
    // What they say counts: which files of the workspace are read, for example.
    for option in &info.options {
        if let Some(value) = explanation.turn.options.get(&option.name) {
            let text = format!("{} = {value}: {}", option.name, option.help);
            shell.line(format!("{} {}", head("option"), visible(&text)));
        }
    }
    shell.line(format!("{} {}", head("environment"), explanation.environment.join(" ")));
    for (name, content) in &plan.files {
        shell.line(format!("{} {}, {} bytes", head("file"), visible(name), content.len()));
    }
    let then = if plan.stdin_open { "stays open" } else { "then closed" };
    shell.line(format!("{} {} bytes, {then}", head("stdin"), plan.stdin.len()));
    for line in String::from_utf8_lossy(&plan.stdin).lines().take(20) {
        shell.line(styled(DIM, format!("             {}", visible(line))));
    }
    for setting in &plan.unsupported {
        let text = format!("{}: {}", setting.name, setting.reason);
        shell.line(format!("{} {}", styled(ODD, format!("{:<12}", "unsupported")), visible(&text)));
    }
}

/// An argument for people: the path of a launch file is known only when the agent is started.
fn shown(arg: &Arg) -> String {
    match &arg.file {
        Some(file) => format!("{}<file {file}>", arg.text),
        None => arg.text.clone(),
    }
}
