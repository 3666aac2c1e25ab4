//! The shortest conversation in the Agent Client Protocol: one session, one prompt, and yes to every permission.

use crate::log;
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};

/// Starts the agent, sends the prompt and prints every line (`<<` from the agent, `>>` to it).
pub(super) fn converse(command: &mut Command, workspace: &Path, prompt: &str) -> Result<ExitStatus, String> {
    log(&format!("by hand: {command:?}"));
    let started = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
    let mut child = started.map_err(|error| format!("cannot start {}: {error}", command.get_program().display()))?;
    let talked = talk(&mut child, workspace, prompt);
    if talked.is_err() {
        let _ = child.kill();
    }
    let status = child.wait().map_err(|error| format!("cannot wait for the agent: {error}"))?;
    talked.map(|()| status)
}

fn talk(child: &mut Child, workspace: &Path, prompt: &str) -> Result<(), String> {
    let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
    let (Some(stdin), Some(stdout)) = (stdin, stdout) else { return Err("its pipes are missing".to_owned()) };
    let mut peer = Peer { stdin, stdout: BufReader::new(stdout), last: 0 };
    let capabilities = json!({ "fs": { "readTextFile": false, "writeTextFile": false }, "terminal": false });
    peer.call("initialize", &json!({ "protocolVersion": 1, "clientCapabilities": capabilities }))?;
    let session = peer.call("session/new", &json!({ "cwd": workspace, "mcpServers": [] }))?;
    let text = json!([{ "type": "text", "text": prompt }]);
    peer.call("session/prompt", &json!({ "sessionId": session["sessionId"], "prompt": text }))?;
    Ok(())
}

struct Peer {
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
    last: u64,
}

impl Peer {
    /// Sends a request and answers those of the agent until its result comes.
    fn call(&mut self, method: &str, params: &Value) -> Result<Value, String> {
        self.last += 1;
        let id = self.last;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))?;
        loop {
            let mut line = String::new();
            if self.stdout.read_line(&mut line).map_err(|error| format!("cannot read: {error}"))? == 0 {
                return Err(format!("the agent closed its stdout before it answered `{method}`"));
            }
            let _ = write!(std::io::stdout(), "<< {line}");
            let Ok(message) = serde_json::from_str::<Value>(&line) else { continue };
            if message["method"].is_string() {
                if !message["id"].is_null() {
                    self.send(&answer(&message))?;
                }
            } else if message["id"] == id {
                let result = message["result"].clone();
                return if result.is_null() {
                    Err(format!("`{method}` failed: {}", message["error"]))
                } else {
                    Ok(result)
                };
            }
        }
    }

    fn send(&mut self, message: &Value) -> Result<(), String> {
        let _ = writeln!(std::io::stdout(), ">> {message}");
        writeln!(self.stdin, "{message}").map_err(|error| format!("cannot write to the agent: {error}"))
    }
}

/// Allows what the agent asks, once. Anything else is not supported.
fn answer(request: &Value) -> Value {
    let options = request["params"]["options"].as_array().into_iter().flatten();
    let allowed =
        options.filter(|option| option["kind"] == "allow_once").find_map(|option| option["optionId"].as_str());
    match allowed {
        Some(option) => json!({
            "jsonrpc": "2.0", "id": request["id"],
            "result": { "outcome": { "outcome": "selected", "optionId": option } },
        }),
        None => json!({
            "jsonrpc": "2.0", "id": request["id"], "error": { "code": -32601, "message": "not supported by hand" },
        }),
    }
}
