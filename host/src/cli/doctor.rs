//! `wharf doctor`: can the agents be used, and if not, what mends it.

use super::arguments::DoctorOrder;
use super::shell::{BAD, BOLD, DIM, GOOD, ODD, Shell, styled};
use std::path::Path;
use std::process::ExitCode;
use wharf::{Binary, Failure, Host, Level, Login, Result, Retry, Source, Support};

/// What was found of one adapter's runtime.
struct Finding {
    name: String,
    adapter: Result<wharf::Adapter>,
    runtime: Option<Result<Result<Binary, Failure>>>,
    drift: Vec<String>,
}

pub(crate) async fn doctor(order: DoctorOrder, shell: &Shell) -> Result<ExitCode> {
    let host = super::host(Path::new("."))?;
    let names: Vec<String> = if order.adapters.is_empty() {
        let entries = host.adapters()?.into_iter().filter(|entry| !entry.shadowed);
        entries
            .map(|entry| match entry.source {
                Source::Bundled => entry.id,
                Source::File(path) => path.to_string_lossy().into_owned(),
            })
            .collect()
    } else {
        order.adapters.clone()
    };
    let mut findings = Vec::new();
    for name in names {
        findings.push(examine(&host, name).await);
    }
    // Named adapters must be usable; a look at all of them is only a look.
    let usable = |finding: &Finding| matches!(finding.runtime, Some(Ok(Ok(_))));
    let good = order.adapters.is_empty() || findings.iter().all(usable);
    if order.json {
        shell.json(&findings.iter().map(json).collect::<Vec<_>>())?;
    } else {
        for finding in &findings {
            show(finding, shell);
        }
    }
    if let Some(Err(error)) = findings.iter().map(|finding| &finding.adapter).find(|adapter| adapter.is_err())
        && !order.adapters.is_empty()
    {
        return Err(error.clone());
    }
    Ok(if good { ExitCode::SUCCESS } else { ExitCode::from(3) })
}

async fn examine(host: &Host, name: String) -> Finding {
    let adapter = host.adapter(&name).await;
    let runtime = match &adapter {
        Ok(adapter) => Some(host.resolve(adapter).await),
        Err(_) => None,
    };
    let drift =
        adapter.as_ref().ok().map(|adapter| super::history::drift(host, &adapter.info().id)).unwrap_or_default();
    Finding { name, adapter, runtime, drift }
}

fn json(finding: &Finding) -> serde_json::Value {
    let (binary, error) = match &finding.runtime {
        Some(Ok(Ok(binary))) => (Some(binary), None),
        Some(Ok(Err(failure))) => (None, Some(failure.message.clone())),
        Some(Err(error)) => (None, Some(error.to_string())),
        None => (None, finding.adapter.as_ref().err().map(ToString::to_string)),
    };
    let info = finding.adapter.as_ref().ok().map(wharf::Adapter::info);
    serde_json::json!({
        "adapter": finding.name, "version": info.map(|info| &info.version), "tested_with": info.map(|info| &info.tested_with),
        "usable": binary.is_some(), "runtime": binary, "error": error, "drift": finding.drift,
    })
}

fn show(finding: &Finding, shell: &Shell) {
    let mend = |text: &str| shell.line(format!("    {} {text}", styled(BOLD, "fix:")));
    let head = |style, mark: &str, text: String| {
        shell.line(format!("{} {} {text}", styled(style, mark), styled(BOLD, &finding.name)));
    };
    let info = match &finding.adapter {
        Ok(adapter) => adapter.info(),
        Err(error) => {
            head(BAD, "✗", error.to_string());
            error.to_do().into_iter().for_each(mend);
            return;
        }
    };
    match &finding.runtime {
        Some(Ok(Ok(binary))) => {
            let version = binary.version.as_deref().unwrap_or("of an unknown version");
            let (style, tested) = match binary.support {
                Support::Tested => (GOOD, "tested".to_owned()),
                Support::NewerUntested => (ODD, format!("newer than tested ({})", info.tested_with)),
                Support::OlderUntested => (ODD, format!("older than tested ({})", info.tested_with)),
                Support::BestEffort => (ODD, "not known; it may work".to_owned()),
                Support::Refused => (BAD, "known not to work".to_owned()),
            };
            head(style, "✓", format!("{version}, {tested}"));
            shell.line(format!("    program: {} {}", binary.program, binary.leading_args.join(" ")));
            match &binary.login {
                Login::Present(how) => shell.line(format!("    login: {how}")),
                Login::Missing(what) => {
                    shell.line(format!("    login: {}", styled(BAD, "none")));
                    mend(what);
                }
                Login::Unknown => shell.line(styled(DIM, "    login: cannot be told")),
            }
            for note in &binary.notes {
                let style = if note.level >= Level::Warn { ODD } else { DIM };
                shell.line(format!("    {}", styled(style, &note.text)));
                note.fix.as_deref().into_iter().for_each(mend);
            }
        }
        Some(Ok(Err(failure))) => {
            head(BAD, "✗", failure.message.clone());
            match &failure.retry {
                Retry::AfterUserAction { action } => mend(action),
                _ => mend(&info.install_hint),
            }
        }
        Some(Err(error)) => {
            head(BAD, "✗", error.to_string());
            error.to_do().into_iter().for_each(mend);
        }
        None => {}
    }
    if !finding.drift.is_empty() {
        shell.line(styled(DIM, format!("    not known to the adapter so far: {}", finding.drift.join(", "))));
    }
}
