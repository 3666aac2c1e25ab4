//! Events that become a notice for the user and nothing else.

use wharf_adapter::{Effects, Json, LogLevel};

/// Reports an MCP server that cannot be used.
pub(crate) fn mcp_status(data: Json<'_>, out: &mut Effects) {
    let status = data.get("status").str().unwrap_or_default();
    if !matches!(status.as_ref(), "failed" | "error" | "needs-auth") {
        return;
    }
    let name = data.get("serverName").str().unwrap_or_default();
    let mut text = format!("MCP server {name}: {status}");
    if let Some(error) = data.get("error").filled() {
        text.push_str(": ");
        text.push_str(&error);
    }
    out.notice(LogLevel::Warn, text);
}

/// Reports a restriction by the policy of an enterprise.
pub(crate) fn enforced(data: Json<'_>, out: &mut Effects) {
    if let Some(message) = data.get("message").filled().or_else(|| data.get("action").filled()) {
        out.notice(LogLevel::Warn, message);
    }
}
