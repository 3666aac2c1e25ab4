//! The command line of a turn.
//!
//! It never contains the prompt: `exec` reads it from stdin, `app-server` gets it in the protocol. What has a parameter in
//! the protocol is not on the command line of `app-server`: see `request`. The rest are settings of Codex (`-c`), the same
//! for both.

use crate::attachments;
use crate::binary::FORK_SINCE;
use crate::info::KEY;
use crate::permissions::Permissions;
use crate::request::Effort;
use crate::toml;
use crate::transport::Transport;
use wharf_adapter::json::Object;
use wharf_adapter::{
    Approvals, Binary, ErrorClass, ExitBehavior, Failure, Json, Launch, Login, Retry, SessionChoice, Setting, Settings,
    Turn, Version,
};

/// Linux limits an argument to 128 KiB.
const MAX_ARGUMENT: usize = 128 * 1024 - 1;

/// What Codex takes for instructions, in the folder that it works in. It reads the first two of each folder above as well,
/// up to the root of the repository.
const INSTRUCTIONS: [&str; 3] = ["AGENTS.override.md", "AGENTS.md", ".agents/skills"];

/// The launch of a turn.
pub(crate) fn build(settings: &mut Settings<'_>, transport: Transport, binary: &Binary) -> Result<Launch, Failure> {
    if settings.turn().prompt.trim().is_empty() {
        let retry = Retry::AfterUserAction("give a prompt".to_owned());
        return Err(Failure::new(ErrorClass::InvalidOption, "the prompt is empty").retry(retry));
    }
    let mut launch = match transport {
        Transport::AppServer => app_server(settings, binary),
        Transport::Exec => exec(settings, binary)?,
    };
    attachments::check(settings);
    let reads = !settings.option("no-custom-instructions").is_true();
    launch.instructions(&INSTRUCTIONS[..2], reads);
    launch.instructions(&INSTRUCTIONS[2..], true);
    settings.unsupported(Setting::CallerTools, "Codex offers tools of its client only as an experiment");
    settings.unsupported(Setting::Hooks, "Codex runs hooks itself, and does not ask its client");
    settings.unsupported(Setting::FallbackModel, "Codex has no fallback model");
    settings.unsupported(Setting::MaxTurns, "Codex has no limit of model calls");
    settings.unsupported(Setting::MaxCost, "Codex does not know costs");
    settings
        .unsupported(Setting::Tools, "Codex has no rules for its tools: see the options sandbox and approval-policy");
    settings.unsupported(Setting::Autopilot, "Codex has no autopilot: a turn always continues until it is done");
    Ok(launch)
}

fn app_server(settings: &mut Settings<'_>, binary: &Binary) -> Launch {
    let mut launch = Launch::lines(["app-server"]);
    launch.exit_behavior = ExitBehavior::WhenStdinCloses;
    configure(settings, &mut launch);
    api_key(binary, &mut launch);
    for arg in settings.extra_args() {
        launch.arg(arg.as_str());
    }
    if let SessionChoice::Fresh(Some(_)) = settings.session() {
        settings.report("session", CHOSEN);
    }
    // Taken by `request`, for each turn.
    settings.extra_dirs();
    settings.effort(&Effort::ALL);
    settings.approvals();
    settings.output_schema();
    settings.stream_text();
    launch
}

/// `app-server` does not read the key in the environment that `exec` reads. A provider can.
fn api_key(binary: &Binary, launch: &mut Launch) {
    if matches!(&binary.login, Login::Present(by) if by == KEY) {
        config(launch, "model_provider", &toml::string("openai-api-key"));
        let provider = format!(
            "{{name=\"OpenAI\",base_url=\"https://api.openai.com/v1\",env_key=\"{KEY}\",wire_api=\"responses\"}}"
        );
        config(launch, "model_providers.openai-api-key", &provider);
    }
}

const CHOSEN: &str = "Codex itself chooses the id of a new session";

