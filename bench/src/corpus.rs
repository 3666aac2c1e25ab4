//! The output of agents, generated from a seed: the same bytes on every machine.
//!
//! The shapes, the fields around the text and the sizes are those of real runs of Copilot 1.0.102 and Claude Code
//! 2.1.325. `Mixed` is an agent at work: steps with noise, deltas, a message, and a tool with 2 to 50 KB of output, which
//! both CLIs write twice. `Deltas` is a model that only writes text.

use clap::ValueEnum;
use std::fmt::Write as _;
use std::io;

/// The agent that writes a corpus.
#[derive(Debug, Clone, Copy, ValueEnum, PartialEq, Eq)]
pub(crate) enum AgentKind {
    /// GitHub Copilot CLI, JSON lines.
    Copilot,
    /// Claude Code, stream-json.
    Claude,
}

impl AgentKind {
    /// In the order of the tables.
    pub(crate) const ALL: [AgentKind; 2] = [AgentKind::Copilot, AgentKind::Claude];

    /// The adapter's id.
    pub(crate) fn id(self) -> &'static str {
        match self {
            AgentKind::Copilot => "copilot",
            AgentKind::Claude => "claude",
        }
    }

    /// The version of the CLI that writes this format.
    pub(crate) fn version(self) -> &'static str {
        match self {
            AgentKind::Copilot => "1.0.102",
            AgentKind::Claude => "2.1.325",
        }
    }

    /// The agent's output for `--version`.
    pub(crate) fn version_output(self) -> &'static str {
        match self {
            AgentKind::Copilot => "GitHub Copilot CLI 1.0.102.\n",
            AgentKind::Claude => "2.1.325 (Claude Code)\n",
        }
    }
}

/// What a corpus contains.
#[derive(Debug, Clone, Copy, ValueEnum, PartialEq, Eq)]
pub(crate) enum Mix {
    /// Noise, deltas, messages, tools.
    Mixed,
    /// Almost only small deltas.
    Deltas,
}

impl Mix {
    /// In the order of the tables.
    pub(crate) const ALL: [Mix; 2] = [Mix::Mixed, Mix::Deltas];

    /// The name in the tables.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Mix::Mixed => "mixed",
            Mix::Deltas => "deltas",
        }
    }
}

/// A whole turn of about `size` bytes that completes.
pub(crate) fn turn(kind: AgentKind, mix: Mix, size: usize) -> String {
    let mut out = Vec::with_capacity(size + (64 << 10));
    write(kind, mix, size, &mut out).expect("writing to memory does not fail");
    String::from_utf8(out).expect("it was written as UTF-8")
}

/// Writes the same turn without holding it in memory. No id occurs twice, however long the turn is.
pub(crate) fn write(kind: AgentKind, mix: Mix, size: usize, out: &mut impl io::Write) -> io::Result<()> {
    let mut writer = Writer { out: String::new(), dice: Dice(0x5eed), step: 0 };
    let mut written = 0;
    writer.begin(kind);
    while written + writer.out.len() < size {
        writer.step(kind, mix);
        out.write_all(writer.out.as_bytes())?;
        written += writer.out.len();
        writer.out.clear();
    }
    writer.end(kind);
    out.write_all(writer.out.as_bytes())
}

/// Pieces of whole lines, each of at most `size` bytes unless a single line is longer.
pub(crate) fn batches(text: &str, size: usize) -> Vec<&str> {
    let mut batches = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let bytes = rest.as_bytes();
        let within = bytes[..size.min(bytes.len())].iter().rposition(|byte| *byte == b'\n');
        let end = within.or_else(|| bytes.iter().position(|byte| *byte == b'\n')).map_or(bytes.len(), |at| at + 1);
        let (batch, after) = rest.split_at(end);
        batches.push(batch);
        rest = after;
    }
    batches
}

/// splitmix64: small, and the same everywhere.
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.next() % limit as u64).expect("the limit is a usize")
    }

    fn between(&mut self, low: usize, high: usize) -> usize {
        low + self.below(high - low)
    }

    fn uuid(&mut self) -> String {
        let (high, low) = (self.next(), self.next());
        format!(
            "{:08x}-{:04x}-4{:03x}-a{:03x}-{:012x}",
            high >> 32,
            (high >> 16) & 0xffff,
            high & 0xfff,
            low >> 52,
            low & 0xffff_ffff_ffff
        )
    }
}

