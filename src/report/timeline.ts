/** The events of one task told as a story: messages and turns, calls with their verdicts, answers, rounds, ends. */
import type { EventMap, StoredEvent, TaskEvent } from "../core/events.ts";
import { isKnown } from "../core/fold.ts";
import { oneLine } from "./inert.ts";

export type EntryKind = "message" | "worker" | "call" | "answer" | "verification" | "end" | "trouble";

export interface Entry {
  seq: number;
  at: string;
  kind: EntryKind;
  /** One line. */
  title: string;
  /** More text, as it came; data from outside. */
  detail?: string;
  tone?: "good" | "bad";
}

/** Characters of one entry's detail. */
const MAX_DETAIL = 4_000;

export function timeline(events: readonly StoredEvent[]): Entry[] {
  const names = new Map<string, string>();
  return events.flatMap((event) => {
    if (!isKnown(event.type)) return [];
    const told = tell(event as TaskEvent, names);
    return told === null ? [] : [{ seq: event.seq, at: event.at, ...told, title: oneLine(told.title, 500) }];
  });
}

type Told = Omit<Entry, "seq" | "at"> | null;

function tell(event: TaskEvent, names: Map<string, string>): Told {
  if ("late" in event.data && event.data.late === true)
    return { kind: "trouble", title: `Came too late and changed nothing: ${event.type}` };
  switch (event.type) {
    case "prompt.intent":
      return { kind: "message", title: MESSAGE[event.data.source], detail: bounded(event.data.text) };
    case "worker.started": {
      const { executable, permissionMode, resume } = event.data;
      const what = resume ? "goes on with its session" : "has started";
      return { kind: "worker", title: `Claude Code ${executable.version} ${what} (permission mode ${permissionMode})` };
    }
    case "worker.start-failed":
      return { kind: "trouble", title: `Claude Code did not start: ${line(event.data.message)}`, tone: "bad" };
    case "worker.text":
      return { kind: "worker", title: "Claude says", detail: bounded(event.data.preview) };
    case "worker.exited": {
      const { code, signal, exitReason } = event.data;
      return {
        kind: "worker",
        title: `Claude Code has ended: ${line(exitReason)} (${signal ?? `exit code ${code ?? "unknown"}`})`,
      };
    }
    case "worker.protocol-error":
      return {
        kind: "trouble",
        title: `Broken protocol: ${line(event.data.code)}`,
        detail: bounded(event.data.detail),
      };
    case "worker.rate-limit":
      return event.data.status === "allowed" ? null : { kind: "trouble", title: `Usage limit: ${event.data.status}` };
    case "gate.verdict":
      names.set(event.data.toolUseId, event.data.toolName);
      return callEntry(event.data);
    case "gate.not-run":
      return { kind: "call", title: `${name(names, event.data)} did not run (${event.data.why})` };
    case "automation.changed":
      return { kind: "trouble", title: line(event.data.why) };
    case "gate.incident":
      return {
        kind: "trouble",
        title: `Incident ${line(event.data.fault)}`,
        detail: bounded(event.data.detail),
        tone: "bad",
      };
    case "request.answered": {
      const { requestId, decision, by, via, note } = event.data;
      const title = `${requestId}: ${ANSWERED[decision]} by ${by === "person" ? `a person (${via})` : by}`;
      return { kind: "answer", title, ...(note !== undefined && { detail: bounded(note) }) };
    }
    case "request.cancelled":
      return { kind: "answer", title: `${event.data.requestId}: no longer asked (${event.data.why})` };
    case "decision.made":
      return {
        kind: "answer",
        title: `Decision Worker: ${line(event.data.decision)}`,
        ...(event.data.reason !== undefined && { detail: bounded(event.data.reason) }),
      };
    case "tool.result":
      return event.data.isError
        ? {
            kind: "call",
            title: `${name(names, event.data)} answered with an error`,
            detail: bounded(event.data.preview),
            tone: "bad",
          }
        : null;
    case "turn.result":
      return {
        kind: "worker",
        title: event.data.isError ? `The turn ended with an error (${line(event.data.subtype)})` : "The turn is over",
        detail: bounded(event.data.preview),
        ...(event.data.isError && { tone: "bad" as const }),
      };
    case "verify.finished":
      return verifyEntry(event.data);
    case "verify.stale":
      return { kind: "verification", title: "The workspace changed after the verification passed", tone: "bad" };
    case "stop.requested":
      return {
        kind: "end",
        title: `Stop (${event.data.kind}) asked for by ${event.data.by}: ${line(event.data.reason)}`,
      };
    case "stop.proven":
      return { kind: "end", title: `Nothing of it runs any more (${event.data.method})` };
    case "stop.failed":
      return { kind: "end", title: `Something may still run: ${event.data.remaining.length} resources`, tone: "bad" };
    case "task.completed":
      return { kind: "end", title: `Completed: verified at tree ${event.data.treeId}`, tone: "good" };
    case "task.failed":
      return { kind: "end", title: `Failed: ${line(event.data.message)}`, tone: "bad" };
    case "task.recovering":
      return { kind: "worker", title: event.data.fresh ? "Begun again with a fresh session" : "Recovered" };
    case "owner.claimed":
      return event.data.why === "start"
        ? null
        : { kind: "worker", title: `Taken over by another Pi (${event.data.why})` };
    case "log.recovered":
      return { kind: "trouble", title: `A torn end of the log (${event.data.tornBytes} bytes) was set aside` };
    case "notice":
      return event.data.level === "info" ? null : { kind: "trouble", title: line(event.data.text) };
    case "rejected":
      return { kind: "trouble", title: `Not possible: ${line(event.data.what)}. ${line(event.data.message)}` };
    default:
      return null;
  }
}

