//! The command line of a turn.

use crate::features::Features;
use crate::policy;
use crate::prompt;
use crate::transport::Transport;
use wharf_adapter::{Approvals, ErrorClass, Failure, Json, Launch, SessionChoice, Setting, Settings, StopSignal, acp};

/// With a command running, it took 3.8 s.
const STOP_MILLIS: u32 = 6_000;

const NO_FORK: &str = "Gemini CLI cannot fork a session; a new one is started";

/// The launch of a turn.
pub(crate) fn build(settings: &mut Settings<'_>, features: Features) -> Result<Launch, Failure> {
    let transport = Transport::named(settings.transport());
    let mut launch = match transport {
        Transport::StreamJson => {
            // Text that is not to be streamed is reported when it is complete.
            settings.stream_text();
            let mut launch = Launch::lines(["--output-format", "stream-json"]);
            session(settings, features, &mut launch);
            launch
        }
        Transport::Acp => {
            let flag = if features.acp { "--acp" } else { "--experimental-acp" };
            let launch = acp::launch(settings, [flag]);
            if let SessionChoice::Fork(_) = settings.session() {
                settings.report("session", NO_FORK);
            }
            launch
        }
    };
    // Otherwise the CLI starts itself once more, and signals do not reach the second process.
    launch.set("GEMINI_CLI_NO_RELAUNCH", "true");
    if settings.option("trust-workspace").bool() != Some(false) {
        launch.set("GEMINI_CLI_TRUST_WORKSPACE", "true");
    }
    if let Some(model) = settings.model() {
        launch.joined("--model=", model);
    }
    approvals(settings, transport, features, &mut launch);
    settings.system_prompt();
    if let Some(system) = prompt::replacement(settings.turn()) {
        let file = launch.file("system.md", system);
        launch.set("GEMINI_SYSTEM_MD", file);
    }
    mcp_servers(settings, transport)?;
    extra_dirs(settings, &mut launch);
    for extension in settings.option("extensions").items().filter_map(Json::string) {
        launch.joined("--extensions=", &extension);
    }
    for arg in settings.extra_args() {
        launch.arg(arg.as_str());
    }
    launch.stop_signal = Some(StopSignal::Terminate);
    launch.stop_ms = Some(STOP_MILLIS);
    launch.instructions(&["GEMINI.md"], true);
    unsupported(settings);
    Ok(launch)
}

/// What no version has on its command line.
fn unsupported(settings: &mut Settings<'_>) {
    for (setting, reason) in [
        (Setting::Effort, "Gemini CLI reads it only from its settings"),
        (
            Setting::MaxTurns,
            "Gemini CLI reads it only from its settings: model.maxSessionTurns in ~/.gemini/settings.json",
        ),
        (Setting::MaxCost, "Gemini CLI has no prices"),
        (Setting::FallbackModel, "Gemini CLI chooses a fallback by itself, and only for the model `auto`"),
        (Setting::OutputSchema, "Gemini CLI has no structured output"),
        (Setting::Autopilot, "Gemini CLI always continues until the task is done"),
    ] {
        settings.unsupported(setting, reason);
    }
}

fn session(settings: &mut Settings<'_>, features: Features, launch: &mut Launch) {
    const NO_RESUME: &str = "this version cannot resume a session without a terminal; a new one is started";
    match settings.session() {
        SessionChoice::Fresh(None) => {}
        SessionChoice::Fresh(Some(id)) if features.session_id => launch.joined("--session-id=", id),
        SessionChoice::Fresh(Some(_)) => {
            settings.report("session", "this version cannot be given the id of a session; it chooses one itself");
        }
        SessionChoice::Fork(_) => settings.report("session", NO_FORK),
        _ if !features.resume => settings.report("session", NO_RESUME),
        SessionChoice::Resume(id) => launch.joined("--resume=", id),
        SessionChoice::MostRecent => launch.joined("--resume=", "latest"),
    }
}

/// The mode and the rules. Over stream-json a tool that needs a permission is not offered to the model.
fn approvals(settings: &mut Settings<'_>, transport: Transport, features: Features, launch: &mut Launch) {
    let approvals = settings.approvals();
    if approvals == Approvals::Ask && transport == Transport::StreamJson {
        let reason = "stream-json cannot ask; the tools that need a permission are not offered to the model";
        settings.unsupported(Setting::Approvals, reason);
    }
    let chosen = settings.option("approval-mode").name().filter(|mode| *mode != "by-approvals");
    let mode = if approvals == Approvals::AllowAll { "yolo" } else { "default" };
    launch.joined("--approval-mode=", chosen.unwrap_or(mode));
    if features.resume {
        policy::apply(settings, launch);
    } else {
        settings.unsupported(Setting::Tools, "this version has no policies");
    }
}

fn mcp_servers(settings: &mut Settings<'_>, transport: Transport) -> Result<(), Failure> {
    if transport == Transport::StreamJson {
        let reason = "over stream-json Gemini CLI reads MCP servers only from its settings; use the transport acp";
        settings.unsupported(Setting::McpServers, reason);
        return Ok(());
    }
    match settings.mcp_servers() {
        Some(servers) if !Json::parse(&servers).get("mcpServers").is_object() => {
            Err(Failure::new(ErrorClass::InvalidOption, "mcp-servers is not a JSON object"))
        }
        _ => Ok(()),
    }
}

fn extra_dirs(settings: &mut Settings<'_>, launch: &mut Launch) {
    for dir in settings.extra_dirs() {
        if dir.bytes().any(|byte| byte == b',') {
            settings.report("extra-dirs", "Gemini CLI takes a comma for the end of a folder's name");
        } else {
            launch.joined("--include-directories=", dir);
        }
    }
}

#[cfg(test)]
mod tests;
