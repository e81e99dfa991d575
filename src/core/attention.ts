/**
 * What a person who is not looking has to be told: one call for each wait of a task that only a person ends, and for its end.
 * Pure; whoever sends it decides how. A task that goes on waiting for the same thing has the same calls.
 */
import type { EscalationReason, Notice } from "./contracts/notice.ts";
import type { TaskEvent } from "./events.ts";
import { waitsForPerson } from "./machine/decider.ts";
import { escalationOf, isShared } from "./machine/hold-reasons.ts";
import { restsByTheSwitch, stateName, waitsFor } from "./machine/project.ts";
import { pendingRequests } from "./machine/requests.ts";
import type { RequestState, SignOffRequest, TaskState } from "./machine/state.ts";
import { openSignOff } from "./machine/verification.ts";

export interface Call {
  /** Equal as long as it is the same wait. */
  key: string;
  /** The cause, when it is not this task's own: told once for all tasks that it stops. */
  shared: string | null;
  /** It tells of something that happened, and stands whatever comes after it. */
  once?: true;
  reason: EscalationReason;
  title: string;
  text: string;
  next: readonly string[];
  request?: NonNullable<Notice["request"]>;
}

/** A wait for the model service that is shorter than this is nobody's business (ms). */
const LONG_SERVICE_WAIT_MS = 5 * 60_000;
const INPUT_CHARS = 1_000;

export function callsFor(state: TaskState): Call[] {
  const { taskId, ended, stop, hold, control, turn } = state;
  const call = (key: string, reason: EscalationReason, title: string, text: string, next: string[]): Call => ({
    key: `${taskId}:${key}`,
    shared: null,
    reason,
    title: `${taskId} ${title}`,
    text,
    next,
  });
  const look = `/supervise status ${taskId}`;
  const report = `/supervise report ${taskId}`;
  const recover = `/supervise recover ${taskId}`;
  const failed = (reason: string, message: string): Call =>
    call(
      `failed:${reason}:${state.prompts.sent}`,
      reason.startsWith("worker-exit") ? "worker-exit" : "failed",
      `has failed: ${reason}`,
      message,
      [report, recover],
    );
  switch (ended.kind) {
    case "completed":
      return [call("completed", "completed", "is completed", "The verification passed.", [report])];
    case "failed":
      return [failed(ended.reason, ended.message)];
    case "no":
      break;
  }
  if (stop.kind === "unproven") {
    const left = stop.remaining.map((one) => one.detail).join("\n");
    return [
      call(`unproven:${stop.reason}`, "failed-to-stop", "could not be stopped: something may still run", left, [
        `/supervise stop ${taskId}`,
      ]),
    ];
  }
  if (stop.kind === "proven" && stop.end === "failed") return [failed(stop.cause ?? "stopped", stop.reason)];
  if (stop.kind !== "none") return [];
  if (control.kind !== "supervised") return [];
  const calls: Call[] = [];
  if (hold !== null) {
    const own = call(
      `hold:${hold.reason}:${hold.since}`,
      escalationOf(hold.reason),
      `waits for you: ${hold.reason}`,
      hold.fault ? `${hold.message}\nThe report: fault-${hold.reason}.md in the task's folder.` : hold.message,
      hold.fault ? [report, `/supervise resume ${taskId} --fault ${hold.reason}`] : [look],
    );
    calls.push({ ...own, shared: isShared(hold.reason) ? hold.reason : null });
  }
  const signOff = openSignOff(state);
  if (signOff !== null) calls.push(asksToSign(taskId, signOff));
  for (const request of pendingRequests(state)) if (waitsForPerson(request)) calls.push(asks(taskId, request));
  if (turn.kind === "waiting" && turn.due - turn.mono >= LONG_SERVICE_WAIT_MS) {
    const minutes = Math.round((turn.due - turn.mono) / 60_000);
    const title = `waits for the model service: ${turn.why}`;
    const text = `It goes on by itself in about ${minutes} minutes; nothing is lost by it, and no round is spent.`;
    calls.push({ ...call(`service:${turn.why}`, "service", title, text, [look]), shared: `waiting-${turn.why}` });
  }
  if (calls.length > 0 || stateName(state) !== "human_required") return calls;
  if (restsByTheSwitch(state) && state.automation.kind === "off") {
    const { why, since } = state.automation;
    return [
      { ...call(`off:${since}`, "automation-off", "waits: automation is off", why, [look]), shared: "automation-off" },
    ];
  }
  return waitsFor(state) === "result"
    ? [
        call(
          `result:${state.budgets.turns}`,
          "result",
          "has a result to look at",
          state.lastResult?.facts.preview ?? "",
          [`/supervise verify ${taskId}`, `/supervise send ${taskId} <text>`],
        ),
      ]
    : [];
}