/// Words of a model's prose, escaped for a JSON string.
const WORDS: [&str; 24] = [
    "the",
    "file",
    "reads",
    "a",
    "function",
    "that",
    "returns",
    "`Result`",
    "so",
    "we",
    "check",
    "it",
    "first",
    "and",
    "then",
    "call",
    "\\\"run\\\"",
    "again",
    "über",
    "—",
    "\\n",
    "tests",
    "pass.",
    "✓",
];

/// Lines of a tool's output, escaped for a JSON string.
const LINES: [&str; 6] = [
    "    pub fn next(&mut self) -> Option<Event> {\\n",
    "\\tif (value === undefined) return { \\\"kind\\\": \\\"none\\\" };\\n",
    "\\u001b[32mok\\u001b[0m   src/parser.rs:118: 12 passed; 0 failed\\n",
    "drwxr-xr-x  4 root root   4096 Nov 15 23:19 target\\n",
    "The quick brown fox jumps over the lazy dog, and the log goes on for a while.\\n",
    "\\n",
];

struct Writer {
    out: String,
    dice: Dice,
    step: usize,
}

impl Writer {
    fn prose(&mut self, words: usize) -> String {
        let mut text = String::new();
        for _ in 0..words {
            text.push_str(WORDS[self.dice.below(WORDS.len())]);
            text.push(' ');
        }
        text
    }

    fn output(&mut self, size: usize) -> String {
        let mut text = String::with_capacity(size + 100);
        while text.len() < size {
            text.push_str(LINES[self.dice.below(LINES.len())]);
        }
        text
    }

