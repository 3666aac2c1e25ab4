//! The turn that the command line describes: plain data, checked, with nothing started yet.

use super::arguments::RunOrder;
use std::io::{IsTerminal as _, Read as _};
use std::path::Path;
use std::time::Duration;
use wharf::{Adapter, Approvals, AskRules, Clocks, Error, Host, Result, RunOptions, SessionChoice, ToolRules, Turn};

/// The adapter that an order names, and the host with the program that it names.
pub(crate) async fn adapter_for(order: &RunOrder, host: Host) -> Result<(Adapter, Host)> {
    let adapter = host.adapter(&adapter_name(order, &host)?).await?;
    let Some(program) = &order.program else { return Ok((adapter, host)) };
    let program = std::path::absolute(program)
        .map_err(|why| Error::invalid(format!("the program {} cannot be used: {why}", program.display())))?;
    let host = host.with_program(&adapter, program);
    Ok((adapter, host))
}

fn adapter_name(order: &RunOrder, host: &Host) -> Result<String> {
    let named = order.adapter.clone().or_else(|| host.config().adapter.clone());
    named.ok_or_else(|| {
        Error::invalid("no adapter is named")
            .hint("use --adapter, or set `adapter` in the configuration; `wharf adapters` lists them")
    })
}

/// The turn that an order describes.
pub(crate) fn turn(order: &RunOrder, host: &Host, adapter: &Adapter, terminal: bool) -> Result<Turn> {
    let config = host.config();
    let approvals = match order {
        order if order.approve => Approvals::AllowAll,
        order if order.deny => Approvals::Deny,
        order if order.ask || order.rules.is_some() => Approvals::Ask,
        _ => config.approvals.unwrap_or(if terminal { Approvals::Ask } else { Approvals::Deny }),
    };
    let mut turn = Turn {
        system_prompt: order.system.as_deref().map(system_prompt).transpose()?,
        workspace: order.workspace.clone(),
        extra_dirs: order.add_dir.clone(),
        session: session(order, host, adapter)?,
        model: order.model.clone().or_else(|| config.model.clone()),
        fallback_model: order.fallback_model.clone(),
        effort: order.effort.clone().or_else(|| config.effort.clone()),
        max_turns: order.max_turns,
        max_cost_micros: order.max_cost.map(micros).transpose()?,
        approvals,
        tools: ToolRules {
            allow: order.allow_tool.clone(),
            deny: order.deny_tool.clone(),
            only: order.only_tool.clone(),
            without: order.without_tool.clone(),
        },
        mcp_servers: order.mcp.as_deref().map(json_file).transpose()?,
        output_schema: order.output_schema.as_deref().map(json_file).transpose()?,
        stream_text: !order.no_stream,
        autopilot: order.autopilot,
        messages: order.messages,
        ..Turn::new(prompt_text(order)?)
    };
    for option in &order.options {
        let (name, value) = split_option(option)?;
        turn.options.insert(name.to_owned(), wharf::parse_option(&adapter.info().options, name, value));
    }
    Ok(turn)
}

