"""Runs tasks with wharf, several at once. Killed at any time, together with its agents, its next start continues.
usage: orchestrator.py JOB TASKS.json AT_ONCE BUDGET    a task: {"id": "1", "prompts": ["…"], "args": ["--adapter=…"]}"""
import json, subprocess, sys, time
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime

JOB, TASKS, AT_ONCE, BUDGET = sys.argv[1], json.load(open(sys.argv[2])), int(sys.argv[3]), float(sys.argv[4])

def wharf(*args):
    return json.loads(subprocess.run(["wharf", *args, "--json"], check=True, stdout=subprocess.PIPE).stdout)

def costs(key):  # in dollars, of this job
    groups = wharf("usage", f"--by={key}", f"--label=job={JOB}")
    return {group["group"][key]: (group["usage"]["cost"] or {"micros": 0})["micros"] / 1e6 for group in groups}

def decide(ask):  # a policy; it could as well be a person, because an ask waits as long as it has to
    if "secret" in json.dumps(ask["detail"]):
        return {"type": "cancel"}
    decision = "allow" if ask["tool"] in ("list_folder", "Read", "view") else "deny"
    return {"type": "answer", "number": ask["number"], "decision": decision, "name": "policy"}

def turn(args, prompt):  # one run of an agent: the report, and which retry makes sense
    command = ["wharf", "run", "--json", "--control", "--ask", "--ask-timeout=none", *args, "--", prompt]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        for event in map(json.loads, process.stdout):
            if event["type"] == "ask":
                print(json.dumps(decide(event)), file=process.stdin, flush=True)
    if event["type"] != "report":  # wharf was killed
        return {"outcome": "torn", "answer": None, "detail": "wharf was killed"}, {"kind": "same-session"}
    return event, event["error"]["retry"] if event["error"] else {"kind": "never"}

def pause_before(retry, tries):  # in seconds; none if there is no sense in another try
    if retry["kind"] == "at":
        return max(datetime.fromisoformat(retry["time"].replace("Z", "+00:00")).timestamp() - time.time(), 0)
    return 5**tries / 5 if retry["kind"] in ("same-session", "fresh-session") and tries < 4 else None

def perform(task):  # each prompt in the session of the one before
    session, report = None, {"outcome": "completed", "answer": "(done before)"}
    for step, prompt in enumerate(task["prompts"]):
        labels = [f"--label={name}={value}" for name, value in (("job", JOB), ("task", task["id"]), ("step", step))]
        tries, pause, retry = 0, 0, {"kind": "same-session"}
        while True:
            last = (wharf("runs", "-n1", *labels) or [{}])[0]  # also of an earlier start of this program
            session = None if retry["kind"] == "fresh-session" else last.get("session") or session
            if last.get("outcome") == "completed" or pause is None:
                break
            if sum(costs("adapter").values()) >= BUDGET:
                return task["id"], "no budget", ""
            time.sleep(pause)
            resume = ["--resume", session, "--session-busy=wait"] if session else []
            report, retry = turn([*labels, *resume, *task.get("args", [])], prompt)
            tries, pause = tries + 1, pause_before(retry, tries + 1)
        if report["outcome"] != "completed":
            break
    return task["id"], report["outcome"], report["answer"] or report["detail"] or report["error"] or ""

with ThreadPoolExecutor(AT_ONCE) as pool:
    results, spent = list(pool.map(perform, TASKS)), costs("label:task")
for task, outcome, text in results:
    print(f"{task:>4}  {outcome:<10}  ${spent.get(task, 0):.6f}  {text}")
