//! The agents, one file each.

mod acp;
mod claude;
mod codex;
mod copilot;
mod gemini;
mod opencode;
mod qwen;

use crate::agent::Agent;

/// All agents, in the order of the page.
pub(crate) const ALL: &[&dyn Agent] = &[
    &copilot::Copilot,
    &claude::Claude,
    &codex::Codex,
    &gemini::Gemini,
    &opencode::OpenCode,
    &qwen::Qwen,
    &acp::GOOSE,
    &acp::GROK,
    &acp::KIMI,
    &acp::CLINE,
    &acp::PI,
    &acp::KILO,
    &acp::CLAUDE_AGENT_ACP,
    &acp::CODEX_ACP,
];

/// The agent with this id, or an error that names all.
pub(crate) fn find(id: &str) -> Result<&'static dyn Agent, String> {
    ALL.iter().find(|agent| agent.id() == id).copied().ok_or_else(|| {
        let ids: Vec<&str> = ALL.iter().map(|agent| agent.id()).collect();
        format!("there is no agent `{id}` in the suite: it has {}", ids.join(", "))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_agent_has_a_newest_version_and_a_best_transport() {
        for agent in ALL {
            assert!(!agent.versions().is_empty() && !agent.transports().is_empty(), "{}", agent.id());
            assert_eq!(find(agent.id()).map(Agent::name), Ok(agent.name()));
            for version in agent.versions() {
                assert!(!agent.packages(version).is_empty(), "{} {version}", agent.id());
            }
            let order: Vec<_> = agent.versions().iter().map(|version| crate::agent::numbers(version)).collect();
            assert!(order.is_sorted_by(|one, next| one > next), "{}: newest first", agent.id());
        }
        assert!(find("no-such-agent").is_err_and(|error| error.contains("claude")));
    }
}
