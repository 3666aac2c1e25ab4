//! Anthropic's Claude Code.

use crate::agent::{Agent, Api, ByHand, Call, Login, Package, Place, Quirks, numbers, pairs};
use serde_json::json;

#[derive(Debug)]
pub(crate) struct Claude;

impl Agent for Claude {
    fn id(&self) -> &'static str {
        "claude"
    }

    fn name(&self) -> &'static str {
        "Claude Code"
    }

    fn versions(&self) -> &'static [&'static str] {
        &["2.1.325", "2.0.76"]
    }

    fn transports(&self) -> &'static [&'static str] {
        &["stream-json"]
    }

    fn packages(&self, version: &str) -> Vec<Package> {
        vec![Package::Npm(format!("@anthropic-ai/claude-code@{version}"))]
    }

    fn natives(&self) -> &'static [&'static str] {
        &["@anthropic-ai/claude-code-{os}-{arch}/claude"]
    }

    fn api(&self) -> Api {
        Api::Messages
    }

    fn shares_home(&self) -> bool {
        true
    }

    fn variables(&self, at: &Place<'_>) -> Vec<(&'static str, String)> {
        let mut all = pairs(&[
            ("ANTHROPIC_BASE_URL", at.url),
            ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
            ("DISABLE_TELEMETRY", "1"),
            ("DISABLE_ERROR_REPORTING", "1"),
        ]);
        if at.login != Login::None {
            all.push(("ANTHROPIC_API_KEY", "sk-ant-fake-key-of-the-suite".to_owned()));
        }
        all
    }

    /// It refuses to allow everything as root unless it is in a sandbox, which this is.
    fn approve(&self) -> Vec<&'static str> {
        vec!["--approve", "--option", "sandboxed=true"]
    }

    fn retries(&self, count: u32) -> Vec<String> {
        vec!["--option".to_owned(), format!("max-retries={count}")]
    }

    fn without_instructions(&self) -> Option<[&'static str; 2]> {
        Some(["--option", "project-instructions=false"])
    }

    fn instructions(&self) -> &'static str {
        "CLAUDE.md"
    }

    fn by_hand(&self, _transport: &str, prompt: &str) -> ByHand {
        ByHand::once(&["-p", "--output-format", "stream-json", "--verbose", prompt])
    }

    fn shell(&self, command: &str) -> Call {
        Call { name: "Bash", input: json!({ "command": command, "description": "a command of the suite" }) }
    }

    fn shell_tool(&self) -> &'static str {
        "Bash"
    }

    fn delegate(&self, prompt: &str, tools: &[String]) -> Option<Call> {
        let is_renamed = tools.iter().any(|name| name == "Agent");
        let name = if is_renamed { "Agent" } else { "Task" };
        let mut input = json!({ "description": "dive", "prompt": prompt, "subagent_type": "general-purpose" });
        if is_renamed {
            input["run_in_background"] = json!(false);
        }
        Some(Call { name, input })
    }

    fn command_rule(&self, program: &str) -> Option<String> {
        Some(format!("Bash({program}:*)"))
    }

    fn server_tool(&self, server: &str, tool: &str) -> String {
        format!("mcp__{server}__{tool}")
    }

    fn quirks(&self, version: &str, _transport: &str) -> Quirks {
        // 2.0 exits without waiting for its reader: what does not fit into the pipe is lost, including the end of the
        // turn.
        let verses = if numbers(version) < vec![2, 1] { 150 } else { 1500 };
        Quirks { verses, ..Quirks::default() }
    }
}
