// What both Node loops do with a line: JSON.parse, and a map to the events of `wharf run --json`.
"use strict";

function copilot(line) {
  const { type, data = {}, sessionId, exitCode } = line;
  const parent = data.parentToolCallId ?? null;
  switch (type) {
    case "assistant.message_delta":
      return [{ type: "text-delta", id: data.messageId, parent, text: data.deltaContent }];
    case "assistant.message":
      return [
        { type: "usage", scope: "delta", source: "messages", model: data.model ?? null, output: data.outputTokens ?? null },
        { type: "message", id: data.messageId, parent, text: data.content },
      ];
    case "session.tools_updated":
      return [{ type: "session", id: null, resumed: null, model: data.model ?? null, runtime_version: null }];
    case "tool.execution_start":
      return [{
        type: "tool", id: data.toolCallId, parent, name: data.toolName ?? null, title: data.toolTitle ?? null,
        status: "running", input: data.arguments ?? null, output: null, exit_code: null,
      }];
    case "tool.shell_output":
      return [{ type: "tool-output", id: data.toolCallId, parent, text: data.text }];
    case "tool.execution_complete": {
      const { content = null, contents = [] } = data.result ?? {};
      const terminal = contents.find((part) => part.exitCode !== undefined);
      return [{
        type: "tool", id: data.toolCallId, parent, name: null, title: null,
        status: data.success ? "succeeded" : "failed", input: null, output: content,
        exit_code: terminal ? terminal.exitCode : null,
      }];
    }
    case "result":
      return [
        { type: "session", id: sessionId ?? null, resumed: null, model: null, runtime_version: null },
        { type: "turn-end", outcome: exitCode === 0 ? "completed" : "failed", answer: null },
      ];
    default:
      return [];
  }
}

function claude(line) {
  const parent = line.parent_tool_use_id ?? null;
  switch (line.type) {
    case "system":
      if (line.model === undefined) return [];
      return [{ type: "session", id: line.session_id, resumed: null, model: line.model, runtime_version: null }];
    case "stream_event": {
      const text = line.event.delta?.text;
      if (text === undefined || line.api_message_id === undefined) return [];
      return [{ type: "text-delta", id: line.api_message_id, parent, text }];
    }
    case "assistant": {
      const events = [];
      for (const block of line.message.content) {
        if (block.type === "text") {
          events.push({ type: "message", id: line.message.id, parent, text: block.text });
        } else if (block.type === "tool_use") {
          events.push({
            type: "tool", id: block.id, parent, name: block.name, title: null, status: "running",
            input: block.input ?? null, output: null, exit_code: null,
          });
        }
      }
      return events;
    }
    case "user": {
      const events = [];
      for (const block of line.message.content) {
        if (block.type !== "tool_result") continue;
        events.push({
          type: "tool", id: block.tool_use_id, parent, name: null, title: null,
          status: block.is_error ? "failed" : "succeeded", input: null, output: block.content, exit_code: null,
        });
      }
      return events;
    }
    case "result": {
      const usage = line.usage ?? {};
      return [
        {
          type: "usage", scope: "turn-total", source: "result", model: null, input: usage.input_tokens ?? null,
          output: usage.output_tokens ?? null, cache_read: usage.cache_read_input_tokens ?? null,
          cache_write: usage.cache_creation_input_tokens ?? null,
          cost_micros: line.total_cost_usd === undefined ? null : Math.round(line.total_cost_usd * 1e6),
        },
        { type: "turn-end", outcome: line.is_error ? "failed" : "completed", answer: line.result ?? null },
      ];
    }
    default:
      return [];
  }
}

const maps = { copilot, claude };

// The events of one line; what is no JSON is passed over.
function events(runtime, text) {
  let line;
  try {
    line = JSON.parse(text);
  } catch {
    return [];
  }
  return maps[runtime](line);
}

module.exports = { events };