    fn begin(&mut self, kind: AgentKind) {
        match kind {
            AgentKind::Copilot => {
                self.copilot("session.mcp_servers_loaded", r#"{"servers":[]}"#, true);
                self.copilot("session.tools_updated", r#"{"model":"mock-model"}"#, true);
                self.copilot(
                    "user.message",
                    r#"{"content":"Do it.","transformedContent":"Do it.","attachments":[]}"#,
                    false,
                );
            }
            AgentKind::Claude => {
                let (session, uuid) = (SESSION, self.dice.uuid());
                let _ = writeln!(
                    self.out,
                    r#"{{"type":"system","subtype":"init","cwd":"/work","session_id":"{session}","tools":["Bash","Edit","Read","Write"],"mcp_servers":[],"model":"claude-opus-5-5","permissionMode":"default","slash_commands":["verify","debug"],"apiKeySource":"ANTHROPIC_API_KEY","claude_code_version":"2.1.325","output_style":"default","uuid":"{uuid}"}}"#
                );
            }
        }
    }

    fn step(&mut self, kind: AgentKind, mix: Mix) {
        self.step += 1;
        let deltas = if mix == Mix::Mixed { 40 } else { 1000 };
        match kind {
            AgentKind::Copilot => self.copilot_step(mix, deltas),
            AgentKind::Claude => self.claude_step(mix, deltas),
        }
    }

    fn end(&mut self, kind: AgentKind) {
        match kind {
            AgentKind::Copilot => {
                self.copilot("assistant.turn_end", r#"{"turnId":"0"}"#, false);
                self.copilot("assistant.idle", "{}", true);
                let _ = writeln!(
                    self.out,
                    r#"{{"type":"result","timestamp":"2026-11-15T23:30:40.334Z","sessionId":"{SESSION}","exitCode":0,"usage":{{"premiumRequests":1,"totalApiDurationMs":6700,"sessionDurationMs":10250,"codeChanges":{{"linesAdded":0,"linesRemoved":0,"filesModified":[]}}}}}}"#
                );
            }
            AgentKind::Claude => {
                let uuid = self.dice.uuid();
                let _ = writeln!(
                    self.out,
                    r#"{{"type":"result","subtype":"success","is_error":false,"duration_ms":10250,"duration_api_ms":6700,"num_turns":{},"result":"Done.","stop_reason":"end_turn","session_id":"{SESSION}","total_cost_usd":0.0123,"usage":{{"input_tokens":100,"cache_creation_input_tokens":0,"cache_read_input_tokens":2000,"output_tokens":900}},"modelUsage":{{"claude-opus-5-5":{{"inputTokens":100,"outputTokens":900,"cacheReadInputTokens":2000,"cacheCreationInputTokens":0,"webSearchRequests":0,"costUSD":0.0123,"contextWindow":200000}}}},"permission_denials":[],"uuid":"{uuid}"}}"#,
                    self.step
                );
            }
        }
    }

    /// One line of Copilot, in the envelope that all its lines have.
    fn copilot(&mut self, kind: &str, data: &str, ephemeral: bool) {
        let (id, parent) = (self.dice.uuid(), self.dice.uuid());
        let ephemeral = if ephemeral { r#""ephemeral":true,"# } else { "" };
        let millis = self.dice.below(1000);
        let _ = writeln!(
            self.out,
            r#"{{"type":"{kind}","data":{data},{ephemeral}"id":"{id}","timestamp":"2026-11-15T23:20:11.{millis:03}Z","parentId":"{parent}"}}"#
        );
    }

    fn copilot_step(&mut self, mix: Mix, deltas: usize) {
        let (interaction, message) = (self.dice.uuid(), self.dice.uuid());
        let turn = self.step;
        self.copilot(
            "assistant.turn_start",
            &format!(r#"{{"turnId":"{turn}","interactionId":"{interaction}"}}"#),
            false,
        );
        self.copilot("model.call_start", &format!(r#"{{"turnId":"{turn}","interactionId":"{interaction}"}}"#), true);
        self.copilot("session.background_tasks_changed", "{}", true);
        self.copilot("assistant.message_start", &format!(r#"{{"messageId":"{message}"}}"#), true);
        for _ in 0..deltas {
            let words = self.dice.between(1, 5);
            let text = self.prose(words);
            let data = format!(r#"{{"messageId":"{message}","deltaContent":"{text}"}}"#);
            self.copilot("assistant.message_delta", &data, true);
        }
        self.copilot("model.call_finished", &format!(r#"{{"turnId":"{turn}","dispatchDurationMs":9,"outcome":"success","editClassifierVersion":1,"interactionId":"{interaction}","containsBuiltInFileEditRequest":false}}"#), true);
        let call = format!("call_{:010x}", self.dice.next() >> 24);
        let prose = self.prose(120);
        let requests = if mix == Mix::Mixed {
            format!(
                r#"[{{"toolCallId":"{call}","name":"bash","arguments":{{"command":"cargo test","description":"Run the tests"}},"type":"function","intentionSummary":"Run the tests","toolTitle":"Running command"}}]"#
            )
        } else {
            "[]".to_owned()
        };
        self.copilot("assistant.message", &format!(r#"{{"messageId":"{message}","model":"mock-model","content":"{prose}","toolRequests":{requests},"interactionId":"{interaction}","turnId":"{turn}","outputTokens":240}}"#), false);
        if mix == Mix::Mixed {
            self.copilot("tool.execution_start", &format!(r#"{{"toolCallId":"{call}","toolName":"bash","arguments":{{"command":"cargo test","description":"Run the tests"}},"turnId":"{turn}","model":"mock-model","toolTitle":"Running command"}}"#), false);
            let size = self.dice.between(2 << 10, 50 << 10);
            let output = self.output(size);
            let (head, tail) = output.split_at(split_position(&output, output.len() / 2));
            for piece in [head, tail] {
                self.copilot(
                    "tool.shell_output",
                    &format!(r#"{{"toolCallId":"{call}","stream":"stdout","text":"{piece}"}}"#),
                    true,
                );
            }
            self.copilot("session.background_tasks_changed", "{}", true);
            self.copilot("tool.execution_complete", &format!(r#"{{"toolCallId":"{call}","model":"mock-model","interactionId":"{interaction}","turnId":"{turn}","rte":false,"success":true,"result":{{"content":"{output}<exited with exit code 0>","detailedContent":"{output}<exited with exit code 0>","contents":[{{"type":"terminal","text":"ok","exitCode":0}}]}},"toolTelemetry":{{"properties":{{"customTimeout":"false","executionMode":"sync"}},"metrics":{{"commandTimeoutMs":30000,"context_token_limit":128000}}}}}}"#), false);
        }
        self.copilot("assistant.turn_end", &format!(r#"{{"turnId":"{turn}"}}"#), false);
    }

    /// One line of Claude, with the end that all its lines have.
    fn claude(&mut self, line: &str) {
        let uuid = self.dice.uuid();
        let _ = writeln!(self.out, r#"{{{line},"session_id":"{SESSION}","uuid":"{uuid}"}}"#);
    }

    fn claude_step(&mut self, mix: Mix, deltas: usize) {
        let message = format!("msg_{:024x}", self.dice.next());
        self.claude(r#""type":"system","subtype":"status","status":"requesting""#);
        self.claude(&format!(r#""type":"stream_event","event":{{"type":"message_start","message":{{"id":"{message}","type":"message","role":"assistant","model":"claude-opus-5-5","content":[],"stop_reason":null,"stop_sequence":null,"usage":{{"input_tokens":100,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":1,"service_tier":"standard"}}}}}},"parent_tool_use_id":null,"ttft_ms":43"#));
        self.claude(r#""type":"stream_event","event":{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}},"parent_tool_use_id":null"#);
        for _ in 0..deltas {
            let words = self.dice.between(1, 5);
            let text = self.prose(words);
            self.claude(&format!(r#""type":"stream_event","event":{{"type":"content_block_delta","index":0,"delta":{{"type":"text_delta","text":"{text}"}}}},"parent_tool_use_id":null,"api_message_id":"{message}""#));
        }
        let usage = r#""usage":{"input_tokens":100,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":20,"service_tier":"standard"}"#;
        let prose = self.prose(120);
        self.claude(&format!(r#""type":"assistant","message":{{"id":"{message}","type":"message","role":"assistant","model":"claude-opus-5-5","content":[{{"type":"text","text":"{prose}"}}],"stop_reason":null,"stop_sequence":null,{usage}}},"parent_tool_use_id":null"#));
        self.claude(
            r#""type":"stream_event","event":{"type":"content_block_stop","index":0},"parent_tool_use_id":null"#,
        );
        if mix == Mix::Mixed {
            let call = format!("toolu_{:024x}", self.dice.next());
            self.claude(&format!(r#""type":"assistant","message":{{"id":"{message}","type":"message","role":"assistant","model":"claude-opus-5-5","content":[{{"type":"tool_use","id":"{call}","name":"Bash","input":{{"command":"cargo test","description":"Run the tests"}}}}],"stop_reason":null,"stop_sequence":null,{usage}}},"parent_tool_use_id":null"#));
            let size = self.dice.between(2 << 10, 50 << 10);
            let output = self.output(size);
            self.claude(&format!(r#""type":"user","message":{{"role":"user","content":[{{"tool_use_id":"{call}","type":"tool_result","content":"{output}","is_error":false}}]}},"parent_tool_use_id":null,"timestamp":"2026-11-15T23:20:11.123Z","tool_use_result":{{"stdout":"{output}","stderr":"","interrupted":false,"isImage":false}}"#));
        }
        self.claude(&format!(r#""type":"stream_event","event":{{"type":"message_delta","delta":{{"stop_reason":"end_turn","stop_sequence":null}},{usage}}},"parent_tool_use_id":null"#));
        self.claude(r#""type":"stream_event","event":{"type":"message_stop"},"parent_tool_use_id":null"#);
    }
}

const SESSION: &str = "14463e5c-18bf-47ff-a732-f90596ff8f2a";

/// The last position before `at` at which an escaped string can be split.
fn split_position(text: &str, at: usize) -> usize {
    text[..at].rfind("\\n").map_or(0, |newline| newline + 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_are_whole_lines() {
        for (text, size, expected) in [
            ("", 4, vec![]),
            ("a\nb\nc\n", 4, vec!["a\nb\n", "c\n"]),
            ("a\nlonger\nb", 4, vec!["a\n", "longer\n", "b"]),
            ("é\né\n", 4, vec!["é\n", "é\n"]),
        ] {
            assert_eq!(batches(text, size), expected, "{text:?}");
        }
    }

    #[test]
    fn every_line_is_json_and_the_bytes_are_always_the_same() {
        for kind in AgentKind::ALL {
            for mix in Mix::ALL {
                let turn = turn(kind, mix, 400 << 10);
                assert!(turn.len() >= 400 << 10, "{kind:?} {mix:?}");
                for line in turn.lines() {
                    serde_json::from_str::<serde_json::Value>(line).expect(line);
                }
                assert_eq!(turn, super::turn(kind, mix, 400 << 10));
            }
        }
    }
}
