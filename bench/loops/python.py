"""The loop that somebody would write in Python: subprocess, json, a map, and a buffered stdout."""

import json
import subprocess
import sys
import time


# What the agents of the corpora do not say about their tools.
TOOL_REST = {"kind": None, "mcp_server": None, "paths": [], "diffs": [], "denied_because": None}


def usage(scope, source, **figures):
    return {"type": "usage", "scope": scope, "source": source, "model": None, "input_includes_cached": False,
            "input": None, "input_uncached": None, "output": None, "cache_read": None, "cache_write": None,
            "reasoning": None, "cost": None, "cost_source": None, "units": {}, "api_ms": None, "rounds": None, **figures}


def turn_ended(failed, answer):
    return {"type": "turn-ended", "outcome": "failed" if failed else "completed", "detail": None, "error": None,
            "answer": answer, "structured_output": None}


class Copilot:
    def __init__(self):
        # The running tool calls, and when each started.
        self.tools = {}
        self.model = None

    def events(self, line, at):
        kind = line["type"]
        data = line.get("data", {})
        parent = data.get("parentToolCallId")
        if kind == "assistant.message_delta":
            yield {"type": "text-delta", "id": data["messageId"], "parent": parent, "text": data["deltaContent"]}
        elif kind == "assistant.message":
            yield usage("delta", "message", model=data.get("model"), input_includes_cached=True,
                        output=data.get("outputTokens"))
            yield {"type": "message", "id": data["messageId"], "parent": parent, "text": data["content"]}
        elif kind == "session.tools_updated":
            self.model = data.get("model")
            yield {"type": "session", "id": None, "resumed": None, "model": self.model, "agent_version": None}
        elif kind == "tool.execution_start":
            self.tools[data["toolCallId"]] = at
            yield {"type": "tool", "id": data["toolCallId"], "parent": parent, "name": data.get("toolName"),
                   "title": data.get("toolTitle"), "status": "running", "input": data.get("arguments"),
                   "output": None, "exit_code": None, **TOOL_REST, "duration_ms": None}
        elif kind == "tool.shell_output":
            yield {"type": "tool-output", "id": data["toolCallId"], "parent": parent, "text": data["text"]}
        elif kind == "tool.execution_complete":
            result = data.get("result", {})
            codes = [part["exitCode"] for part in result.get("contents", []) if "exitCode" in part]
            yield {"type": "tool", "id": data["toolCallId"], "parent": parent, "name": None, "title": None,
                   "status": "succeeded" if data.get("success") else "failed", "input": None,
                   "output": result.get("content"), "exit_code": codes[0] if codes else None, **TOOL_REST,
                   "duration_ms": at - self.tools.pop(data["toolCallId"], at)}
        elif kind == "result":
            yield {"type": "session", "id": line.get("sessionId"), "resumed": None, "model": self.model,
                   "agent_version": None}
            totals = line.get("usage")
            if totals is not None:
                yield usage("session-total", "result", input_includes_cached=True,
                            units={"premium-requests": totals.get("premiumRequests")},
                            api_ms=totals.get("totalApiDurationMs"))
                yield {"type": "other", "name": "code-changes", "payload": totals.get("codeChanges")}
            yield turn_ended(line.get("exitCode") != 0, None)


def tokens(figures):
    uncached, read, write = (figures[name] for name in
                             ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"))
    return {"input": uncached + read + write, "input_uncached": uncached, "output": figures["output_tokens"],
            "cache_read": read, "cache_write": write}


class Claude:
    def __init__(self):
        # The running tool calls, and when each started.
        self.tools = {}
        # The message that is being streamed, and the id of its current block.
        self.message = None
        self.block = None
        # The model and the tokens of the last request.
        self.model = None
        self.used = None

    def events(self, line, at):
        kind = line["type"]
        parent = line.get("parent_tool_use_id")
        if kind == "system":
            if "model" in line:
                yield {"type": "session", "id": line["session_id"], "resumed": None, "model": line["model"],
                       "agent_version": line["claude_code_version"]}
        elif kind == "stream_event":
            event = line["event"]
            what = event["type"]
            if what == "content_block_delta":
                if "text" in event["delta"]:
                    yield {"type": "text-delta", "id": self.block, "parent": parent, "text": event["delta"]["text"]}
            elif what == "message_start":
                self.message = event["message"]["id"]
                self.model = event["message"]["model"]
            elif what == "content_block_start":
                self.block = f"{self.message}/{event['index']}"
            elif what == "message_delta":
                yield usage("delta", "stream", model=self.model, **tokens(event["usage"]))
        elif kind == "assistant":
            message = line["message"]
            self.used = tokens(message["usage"])["input"]
            for block in message["content"]:
                if block["type"] == "text":
                    yield {"type": "message", "id": self.block, "parent": parent, "text": block["text"]}
                elif block["type"] == "tool_use":
                    self.tools[block["id"]] = at
                    yield {"type": "tool", "id": block["id"], "parent": parent, "name": block["name"], "title": None,
                           "status": "running", "input": block.get("input"), "output": None, "exit_code": None, **TOOL_REST,
                           "duration_ms": None}
        elif kind == "user":
            for block in line["message"]["content"]:
                if block["type"] == "tool_result":
                    call = block["tool_use_id"]
                    yield {"type": "tool", "id": call, "parent": parent, "name": None, "title": None,
                           "status": "failed" if block.get("is_error") else "succeeded", "input": None,
                           "output": block["content"], "exit_code": None, **TOOL_REST, "duration_ms": at - self.tools.pop(call, at)}
        elif kind == "result":
            yield from self.end(line)

    def end(self, line):
        models = line.get("modelUsage", {})
        for model, figures in models.items():
            uncached, read, write = (figures[name] for name in
                                     ("inputTokens", "cacheReadInputTokens", "cacheCreationInputTokens"))
            yield usage("turn-total", "result", model=model, input=uncached + read + write, input_uncached=uncached,
                        output=figures["outputTokens"], cache_read=read, cache_write=write,
                        cost={"micros": round(figures["costUSD"] * 1e6), "currency": "USD"})
        if self.used is not None and self.model in models:
            yield {"type": "context", "used": self.used, "window": models[self.model]["contextWindow"]}
        yield turn_ended(line.get("is_error"), line.get("result"))


def main():
    agent, program = sys.argv[1:]
    parser = {"copilot": Copilot, "claude": Claude}[agent]()
    started = time.monotonic()
    child = subprocess.Popen([program], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, bufsize=1 << 16)
    stdout = sys.stdout
    seq = 0

    # `seq` and `at` are put in front of the text, because building another dictionary for each event is slower.
    def write(at, event):
        nonlocal seq
        seq += 1
        text = json.dumps(event, separators=(",", ":"), ensure_ascii=False)
        stdout.write(f'{{"seq":{seq},"at":{at},{text[1:]}\n')

    write(0, {"type": "run-started", "agent": {"program": program}})
    for text in child.stdout:
        try:
            line = json.loads(text)
        except ValueError:
            continue
        at = int((time.monotonic() - started) * 1000)
        for event in parser.events(line, at):
            write(at, event)
    child.wait()


sys.stdout.reconfigure(encoding="utf-8")
main()
