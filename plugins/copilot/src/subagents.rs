//! Whether text comes from the agent itself or from a sub-agent that one of its tool calls started.

use wharf_adapter::json::same;
use wharf_adapter::{Effects, Event, Json};

/// Streamed text without its whole message yet.
#[derive(Debug)]
struct Draft {
    agent: Option<String>,
    id: String,
}

/// The sub-agents, and the drafts of all agents.
#[derive(Debug, Default)]
pub(crate) struct Subagents {
    /// Ids of sub-agents, and the tool calls that started them.
    agents: Vec<(String, String)>,
    drafts: Vec<Draft>,
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

    /// A part of a text was streamed.
    pub(crate) fn draft(&mut self, agent: Option<&str>, id: &str) {
        // Called for every delta, so the comparison must be fast.
        if !self.drafts.iter().any(|draft| same(&draft.id, id)) {
            self.drafts.push(Draft { agent: agent.map(str::to_owned), id: id.to_owned() });
        }
    }

    /// The whole text has come. Returns whether a part of it was streamed before.
    pub(crate) fn confirm(&mut self, id: &str) -> bool {
        let before = self.drafts.len();
        self.drafts.retain(|draft| draft.id != id);
        self.drafts.len() < before
    }

    /// A model call starts or ends: text streamed before it is kept.
    pub(crate) fn keep_drafts(&mut self, agent: Option<&str>) {
        self.drafts.retain(|draft| draft.agent.as_deref() != agent);
    }

    /// A model call failed and is retried: its streamed text is discarded.
    pub(crate) fn discard_drafts(&mut self, agent: Option<&str>, out: &mut Effects) {
        self.drafts.retain(|draft| {
            let discarded = draft.agent.as_deref() == agent;
            if discarded {
                out.emit(Event::Discard(draft.id.clone()));
            }
            !discarded
        });
    }
}