pub(crate) fn split_option(option: &str) -> Result<(&str, &str)> {
    option
        .split_once('=')
        .ok_or_else(|| Error::invalid(format!("the option `{option}` has no value")).hint("write it as NAME=VALUE"))
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked before")]
fn micros(dollars: f64) -> Result<u64> {
    if (0.0..1e9).contains(&dollars) {
        Ok((dollars * 1e6).round() as u64)
    } else {
        Err(Error::invalid(format!("{dollars} is not an amount of dollars")))
    }
}

/// Whether the prompt comes on standard input.
pub(crate) fn reads_prompt(order: &RunOrder) -> bool {
    order.file.is_none() && order.prompt.as_deref().is_none_or(|prompt| prompt == "-")
}

fn prompt_text(order: &RunOrder) -> Result<String> {
    if order.messages && reads_prompt(order) {
        return Err(Error::invalid(
            "with --messages, standard input is for messages: the prompt cannot come from it too",
        )
        .hint("give the prompt as an argument, or with --file"));
    }
    if let Some(file) = &order.file {
        return text_file(file);
    }
    match order.prompt.as_deref() {
        Some(prompt) if prompt != "-" => Ok(prompt.to_owned()),
        None if std::io::stdin().is_terminal() => Ok(String::new()),
        _ => {
            let mut bytes = Vec::new();
            std::io::stdin()
                .read_to_end(&mut bytes)
                .map_err(|why| Error::invalid(format!("the prompt cannot be read from standard input: {why}")))?;
            String::from_utf8(bytes).map_err(|_| Error::invalid("the prompt on standard input is not UTF-8"))
        }
    }
}

fn system_prompt(text: &str) -> Result<String> {
    match text.strip_prefix('@') {
        Some(file) => text_file(Path::new(file)),
        None => Ok(text.to_owned()),
    }
}

fn text_file(path: &Path) -> Result<String> {
    std::fs::read_to_string(path)
        .map_err(|why| Error::invalid(format!("the file {} cannot be read: {why}", path.display())))
}

fn json_file(path: &Path) -> Result<serde_json::Value> {
    serde_json::from_str(&text_file(path)?)
        .map_err(|why| Error::invalid(format!("the file {} is not JSON: {why}", path.display())))
}

fn session(order: &RunOrder, host: &Host, adapter: &Adapter) -> Result<SessionChoice> {
    let known = |name: &str| -> Result<String> {
        let sessions = host.known_sessions()?;
        if name == "last" {
            let workspace = std::fs::canonicalize(&order.workspace).unwrap_or_else(|_| order.workspace.clone());
            let last =
                sessions.map(|sessions| sessions.last(Some(&adapter.info().id), Some(&workspace))).transpose()?;
            return last.flatten().map(|entry| entry.id).ok_or_else(|| {
                Error::invalid(format!("no session of {} in this workspace is remembered", adapter.info().id))
                    .hint("`wharf sessions` lists those that are")
            });
        }
        // A session that wharf does not remember may still be one that the agent knows.
        let known = sessions.map(|sessions| sessions.find(name)).transpose()?.flatten();
        Ok(known.map_or_else(|| name.to_owned(), |entry| entry.id))
    };
    if let Some(name) = &order.resume {
        return known(name).map(SessionChoice::Resume);
    }
    if let Some(name) = &order.fork {
        return known(name).map(SessionChoice::Fork);
    }
    Ok(SessionChoice::Fresh(order.session_id.clone()))
}

pub(crate) fn run_options(order: &RunOrder, host: &Host, terminal: bool) -> Result<RunOptions> {
    let usual = host.clocks();
    let seconds = |value: Option<f64>| -> Result<Option<Duration>> {
        let bad = |value| Error::invalid(format!("{value} is not a number of seconds"));
        let sound =
            |value: f64| Duration::try_from_secs_f64(value).ok().filter(|time| *time < Duration::from_hours(24 * 365));
        value.map(|value| sound(value).ok_or_else(|| bad(value))).transpose()
    };
    let clocks = Clocks {
        first_output: seconds(order.limit_first_output)?.or(usual.first_output),
        idle: seconds(order.limit_idle)?.or(usual.idle),
        total: seconds(order.limit_total)?.or(usual.total),
        // Where nobody can be asked there is no use in waiting for an answer, unless somebody set a time for it.
        ask: seconds(order.limit_ask)?.unwrap_or(
            if terminal || (order.messages && order.json) || host.config().limits.ask.is_some() {
                usual.ask
            } else {
                Duration::ZERO
            },
        ),
        grace: seconds(order.grace)?.unwrap_or(usual.grace),
    };
    let rules = match &order.rules {
        Some(path) => rules_file(path)?,
        None => AskRules::default(),
    };
    Ok(RunOptions {
        clocks: Some(clocks),
        rules,
        unrecorded: order.no_record,
        lines_only: order.json,
        frame_limit: order.limit_frame,
        stays: order.stay,
    })
}

fn rules_file(path: &Path) -> Result<AskRules> {
    let text = text_file(path)?;
    toml::from_str(&text).map_err(|why| {
        let line = why.span().map_or(1, |span| text[..span.start.min(text.len())].matches('\n').count() + 1);
        Error::invalid(format!(
            "the rules {}, line {line}: {}",
            path.display(),
            why.message().trim().replace('\n', "; ")
        ))
    })
}
