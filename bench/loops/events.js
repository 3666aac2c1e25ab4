// What both Node loops do with a line: JSON.parse, and a map to the events of `wharf run --json`, without `seq` and `at`.
"use strict";

// What the agents of the corpora do not say about their tools.
const TOOL_REST = { kind: null, mcp_server: null, paths: [], diffs: [], denied_because: null };

const usage = (scope, source, figures) => ({
  type: "usage", scope, source, model: null, input_includes_cached: false, input: null, input_uncached: null,
  output: null, cache_read: null, cache_write: null, reasoning: null, cost: null, cost_source: null, units: {}, api_ms: null,
  rounds: null,
  ...figures,
});

const turnEnded = (failed, answer) => ({
  type: "turn-ended", outcome: failed ? "failed" : "completed", detail: null, error: null, answer, structured_output: null,
});

// The running tool calls, and when each started.
class Tools {
  started = new Map();

  start(id, at) {
    this.started.set(id, at);
  }

  end(id, at) {
    const started = this.started.get(id);
    this.started.delete(id);
    return started === undefined ? null : at - started;
  }
}

class Copilot {
  tools = new Tools();
  model = null;

  events(line, at) {
    const { type, data = {} } = line;
    const parent = data.parentToolCallId ?? null;
    switch (type) {
      case "assistant.message_delta":
        return [{ type: "text-delta", id: data.messageId, parent, text: data.deltaContent }];
      case "assistant.message": {
        const figures = { model: data.model ?? null, input_includes_cached: true, output: data.outputTokens ?? null };
        return [
          usage("delta", "message", figures),
          { type: "message", id: data.messageId, parent, text: data.content },
        ];
      }
      case "session.tools_updated":
        this.model = data.model ?? null;
        return [{ type: "session", id: null, resumed: null, model: this.model, agent_version: null }];
      case "tool.execution_start":
        this.tools.start(data.toolCallId, at);
        return [{
          type: "tool", id: data.toolCallId, parent, name: data.toolName ?? null, title: data.toolTitle ?? null,
          status: "running", input: data.arguments ?? null, output: null, exit_code: null, ...TOOL_REST, duration_ms: null,
        }];
      case "tool.shell_output":
        return [{ type: "tool-output", id: data.toolCallId, parent, text: data.text }];
      case "tool.execution_complete": {
        const { content = null, contents = [] } = data.result ?? {};
        const terminal = contents.find((part) => part.exitCode !== undefined);
        return [{
          type: "tool", id: data.toolCallId, parent, name: null, title: null,
          status: data.success ? "succeeded" : "failed", input: null, output: content,
          exit_code: terminal ? terminal.exitCode : null, ...TOOL_REST, duration_ms: this.tools.end(data.toolCallId, at),
        }];
      }
      case "result":
        return this.end(line);
      default:
        return [];
    }
  }

  end(line) {
    const events = [
      { type: "session", id: line.sessionId ?? null, resumed: null, model: this.model, agent_version: null },
    ];
    const totals = line.usage;
    if (totals !== undefined) {
      const units = { "premium-requests": totals.premiumRequests };
      const figures = { input_includes_cached: true, units, api_ms: totals.totalApiDurationMs ?? null };
      events.push(usage("session-total", "result", figures));
      events.push({ type: "other", name: "code-changes", payload: totals.codeChanges });
    }
    events.push(turnEnded(line.exitCode !== 0, null));
    return events;
  }
}

const tokens = (figures) => ({
  input: figures.input_tokens + figures.cache_read_input_tokens + figures.cache_creation_input_tokens,
  input_uncached: figures.input_tokens,
  output: figures.output_tokens,
  cache_read: figures.cache_read_input_tokens,
  cache_write: figures.cache_creation_input_tokens,
});

class Claude {
  tools = new Tools();
  // The message that is being streamed, and the id of its current block.
  message = null;
  block = null;
  // The model and the tokens of the last request.
  model = null;
  used = null;

  events(line, at) {
    const parent = line.parent_tool_use_id ?? null;
    switch (line.type) {
      case "system":
        if (line.model === undefined) return [];
        return [{
          type: "session", id: line.session_id, resumed: null, model: line.model, agent_version: line.claude_code_version,
        }];
      case "stream_event":
        return this.streamEvent(line.event, parent);
      case "assistant": {
        const events = [];
        this.used = tokens(line.message.usage).input;
        for (const block of line.message.content) {
          if (block.type === "text") {
            events.push({ type: "message", id: this.block, parent, text: block.text });
          } else if (block.type === "tool_use") {
            this.tools.start(block.id, at);
            events.push({
              type: "tool", id: block.id, parent, name: block.name, title: null, status: "running",
              input: block.input ?? null, output: null, exit_code: null, ...TOOL_REST, duration_ms: null,
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
            status: block.is_error ? "failed" : "succeeded", input: null, output: block.content, exit_code: null, ...TOOL_REST,
            duration_ms: this.tools.end(block.tool_use_id, at),
          });
        }
        return events;
      }
      case "result":
        return this.end(line);
      default:
        return [];
    }
  }

  streamEvent(event, parent) {
    switch (event.type) {
      case "content_block_delta":
        if (event.delta.text === undefined) return [];
        return [{ type: "text-delta", id: this.block, parent, text: event.delta.text }];
      case "message_start":
        this.message = event.message.id;
        this.model = event.message.model;
        return [];
      case "content_block_start":
        this.block = `${this.message}/${event.index}`;
        return [];
      case "message_delta":
        return [usage("delta", "stream", { model: this.model, ...tokens(event.usage) })];
      default:
        return [];
    }
  }

  end(line) {
    const models = line.modelUsage ?? {};
    const events = Object.entries(models).map(([model, figures]) => usage("turn-total", "result", {
      model,
      input: figures.inputTokens + figures.cacheReadInputTokens + figures.cacheCreationInputTokens,
      input_uncached: figures.inputTokens,
      output: figures.outputTokens,
      cache_read: figures.cacheReadInputTokens,
      cache_write: figures.cacheCreationInputTokens,
      cost: { micros: Math.round(figures.costUSD * 1e6), currency: "USD" },
    }));
    const window = models[this.model]?.contextWindow;
    if (this.used !== null && window !== undefined) events.push({ type: "context", used: this.used, window });
    events.push(turnEnded(line.is_error, line.result ?? null));
    return events;
  }
}

// A function from a line, and the milliseconds since the start at which it was read, to its events. Anything that is not
// JSON is skipped.
function parser(agent) {
  const parser = agent === "copilot" ? new Copilot() : new Claude();
  return (text, at) => {
    let line;
    try {
      line = JSON.parse(text);
    } catch {
      return [];
    }
    return parser.events(line, at);
  };
}

module.exports = { parser };
