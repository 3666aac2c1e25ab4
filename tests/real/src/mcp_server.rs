//! An MCP server with one tool, `tide`. The agents start it.

use serde_json::{Value, json};
use std::io::{BufRead as _, Write as _};

/// The argument with which this program is the server.
pub(crate) const ARG: &str = "serve-mcp";

/// What the tool returns.
pub(crate) const TOOL_RESULT: &str = "high water at noon";

/// Answers requests on stdin until it is closed. False if stdout was closed before.
pub(crate) fn serve() -> bool {
    for line in std::io::stdin().lock().lines().map_while(Result::ok) {
        let request: Value = serde_json::from_str(&line).unwrap_or(Value::Null);
        if let Some(answer) = answer(&request)
            && writeln!(std::io::stdout(), "{answer}").is_err()
        {
            return false;
        }
    }
    true
}

/// The answer to a request; a notification has none.
fn answer(request: &Value) -> Option<Value> {
    let id = request.get("id")?;
    let result = match request["method"].as_str() {
        Some("initialize") => json!({
            "protocolVersion": request["params"]["protocolVersion"], "capabilities": { "tools": {} },
            "serverInfo": { "name": "harbour", "version": "1" },
        }),
        Some("tools/list") => json!({
            "tools": [{
                "name": "tide", "description": "when the tide comes in",
                "inputSchema": { "type": "object", "properties": {} },
            }],
        }),
        Some("tools/call") => json!({ "content": [{ "type": "text", "text": TOOL_RESULT }] }),
        Some("ping") => json!({}),
        _ => {
            let error = json!({ "code": -32601, "message": "no such method" });
            return Some(json!({ "jsonrpc": "2.0", "id": id, "error": error }));
        }
    };
    Some(json!({ "jsonrpc": "2.0", "id": id, "result": result }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_answered_and_notifications_are_not() {
        let call = answer(&json!({ "jsonrpc": "2.0", "id": 7, "method": "tools/call" })).expect("an answer");
        assert_eq!((&call["id"], &call["result"]["content"][0]["text"]), (&json!(7), &json!(TOOL_RESULT)));
        assert_eq!(answer(&json!({ "method": "notifications/initialized" })), None);
        assert!(answer(&json!({ "id": 1, "method": "resources/list" })).expect("an answer")["error"].is_object());
    }
}
