//! The command line of a turn.

use crate::features::Features;
use crate::transport::Transport;
use crate::{permissions, usage};
use wharf_adapter::json::Object;
use wharf_adapter::{
    Approvals, Arg, Effort, ErrorClass, ExitBehavior, Failure, Json, Launch, SessionChoice, Turn, nearest_effort,
};

/// Keeps the launcher from starting a newer version than itself that was unpacked earlier.
pub(crate) const NO_AUTO_UPDATE: &str = "--no-auto-update";

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
            launch.exit_behavior = ExitBehavior::WhenStdinCloses;
            launch
        }
    };
    launch.arg(NO_AUTO_UPDATE);
    launch.pair("--log-level", "error");
    // For the copies of itself that the agent starts.
    launch.set("COPILOT_AUTO_UPDATE", "false");
    permissions::flags(turn, transport, &mut launch);
    if transport == Transport::Lines {
        session(&turn.session, features, &mut launch);
        model(turn, features, &mut launch);
        autopilot(turn, &mut launch);
        usage_file(features, &mut launch);
        if turn.approvals == Approvals::Ask {
            launch.unsupported("approvals", "the JSON lines transport cannot ask; what needs a permission is denied");
        }
    } else {
        protocol_settings(turn, features, &mut launch);
    }
    mcp_servers(turn, &mut launch)?;
    for dir in &turn.extra_dirs {
        launch.arg(format!("--add-dir={dir}"));
    }
    switches(turn, features, &mut launch);
    unsupported_everywhere(turn, &mut launch);
    Ok(launch)
}

fn session(choice: &SessionChoice, features: Features, launch: &mut Launch) {
    match choice {
        SessionChoice::Fresh(Some(id)) if features.session_id && is_uuid(id) => {
            launch.arg(format!("--session-id={id}"));
        }
        SessionChoice::Fresh(Some(_)) if features.session_id => {
            launch.unsupported("session", "Copilot takes only a UUID as the id of a session; it chooses one itself");
        }
        SessionChoice::Fresh(Some(_)) => {
            launch.unsupported("session", "this version cannot be given the id of a session; it chooses one itself");
        }
        SessionChoice::Fresh(None) => {}
        SessionChoice::Resume(id) => {
            launch.arg(format!("--resume={id}"));
            stay_in_workspace(launch);
        }
        SessionChoice::MostRecent => {
            launch.arg("--continue");
            stay_in_workspace(launch);
        }
        SessionChoice::Fork(_) => launch.unsupported("session", "Copilot cannot fork a session; a new one is started"),
    }
}

/// By default a resumed session changes to the folder that it was started in.
fn stay_in_workspace(launch: &mut Launch) {
    launch.set("COPILOT_DISABLE_RESUME_AUTO_CD", "1");
}

/// Whether the CLI accepts it as the id of a new session.
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

/// The requested effort, or the nearest that this version has.
fn effort(turn: &Turn, offered: &[Effort], launch: &mut Launch) -> Option<Effort> {
    let name = turn.effort.as_deref()?;
    let Some(requested) = Effort::parse(name) else {
        launch.unsupported("effort", &format!("unknown effort `{name}`"));
        return None;
    };
    let given = nearest_effort(requested, offered)?;
    if given != requested {
        launch.unsupported("effort", &format!("this version has no effort `{name}`; `{}` is used", given.name()));
    }
    Some(given)
}

fn autopilot(turn: &Turn, launch: &mut Launch) {
    if turn.autopilot {
        launch.arg("--autopilot");
        // Always with a limit: without one 1.0.35 would continue forever.
        let default = turn.option("max-autopilot-continues").u64().unwrap_or(50);
        let limit = turn.max_turns.map_or(default, u64::from);
        launch.pair("--max-autopilot-continues", limit.to_string());
    } else if turn.max_turns.is_some() {
        launch.unsupported("max-turns", "Copilot limits only the continuations of its autopilot");
    }
}

fn usage_file(features: Features, launch: &mut Launch) {
    if features.usage_file {
        let file = launch.file(usage::FILE, "");
        launch.pair("--usage-output-file", file);
    }
}

/// Settings that the protocol does not have. Model, effort, mode and session are set in the protocol.
fn protocol_settings(turn: &Turn, features: Features, launch: &mut Launch) {
    if turn.mcp_servers.is_some() && !features.protocol_servers {
        launch.unsupported("mcp-servers", "over ACP, versions before 1.0.102 may not start MCP servers");
    }
    if turn.max_turns.is_some() {
        launch.unsupported("max-turns", "it cannot be set over ACP");
    }
    if turn.autopilot && turn.approvals != Approvals::AllowAll {
        launch.unsupported("autopilot", "over ACP it would allow everything");
    }
    match turn.session {
        SessionChoice::Fork(_) => launch.unsupported("session", "Copilot cannot fork a session; a new one is started"),
        SessionChoice::MostRecent => {
            launch.unsupported("session", "ACP resumes a session only by its id; a new one is started");
        }
        SessionChoice::Fresh(Some(_)) => {
            launch.unsupported("session", "ACP cannot name a new session; Copilot chooses its id");
        }
        SessionChoice::Fresh(None) | SessionChoice::Resume(_) => {}
    }
    if !turn.stream_text {
        launch.unsupported("stream-text", "ACP always streams");
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
    // In a file: it may contain secrets, and a command line is visible to others.
    let file = launch.file("mcp.json", config);
    launch.pair("--additional-mcp-config", Arg { text: "@".to_owned(), ..file });
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
            launch.unsupported("max-ai-credits", "this version has no limit on AI credits");
        }
    }
}

fn unsupported_everywhere(turn: &Turn, launch: &mut Launch) {
    if turn.max_cost_micros.is_some() {
        launch.unsupported("max-cost", "Copilot has no prices in dollars; see the option max-ai-credits");
    }
    if turn.fallback_model.is_some() {
        launch.unsupported("fallback-model", "Copilot accepts one model only");
    }
    if turn.output_schema.is_some() {
        launch.unsupported("output-schema", "Copilot has no structured output");
    }
}

#[cfg(test)]
mod tests;
