//! The command line of a turn.
//!
//! It never contains the prompt: an argument has a size limit, and a flag with several values would consume it. The
//! defaults are safe: with `-p` the CLI does not ask whether a workspace is trusted, so its hooks and MCP servers would
//! run. With `--setting-sources user --strict-mcp-config` they do not. Its instructions are read all the same: see
//! `instructions`.

use crate::binary::CONTROL;
use crate::instructions as workspace;
use wharf_adapter::{
    Approvals, Binary, Effort, ErrorClass, ExitBehavior, Failure, Launch, SessionChoice, Setting, Settings, Turn,
    Version,
};

/// The values of `--effort`.
const EFFORTS: [Effort; 5] = [Effort::Low, Effort::Medium, Effort::High, Effort::Xhigh, Effort::Max];

/// The CLI rejects more than 10 MB on stdin.
const MAX_PROMPT: usize = 10 * 1024 * 1024;

/// Linux limits an argument to 128 KiB.
const MAX_ARGUMENT: usize = 128 * 1024 - 1;

/// The first version with `--effort` and `--bare`: 2.0.76 has neither, 2.1.197 has both.
const EFFORT_SINCE: Version = Version(2, 1, 0);

/// The first known version that keeps the first system prompt of a session by default.
const SNAPSHOT_SINCE: Version = Version(2, 1, 325);

/// Whether the version is at least this one. `None` if the version is unknown.
fn is_since(binary: &Binary, since: Version) -> Option<bool> {
    binary.version.as_deref().and_then(Version::find).map(|version| version >= since)
}

/// Whether the turn needs stdin beyond the prompt.
pub(crate) fn is_duplex(turn: &Turn, transport: &str) -> bool {
    transport == CONTROL || turn.option("gates").items().next().is_some()
}

/// The prompt, written so that it reaches the model.
pub(crate) fn prompt(turn: &Turn) -> Result<String, Failure> {
    if turn.prompt.len() > MAX_PROMPT {
        return Err(Failure::new(
            ErrorClass::InvalidOption,
            "the prompt is longer than the 10 MB that Claude Code accepts",
        ));
    }
    Ok(escape_slash(turn.prompt.clone(), turn.option("slash-commands").is_true()))
}

/// A text that starts with a slash would run as a command. With a space before the slash it is plain text.
pub(crate) fn escape_slash(text: String, commands: bool) -> String {
    if text.starts_with('/') && !commands { format!(" {text}") } else { text }
}

/// The launch of a turn.
pub(crate) fn build(settings: &mut Settings<'_>, binary: &Binary) -> Result<Launch, Failure> {
    let mut launch = Launch::lines(["-p", "--output-format", "stream-json", "--verbose"]);
    if settings.stream_text() {
        launch.arg("--include-partial-messages");
    }
    if is_duplex(settings.turn(), settings.transport()) {
        launch.pair("--input-format", "stream-json");
        launch.exit_behavior = ExitBehavior::WhenStdinCloses;
    }
    session(settings, &mut launch);
    model(settings, binary, &mut launch);
    instructions(settings, binary, &mut launch);
    permissions(settings, binary, &mut launch);
    isolation(settings, binary, &mut launch);
    caps(settings, &mut launch);
    if let Some(schema) = settings.output_schema() {
        if schema.len() > MAX_ARGUMENT {
            return Err(Failure::new(ErrorClass::InvalidOption, "the output schema is too long for a command line"));
        }
        launch.pair("--json-schema", schema);
    }
    let reason = "Claude Code has no autopilot: a turn always continues until it is done";
    settings.unsupported(Setting::Autopilot, reason);
    launch.set("DISABLE_AUTOUPDATER", "1");
    Ok(launch)
}

fn session(settings: &mut Settings<'_>, launch: &mut Launch) {
    match settings.session() {
        SessionChoice::Fresh(Some(id)) => launch.pair("--session-id", id.as_str()),
        SessionChoice::Fresh(None) => {}
        SessionChoice::Resume(id) => launch.pair("--resume", id.as_str()),
        SessionChoice::Fork(id) => {
            launch.pair("--resume", id.as_str());
            launch.arg("--fork-session");
        }
        SessionChoice::MostRecent => launch.arg("--continue"),
    }
    if settings.option("persist-session").bool() == Some(false) {
        launch.arg("--no-session-persistence");
    }
}

fn model(settings: &mut Settings<'_>, binary: &Binary, launch: &mut Launch) {
    // With `=`: a project may choose the model, and a name that starts with a dash must not become another option.
    if let Some(model) = settings.model() {
        launch.joined("--model=", model);
    }
    if let Some(model) = settings.fallback_model() {
        launch.joined("--fallback-model=", model);
    }
    if is_since(binary, EFFORT_SINCE) == Some(false) {
        settings.unsupported(Setting::Effort, "Claude Code has --effort since 2.1");
    } else if let Some(effort) = settings.effort(&EFFORTS) {
        launch.pair("--effort", effort.name());
    }
}

