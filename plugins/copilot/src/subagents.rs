//! Whether text comes from the agent itself or from a sub-agent that one of its tool calls started.

use wharf_adapter::Json;

/// The sub-agents.
#[derive(Debug, Default)]
pub(crate) struct Subagents {
    /// Ids of sub-agents, and the tool calls that started them.
    agents: Vec<(String, String)>,
}

impl Subagents {
    /// The tool call of a sub-agent. If the call is unknown, the agent's own id: a parent that occurs nowhere else is
    /// better than a sub-agent's text that looks like the answer.
    pub(crate) fn parent(&mut self, agent: Option<&str>, tool: Json<'_>) -> Option<String> {
        let tool = tool.filled().map(std::borrow::Cow::into_owned);
        let Some(agent) = agent else { return tool };
        if let Some(tool) = &tool {
            self.register(agent, tool);
        }
        let known = || self.agents.iter().find(|(known, _)| known == agent).map(|(_, tool)| tool.clone());
        tool.or_else(known).or_else(|| Some(agent.to_owned()))
    }

    /// Stores which tool call started a sub-agent.
    pub(crate) fn register(&mut self, agent: &str, tool: &str) {
        if !self.agents.iter().any(|(known, _)| known == agent) {
            self.agents.push((agent.to_owned(), tool.to_owned()));
        }
    }
}
