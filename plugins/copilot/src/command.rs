//! The command line of a turn.

use crate::features::Features;
use crate::usage;
use wharf_adapter::json::Object;
use wharf_adapter::{Approvals, Effort, Ending, Failure, Json, Launch, SessionChoice, Turn, Word, nearest_effort};
use wharf_adapter::{ErrorClass, Retry};

/// How the CLI is talked to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Transport {
    /// One process a turn, events on stdout.
    Lines,
    /// The Agent Client Protocol on stdin and stdout: the one that can ask.
    Acp,
}

impl Transport {
    /// The one that the turn names, or the one that its approvals need.
    pub(crate) fn of(turn: &Turn) -> Transport {
        match turn.option("transport").name() {
            Some("acp") => Transport::Acp,
            Some("jsonl") => Transport::Lines,
            _ if turn.approvals == Approvals::Ask => Transport::Acp,
            _ => Transport::Lines,
        }
    }
}

/// The launch of a turn.
pub(crate) fn build(turn: &Turn, features: Features) -> Result<Launch, Failure> {
    let transport = Transport::of(turn);
    let mut launch = match transport {
        Transport::Lines => {
            let mut launch = Launch::lines(["--output-format", "json", "-s", "--no-ask-user"]);
            launch.pair("--stream", if turn.stream_text { "on" } else { "off" });
            launch
        }
        Transport::Acp => {
            let mut launch = Launch::lines(["--acp"]);
            launch.ends = Ending::WhenStdinCloses;
            launch
        }
    };
    launch.arg("--no-auto-update");
    launch.pair("--log-level", "error");
    // The flag alone does not keep the launcher from a newer version that was downloaded earlier.
    launch.set("COPILOT_AUTO_UPDATE", "false");
    permissions(turn, transport, &mut launch);
    if transport == Transport::Lines {
        session(&turn.session, features, &mut launch);
        model(turn, features, &mut launch);
        autopilot(turn, &mut launch);
        usage_file(features, &mut launch);
        if turn.approvals == Approvals::Ask {
            launch.ignore("approvals", "the JSON lines cannot ask; what would be asked is denied");
        }
    } else {
        protocol_wishes(turn, &mut launch);
    }
    for dir in &turn.extra_dirs {
        launch.arg(format!("--add-dir={dir}"));
    }
    mcp_servers(turn, &mut launch)?;
    switches(turn, features, &mut launch);
    impossible(turn, &mut launch);
    Ok(launch)
}

/// `--allow-all` only where there are no rules. A deny rule wins over `--allow-all-tools`, so it keeps its force there.
fn permissions(turn: &Turn, transport: Transport, launch: &mut Launch) {
    let rules = &turn.tools;
    let none = [&rules.allow, &rules.deny, &rules.only, &rules.without].iter().all(|list| list.is_empty());
    if turn.approvals == Approvals::AllowAll {
        // Over ACP it is a setting of the session, made there.
        if none && transport == Transport::Lines {
            launch.arg("--allow-all");
        } else if rules.allow.is_empty() && !none {
            launch.arg("--allow-all-tools");
        }
    }
    // `=` because these take several values: a bare one would swallow what follows.
    let flags = [("--allow-tool", &rules.allow), ("--deny-tool", &rules.deny)];
    for (flag, tool) in flags.iter().flat_map(|(flag, tools)| tools.iter().map(move |tool| (flag, tool))) {
        launch.arg(format!("{flag}={tool}"));
    }
    for (flag, tools) in [("--available-tools", &rules.only), ("--excluded-tools", &rules.without)] {
        if !tools.is_empty() {
            launch.arg(format!("{flag}={}", tools.join(",")));
        }
    }
}

fn session(choice: &SessionChoice, features: Features, launch: &mut Launch) {
    match choice {
        SessionChoice::Fresh(Some(id)) if features.session_id && is_uuid(id) => {
            launch.arg(format!("--session-id={id}"))
        }
        SessionChoice::Fresh(_) => {}
        SessionChoice::Resume(id) => {
            launch.arg(format!("--resume={id}"));
            stay_here(launch);
        }
        SessionChoice::MostRecent => {
            launch.arg("--continue");
            stay_here(launch);
        }
        SessionChoice::Fork(_) => launch.ignore("session", "Copilot cannot fork a session; a new one is started"),
    }
}

/// A resumed session would move to the folder that it was started in.
fn stay_here(launch: &mut Launch) {
    launch.set("COPILOT_DISABLE_RESUME_AUTO_CD", "1");
}

/// Whether the CLI will take it as the id of a new session.
pub(crate) fn is_uuid(id: &str) -> bool {
    id.len() == 36
        && id.bytes().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}

fn model(turn: &Turn, features: Features, launch: &mut Launch) {
    if let Some(model) = &turn.model {
        launch.arg(format!("--model={model}"));
    }
    if let Some(effort) = effort(turn, features.efforts, launch) {
        launch.pair("--reasoning-effort", effort.name());
    }
}

