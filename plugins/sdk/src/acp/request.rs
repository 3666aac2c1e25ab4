//! What we request of the agent, and what a turn's settings become.

use super::content::Accepts;
use super::{Change, Dialect, Session};
use crate::json::{Object, array, quote, unescape};
use crate::{
    Approvals, Arg, Effects, ErrorClass, ExitBehavior, Failure, Json, Launch, LogLevel, SessionChoice, Settings,
    ToolRules, Turn,
};

/// The version of the protocol that we speak.
const PROTOCOL: u64 = 1;

/// A request of ours.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Step {
    Initialize,
    Authenticate(String),
    New,
    Load(String),
    Resume(String),
    Fork(String),
    Change(Change),
    Prompt,
}

/// The launch of an agent with these arguments. Takes the settings that the session applies: the session itself, model,
/// effort, approvals, MCP servers, and the system prompt, which is put before the prompt.
pub fn launch<A: Into<Arg>>(settings: &mut Settings<'_>, args: impl IntoIterator<Item = A>) -> Launch {
    match settings.session() {
        SessionChoice::Fresh(Some(_)) => {
            settings.report("session", "ACP cannot name a new session; the agent chooses its id");
        }
        SessionChoice::MostRecent => {
            settings.report("session", "ACP resumes a session only by its id; a new one is started");
        }
        SessionChoice::Fresh(None) | SessionChoice::Resume(_) | SessionChoice::Fork(_) => {}
    }
    settings.unsupported(crate::Setting::StreamText, "ACP always streams");
    settings.otherwise("it cannot be set over ACP");
    let _: (_, _, Approvals, _, _) = (
        settings.model(),
        settings.system_prompt(),
        settings.approvals(),
        settings.mcp_servers(),
        // What the agent accepts of them is known only after the handshake.
        settings.attachments(),
    );
    // Which efforts there are is known only once the session is open.
    settings.effort(&crate::Effort::ALL);
    let mut launch = Launch::lines(args);
    launch.exit_behavior = ExitBehavior::WhenStdinCloses;
    launch
}

impl<D: Dialect> Session<D> {
    /// Sends the next request, unless one is open.
    pub(super) fn send(&mut self, out: &mut Effects) {
        let Some(step) = self.rpc.next_queued() else { return };
        let (method, params) = self.request(&step);
        self.has_prompted |= step == Step::Prompt;
        self.rpc.request(method, params, step, out);
    }

    fn request(&self, step: &Step) -> (&'static str, Object) {
        let session = || Object::new().str("sessionId", self.id.as_deref().unwrap_or_default());
        let in_workspace = |object: Object| match &self.turn {
            Some((turn, _)) => {
                let object = object.str("cwd", &turn.workspace);
                let object = if D::EXTRA_DIRS && !turn.extra_dirs.is_empty() && self.can("additionalDirectories") {
                    object.raw("additionalDirectories", &array(turn.extra_dirs.iter().map(|dir| quote(dir))))
                } else {
                    object
                };
                match &turn.mcp_servers {
                    Some(servers) if D::MCP_SERVERS => object.raw("mcpServers", &mcp_servers(Json::parse(servers))),
                    _ => object.raw("mcpServers", "[]"),
                }
            }
            None => object,
        };
        match step {
            Step::Initialize => {
                let files = Object::new().bool("readTextFile", false).bool("writeTextFile", false);
                let session = Object::new().object("notices", Object::new()).object("compaction", Object::new());
                let mut client = Object::new().object("fs", files).bool("terminal", false).object("session", session);
                // A question is offered only where somebody answers.
                if D::FORMS
                    && self.turn.as_ref().is_some_and(|(turn, _)| self.dialect.approvals(turn) == Approvals::Ask)
                {
                    client = client.object("elicitation", Object::new().object("form", Object::new()));
                }
                let name = Object::new().str("name", "wharf").str("version", env!("CARGO_PKG_VERSION"));
                let params = Object::new().number("protocolVersion", PROTOCOL).object("clientCapabilities", client);
                ("initialize", params.object("clientInfo", name))
            }
            Step::Authenticate(method) => ("authenticate", Object::new().str("methodId", method)),
            Step::New => ("session/new", in_workspace(Object::new())),
            Step::Load(id) => ("session/load", in_workspace(Object::new().str("sessionId", id))),
            Step::Resume(id) => ("session/resume", in_workspace(Object::new().str("sessionId", id))),
            Step::Fork(id) => ("session/fork", in_workspace(Object::new().str("sessionId", id))),
            Step::Change(change) => change.request(session()),
            Step::Prompt => {
                let prompt = self.turn.as_ref().map(|(_, prompt)| prompt.as_str()).unwrap_or_default();
                let text = Object::new().str("type", "text").str("text", prompt).finish();
                let attachments = self.turn.iter().flat_map(|(turn, _)| &turn.attachments);
                let accepts = Accepts::of(Json::parse(&self.agent));
                let parts = [text].into_iter().chain(attachments.filter_map(|attachment| accepts.block(attachment)));
                ("session/prompt", session().raw("prompt", &array(parts)))
            }
        }
    }

