"""Reads what wharf printed with the classes that datamodel-code-generator makes. Argument: the folder of the files."""

import pathlib
import sys

import pydantic
from event import AskEvent, Outcome, ReportEvent, RunStartedEvent, ToolEvent, WharfEvent
from adapter import WharfAdapter
from adapters import WharfAdapters
from control import AnswerControl, Decision, SimpleDecision
from doctor import WharfDoctor
from explain import WharfExplain
from models import WharfModels
from receipt import WharfReceipt
from runs import RunState, WharfRuns
from sessions import WharfSessions
from verification import WharfVerification


def answer(ask: AskEvent) -> str:
    decision = Decision(root=SimpleDecision.allow if ask.tool == "shell" else SimpleDecision.deny)
    return AnswerControl(type="answer", ask=ask.id, decision=decision).model_dump_json(exclude_none=True)


def read(lines: list[str]) -> ReportEvent:
    events = [WharfEvent.model_validate_json(line).root for line in lines]
    assert isinstance(events[0], RunStartedEvent) and events[0].labels == {"task": "42"}, events[0]
    assert any(isinstance(event, ToolEvent) for event in events)
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    report = events[-1]
    assert isinstance(report, ReportEvent)
    return report


def main(folder: pathlib.Path) -> None:
    lines = (folder / "events.jsonl").read_text().splitlines()
    report = read(lines)
    assert report.outcome is Outcome.completed and report.usage is not None and report.usage.cost is None
    runs = WharfRuns.model_validate_json((folder / "runs.json").read_text()).root
    assert [(run.state, run.reason) for run in runs] == [(RunState.ended, None)]
    sessions = WharfSessions.model_validate_json((folder / "sessions.json").read_text()).root
    assert report.session is not None and sessions[0].id == report.session.id
    receipt = WharfReceipt.model_validate_json((folder / "receipt.json").read_text())
    assert receipt.run == report.run
    for model, name in (
        (WharfAdapter, "adapter"), (WharfAdapters, "adapters"), (WharfDoctor, "doctor"), (WharfExplain, "explain"),
        (WharfModels, "models"), (WharfVerification, "verification"),
    ):
        model.model_validate_json((folder / f"{name}.json").read_text())
    try:
        WharfEvent.model_validate_json(lines[-1].replace('"report"', '"no-such-event"'))
    except pydantic.ValidationError:
        return
    raise AssertionError("the classes accept an event that there is not")


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
