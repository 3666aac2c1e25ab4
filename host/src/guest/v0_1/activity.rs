//! What an agent does beside writing and calling tools, from the interface to `wharf-core`.

use super::bindings::types;
use super::text::{Violation, id};
use std::borrow::Cow;
use wharf_core::model::{CommandInfo, Compaction, McpServer, McpStatus, Phase, PlanItem, PlanStatus, Round, Subagent};

pub(super) fn plan_item(item: types::PlanItem) -> PlanItem {
    let status = match item.status {
        types::PlanStatus::Pending => PlanStatus::Pending,
        types::PlanStatus::InProgress => PlanStatus::InProgress,
        types::PlanStatus::Completed => PlanStatus::Completed,
        types::PlanStatus::Cancelled => PlanStatus::Cancelled,
    };
    PlanItem { text: item.text, status }
}

pub(super) fn mcp_server(server: types::McpServer) -> McpServer {
    let status = match server.status {
        types::McpStatus::Connecting => McpStatus::Connecting,
        types::McpStatus::Connected => McpStatus::Connected,
        types::McpStatus::Failed => McpStatus::Failed,
        types::McpStatus::NeedsAuth => McpStatus::NeedsAuth,
        types::McpStatus::Disabled => McpStatus::Disabled,
    };
    let mut lifted = McpServer::new(server.name, status);
    lifted.error = server.error;
    lifted
}

pub(super) fn compaction(compaction: types::Compaction) -> Compaction {
    let mut lifted = Compaction::new(phase(compaction.phase));
    lifted.trigger = compaction.trigger;
    lifted.tokens_before = compaction.tokens_before;
    lifted.tokens_after = compaction.tokens_after;
    lifted.error = compaction.error;
    lifted
}

pub(super) fn round(mut round: types::Round, chunk: &str) -> Result<Round, Violation> {
    let mut lifted = Round::new(phase(round.phase));
    lifted.parent = round.parent.as_mut().map(|parent| id(parent, chunk)).transpose()?.map(Cow::into_owned);
    lifted.model = round.model;
    lifted.first_token_ms = round.first_token_ms;
    Ok(lifted)
}

pub(super) fn subagent(mut subagent: types::Subagent, chunk: &str) -> Result<Subagent, Violation> {
    let mut lifted = Subagent::new(id(&mut subagent.id, chunk)?, phase(subagent.phase));
    lifted.name = subagent.name;
    lifted.title = subagent.title;
    lifted.error = subagent.error;
    Ok(lifted)
}

pub(super) fn command(command: types::CommandInfo) -> CommandInfo {
    CommandInfo { name: command.name, description: command.description }
}

fn phase(phase: types::Phase) -> Phase {
    match phase {
        types::Phase::Begun => Phase::Begun,
        types::Phase::Ended => Phase::Ended,
    }
}