/** The calls that began with this event, which led from one state to the other. */
export function newCalls(before: TaskState, after: TaskState, event: Pick<TaskEvent, "type" | "data">): Call[] {
  if (event.type !== "budget.warning" && isSame(before, after)) return [];
  const known = new Set(callsFor(before).map((one) => one.key));
  return [...toldOf(before, after, event), ...callsFor(after).filter((one) => !known.has(one.key))];
}

/** What is told of an event and is no wait: a pause (a person who pauses knows it), a budget that comes to its end. */
function toldOf(before: TaskState, after: TaskState, event: Pick<TaskEvent, "type" | "data">): Call[] {
  const { taskId } = after;
  const told = { shared: null, once: true } as const;
  if (event.type === "budget.warning" && "budget" in event.data) {
    const { budget, text } = event.data;
    const title = `${taskId} has used up most of a budget: ${budget}`;
    const next = [`/supervise status ${taskId}`];
    const shared = budget.startsWith("per-day-") ? `${budget}-warning` : null;
    return [{ ...told, shared, key: `${taskId}:budget:${budget}:${after.at}`, reason: "budget", title, text, next }];
  }
  if (event.type !== "pause.requested" || !("by" in event.data) || event.data.by === "person") return [];
  if (before.control === after.control) return [];
  const text = "reason" in event.data ? event.data.reason : "";
  const next = [`/supervise resume ${taskId}`];
  return [
    { ...told, key: `${taskId}:paused:${after.at}`, reason: "paused", title: `${taskId} was paused`, text, next },
  ];
}

/** Most steps touch nothing that a call is made of. */
function isSame(before: TaskState, after: TaskState): boolean {
  return (
    before.requests === after.requests &&
    before.hold === after.hold &&
    before.ended === after.ended &&
    before.stop === after.stop &&
    before.control === after.control &&
    before.turn === after.turn &&
    before.automation === after.automation &&
    before.verification === after.verification
  );
}

function asks(taskId: string, request: RequestState): Call {
  const { requestId, kind, toolName, input, rule, reason } = request;
  const what =
    kind === "question" ? "asks you a question" : kind === "plan" ? "has a plan for you" : `asks for ${toolName}`;
  const answer =
    kind === "question" ? `/supervise answer ${requestId} <label or text>` : `/supervise approve ${requestId}`;
  return {
    key: `${taskId}:${requestId}`,
    shared: null,
    reason: kind === "tool" ? "approval" : kind,
    title: `${taskId} ${what}`,
    text: `${shownInput(input)}\n${rule}: ${reason}`,
    next: [answer, `/supervise deny ${requestId}`],
    request: { requestId, kind, toolName },
  };
}

function asksToSign(taskId: string, { requestId, message }: SignOffRequest): Call {
  return {
    key: `${taskId}:${requestId}`,
    shared: null,
    reason: "sign-off",
    title: `${taskId} needs your sign-off`,
    text: message,
    next: [`/supervise approve ${requestId}`, `/supervise deny ${requestId}`],
    request: { requestId, kind: "sign-off" },
  };
}

/** A command as it is, everything else as JSON. */
function shownInput(input: unknown): string {
  const command = typeof input === "object" && input !== null && "command" in input ? input.command : undefined;
  const text = typeof command === "string" ? command : (JSON.stringify(input) ?? "");
  return text.length > INPUT_CHARS ? `${text.slice(0, INPUT_CHARS)}…` : text;
}
