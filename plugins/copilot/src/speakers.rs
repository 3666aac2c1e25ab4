//! Who speaks: the agent itself, or a sub-agent that one of its tool calls started.

use wharf_adapter::json::same;
use wharf_adapter::{Effects, Event, Json};

/// Text that has streamed but was not confirmed by a whole message yet.
#[derive(Debug)]
struct Draft {
    agent: Option<String>,
    id: String,
}

/// The sub-agents, and what everybody is about to say.
#[derive(Debug, Default)]
pub(crate) struct Speakers {
    /// Sub-agents, and the tool calls that started them.
    agents: Vec<(String, String)>,
    drafts: Vec<Draft>,
}

impl Speakers {
    /// The tool call whose sub-agent speaks. An agent of which nothing more is known stands for itself: better a
    /// parent that is nowhere else than a sub-agent's text taken for the answer.
    pub(crate) fn parent(&mut self, agent: Option<&str>, tool: Json<'_>) -> Option<String> {
        let tool = tool.filled().map(std::borrow::Cow::into_owned);
        let Some(agent) = agent else { return tool };
        if let Some(tool) = &tool {
            self.learn(agent, tool);
        }
        let known = || self.agents.iter().find(|(known, _)| known == agent).map(|(_, tool)| tool.clone());
        tool.or_else(known).or_else(|| Some(agent.to_owned()))
    }

    /// A tool call started an agent.
    pub(crate) fn learn(&mut self, agent: &str, tool: &str) {
        if !self.agents.iter().any(|(known, _)| known == agent) {
            self.agents.push((agent.to_owned(), tool.to_owned()));
        }
    }

    /// Some of a text has streamed.
    pub(crate) fn draft(&mut self, agent: Option<&str>, id: &str) {
        // For each of a thousand deltas.
        if !self.drafts.iter().any(|draft| same(&draft.id, id)) {
            self.drafts.push(Draft { agent: agent.map(str::to_owned), id: id.to_owned() });
        }
    }

    /// The text is there as a whole. Says whether some of it had streamed.
    pub(crate) fn confirm(&mut self, id: &str) -> bool {
        let before = self.drafts.len();
        self.drafts.retain(|draft| draft.id != id);
        self.drafts.len() < before
    }

    /// A model call begins or ends: what streamed before stays as it is.
    pub(crate) fn settle(&mut self, agent: Option<&str>) {
        self.drafts.retain(|draft| draft.agent.as_deref() != agent);
    }

    /// A model call failed and is made again: what it streamed is void.
    pub(crate) fn void(&mut self, agent: Option<&str>, out: &mut Effects) {
        self.drafts.retain(|draft| {
            let void = draft.agent.as_deref() == agent;
            if void {
                out.emit(Event::Discard(draft.id.clone()));
            }
            !void
        });
    }
}
