//! What an agent does beside writing and calling tools, from the interface to `wharf-core`.

use super::lift::owned;
use crate::{CommandInfo, Compaction, McpServer, McpStatus, Phase, PlanItem, PlanStatus, Round, Subagent};
use wharf_core::model;

/// Maps the cases of an enum to those of the same names.
macro_rules! same {
    ($value:expr, $from:ident: $($case:ident),+) => {
        match $value { $($from::$case => model::$from::$case),+ }
    };
}

pub(super) fn plan_item(item: PlanItem) -> model::PlanItem {
    let status = same!(item.status, PlanStatus: Pending, InProgress, Completed, Cancelled);
    model::PlanItem { text: item.text, status }
}

pub(super) fn mcp_server(server: McpServer) -> model::McpServer {
    let status = same!(server.status, McpStatus: Connecting, Connected, Failed, NeedsAuth, Disabled);
    let mut lifted = model::McpServer::new(server.name, status);
    lifted.error = server.error;
    lifted
}

pub(super) fn compaction(compaction: Compaction) -> model::Compaction {
    let mut lifted = model::Compaction::new(phase(compaction.phase));
    (lifted.trigger, lifted.error) = (compaction.trigger, compaction.error);
    (lifted.tokens_before, lifted.tokens_after) = (compaction.tokens_before, compaction.tokens_after);
    lifted
}

pub(super) fn round(round: Round) -> model::Round {
    let mut lifted = model::Round::new(phase(round.phase));
    lifted.parent = round.parent.as_ref().map(owned);
    (lifted.model, lifted.first_token_ms) = (round.model, round.first_token_ms);
    lifted
}

pub(super) fn subagent(subagent: Subagent) -> model::Subagent {
    let mut lifted = model::Subagent::new(owned(&subagent.id), phase(subagent.phase));
    (lifted.name, lifted.title, lifted.error) = (subagent.name, subagent.title, subagent.error);
    lifted
}

pub(super) fn command(command: CommandInfo) -> model::CommandInfo {
    model::CommandInfo { name: command.name, description: command.description }
}

fn phase(phase: Phase) -> model::Phase {
    same!(phase, Phase: Begun, Ended)
}
