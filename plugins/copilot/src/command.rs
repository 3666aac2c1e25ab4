//! The command line of a turn.

use crate::features::Features;
use crate::transport::Transport;
use crate::{permissions, usage};
use wharf_adapter::{Approvals, Arg, ErrorClass, Failure, Json, Launch, SessionChoice, Setting, Settings, acp};

/// Keeps the launcher from starting a newer version than itself that was unpacked earlier.
pub(crate) const NO_AUTO_UPDATE: &str = "--no-auto-update";

const NO_FORK: &str = "Copilot cannot fork a session; a new one is started";
/// The files of a workspace that the CLI takes for instructions.
const INSTRUCTIONS: [&str; 5] =
    ["AGENTS.md", "CLAUDE.md", "GEMINI.md", ".github/copilot-instructions.md", ".github/instructions"];

/// The launch of a turn.
pub(crate) fn build(settings: &mut Settings<'_>, features: Features) -> Result<Launch, Failure> {
    let transport = Transport::named(settings.transport());
    let mut launch = match transport {
        Transport::Lines => {
            let mut launch = Launch::lines(["--output-format", "json", "-s", "--no-ask-user"]);
            launch.pair("--stream", if settings.stream_text() { "on" } else { "off" });
            launch
        }
        Transport::Acp => acp::launch(settings, ["--acp"]),
    };
    launch.arg(NO_AUTO_UPDATE);
    launch.pair("--log-level", "error");
    // For the copies of itself that the agent starts.
    launch.set("COPILOT_AUTO_UPDATE", "false");
    // In the prompt.
    settings.system_prompt();
    permissions::flags(settings, transport, &mut launch);
    match transport {
        Transport::Lines => {
            session(settings, features, &mut launch);
            model(settings, features, &mut launch);
            autopilot(settings, &mut launch);
            usage_file(features, &mut launch);
            if settings.approvals() == Approvals::Ask {
                let reason = "the JSON lines transport cannot ask; what needs a permission is denied";
                settings.unsupported(Setting::Approvals, reason);
            }
        }
        Transport::Acp => protocol_settings(settings, features),
    }
    mcp_servers(settings, &mut launch)?;
    for dir in settings.extra_dirs() {
        launch.joined("--add-dir=", dir);
    }
    switches(settings, features, &mut launch);
    let excluded = settings.option("no-custom-instructions").is_true();
    if excluded && transport == Transport::Acp {
        settings
            .report("no-custom-instructions", "over ACP the CLI reads the instructions of the workspace all the same");
    }
    launch.instructions(&INSTRUCTIONS, !excluded || transport == Transport::Acp);
    settings.unsupported(Setting::MaxCost, "Copilot has no prices in dollars; see the option max-ai-credits");
    settings.unsupported(Setting::FallbackModel, "Copilot accepts one model only");
    settings.unsupported(Setting::OutputSchema, "Copilot has no structured output");
    Ok(launch)
}

fn session(settings: &mut Settings<'_>, features: Features, launch: &mut Launch) {
    match settings.session() {
        SessionChoice::Fresh(Some(id)) if features.session_id && is_uuid(id) => {
            launch.joined("--session-id=", id);
        }
        SessionChoice::Fresh(Some(_)) if features.session_id => {
            settings.report("session", "Copilot takes only a UUID as the id of a session; it chooses one itself");
        }
        SessionChoice::Fresh(Some(_)) => {
            settings.report("session", "this version cannot be given the id of a session; it chooses one itself");
        }
        SessionChoice::Fresh(None) => {}
        SessionChoice::Resume(id) => {
            launch.joined("--resume=", id);
            stay_in_workspace(launch);
        }
        SessionChoice::MostRecent => {
            launch.arg("--continue");
            stay_in_workspace(launch);
        }
        SessionChoice::Fork(_) => settings.report("session", NO_FORK),
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

fn model(settings: &mut Settings<'_>, features: Features, launch: &mut Launch) {
    if let Some(model) = settings.model() {
        launch.joined("--model=", model);
    }
    if let Some(effort) = settings.effort(features.efforts) {
        launch.pair("--reasoning-effort", effort.name());
    }
}

fn autopilot(settings: &mut Settings<'_>, launch: &mut Launch) {
    if settings.autopilot() {
        launch.arg("--autopilot");
        // Always with a limit: without one 1.0.35 would continue forever.
        let default = settings.option("max-autopilot-continues").u64().unwrap_or(50);
        let limit = settings.max_turns().map_or(default, u64::from);
        launch.pair("--max-autopilot-continues", limit.to_string());
    } else {
        settings.unsupported(Setting::MaxTurns, "Copilot limits only the continuations of its autopilot");
    }
}

fn usage_file(features: Features, launch: &mut Launch) {
    if features.usage_file {
        let file = launch.file(usage::FILE, "");
        launch.pair("--usage-output-file", file);
    }
}

/// Settings that differ over the protocol. Model, effort, mode and session are set in it.
fn protocol_settings(settings: &mut Settings<'_>, features: Features) {
    if !features.protocol_servers {
        settings.unsupported(Setting::McpServers, "over ACP, versions before 1.0.102 may not start MCP servers");
    }
    if settings.autopilot() && settings.turn().approvals != Approvals::AllowAll {
        settings.report("autopilot", "over ACP it would allow everything");
    }
    if let SessionChoice::Fork(_) = settings.session() {
        settings.report("session", NO_FORK);
    }
}

fn mcp_servers(settings: &mut Settings<'_>, launch: &mut Launch) -> Result<(), Failure> {
    let Some(servers) = settings.mcp_servers() else { return Ok(()) };
    if !Json::parse(&servers).get("mcpServers").is_object() {
        return Err(Failure::new(ErrorClass::InvalidOption, "mcp-servers is not a JSON object"));
    }
    // In a file: it may contain secrets, and a command line is visible to others.
    let file = launch.file("mcp.json", servers);
    launch.pair("--additional-mcp-config", Arg { text: "@".to_owned(), ..file });
    Ok(())
}

fn switches(settings: &mut Settings<'_>, features: Features, launch: &mut Launch) {
    for (option, flag) in [
        ("no-custom-instructions", "--no-custom-instructions"),
        ("disable-builtin-mcps", "--disable-builtin-mcps"),
        ("reasoning-summaries", "--enable-reasoning-summaries"),
        ("experimental", "--experimental"),
    ] {
        if settings.option(option).is_true() {
            launch.arg(flag);
        }
    }
    if let Some(agent) = settings.option("agent").filled() {
        launch.joined("--agent=", &agent);
    }
    match settings.option("max-ai-credits").u64() {
        Some(credits) if features.credits_cap => launch.pair("--max-ai-credits", credits.to_string()),
        Some(_) => settings.report("max-ai-credits", "this version has no limit on AI credits"),
        None => {}
    }
}

#[cfg(test)]
mod tests;
