//! The command line of a turn.
//!
//! It never contains the prompt. Values are joined to their flags, because flags with several values would consume the
//! arguments that follow, and a value may start with a dash.

use crate::features::Features;
use crate::info::MODES;
use crate::transport::Transport;
use crate::{login, prompt};
use wharf_adapter::{
    Approvals, Arg, Binary, Decision, ErrorClass, Failure, Json, Launch, PolicyArea, SessionChoice, Setting, Settings,
    Turn, acp,
};

/// Linux limits an argument to 128 KiB.
const MAX_ARGUMENT: usize = 128 * 1024 - 64;

/// The files of a workspace that Qwen Code takes for instructions.
const INSTRUCTIONS: [&str; 4] = ["QWEN.md", "AGENTS.md", ".qwen/agents", ".qwen/skills"];

/// The launch of a turn.
pub(crate) fn build(settings: &mut Settings<'_>, binary: &Binary, features: Features) -> Result<Launch, Failure> {
    let transport = Transport::named(settings.transport());
    let mut launch = match transport {
        Transport::Lines => {
            let mut launch = Launch::lines(["--output-format", "stream-json"]);
            if settings.stream_text() {
                launch.arg("--include-partial-messages");
            }
            launch
        }
        Transport::Acp => acp::launch(settings, [if features.acp { "--acp" } else { "--experimental-acp" }]),
    };
    if let Some(name) = login::auth_type(settings.option("auth-type"), &binary.login) {
        launch.joined("--auth-type=", name);
    }
    if let Some(model) = settings.model() {
        launch.joined("--model=", model);
    }
    launch.joined("--approval-mode=", mode(settings.turn()));
    // It would be printed in every run that allows everything.
    launch.set("QWEN_CODE_SUPPRESS_YOLO_WARNING", "1");
    settings.approvals();
    system_prompt(settings, features, &mut launch)?;
    tools(settings, &mut launch);
    fallback(settings, features, &mut launch);
    match transport {
        Transport::Lines => lines(settings, features, &mut launch)?,
        Transport::Acp => protocol(settings),
    }
    for folder in settings.extra_dirs() {
        launch.joined("--include-directories=", folder);
    }
    if settings.option("persist-session").bool() == Some(false) {
        launch.arg("--chat-recording=false");
    }
    let bare = settings.option("bare").is_true();
    if bare {
        launch.arg("--bare");
    }
    launch.instructions(&INSTRUCTIONS, !bare);
    launch.args.extend(settings.extra_args().iter().map(|arg| Arg::from(arg.as_str())));
    settings.unsupported(Setting::MaxCost, "Qwen Code knows no prices");
    settings.unsupported(Setting::Autopilot, "Qwen Code has no autopilot: a turn always continues until it is done");
    Ok(launch)
}

/// The mode for the turn: the one that it names, or the one for its approvals. It is always named: the default of newer
/// versions lets another model decide.
pub(crate) fn mode(turn: &Turn) -> &str {
    let named = turn.option("approval-mode").name().filter(|mode| MODES[1..].contains(mode));
    named.unwrap_or(if turn.approvals == Approvals::AllowAll { "yolo" } else { "default" })
}

/// What is different with one process per turn.
fn lines(settings: &mut Settings<'_>, features: Features, launch: &mut Launch) -> Result<(), Failure> {
    if settings.approvals() == Approvals::Ask {
        let reason = "the transport stream-json cannot ask; what needs a permission is denied";
        settings.unsupported(Setting::Approvals, reason);
    }
    if settings.attachments().iter().any(|file| !prompt::is_attachable(file, settings.turn())) {
        settings
            .report("attachments", "Qwen Code reads only files inside of the workspace; the others are not attached");
    }
    session(settings, features, launch);
    settings.unsupported(Setting::Effort, "Qwen Code has no flag for it; over ACP it is set if the model offers it");
    if let Some(turns) = settings.max_turns() {
        launch.joined("--max-session-turns=", &turns.to_string());
    }
    match settings.option("max-tool-calls").u64() {
        Some(calls) if features.tool_call_cap => launch.joined("--max-tool-calls=", &calls.to_string()),
        Some(_) => settings.report("max-tool-calls", "this version cannot limit the number of tool calls"),
        None => {}
    }
    if !features.servers {
        settings.unsupported(Setting::McpServers, "this version takes MCP servers from its settings only");
    } else if let Some(servers) = settings.mcp_servers() {
        if !Json::parse(&servers).get("mcpServers").is_object() {
            return Err(Failure::new(ErrorClass::InvalidOption, "mcp-servers is not a JSON object"));
        }
        // In a file: it may contain secrets, and a command line is visible to others.
        let file = launch.file("mcp.json", servers);
        launch.pair("--mcp-config", file);
    }
    if !features.schema {
        settings.unsupported(Setting::OutputSchema, "this version has no structured output");
    } else if let Some(schema) = settings.output_schema() {
        let file = launch.file("schema.json", schema);
        launch.pair("--json-schema", Arg { text: "@".to_owned(), ..file });
    }
    Ok(())
}

