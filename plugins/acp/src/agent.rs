//! Which agent it is, and how it differs from the protocol. Everything here was measured: docs/adapters/acp.md says with
//! which versions. An agent that is not listed is taken at its word.

use wharf_adapter::{Json, UsageScope};

/// The agents whose quirks are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Agent {
    #[default]
    Other,
    Claude,
    Cline,
    Codex,
    Gemini,
    Goose,
    Grok,
    Kilo,
    Kimi,
    OpenCode,
    Pi,
    Qwen,
    Vibe,
}

/// How the names of agents, of their packages and of their programs begin, in lower case.
const NAMES: &[(&str, Agent)] = &[
    ("claude-agent-acp", Agent::Claude),
    ("claude-code-acp", Agent::Claude),
    ("cline", Agent::Cline),
    ("codex-acp", Agent::Codex),
    ("gemini", Agent::Gemini),
    ("goose", Agent::Goose),
    ("grok", Agent::Grok),
    ("kilo", Agent::Kilo),
    ("kimi", Agent::Kimi),
    ("mistral-vibe", Agent::Vibe),
    ("opencode", Agent::OpenCode),
    ("pi-acp", Agent::Pi),
    ("qwen", Agent::Qwen),
    ("vibe", Agent::Vibe),
];

impl Agent {
    /// The agent with this name: "Kimi Code CLI", "@agentclientprotocol/codex-acp", "/usr/bin/goose".
    pub(crate) fn named(name: &str) -> Option<Agent> {
        let last = name.rsplit(['/', '\\']).next().unwrap_or_default().to_ascii_lowercase();
        NAMES.iter().find(|(start, _)| last.starts_with(start)).map(|(_, agent)| *agent)
    }

    /// The agent that answered `initialize` with this.
    pub(crate) fn introduced(agent: Json<'_>) -> Option<Agent> {
        // Grok does not give its name.
        let grok = || (!agent.at(&["_meta", "grokShell"]).is_missing()).then_some(Agent::Grok);
        agent.at(&["agentInfo", "name"]).filled().and_then(|name| Agent::named(&name)).or_else(grok)
    }

    /// What the figures in the response to a prompt cover.
    pub(crate) fn usage_scope(self) -> UsageScope {
        if self == Agent::Vibe { UsageScope::SessionTotal } else { UsageScope::TurnTotal }
    }

    /// Whether those figures are of the last model call only.
    pub(crate) fn counts_last_call_only(self) -> bool {
        matches!(self, Agent::Goose | Agent::Kilo | Agent::OpenCode)
    }

    /// How long it must be silent after it has loaded a session: it still repeats the history.
    pub(crate) fn history_millis(self) -> u32 {
        if self == Agent::Gemini { 500 } else { 0 }
    }

    /// The mode in which it asks before it changes anything, whatever mode the user's settings start it in.
    pub(crate) fn asking_mode(self) -> Option<&'static str> {
        match self {
            Agent::Claude | Agent::Gemini | Agent::Kimi | Agent::Qwen => Some("default"),
            Agent::Codex => Some("read-only"),
            Agent::Goose => Some("approve"),
            Agent::Vibe => Some("ask"),
            Agent::Other | Agent::Cline | Agent::Grok | Agent::Kilo | Agent::OpenCode | Agent::Pi => None,
        }
    }

    /// What to tell a user whose approvals it does not follow: it has no mode in which it asks for everything.
    pub(crate) fn disobeys(self) -> Option<&'static str> {
        match self {
            Agent::Pi => Some("this agent never asks: it does what it wants, whatever the approvals are"),
            Agent::Grok => Some("this agent runs some commands without asking, also ones that change files"),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_is_known_by_its_own_name_or_by_that_of_its_program() {
        for (name, agent) in [
            ("goose", Some(Agent::Goose)),
            ("/opt/node_modules/.bin/goose-binary-linux-x64", Some(Agent::Goose)),
            ("Kimi Code CLI", Some(Agent::Kimi)),
            ("@mistralai/mistral-vibe", Some(Agent::Vibe)),
            ("vibe-acp", Some(Agent::Vibe)),
            ("@agentclientprotocol/codex-acp", Some(Agent::Codex)),
            ("@zed-industries/claude-code-acp", Some(Agent::Claude)),
            ("C:\\agents\\grok-1.0.41.exe", Some(Agent::Grok)),
            ("Kilo", Some(Agent::Kilo)),
            ("OpenCode", Some(Agent::OpenCode)),
            ("npx", None),
            ("mongoose", None),
            ("", None),
        ] {
            assert_eq!(Agent::named(name), agent, "{name}");
        }
        let introduced = |text| Agent::introduced(Json::parse(text));
        assert_eq!(introduced(r#"{"agentInfo":{"name":"qwen-code","version":"1"}}"#), Some(Agent::Qwen));
        assert_eq!(introduced(r#"{"_meta":{"grokShell":true}}"#), Some(Agent::Grok));
        assert_eq!(introduced(r#"{"agentInfo":{"name":"new"}}"#), None);
    }
}
