/** Events as lines of a story. Calls, questions and rounds are collected elsewhere; what is told nowhere is null. */
import type { EventMap, TaskEvent } from "../core/events.ts";
import { bounded } from "./call.ts";
import type { Entry } from "./model.ts";

/** `ordinary`: gives way first in a long log. */
export type Told = Omit<Entry, "seq" | "at"> & { ordinary?: true };

export function tell(event: TaskEvent): Told | null {
  if ("late" in event.data && event.data.late === true)
    return { kind: "trouble", title: `Came too late and changed nothing: ${event.type}`, ordinary: true };
  switch (event.type) {
    case "worker.started": {
      const { executable, permissionMode, resume } = event.data;
      const what = resume ? "goes on with its session" : "has started";
      return { kind: "worker", title: `Claude Code ${executable.version} ${what} (permission mode ${permissionMode})` };
    }
    case "worker.start-failed":
      return { kind: "trouble", title: `Claude Code did not start: ${event.data.message}`, tone: "bad" };
    case "worker.text":
      return { kind: "claude", title: "Claude says", detail: bounded(event.data.preview), ordinary: true };
    case "worker.exited": {
      const { code, signal, exitReason } = event.data;
      const how = signal ?? `exit code ${code ?? "unknown"}`;
      return { kind: "worker", title: `Claude Code has ended: ${exitReason} (${how})` };
    }
    case "worker.protocol-error":
      return {
        kind: "trouble",
        title: `Broken protocol: ${event.data.code}`,
        detail: bounded(event.data.detail),
        tone: "warn",
      };
    case "worker.rate-limit":
      if (event.data.status === "allowed") return null;
      return { kind: "trouble", title: `Usage limit: ${event.data.status}`, tone: "warn", ordinary: true };
    case "worker.conversation-reset":
      return { kind: "trouble", title: "Claude's conversation was cleared", tone: "warn" };
    case "worker.drift":
      return { kind: "trouble", title: event.data.message, tone: "warn" };
    case "worker.swept":
      return event.data.killed === 0 && event.data.proven
        ? null
        : {
            kind: "trouble",
            title: event.data.proven
              ? `${event.data.killed} left processes of the worker were ended`
              : `${event.data.remaining.length} resources of the worker may still run`,
            tone: event.data.proven ? "warn" : "bad",
          };
    case "prompt.failed":
      return { kind: "trouble", title: `A message was not sent: ${event.data.message}`, tone: "bad" };
    case "gate.reply-failed":
      return { kind: "trouble", title: `An answer did not reach Claude: ${event.data.message}`, tone: "bad" };
    case "budget.exhausted":
    case "budget.warning":
      return { kind: "trouble", title: event.data.text, tone: "warn" };
    case "budget.renewed":
      return { kind: "trouble", title: event.data.text, ordinary: true };
    case "automation.changed":
      return { kind: "trouble", title: `Automation is ${event.data.to}: ${event.data.why}`, tone: "warn" };
    case "gate.incident":
      return {
        kind: "trouble",
        title: `Incident ${event.data.fault}: automation is off`,
        detail: bounded(event.data.detail),
        tone: "bad",
      };
    case "ungated":
      return { kind: "trouble", title: `Nothing of this worker passes the gate (${event.data.why})`, tone: "warn" };
    case "request.cancelled":
      return { kind: "answer", title: `${event.data.requestId}: no longer asked (${event.data.why})` };
    case "turn.result": {
      const { isError, subtype, preview, errors } = event.data;
      return isError
        ? {
            kind: "claude",
            title: `The turn ended with an error (${subtype})`,
            detail: bounded(preview === "" ? errors.join("\n") : preview),
            tone: "bad",
          }
        : { kind: "claude", title: "Claude's turn is over", detail: bounded(preview) };
    }
    case "verify.finished":
      return {
        kind: "verification",
        title: `Verification, round ${event.data.round}: ${event.data.outcome}. ${event.data.message}`,
        tone: TONES[event.data.outcome],
      };
    case "review.started":
      return { kind: "verification", title: `The reviewer looks at tree ${event.data.treeId}`, ordinary: true };
    case "review.finished": {
      const { verdict, message, findings } = event.data;
      return {
        kind: "verification",
        title: `Review: ${verdict}. ${message}`,
        ...(findings.length === 0
          ? {}
          : {
              detail: bounded(findings.map(({ file, line, problem }) => located(problem, file, line)).join("\n")),
            }),
        tone: verdict === "pass" ? "good" : verdict === "revise" ? "bad" : "warn",
      };
    }
    case "verify.stale":
      return { kind: "verification", title: "The workspace changed after the verification had passed", tone: "bad" };
    case "stop.requested":
      return {
        kind: "end",
        title: `Stop (${event.data.kind}) asked for by ${event.data.by}: ${event.data.reason}`,
        tone: "warn",
      };
    case "estop.requested":
      return { kind: "end", title: `Emergency stop, epoch ${event.data.epoch}`, tone: "bad" };
    case "stop.proven":
      return { kind: "end", title: `Nothing of it runs any more (${event.data.method})` };
    case "stop.failed":
      return { kind: "end", title: `${event.data.remaining.length} resources may still run`, tone: "bad" };
    case "takeover.requested":
      return {
        kind: "end",
        title: "A person took the session over: from here on nothing passes the gate",
        tone: "warn",
      };
    case "signoff.requested":
      return {
        kind: "verification",
        title: `A person's sign-off is needed: ${event.data.message}`,
        detail: bounded(event.data.paths.join("\n")),
        tone: "warn",
      };
    case "person.called":
      return event.data.ok
        ? { kind: "answer", title: `You were told by webhook: ${event.data.reason}` }
        : {
            kind: "trouble",
            title: `You could not be told by webhook (${event.data.reason}): ${event.data.failure ?? "unknown"}`,
            tone: "warn",
          };
    case "pause.requested":
      return { kind: "end", title: `Paused by ${event.data.by}: ${event.data.reason}` };
    case "task.completed":
      return { kind: "end", title: `Completed: verified at tree ${event.data.treeId}`, tone: "good" };
    case "task.failed":
      return { kind: "end", title: `Failed: ${event.data.message}`, tone: "bad" };
    case "task.recovering":
      if (event.data.handback !== undefined) return { kind: "worker", title: "A person gave the session back" };
      return { kind: "worker", title: event.data.fresh ? "Begun again in a fresh session" : "Recovered" };
    case "fault.cleared":
      return { kind: "answer", title: `A person cleared the fault ${event.data.fault}` };
    case "owner.claimed":
      return event.data.why === "start"
        ? null
        : { kind: "worker", title: `Another Pi has taken the task on (${event.data.why})` };
    case "owner.released":
      return event.data.why === "quit"
        ? { kind: "worker", title: "Pi was closed; the task was left to recover" }
        : null;
    case "log.recovered":
      return {
        kind: "trouble",
        title: `A torn end of the log (${event.data.tornBytes} bytes) was set aside`,
        tone: "warn",
      };
    case "notice":
      return event.data.level === "info"
        ? null
        : { kind: "trouble", title: event.data.text, tone: event.data.level === "error" ? "bad" : "warn" };
    case "rejected":
      return { kind: "trouble", title: `Not possible: ${event.data.what}. ${event.data.message}`, ordinary: true };
    default:
      return null;
  }
}

const TONES = { pass: "good", fail: "bad", error: "warn" } as const;

export const MESSAGES: Record<EventMap["prompt.intent"]["source"], string> = {
  goal: "The goal",
  person: "A person's message",
  decider: "The Decision Worker's message",
  verifier: "What the verification or the reviewer found, sent back",
  recover: "Told to go on after a recovery",
  handback: "Told to go on after a handback",
};

function located(problem: string, file: string | undefined, line: number | undefined): string {
  if (file === undefined) return problem;
  return `${line === undefined ? file : `${file}:${line}`}: ${problem}`;
}