fn exec(settings: &mut Settings<'_>, binary: &Binary) -> Result<Launch, Failure> {
    let mut launch = Launch::lines(["exec", "--json", "--skip-git-repo-check"]);
    // It takes up to five seconds to exit after its turn.
    launch.exit_behavior = ExitBehavior::WhenStopped;
    let permissions = Permissions::without_asks(settings.turn());
    if permissions.are_all() && settings.turn().approvals == Approvals::AllowAll {
        launch.arg("--dangerously-bypass-approvals-and-sandbox");
    } else {
        launch.pair("--sandbox", permissions.sandbox);
    }
    // `exec` never asks: whatever the policy, what needs an approval is refused.
    if settings.turn().approvals == Approvals::Ask {
        settings.unsupported(Setting::Approvals, "exec cannot ask: what needs an approval is refused");
    }
    settings.approvals();
    if settings.option("ephemeral").is_true() {
        launch.arg("--ephemeral");
    }
    if let Some(model) = settings.model() {
        launch.pair("--model", model);
    }
    for folder in settings.extra_dirs() {
        launch.pair("--add-dir", folder.as_str());
    }
    configure(settings, &mut launch);
    if permissions.sandbox != "read-only" && trusts(binary) {
        // Since a later version this would also keep AGENTS.md from the model.
        let workspace = toml::string(&settings.turn().workspace);
        config(&mut launch, "projects", &["{", &workspace, "={\"trust_level\"=\"untrusted\"}}"].concat());
    }
    if let Some(effort) = settings.effort(&Effort::ALL) {
        config(&mut launch, "model_reasoning_effort", &toml::string(effort.name()));
    }
    if let Some(prompt) = settings.system_prompt() {
        let prompt = toml::string(prompt);
        if prompt.len() > MAX_ARGUMENT - 32 {
            let message = "the system prompt is too long for the command line of exec; use the transport app-server";
            return Err(Failure::new(ErrorClass::InvalidOption, message));
        }
        config(&mut launch, "developer_instructions", &prompt);
    }
    if let Some(schema) = settings.output_schema() {
        let schema = launch.file("schema.json", schema);
        launch.pair("--output-schema", schema);
    }
    for arg in settings.extra_args() {
        launch.arg(arg.as_str());
    }
    session(settings, binary, &mut launch);
    attachments::args(settings.attachments(), &mut launch);
    // The prompt is on stdin.
    launch.arg("-");
    // Without it there is no difference: exec does not stream.
    settings.stream_text();
    Ok(launch)
}

fn session(settings: &mut Settings<'_>, binary: &Binary, launch: &mut Launch) {
    match settings.session() {
        SessionChoice::Fresh(None) => {}
        SessionChoice::Fresh(Some(_)) => settings.report("session", CHOSEN),
        SessionChoice::Resume(id) => launch.pair("resume", id.as_str()),
        SessionChoice::Fork(id) if can_fork(binary) => launch.pair("fork", id.as_str()),
        SessionChoice::Fork(_) => {
            settings.report("session", "exec of this version cannot fork: a new session is started; app-server can");
        }
        SessionChoice::MostRecent => launch.pair("resume", "--last"),
    }
}

/// Whether `exec` of this version trusts a workspace in which it may write, and remembers that: 0.142.0 does, 0.169.0 does
/// not.
fn trusts(binary: &Binary) -> bool {
    binary.version.as_deref().and_then(Version::find).is_none_or(|version| version < Version(0, 169, 0))
}

/// Whether `exec` of this version has `fork`.
pub(crate) fn can_fork(binary: &Binary) -> bool {
    binary.version.as_deref().and_then(Version::find).is_some_and(|version| version >= FORK_SINCE)
}

/// Whether `exec` continues the session that the turn forks.
pub(crate) fn forks(turn: &Turn, binary: &Binary) -> bool {
    matches!(turn.session, SessionChoice::Fork(_)) && can_fork(binary)
}

/// What both transports take as settings of Codex.
fn configure(settings: &mut Settings<'_>, launch: &mut Launch) {
    if let Some(servers) = settings.mcp_servers() {
        for (name, server) in Json::parse(&servers).get("mcpServers").fields() {
            let name = wharf_adapter::json::unescape(name);
            let server = mcp_server(server);
            config(launch, &["mcp_servers.", &key(&name)].concat(), &toml::value(Json::parse(&server)));
        }
    }
    if settings.option("no-custom-instructions").is_true() {
        config(launch, "project_doc_max_bytes", "0");
    }
    if let Some(summary) = settings.option("reasoning-summary").name().filter(|summary| *summary != "default") {
        config(launch, "model_reasoning_summary", &toml::string(summary));
    }
}

/// A part of a dotted key: quoted, unless it is a plain word. Older versions split a key at every dot.
fn key(name: &str) -> String {
    let is_plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'));
    if is_plain { name.to_owned() } else { toml::string(name) }
}

/// A server in the words of Codex's configuration. What the caller wrote in those words is kept.
fn mcp_server(server: Json<'_>) -> String {
    let mut fields = Object::new();
    for (name, value) in server.fields() {
        fields = match name {
            // Codex recognizes the kind by the other fields.
            "type" => fields,
            "headers" => fields.raw("http_headers", value.raw()),
            name => fields.raw(name, value.raw()),
        };
    }
    fields.finish()
}

fn config(launch: &mut Launch, key: &str, value: &str) {
    launch.pair("-c", [key, "=", value].concat());
}

#[cfg(test)]
mod tests;