/// What is different over ACP. Model, effort, mode and MCP servers are set in it too.
fn protocol(settings: &mut Settings<'_>) {
    settings.unsupported(Setting::MaxTurns, "over ACP Qwen Code does not count the calls of the model");
    settings.unsupported(Setting::OutputSchema, "over ACP Qwen Code has no structured output");
    if settings.option("max-tool-calls").u64().is_some() {
        settings.report("max-tool-calls", "over ACP Qwen Code does not count the tool calls");
    }
    if let SessionChoice::Fork(_) = settings.session() {
        settings.report("session", "over ACP Qwen Code cannot fork a session; a new one is started");
    }
}

fn session(settings: &mut Settings<'_>, features: Features, launch: &mut Launch) {
    match settings.session() {
        SessionChoice::Fresh(Some(id)) => launch.joined("--session-id=", id),
        SessionChoice::Fresh(None) => {}
        SessionChoice::Resume(id) => launch.joined("--resume=", id),
        SessionChoice::Fork(id) if features.fork => {
            launch.joined("--resume=", id);
            launch.arg("--fork-session");
        }
        SessionChoice::Fork(_) => {
            settings.report("session", "this version cannot fork a session; a new one is started");
        }
        SessionChoice::MostRecent => launch.arg("--continue"),
    }
}

fn system_prompt(settings: &mut Settings<'_>, features: Features, launch: &mut Launch) -> Result<(), Failure> {
    let Some(system) = settings.system_prompt() else { return Ok(()) };
    if !features.servers {
        settings.report("system-prompt", "this version has no flag for a system prompt");
        return Ok(());
    }
    if system.len() > MAX_ARGUMENT {
        return Err(Failure::new(
            ErrorClass::InvalidOption,
            "the system prompt is too long for a command line, and Qwen Code takes it from nowhere else; put it into \
             QWEN.md of the workspace",
        ));
    }
    let replace = settings.option("system-prompt-mode").is("replace");
    launch.joined(if replace { "--system-prompt=" } else { "--append-system-prompt=" }, system);
    Ok(())
}

/// The rules about tools, in Qwen Code's own notation, and those of the policy that it enforces: a tool that is denied by
/// its whole name is not offered to the model.
fn tools(settings: &mut Settings<'_>, launch: &mut Launch) {
    let rules = settings.tools();
    for (flag, names) in [
        ("--allowed-tools=", &rules.allow),
        ("--exclude-tools=", &rules.deny),
        ("--exclude-tools=", &rules.without),
        ("--core-tools=", &rules.only),
    ] {
        for name in names {
            launch.joined(flag, name);
        }
    }
    settings.enforce(|rule| match &rule.pattern {
        Some(name) if rule.area == PolicyArea::Tools && rule.decision == Decision::Deny && !name.contains('*') => {
            launch.joined("--exclude-tools=", name);
            true
        }
        _ => false,
    });
}

fn fallback(settings: &mut Settings<'_>, features: Features, launch: &mut Launch) {
    if !features.fallback {
        settings.unsupported(Setting::FallbackModel, "this version has no fallback model");
    } else if let Some(model) = settings.fallback_model() {
        launch.joined("--fallback-model=", model);
    }
}

#[cfg(test)]
mod tests;
