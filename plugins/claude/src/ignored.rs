//! Types of lines that are known and ignored.
//!
//! They repeat what other lines report, or serve the CLI's own clients and screen. The lists have the types that were
//! measured, and those that the schemas in the program name. A type that is neither here nor handled is drift.

/// Types of lines, sorted for binary search.
pub(crate) const LINES: &[&str] = &[
    "active_goal",
    "api_metrics",
    "apply_flag_settings",
    "attachment",
    "autocompact_state",
    "command_lifecycle",
    "compact_progress",
    "hint_clears",
    "keep_alive",
    "open_message_selector",
    "os_notification",
    "prompt_suggestion",
    "queued_notification",
    "refusal_continuation",
    "response_length",
    "session_notice",
    "set_expanded_view",
    "set_in_progress_tool_use_ids",
    "stream_mode",
    "streamlined_text",
    "transcript_mirror",
];

/// Subtypes of `system` lines, sorted for binary search.
pub(crate) const SYSTEM: &[&str] = &[
    "agents_killed",
    "api_error",
    "away_summary",
    "cloud_session_delta",
    "code_change_published",
    "commands_changed",
    "control_request_progress",
    "dev_intent",
    "elicitation_complete",
    "feedback_draft_queued",
    "file_attachments_missing",
    "file_snapshot",
    "files_persisted",
    "hook_progress",
    "hook_started",
    "inherited_asks_settled",
    "instruction_size_warning",
    "local_command",
    "local_command_output",
    "memory_recall",
    "memory_saved",
    "peer_message_hold",
    "per_turn_effort_changed",
    "permission_check_status",
    "permission_retry",
    "plugin_install",
    "post_turn_summary",
    "scheduled_task_fire",
    "session_metadata",
    "session_state_changed",
    "session_title_changed",
    "status",
    "stop_hook_summary",
    "task_progress",
    "task_summary",
    "thinking",
    "thinking_tokens",
    "turn_duration",
    "turn_handoff_available",
    "turn_preempted",
    "ui_focus",
    "ui_invalidate",
    "ui_log",
    "ui_notify",
    "ui_notify_cancel",
    "ui_panes",
    "ui_placed",
    "ui_scroll",
    "ui_status",
    "ui_toast",
    "upgrade_relay_marker",
    "vcs_state_changed",
    "worker_shutting_down",
];

/// Whether a list contains this type.
pub(crate) fn is_ignored(list: &[&str], kind: &str) -> bool {
    list.binary_search(&kind).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lists_are_sorted() {
        for list in [LINES, SYSTEM] {
            assert!(list.is_sorted() && list.iter().all(|kind| is_ignored(list, kind)));
        }
        assert!(!is_ignored(SYSTEM, "init") && !is_ignored(LINES, "result"));
    }
}
