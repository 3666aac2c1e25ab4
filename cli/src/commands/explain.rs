//! `wharf explain`: what a turn would start, without starting it.

use super::run::args::RunArgs;
use crate::host::host;
use crate::turn;
use crate::ui::{BOLD, DIM, ODD, Shell, styled, visible};
use std::collections::BTreeMap;
use std::process::ExitCode;
use wharf::Result;
use wharf::adapter::Arg;

pub(crate) async fn explain(args: RunArgs, shell: &Shell) -> Result<ExitCode> {
    let (adapter, host) = turn::adapter_for(&args, host(&args.workspace)?).await?;
    let turn = turn::turn(&args, &host, &adapter, false)?;
    let options = turn::run_options(&args, &host, false)?;
    let explanation = host.explain(&adapter, turn, &options).await?;
    let plan = &explanation.plan;
    let arguments: Vec<String> = plan.args.iter().map(shown).collect();
    if args.json {
        return shell.json(&serde_json::json!({
            "adapter": adapter.info().id,
            "program": plan.program,
            "version": explanation.binary.version,
            "support": explanation.binary.support,
            "args": arguments,
            "workspace": explanation.turn.workspace,
            "environment": explanation.environment,
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
    let head = |name: &str| styled(BOLD, format!("{name:<12}"));
    let version = explanation.binary.version.as_deref().unwrap_or("unknown version");
    shell.line(format!("{} {} ({})", head("program"), visible(&plan.program), visible(version)));
    shell.line(format!("{} {}", head("workspace"), visible(&explanation.turn.workspace.display().to_string())));
    shell.line(format!("{} {}", head("arguments"), visible(&arguments.join("\n             "))));
    for (name, value) in &plan.variables {
        shell.line(format!("{} {}", head("sets"), visible(&format!("{name}={}", shown(value)))));
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
    Ok(ExitCode::SUCCESS)
}

/// An argument for people: the path of a launch file is known only when the agent is started.
fn shown(arg: &Arg) -> String {
    match &arg.file {
        Some(file) => format!("{}<file {file}>", arg.text),
        None => arg.text.clone(),
    }
}