const MESSAGE: Record<EventMap["prompt.intent"]["source"], string> = {
  goal: "The goal was given to Claude",
  person: "A person's message",
  decider: "The Decision Worker's message",
  verifier: "The failing verification was sent back",
  recover: "Told to go on after a recovery",
  handback: "Told to go on after a handback",
};

const ANSWERED = { approve: "approved", deny: "denied", answer: "answered" } as const;

function callEntry(data: EventMap["gate.verdict"]): Told {
  const waits = data.requestId === undefined ? "" : ` and waits as ${data.requestId}`;
  return {
    kind: "call",
    title: `${line(data.toolName)}: ${data.verdict} by ${data.rule}${waits}`,
    detail: bounded(`${JSON.stringify(data.input, null, 1)}\n${data.reason}`),
    ...(data.verdict === "deny" && { tone: "bad" as const }),
  };
}

function verifyEntry(data: EventMap["verify.finished"]): Told {
  const commands = data.commands.map((command) => {
    const how = command.timedOut ? "timed out" : (command.signal ?? `exit code ${command.exitCode ?? "unknown"}`);
    return `$ ${command.text}\n${how} after ${command.durationMs} ms, output ${command.outputBytes} bytes, SHA-256 ${command.outputSha256}\n${command.outputTail}`;
  });
  const findings = data.findings.map((finding) => `${finding.kind} ${finding.path ?? ""}: ${finding.detail}`);
  return {
    kind: "verification",
    title: `Round ${data.round}: ${data.outcome}. ${line(data.message)} Tree ${data.treeId}`,
    detail: bounded([...commands, ...findings].join("\n\n"), 12_000),
    tone: data.outcome === "pass" ? "good" : "bad",
  };
}

function name(names: Map<string, string>, data: { toolUseId: string; toolName?: string | undefined }): string {
  return line(data.toolName ?? names.get(data.toolUseId) ?? data.toolUseId);
}

function line(text: string): string {
  return oneLine(text, 300);
}

function bounded(text: string, max = MAX_DETAIL): string {
  return text.length > max ? `${text.slice(0, max)}\n[${text.length - max} more characters in the log]` : text;
}
