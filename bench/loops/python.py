"""The loop that somebody would write in Python: subprocess, json, a map, and a buffered stdout."""

import json
import subprocess
import sys


def copilot(line):
    kind = line["type"]
    data = line.get("data", {})
    parent = data.get("parentToolCallId")
    if kind == "assistant.message_delta":
        yield {"type": "text-delta", "id": data["messageId"], "parent": parent, "text": data["deltaContent"]}
    elif kind == "assistant.message":
        yield {"type": "usage", "scope": "delta", "source": "messages", "model": data.get("model"),
               "output": data.get("outputTokens")}
        yield {"type": "message", "id": data["messageId"], "parent": parent, "text": data["content"]}
    elif kind == "session.tools_updated":
        yield {"type": "session", "id": None, "resumed": None, "model": data.get("model"), "runtime_version": None}
    elif kind == "tool.execution_start":
        yield {"type": "tool", "id": data["toolCallId"], "parent": parent, "name": data.get("toolName"),
               "title": data.get("toolTitle"), "status": "running", "input": data.get("arguments"), "output": None,
               "exit_code": None}
    elif kind == "tool.shell_output":
        yield {"type": "tool-output", "id": data["toolCallId"], "parent": parent, "text": data["text"]}
    elif kind == "tool.execution_complete":
        result = data.get("result", {})
        codes = [part["exitCode"] for part in result.get("contents", []) if "exitCode" in part]
        yield {"type": "tool", "id": data["toolCallId"], "parent": parent, "name": None, "title": None,
               "status": "succeeded" if data.get("success") else "failed", "input": None,
               "output": result.get("content"), "exit_code": codes[0] if codes else None}
    elif kind == "result":
        yield {"type": "session", "id": line.get("sessionId"), "resumed": None, "model": None, "runtime_version": None}
        yield {"type": "turn-end", "outcome": "completed" if line.get("exitCode") == 0 else "failed", "answer": None}


def claude(line):
    kind = line["type"]
    parent = line.get("parent_tool_use_id")
    if kind == "system":
        if "model" in line:
            yield {"type": "session", "id": line["session_id"], "resumed": None, "model": line["model"],
                   "runtime_version": None}
    elif kind == "stream_event":
        text = line["event"].get("delta", {}).get("text")
        if text is not None and "api_message_id" in line:
            yield {"type": "text-delta", "id": line["api_message_id"], "parent": parent, "text": text}
    elif kind == "assistant":
        message = line["message"]
        for block in message["content"]:
            if block["type"] == "text":
                yield {"type": "message", "id": message["id"], "parent": parent, "text": block["text"]}
            elif block["type"] == "tool_use":
                yield {"type": "tool", "id": block["id"], "parent": parent, "name": block["name"], "title": None,
                       "status": "running", "input": block.get("input"), "output": None, "exit_code": None}
    elif kind == "user":
        for block in line["message"]["content"]:
            if block["type"] == "tool_result":
                yield {"type": "tool", "id": block["tool_use_id"], "parent": parent, "name": None, "title": None,
                       "status": "failed" if block.get("is_error") else "succeeded", "input": None,
                       "output": block["content"], "exit_code": None}
    elif kind == "result":
        usage = line.get("usage", {})
        cost = line.get("total_cost_usd")
        yield {"type": "usage", "scope": "turn-total", "source": "result", "model": None,
               "input": usage.get("input_tokens"), "output": usage.get("output_tokens"),
               "cache_read": usage.get("cache_read_input_tokens"),
               "cache_write": usage.get("cache_creation_input_tokens"),
               "cost_micros": None if cost is None else round(cost * 1e6)}
        yield {"type": "turn-end", "outcome": "failed" if line.get("is_error") else "completed",
               "answer": line.get("result")}


def main():
    events = {"copilot": copilot, "claude": claude}[sys.argv[1]]
    child = subprocess.Popen([sys.argv[2]], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, bufsize=1 << 16)
    write = sys.stdout.write
    for text in child.stdout:
        try:
            line = json.loads(text)
        except ValueError:
            continue
        for event in events(line):
            write(json.dumps(event, separators=(",", ":"), ensure_ascii=False) + "\n")
    child.wait()


sys.stdout.reconfigure(encoding="utf-8")
main()
