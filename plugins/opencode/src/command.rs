//! The command line of a turn, over either transport.

use crate::config::{Config, NO_PLACE, is_agent_name};
use crate::options::Transport;
use crate::permissions::Permissions;
use crate::product::Product;
use wharf_adapter::{
    Approvals, Arg, Attachment, Binary, Effort, ErrorClass, Failure, Launch, Retry, SessionChoice, Setting, Settings,
    StopSignal, Version, acp,
};

/// The first version with `--auto`; 1.15.4 calls it otherwise.
const AUTO_SINCE: Version = Version(1, 16, 0);

/// The files of the workspace that `OpenCode` takes for instructions.
const INSTRUCTIONS: &[&str] = &["AGENTS.md", "CLAUDE.md", "CONTEXT.md"];

/// The agent that `OpenCode` uses unless it is told otherwise.
const USUAL_AGENT: &str = "build";

pub(crate) fn build(settings: &mut Settings<'_>, binary: &Binary) -> Result<Launch, Failure> {
    let (turn, product) = (settings.turn(), Product::of_binary(binary));
    let transport = Transport::named(settings.transport());
    let agent = settings.option("agent").filled();
    if let Some(name) = agent.as_deref().filter(|name| !is_agent_name(name)) {
        let retry = Retry::AfterUserAction("name one that `opencode agent list` prints".to_owned());
        return Err(Failure::new(ErrorClass::InvalidOption, format!("{name:?} is no agent")).retry(retry));
    }
    let mut launch = match transport {
        Transport::Acp => acp::launch(settings, ["acp"]),
        Transport::Run => run(settings, binary)?,
    };
    if transport == Transport::Run
        && let Some(agent) = agent.as_deref().or(turn.system_prompt.as_ref().map(|_| USUAL_AGENT))
    {
        launch.pair("--agent", agent);
    }
    // Only its log says that a model call starts, which model it is, and that it failed.
    launch.pair("--print-logs", "--log-level");
    launch.arg("INFO");
    if settings.option("no-plugins").is_true() {
        launch.arg("--pure");
    }
    let reads_project = !settings.option("no-project-config").is_true();
    launch.instructions(INSTRUCTIONS, reads_project);
    if !reads_project {
        launch.set(&product.variable("DISABLE_PROJECT_CONFIG"), "1");
    }
    // A program that replaces itself in the middle of a turn is not the one that was tested.
    launch.set(&product.variable("DISABLE_AUTOUPDATE"), "1");

    let approvals = settings.approvals();
    let mut permissions = Permissions::of(approvals, settings.tools(), settings.extra_dirs());
    permissions.enforce(settings, approvals);
    if !permissions.is_empty() {
        launch.set(&product.variable("PERMISSION"), permissions.to_json());
    }
    let prompt = settings.system_prompt().filter(|prompt| !prompt.is_empty());
    let config = Config {
        prompt: prompt.map(|prompt| (agent.as_deref().unwrap_or(USUAL_AGENT), prompt)),
        // Over ACP they are given with the session.
        servers: settings.mcp_servers().filter(|_| transport == Transport::Run),
    };
    if !config.put(product, binary, &mut launch) {
        settings.unsupported(Setting::SystemPrompt, NO_PLACE);
        if config.servers.is_some() {
            settings.unsupported(Setting::McpServers, NO_PLACE);
        }
    }
    settings.extra_args().iter().for_each(|arg| launch.arg(arg.as_str()));
    // SIGINT is ignored by some versions.
    launch.stop_signal = Some(StopSignal::Terminate);
    settings.otherwise("OpenCode has no such setting");
    Ok(launch)
}

/// The arguments of `opencode run`. The prompt is read from stdin: as an argument it would get quotes around it.
fn run(settings: &mut Settings<'_>, binary: &Binary) -> Result<Launch, Failure> {
    let mut launch = Launch::lines(["run", "--format", "json", "--thinking"]);
    // A turn that the adapter ends would otherwise go on for ever.
    launch.exit_behavior = wharf_adapter::ExitBehavior::WhenStopped;
    if settings.turn().prompt.trim().is_empty() {
        let retry = Retry::AfterUserAction("give a prompt".to_owned());
        return Err(Failure::new(ErrorClass::InvalidOption, "the prompt is empty").retry(retry));
    }
    match settings.session() {
        SessionChoice::Fresh(None) => {}
        SessionChoice::Fresh(Some(_)) => settings.report("session", "OpenCode chooses the ids of its sessions"),
        SessionChoice::Resume(id) => launch.joined("--session=", id),
        SessionChoice::Fork(id) => {
            launch.joined("--session=", id);
            launch.arg("--fork");
        }
        SessionChoice::MostRecent => launch.arg("--continue"),
    }
    if let Some(model) = settings.model() {
        launch.joined("--model=", model);
    }
    if let Some(effort) = settings.effort(&Effort::ALL) {
        launch.pair("--variant", effort.name());
    }
    match settings.approvals() {
        Approvals::AllowAll => launch.arg(auto(binary)),
        Approvals::Ask => settings.report("approvals", "`opencode run` cannot ask: what needs an answer is rejected"),
        Approvals::Deny => {}
    }
    for (number, attachment) in settings.attachments().iter().enumerate() {
        attach(number, attachment, &mut launch);
    }
    // It may be on or off: the text of an answer comes as a whole.
    settings.stream_text();
    Ok(launch)
}

/// Adds a file to the prompt. One that is not on the disk becomes a file of the launch.
fn attach(number: usize, attachment: &Attachment, launch: &mut Launch) {
    let flag = "--file=";
    match (&attachment.path, &attachment.bytes) {
        (Some(path), _) => launch.joined(flag, path),
        (None, Some(bytes)) => {
            // Its type is told by the end of its name.
            let is_plain = |character: &char| character.is_ascii_alphanumeric() || matches!(character, '.' | '-' | '_');
            let name: String = attachment.name.chars().filter(is_plain).collect();
            let file = launch.file(&format!("{number}-{name}"), bytes.clone());
            launch.arg(Arg { text: flag.to_owned(), ..file });
        }
        (None, None) => {}
    }
}

/// The flag that approves what the configuration would ask for.
fn auto(binary: &Binary) -> &'static str {
    let version = binary.version.as_deref().and_then(Version::find);
    let is_old = Product::of_binary(binary) == Product::OpenCode && version.is_some_and(|version| version < AUTO_SINCE);
    if is_old { "--dangerously-skip-permissions" } else { "--auto" }
}
