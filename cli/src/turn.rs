//! The turn that the command line describes: plain data. Nothing is started here.

use crate::commands::run::args::{RunArgs, SessionBusy};
use crate::labels::labels;
use std::collections::BTreeMap;
use std::io::{IsTerminal as _, Read as _};
use std::path::Path;
use wharf::adapter::Adapter;
use wharf::ask::AskRules;
use wharf::event::Money;
use wharf::{
    Approvals, Attachment, CallerTool, Error, Host, Result, RunOptions, SessionChoice, TimeoutSetting, Timeouts,
    ToolRules, Turn, Variable,
};

/// The adapter that is named, and the host with the program or the version that is named.
pub(crate) async fn adapter_for(args: &RunArgs, host: Host) -> Result<(Adapter, Host)> {
    let adapter = host.adapter(&adapter_name(args, &host)?).await?;
    if let Some(version) = &args.agent_version {
        let host = host.with_agent_version(&adapter, version)?;
        return Ok((adapter, host));
    }
    let Some(program) = &args.program else { return Ok((adapter, host)) };
    let program = std::path::absolute(program)
        .map_err(|error| Error::invalid(format!("the program {} cannot be used: {error}", program.display())))?;
    let host = host.with_program(&adapter, program);
    Ok((adapter, host))
}

fn adapter_name(args: &RunArgs, host: &Host) -> Result<String> {
    let named = args.adapter.clone().or_else(|| host.config().adapter.clone());
    named.ok_or_else(|| {
        Error::invalid("no adapter is named")
            .with_hint("use --adapter, or set `adapter` in the configuration; `wharf adapters` lists them")
    })
}

/// The turn that the arguments describe.
pub(crate) fn turn(args: &RunArgs, host: &Host, adapter: &Adapter, terminal: bool) -> Result<Turn> {
    let config = host.config();
    let approvals = match args {
        args if args.approve => Approvals::AllowAll,
        args if args.deny => Approvals::Deny,
        args if args.ask || args.rules.is_some() => Approvals::Ask,
        _ => config.approvals.unwrap_or(if terminal { Approvals::Ask } else { Approvals::Deny }),
    };
    let mut turn = Turn::new(prompt_text(args)?);
    turn.system_prompt = args.system.as_deref().map(system_prompt).transpose()?;
    turn.workspace.clone_from(&args.workspace);
    turn.extra_dirs.clone_from(&args.add_dir);
    turn.session = session(args, host, adapter)?;
    turn.model = args.model.clone().or_else(|| config.model.clone());
    turn.fallback_model.clone_from(&args.fallback_model);
    turn.effort = args.effort.as_deref().map(str::parse).transpose()?.or(config.effort);
    turn.max_turns = args.max_turns;
    turn.max_cost = args.max_cost.as_deref().map(dollars).transpose()?;
    turn.approvals = approvals;
    turn.tools = ToolRules {
        allow: args.allow_tool.clone(),
        deny: args.deny_tool.clone(),
        only: args.only_tool.clone(),
        without: args.without_tool.clone(),
    };
    turn.attachments = args.attach.iter().map(Attachment::file).collect();
    turn.caller_tools = args.caller_tools.as_deref().map(caller_tools).transpose()?.unwrap_or_default();
    turn.hooks = args.hook.iter().copied().collect();
    turn.transport.clone_from(&args.transport);
    turn.extra_args.clone_from(&args.agent_arg);
    turn.mcp_servers = args.mcp.as_deref().map(json_file).transpose()?;
    turn.output_schema = args.output_schema.as_deref().map(json_file).transpose()?;
    turn.stream_text = !args.no_stream;
    turn.autopilot = args.autopilot;
    turn.messages = args.control;
    for option in &args.options {
        let (name, value) = split_option(option)?;
        turn.options.insert(name.to_owned(), wharf::parse_option(&adapter.info().options, name, value));
    }
    Ok(turn)
}

