//! Event types that are known and say nothing that the other events do not.
//!
//! The inventory of both measured versions, the documented ones that the CLI keeps from stdout (another version may
//! not), and those that the SDK's transport has. A type that is neither here nor handled is counted as drift.

/// Sorted, so that it can be searched.
const SILENT: &[&str] = &[
    "agent.interrupted",
    "assistant.intent",
    "assistant.message_start",
    "assistant.streaming_delta",
    "assistant.tool_call_delta",
    "assistant.usage",
    "auto_mode_switch.completed",
    "auto_mode_switch.requested",
    "capabilities.changed",
    "command.completed",
    "command.execute",
    "command.queued",
    "commands.changed",
    "elicitation.completed",
    "elicitation.requested",
    "exit_plan_mode.completed",
    "exit_plan_mode.requested",
    "external_tool.completed",
    "external_tool.requested",
    "hook.end",
    "hook.start",
    "mcp.oauth_completed",
    "mcp.oauth_required",
    "model.call_final_result",
    "model.call_finished",
    "model.log",
    "model.message",
    "model.messages_snapshot",
    "model.model_call_failure",
    "model.model_call_started",
    "model.model_call_success",
    "model.response",
    "model.tool_execution",
    "model.turn_ended",
    "model.turn_failed",
    "model.turn_retry",
    "model.turn_started",
    "pending_messages.modified",
    "permission.completed",
    "permission.requested",
    "sampling.completed",
    "sampling.requested",
    "sandbox.decision",
    "session.autopilot_objective_changed",
    "session.background_tasks_changed",
    "session.compaction_complete",
    "session.compaction_start",
    "session.context_changed",
    "session.custom_agents_updated",
    "session.extensions_loaded",
    "session.handoff",
    "session.indexed_search",
    "session.managed_settings_resolved",
    "session.mcp_server_tools_loaded",
    "session.mcp_servers_loaded",
    "session.mode_changed",
    "session.mode_notice_delivered",
    "session.model_change",
    "session.permissions_changed",
    "session.plan_changed",
    "session.remote_steerable_changed",
    "session.schedule_cancelled",
    "session.schedule_created",
    "session.shutdown",
    "session.skills_loaded",
    "session.snapshot_rewind",
    "session.title_changed",
    "session.truncation",
    "session.usage_record",
    "session.workspace_file_changed",
    "skill.context_delivered",
    "skill.context_delivered_ref",
    "skill.invoked",
    "skill.invoked_ref",
    "subagent.completed",
    "subagent.configured",
    "subagent.deselected",
    "subagent.failed",
    "subagent.selected",
    "system.message",
    "tool.execution_progress",
    "tool.user_requested",
    "user_input.completed",
    "user_input.requested",
];

/// Whether events of this type are knowingly ignored.
pub(crate) fn is_silent(kind: &str) -> bool {
    SILENT.binary_search(&kind).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_can_be_searched() {
        assert!(SILENT.is_sorted());
        assert!(SILENT.iter().all(|kind| is_silent(kind)));
        assert!(!is_silent("assistant.message") && !is_silent("function"));
    }
}