    /// The handshake is done: opens the session that the turn chose.
    pub(super) fn initialized(&mut self, result: Json<'_>, out: &mut Effects) {
        if !self.introduce(result, out) {
            return;
        }
        if let Some(method) = self.dialect.authenticate(result.get("authMethods")) {
            self.rpc.queue(Step::Authenticate(method));
        }
        let can = |what: &str| self.can(what);
        if let Some((turn, _)) = &self.turn
            && D::EXTRA_DIRS
            && !turn.extra_dirs.is_empty()
            && !can("additionalDirectories")
        {
            out.notice(LogLevel::Warn, "the extra folders were not given to the agent: it accepts none");
        }
        let choice = self.turn.as_ref().map_or(&SessionChoice::Fresh(None), |(turn, _)| &turn.session);
        let step = match choice {
            SessionChoice::Resume(id) if can("resume") && !D::ALWAYS_LOADS => Step::Resume(id.clone()),
            SessionChoice::Resume(id) => Step::Load(id.clone()),
            SessionChoice::Fork(id) if can("fork") => Step::Fork(id.clone()),
            SessionChoice::Fork(_) => {
                out.notice(LogLevel::Warn, "the agent cannot fork a session; a new one is started");
                Step::New
            }
            SessionChoice::Fresh(_) | SessionChoice::MostRecent => Step::New,
        };
        self.rpc.queue(step);
    }

    /// The agent says what it is. Returns whether we speak its version of the protocol.
    pub(super) fn introduce(&mut self, result: Json<'_>, out: &mut Effects) -> bool {
        let protocol = result.get("protocolVersion");
        if protocol.u64().is_some_and(|version| version != PROTOCOL) {
            let message = format!("the agent speaks version {} of ACP, and not {PROTOCOL}", protocol.raw());
            self.reject(Failure::new(ErrorClass::Protocol, message), out);
            return false;
        }
        let version = result.at(&["agentInfo", "version"]).string();
        let version = version.or_else(|| result.at(&["_meta", "agentVersion"]).string());
        self.version = version.or(self.version.take());
        result.raw().clone_into(&mut self.agent);
        self.dialect.initialized(result);
        true
    }

    /// Whether the agent has this capability of a session.
    fn can(&self, what: &str) -> bool {
        !Json::parse(&self.agent).at(&["agentCapabilities", "sessionCapabilities", what]).is_null()
    }

    /// What a new session says about being resumed: not, if one was to be continued in a way that is not possible.
    pub(super) fn started_over(&self) -> Option<bool> {
        let continues = |turn: &Turn| matches!(turn.session, SessionChoice::Fork(_) | SessionChoice::MostRecent);
        self.turn.as_ref().is_some_and(|(turn, _)| continues(turn)).then_some(false)
    }
}

/// What a session needs of a turn. By hand, because a derived copy is 2 KB of a component.
pub(super) fn copied(turn: &Turn) -> Turn {
    #[inline(never)]
    fn list(items: &[String]) -> Vec<String> {
        items.to_vec()
    }
    let ToolRules { allow, deny, only, without } = &turn.tools;
    Turn {
        prompt: String::new(),
        attachments: turn.attachments.clone(),
        policy: vec![],
        caller_tools: vec![],
        hooks: turn.hooks,
        extra_args: vec![],
        system_prompt: None,
        workspace: turn.workspace.clone(),
        extra_dirs: list(&turn.extra_dirs),
        session: turn.session.clone(),
        model: turn.model.clone(),
        fallback_model: turn.fallback_model.clone(),
        effort: turn.effort.clone(),
        max_turns: turn.max_turns,
        max_cost_micros: turn.max_cost_micros,
        approvals: turn.approvals,
        tools: ToolRules { allow: list(allow), deny: list(deny), only: list(only), without: list(without) },
        mcp_servers: turn.mcp_servers.clone(),
        output_schema: None,
        stream_text: turn.stream_text,
        autopilot: turn.autopilot,
        options: turn.options.clone(),
    }
}

/// MCP servers in the form of the protocol: a list, in which variables and headers are lists too.
fn mcp_servers(config: Json<'_>) -> String {
    let nested = config.get("mcpServers");
    let servers = if nested.is_object() { nested } else { config };
    array(servers.fields().map(|(name, server)| {
        let pairs = |key: &str| {
            array(
                server
                    .get(key)
                    .fields()
                    .map(|(name, value)| Object::new().str("name", &unescape(name)).raw("value", value.raw()).finish()),
            )
        };
        let [kind, command, args, url] = ["type", "command", "args", "url"].map(|key| server.get(key));
        let object = Object::new().str("name", &unescape(name));
        let object = if url.is_string() {
            let kind = kind.filled().unwrap_or("http".into());
            object.str("type", &kind).raw("url", url.raw()).raw("headers", &pairs("headers"))
        } else {
            let command = if command.is_string() { command.raw() } else { "\"\"" };
            let args = if args.is_array() { args.raw() } else { "[]" };
            object.raw("command", command).raw("args", args).raw("env", &pairs("env"))
        };
        object.finish()
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mcp_servers_are_written_as_the_protocol_has_them() {
        let given = r#"{"mcpServers":{"lab":{"command":"x","args":["a"],"env":{"K":"v"}},
            "web":{"type":"sse","url":"https://h","headers":{"A":"b"}},"plain":{"url":"https://h"}}}"#;
        let expected = concat!(
            r#"[{"name":"lab","command":"x","args":["a"],"env":[{"name":"K","value":"v"}]},"#,
            r#"{"name":"web","type":"sse","url":"https://h","headers":[{"name":"A","value":"b"}]},"#,
            r#"{"name":"plain","type":"http","url":"https://h","headers":[]}]"#
        );
        assert_eq!(mcp_servers(Json::parse(given)), expected);
        assert_eq!(mcp_servers(Json::parse("")), "[]");
    }
}