fn instructions(settings: &mut Settings<'_>, binary: &Binary, launch: &mut Launch) {
    if let Some(system) = settings.system_prompt() {
        let replace = settings.option("system-prompt-mode").is("replace");
        let file = launch.file("system-prompt.md", system);
        launch.pair(if replace { "--system-prompt-file" } else { "--append-system-prompt-file" }, file);
        let resumed = !matches!(settings.session(), SessionChoice::Fresh(_));
        if resumed && is_since(binary, SNAPSHOT_SINCE) == Some(true) {
            launch.pair("--system-prompt-snapshot", "off");
        }
    }
    for folder in settings.extra_dirs() {
        launch.pair("--add-dir", folder.as_str());
    }
    workspace::apply(settings.turn(), binary, launch);
    if let Some(agents) = option_json(settings, "agents") {
        launch.pair("--agents", agents);
    }
}

/// The permission mode that the turn names.
pub(crate) fn permission_mode(turn: &Turn) -> Option<&str> {
    turn.option("permission-mode").name().filter(|mode| *mode != "by-approvals")
}

fn permissions(settings: &mut Settings<'_>, binary: &Binary, launch: &mut Launch) {
    let approvals = settings.approvals();
    match (permission_mode(settings.turn()), approvals) {
        (Some(mode), _) => launch.pair("--permission-mode", mode),
        (None, Approvals::AllowAll) => launch.arg("--dangerously-skip-permissions"),
        // 2.0 denies by default whatever needs a permission.
        (None, Approvals::Deny) if is_since(binary, EFFORT_SINCE) == Some(false) => {}
        (None, Approvals::Deny) => launch.pair("--permission-mode", "dontAsk"),
        (None, Approvals::Ask) => {}
    }
    if approvals == Approvals::Ask {
        launch.pair("--permission-prompt-tool", "stdio");
    }
    if settings.option("sandboxed").is_true() {
        launch.set("IS_SANDBOX", "1");
    }
    let rules = settings.tools();
    if !rules.only.is_empty() {
        launch.pair("--tools", rules.only.join(","));
    }
    several("--allowedTools", rules.allow.iter(), launch);
    several("--disallowedTools", rules.deny.iter().chain(&rules.without), launch);
}

/// Adds a flag with several values, each as its own argument: a rule may contain commas and spaces.
fn several<'a>(flag: &str, values: impl Iterator<Item = &'a String>, launch: &mut Launch) {
    let mut values = values.peekable();
    if values.peek().is_some() {
        launch.arg(flag);
        values.for_each(|value| launch.arg(value.as_str()));
    }
}

fn isolation(settings: &mut Settings<'_>, binary: &Binary, launch: &mut Launch) {
    if !settings.option("project-settings").is_true() {
        launch.pair("--setting-sources", "user");
        launch.arg("--strict-mcp-config");
    }
    if let Some(servers) = settings.mcp_servers() {
        let file = launch.file("mcp.json", servers);
        launch.pair("--mcp-config", file);
    }
    if let Some(json) = option_json(settings, "settings") {
        let file = launch.file("settings.json", json);
        launch.pair("--settings", file);
    }
    if settings.option("bare").is_true() {
        if is_since(binary, EFFORT_SINCE) == Some(false) {
            settings.report("bare", "Claude Code has --bare since 2.1");
        } else {
            launch.arg("--bare");
        }
    }
}

fn caps(settings: &mut Settings<'_>, launch: &mut Launch) {
    if let Some(turns) = settings.max_turns() {
        launch.pair("--max-turns", turns.to_string());
    }
    if let Some(micros) = settings.max_cost_micros() {
        launch.pair("--max-budget-usd", dollars(micros));
    }
    if let Some(retries) = settings.option("max-retries").u64() {
        launch.set("CLAUDE_CODE_MAX_RETRIES", retries.to_string());
    }
    if settings.option("background-tasks").bool() == Some(false) {
        launch.set("CLAUDE_CODE_DISABLE_BACKGROUND_TASKS", "1");
    }
}

/// Millionths of a dollar as an exact amount in dollars.
fn dollars(micros: u64) -> String {
    let text = format!("{}.{:06}", micros / 1_000_000, micros % 1_000_000);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn option_json(settings: &Settings<'_>, name: &str) -> Option<String> {
    Some(settings.option(name)).filter(|value| !value.is_null()).map(|value| value.raw().to_owned())
}

#[cfg(test)]
mod tests;