/// The effort wished for, or the nearest that this version has.
fn effort(turn: &Turn, offered: &[Effort], launch: &mut Launch) -> Option<Effort> {
    let name = turn.effort.as_deref()?;
    let Some(wish) = Effort::parse(name) else {
        launch.ignore("effort", &format!("there is no effort `{name}`"));
        return None;
    };
    let given = nearest_effort(wish, offered)?;
    if given != wish {
        launch.ignore("effort", &format!("this version has no effort `{name}`; `{}` is used", given.name()));
    }
    Some(given)
}

fn autopilot(turn: &Turn, launch: &mut Launch) {
    if turn.autopilot {
        launch.arg("--autopilot");
        // Never without a cap: 1.0.35 would go on for ever.
        let default = turn.option("max-autopilot-continues").u64().unwrap_or(50);
        let cap = turn.max_turns.map_or(default, u64::from);
        launch.pair("--max-autopilot-continues", cap.to_string());
    } else if turn.max_turns.is_some() {
        launch.ignore("max-turns", "Copilot caps only the continuations of its autopilot");
    }
}

fn usage_file(features: Features, launch: &mut Launch) {
    if features.usage_file {
        let file = launch.file(usage::FILE, "");
        launch.pair("--usage-output-file", file);
    }
}

/// What the protocol has no words for; model, effort, mode and session are set in it.
fn protocol_wishes(turn: &Turn, launch: &mut Launch) {
    if turn.max_turns.is_some() {
        launch.ignore("max-turns", "it cannot be set over ACP");
    }
    match turn.session {
        SessionChoice::Fork(_) => launch.ignore("session", "Copilot cannot fork a session; a new one is started"),
        SessionChoice::MostRecent => {
            launch.ignore("session", "ACP resumes a session by its id only; a new one is started");
        }
        SessionChoice::Fresh(_) | SessionChoice::Resume(_) => {}
    }
    if !turn.stream_text {
        launch.ignore("stream-text", "ACP always streams");
    }
}

fn mcp_servers(turn: &Turn, launch: &mut Launch) -> Result<(), Failure> {
    let Some(servers) = &turn.mcp_servers else { return Ok(()) };
    let given = Json::parse(servers);
    if !given.is_object() {
        return Err(Failure::new(ErrorClass::InvalidOption, "mcp-servers is not a JSON object"));
    }
    let config = if given.get("mcpServers").is_object() {
        servers.clone()
    } else {
        Object::new().raw("mcpServers", given.raw()).finish()
    };
    // In a file, for it may hold secrets that a command line would show.
    let file = launch.file("mcp.json", config);
    launch.pair("--additional-mcp-config", Word { text: "@".to_owned(), ..file });
    Ok(())
}

fn switches(turn: &Turn, features: Features, launch: &mut Launch) {
    for (option, flag) in [
        ("no-custom-instructions", "--no-custom-instructions"),
        ("disable-builtin-mcps", "--disable-builtin-mcps"),
        ("reasoning-summaries", "--enable-reasoning-summaries"),
        ("experimental", "--experimental"),
    ] {
        if turn.option(option).is_true() {
            launch.arg(flag);
        }
    }
    if let Some(agent) = turn.option("agent").filled() {
        launch.arg(format!("--agent={agent}"));
    }
    if let Some(credits) = turn.option("max-ai-credits").u64() {
        if features.credits_cap {
            launch.pair("--max-ai-credits", credits.to_string());
        } else {
            launch.ignore("max-ai-credits", "this version has no cap on AI credits");
        }
    }
}

fn impossible(turn: &Turn, launch: &mut Launch) {
    if turn.max_cost_micros.is_some() {
        launch.ignore("max-cost", "Copilot has no prices in dollars; see the option max-ai-credits");
    }
    if turn.fallback_model.is_some() {
        launch.ignore("fallback-model", "Copilot takes one model");
    }
    if turn.output_schema.is_some() {
        launch.ignore("output-schema", "Copilot cannot be held to a schema");
    }
}

/// The prompt as the model shall read it.
pub(crate) fn prompt(turn: &Turn) -> Result<String, Failure> {
    if turn.prompt.trim().is_empty() {
        let retry = Retry::AfterUserAction("give a prompt".to_owned());
        return Err(Failure::new(ErrorClass::InvalidOption, "the prompt is empty").retry(retry));
    }
    Ok(match turn.system_prompt.as_deref().filter(|system| !system.is_empty()) {
        Some(system) => format!("<system>\n{system}\n</system>\n\n{}", turn.prompt),
        // A slash in front may be taken for a command of the CLI, which then never asks the model. Blanks before it
        // are no protection that was measured, words are.
        None if turn.prompt.trim_start().starts_with('/') => format!("The request: {}", turn.prompt),
        None => turn.prompt.clone(),
    })
}
