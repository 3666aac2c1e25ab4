//! `wharf adapters` and `wharf models`: what there is.

use super::arguments::{AdaptersCommand, AdaptersOrder, ModelsOrder};
use super::shell::{BOLD, DIM, GOOD, ODD, Shell, styled};
use std::path::Path;
use std::process::ExitCode;
use wharf::{Error, Host, ModelList, Needs, Result, Source};

pub(crate) async fn adapters(order: AdaptersOrder, shell: &Shell) -> Result<ExitCode> {
    let host = super::host(Path::new("."))?;
    match order.command {
        Some(AdaptersCommand::Show { adapter }) => show(&host, &adapter, order.json, shell).await,
        Some(AdaptersCommand::List) | None => list(&host, order.json, shell).await,
    }
}

async fn list(host: &Host, json: bool, shell: &Shell) -> Result<ExitCode> {
    let mut rows = Vec::new();
    for entry in host.adapters()? {
        let name = match &entry.source {
            Source::Bundled => entry.id.clone(),
            Source::File(path) => path.to_string_lossy().into_owned(),
        };
        let loaded = if entry.shadowed { None } else { Some(host.adapter(&name).await) };
        rows.push((entry, loaded));
    }
    if json {
        let rows: Vec<serde_json::Value> = rows
            .iter()
            .map(|(entry, loaded)| {
                let info = loaded.as_ref().and_then(|loaded| loaded.as_ref().ok()).map(wharf::Adapter::info);
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
                    info.version,
                    info.name,
                    styled(DIM, format!("({})", entry.source))
                ));
            }
            Some(Err(error)) => shell.line(format!("{id} {}", styled(ODD, error))),
            None => shell.line(format!(
                "{id} {}",
                styled(DIM, format!("{} is not used: `shadow` in the configuration decides", entry.source))
            )),
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// One of the four lists.
type List = fn(&Needs) -> &Vec<String>;

async fn show(host: &Host, name: &str, json: bool, shell: &Shell) -> Result<ExitCode> {
    let adapter = host.adapter(name).await?;
    let policy = host.policy(&adapter)?;
    let info = adapter.info();
    if json {
        return shell.json(&serde_json::json!({
            "info": info, "source": adapter.source().to_string(), "digest": adapter.digest(),
            "granted": policy.grants, "missing": policy.missing(),
        }));
    }
    shell.line(format!("{} {} — {}", styled(BOLD, &info.id), info.version, info.name));
    shell.line(format!("  source       {}", adapter.source()));
    shell.line(format!("  sha256       {}", adapter.digest()));
    shell.line(format!("  tested with  {}", info.tested_with));
    let missing = policy.missing();
    let lists: [(&str, List); 4] = [
        ("programs", |needs| &needs.programs),
        ("origins", |needs| &needs.origins),
        ("variables", |needs| &needs.variables),
        ("files", |needs| &needs.files),
    ];
    for (title, list) in lists {
        for need in list(&info.needs) {
            let state =
                if list(&missing).contains(need) { styled(ODD, "not granted") } else { styled(GOOD, "granted") };
            shell.line(format!("  {title:<12} {need} {state}"));
        }
    }
    for option in &info.options {
        let default = option.default.as_ref().map(|default| format!(" (usually {default})")).unwrap_or_default();
        let choices =
            if option.choices.is_empty() { String::new() } else { format!(" [{}]", option.choices.join("|")) };
        shell.line(format!(
            "  option       {}{choices}: {}{}",
            styled(BOLD, &option.name),
            option.help,
            styled(DIM, default)
        ));
    }
    if missing != Needs::default() {
        shell.say(format!("\nto grant what is missing, put into {}:\n", host.places().config.display()));
        shell.say(format!("[grants.{}]", info.id));
        for (title, list) in lists {
            if !list(&missing).is_empty() {
                shell.say(format!("{title} = {}", serde_json::json!(list(&missing))));
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

pub(crate) async fn models(order: ModelsOrder, shell: &Shell) -> Result<ExitCode> {
    let host = super::host(Path::new("."))?;
    let name = order.adapter.or_else(|| host.config().adapter.clone());
    let name = name.ok_or_else(|| Error::invalid("no adapter is named").hint("`wharf adapters` lists them"))?;
    let adapter = host.adapter(&name).await?;
    let list = host.models(&adapter, order.refresh).await?;
    if order.json {
        shell.json(&list)?;
    } else if let ModelList::Models(models) = &list {
        for model in models {
            let mark = if model.is_default { styled(GOOD, "*") } else { " ".to_owned() };
            let context = model.context.map(|tokens| format!(" {}k", tokens / 1000)).unwrap_or_default();
            let efforts =
                if model.efforts.is_empty() { String::new() } else { format!(" [{}]", model.efforts.join(" ")) };
            shell.line(format!(
                "{mark} {} {}{}",
                styled(BOLD, format!("{:<28}", model.id)),
                model.name,
                styled(DIM, format!("{context}{efforts}"))
            ));
        }
    }
    match list {
        ModelList::Models(_) => Ok(ExitCode::SUCCESS),
        ModelList::Unsupported => Err(Error::invalid(format!("the adapter {name} cannot list models"))),
        ModelList::Unavailable(why) => Err(Error::runtime(format!("the models of {name} cannot be listed now: {why}"))),
        ModelList::NeedsAuth(what) => {
            Err(Error::runtime(format!("the models of {name} cannot be listed without a login")).hint(what))
        }
    }
}
