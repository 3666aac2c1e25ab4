// A program that reads `wharf run --json`, with the types that json-schema-to-typescript makes. It is compiled and not
// run: a field that is missing or of another type is an error.
import type { AskEvent, ReportEvent, Retry, WharfEvent } from "./event";
import type { AnswerControl, WharfControl } from "./control";
import type { RunEntry, WharfRuns } from "./runs";
import type { WharfSessions } from "./sessions";
import type { WharfReceipt } from "./receipt";
import type { WharfAdapter } from "./adapter";
import type { WharfModels } from "./models";
import type { WharfDoctor } from "./doctor";

function dollars(report: ReportEvent): number | null {
  const cost = report.usage?.cost ?? null;
  return cost === null ? null : cost.micros / 1e6;
}

function answer(ask: AskEvent): AnswerControl {
  const allowed = ask.kind === "permission" && ask.choices.some((choice) => choice.kind === "allow-once");
  return { type: "answer", ask: ask.id, decision: allowed ? "allow" : "deny", name: "policy" };
}

function waits(retry: Retry): Date | null {
  switch (retry.kind) {
    case "at":
      return new Date(retry.time);
    case "never":
    case "same-session":
    case "fresh-session":
    case "after-user-action":
    case "unknown":
      return null;
    default:
      return unreachable(retry);
  }
}

function unreachable(value: never): never {
  throw new Error(String(value));
}

export function handle(event: WharfEvent): WharfControl | null {
  switch (event.type) {
    case "run-started":
      console.log(event.run, event.labels["task"], Date.parse(event.started), event.adapter.sha256);
      return null;
    case "text-delta":
      console.log(event.seq, event.at, event.text);
      return null;
    case "tool":
      console.log(event.status === "succeeded" ? event.duration_ms : event.exit_code);
      return null;
    case "ask":
      return answer(event);
    case "report":
      console.log(event.outcome, dollars(event), event.error && waits(event.error.retry));
      return null;
    default:
      return null;
  }
}

export function ended(runs: WharfRuns): RunEntry[] {
  return runs.filter((run) => run.state === "ended" && run.outcome !== null);
}

export function summary(
  sessions: WharfSessions,
  receipt: WharfReceipt,
  adapter: WharfAdapter,
  models: WharfModels,
  doctor: WharfDoctor,
): string[] {
  const costs = sessions.map((session) => `${session.id} ${session.usage.cost?.currency ?? "unknown"}`);
  const names = models.state === "models" ? models.detail.map((model) => model.id) : [];
  const usable = doctor.filter((entry) => entry.usable).map((entry) => entry.adapter);
  return [...costs, receipt.sha256, ...adapter.info.tested_with, ...names, ...usable];
}

// @ts-expect-error: there is no such event.
export const wrong: WharfEvent["type"] = "no-such-event";
