//! `wharf explain`: what a turn would start, without starting it.

use super::arguments::RunOrder;
use super::shell::{BOLD, DIM, ODD, Shell, styled};
use super::turn;
use std::process::ExitCode;
use wharf::{Result, Word};

pub(crate) async fn explain(order: RunOrder, shell: &Shell) -> Result<ExitCode> {
    let (adapter, host) = turn::adapter_for(&order, super::host(&order.workspace)?).await?;
    let turn = turn::turn(&order, &host, &adapter, false)?;
    let explanation = host.explain(&adapter, turn).await?;
    let plan = &explanation.plan;
    let words = |words: &[Word]| -> Vec<String> { words.iter().map(shown).collect() };
    if order.json {
        return shell.json(&serde_json::json!({
            "adapter": adapter.info().id,
            "program": plan.program,
            "version": explanation.binary.version,
            "support": explanation.binary.support,
            "args": words(&plan.args),
            "workspace": explanation.turn.workspace,
            "environment": explanation.environment,
            "sets": plan.variables.iter().map(|(name, value)| (name.clone(), shown(value))).collect::<std::collections::BTreeMap<_, _>>(),
            "files": plan.files.iter().map(|(name, content)| (name.clone(), String::from_utf8_lossy(content).into_owned()))
                .collect::<std::collections::BTreeMap<_, _>>(),
            "stdin": String::from_utf8_lossy(&plan.stdin),
            "stdin_open": plan.stdin_open,
            "framing": plan.framing,
            "ends": plan.ends,
            "ignored": plan.ignored,
        }));
    }
    let head = |name: &str| styled(BOLD, format!("{name:<12}"));
    let version = explanation.binary.version.as_deref().unwrap_or("unknown version");
    shell.line(format!("{} {} ({version})", head("program"), plan.program));
    shell.line(format!("{} {}", head("workspace"), explanation.turn.workspace.display()));
    shell.line(format!("{} {}", head("arguments"), words(&plan.args).join("\n             ")));
    for (name, value) in &plan.variables {
        shell.line(format!("{} {name}={}", head("sets"), shown(value)));
    }
    shell.line(format!("{} {}", head("environment"), explanation.environment.join(" ")));
    for (name, content) in &plan.files {
        shell.line(format!("{} {name}, {} bytes", head("file"), content.len()));
    }
    let stays = if plan.stdin_open { "stays open" } else { "then closed" };
    shell.line(format!("{} {} bytes, {stays}", head("stdin"), plan.stdin.len()));
    for line in String::from_utf8_lossy(&plan.stdin).lines().take(20) {
        shell.line(styled(DIM, format!("             {line}")));
    }
    for wish in &plan.ignored {
        shell.line(format!("{} {}: {}", styled(ODD, format!("{:<12}", "ignored")), wish.name, wish.why));
    }
    Ok(ExitCode::SUCCESS)
}

/// A word as people read it: a file's path is only known when it is started.
fn shown(word: &Word) -> String {
    match &word.file {
        Some(file) => format!("{}<file {file}>", word.text),
        None => word.text.clone(),
    }
}