pub(crate) fn split_option(option: &str) -> Result<(&str, &str)> {
    option.split_once('=').ok_or_else(|| {
        Error::invalid(format!("the option `{option}` has no value")).with_hint("write it as NAME=VALUE")
    })
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked before")]
fn dollars(text: &str) -> Result<Money> {
    match text.parse::<f64>() {
        Ok(amount) if (0.0..1e9).contains(&amount) => Ok(Money::usd((amount * 1e6).round() as u64)),
        _ => Err(Error::invalid(format!("{text} is not an amount of dollars")).with_hint("write it as 1.25")),
    }
}

/// Whether the prompt comes on standard input.
pub(crate) fn reads_prompt(args: &RunArgs) -> bool {
    args.file.is_none() && args.prompt.as_deref().is_none_or(|prompt| prompt == "-")
}

fn prompt_text(args: &RunArgs) -> Result<String> {
    if args.control && reads_prompt(args) {
        return Err(Error::invalid(
            "with --control, standard input controls the turn: the prompt cannot come from it too",
        )
        .with_hint("give the prompt as an argument, or with --file"));
    }
    if let Some(file) = &args.file {
        return text_file(file, PROMPT_LIMIT);
    }
    match args.prompt.as_deref() {
        Some(prompt) if prompt != "-" => Ok(prompt.to_owned()),
        None if std::io::stdin().is_terminal() => Ok(String::new()),
        _ => {
            let bytes = read_limited(std::io::stdin(), PROMPT_LIMIT).map_err(|error| match error.kind() {
                std::io::ErrorKind::InvalidData => {
                    Error::invalid(format!("the prompt on standard input cannot be used: {error}"))
                }
                _ => Error::system("reading the prompt from standard input", error),
            })?;
            String::from_utf8(bytes).map_err(|_| Error::invalid("the prompt on standard input is not UTF-8"))
        }
    }
}

fn system_prompt(text: &str) -> Result<String> {
    match text.strip_prefix('@') {
        Some(file) => text_file(Path::new(file), PROMPT_LIMIT),
        None => Ok(text.to_owned()),
    }
}

/// The largest prompt, in a file or on standard input.
const PROMPT_LIMIT: u64 = 64 << 20;

/// The largest file of settings: rules, MCP servers, a schema.
const SETTINGS_LIMIT: u64 = 4 << 20;

/// Reads to the end, which must come: a device may have none.
fn read_limited(source: impl std::io::Read, limit: u64) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    source.take(limit + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit {
        let message = format!("it has more than {limit} bytes");
        return Err(std::io::Error::new(std::io::ErrorKind::InvalidData, message));
    }
    Ok(bytes)
}

/// A file that the user named: it may be a pipe, as in `--file <(git diff)`.
pub(crate) fn named_file(what: &str, path: &Path, limit: u64) -> Result<Vec<u8>> {
    std::fs::File::open(path).and_then(|file| read_limited(file, limit)).map_err(|error| not_read(what, path, error))
}

fn text_file(path: &Path, limit: u64) -> Result<String> {
    String::from_utf8(named_file("the file", path, limit)?)
        .map_err(|_| Error::invalid(format!("the file {} cannot be read: it is not UTF-8", path.display())))
}

fn caller_tools(path: &Path) -> Result<Vec<CallerTool>> {
    serde_json::from_value(json_file(path)?).map_err(|error| {
        Error::invalid(format!("the file {} is no list of tools: {error}", path.display()))
            .with_hint(r#"each tool is {"name": "…", "description": "…", "input_schema": {…}}"#)
    })
}

fn json_file(path: &Path) -> Result<serde_json::Value> {
    wharf::parse_json(&text_file(path, SETTINGS_LIMIT)?)
        .map_err(|error| Error::invalid(format!("the file {} is not JSON: {error}", path.display())))
}

fn session(args: &RunArgs, host: &Host, adapter: &Adapter) -> Result<SessionChoice> {
    let known = |name: &str| -> Result<String> {
        let sessions = host.known_sessions()?;
        let id = &adapter.info().id;
        let workspace = std::fs::canonicalize(&args.workspace).unwrap_or_else(|_| args.workspace.clone());
        if name == "last" {
            let last = sessions.map(|sessions| sessions.last(Some(id), Some(&workspace))).transpose()?;
            return last.flatten().map(|entry| entry.id).ok_or_else(|| {
                Error::invalid(format!("wharf remembers no session of {id} in this workspace"))
                    .with_hint("`wharf sessions` lists the sessions")
            });
        }
        // The agent may know a session that wharf does not remember.
        let known = sessions.map(|sessions| sessions.find_of(Some(id), Some(&workspace), name)).transpose()?.flatten();
        Ok(known.map_or_else(|| name.to_owned(), |entry| entry.id))
    };
    if let Some(name) = &args.resume {
        return known(name).map(SessionChoice::Resume);
    }
    if let Some(name) = &args.fork {
        return known(name).map(SessionChoice::Fork);
    }
    Ok(SessionChoice::Fresh(args.session_id.clone()))
}

/// How the run differs from the configuration.
pub(crate) fn run_options(args: &RunArgs, host: &Host) -> Result<RunOptions> {
    let mut options = RunOptions::default();
    options.labels = labels(&args.labels)?;
    options.timeouts = Some(timeouts(args, host));
    options.rules = args.rules.as_deref().map(rules_file).transpose()?.unwrap_or_default();
    options.variables = variables(args)?;
    options.home.clone_from(&args.home);
    options.state_dir.clone_from(&args.state_dir);
    options.unrecorded = args.no_record;
    options.lines_only = args.json;
    if args.limit_frame == Some(0) {
        return Err(Error::invalid("--limit-frame must be at least 1"));
    }
    options.frame_limit = args.limit_frame;
    options.keep_alive = args.keep_alive;
    options.session_busy = match args.session_busy {
        SessionBusy::Refuse => wharf::SessionBusy::Refuse,
        SessionBusy::Wait => wharf::SessionBusy::Wait,
    };
    Ok(options)
}

fn timeouts(args: &RunArgs, host: &Host) -> Timeouts {
    let set = |setting: Option<TimeoutSetting>, configured| setting.map_or(configured, Into::into);
    let mut timeouts = host.config().timeouts.timeouts();
    timeouts.first_output = set(args.first_output_timeout, timeouts.first_output);
    timeouts.idle = set(args.idle_timeout, timeouts.idle);
    timeouts.total = set(args.total_timeout, timeouts.total);
    timeouts.ask = set(args.ask_timeout, timeouts.ask);
    timeouts.grace = args.grace.unwrap_or(timeouts.grace);
    timeouts
}

/// What to tell a user whose turn may ask somebody, though nobody can answer.
pub(crate) fn nobody_answers(args: &RunArgs, turn: &Turn, options: &RunOptions, terminal: bool) -> Option<String> {
    let answered = terminal || (args.control && args.json) || turn.approvals != Approvals::Ask;
    let timeout = options.timeouts.as_ref().and_then(|timeouts| timeouts.ask);
    let then = match timeout {
        Some(timeout) => format!("it is denied after {} s (--ask-timeout)", timeout.as_secs()),
        None => "it waits until the run is cancelled (--ask-timeout none)".to_owned(),
    };
    let by = if args.rules.is_some() { " that no rule answers" } else { "" };
    (!answered)
        .then(|| format!("nobody can answer an ask{by}, without a terminal and without --control --json: {then}"))
}

/// What `--env` and `--env-plain` set.
fn variables(args: &RunArgs) -> Result<BTreeMap<String, Variable>> {
    let mut variables = BTreeMap::new();
    for given in &args.variables {
        let (name, value) = environment_variable(given, "--env")?;
        variables.insert(name, Variable::from(value));
    }
    let mut plain = BTreeMap::new();
    for given in &args.plain_variables {
        let (name, value) = environment_variable(given, "--env-plain")?;
        if variables.contains_key(&name) {
            return Err(Error::invalid(format!("the variable {name} is set with --env and with --env-plain"))
                .with_hint("use --env-plain if its value is not secret, otherwise --env"));
        }
        plain.insert(name, Variable::plain(value));
    }
    variables.extend(plain);
    Ok(variables)
}

/// NAME=VALUE, or NAME for the value that wharf itself has.
fn environment_variable(given: &str, flag: &str) -> Result<(String, String)> {
    if let Some((name, value)) = given.split_once('=') {
        return Ok((name.to_owned(), value.to_owned()));
    }
    match std::env::var(given) {
        Ok(value) => Ok((given.to_owned(), value)),
        Err(error) => Err(Error::invalid(format!("the variable {given} cannot be passed on: {error}"))
            .with_hint(format!("set it, or give its value: {flag} {given}=VALUE"))),
    }
}

fn rules_file(path: &Path) -> Result<AskRules> {
    let text = text_file(path, SETTINGS_LIMIT)?;
    toml::from_str(&text).map_err(|error| {
        let line = error.span().map_or(1, |span| text[..span.start.min(text.len())].matches('\n').count() + 1);
        let message = error.message().trim().replace('\n', "; ");
        Error::invalid(format!("the rules {}, line {line}: {message}", path.display()))
            .with_hint("docs/configuration.md describes the rules")
    })
}

/// A file that the user named cannot be read. A wrong name is invalid input, anything else a failure of the system.
pub(crate) fn not_read(what: &str, path: &Path, error: std::io::Error) -> Error {
    use std::io::ErrorKind::{InvalidData, InvalidInput, IsADirectory, NotADirectory, NotFound};
    if matches!(error.kind(), NotFound | IsADirectory | NotADirectory | InvalidData | InvalidInput) {
        Error::invalid(format!("{what} {} cannot be read: {error}", path.display()))
    } else {
        Error::system(format!("reading {what} {}", path.display()), error)
    }
}
