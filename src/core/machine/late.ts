/**
 * What arrives after the task was stopped, taken away or ended is recorded and changes nothing (invariant 3). This is
 * the one place that says which events that concerns; the supervisor marks them `late`, and `step` asks again.
 */
import type { EventType, TaskEvent } from "../events.ts";
import type { TaskState } from "./state.ts";

/** Events that only ever report what a worker, verifier or decider did: none of them may move a stopped task. */
const OUTSIDE: ReadonlySet<EventType> = new Set<EventType>([
  "worker.started",
  "worker.init",
  "worker.text",
  "worker.stderr",
  "worker.background",
  "worker.session-state",
  "worker.retry",
  "worker.rate-limit",
  "worker.conversation-reset",
  "worker.protocol-error",
  "worker.unknown",
  "prompt.ack",
  "gate.verdict",
  "gate.incident",
  "tool.use",
  "tool.result",
  "turn.result",
  "decision.made",
  "verify.finished",
  "verify.stale",
  "review.finished",
  "task.completed",
  "task.failed",
]);

/** What people ask for; on an ended task it changes nothing. */
const ASKED: ReadonlySet<EventType> = new Set<EventType>([
  "stop.requested",
  "pause.requested",
  "takeover.requested",
  "verify.requested",
  "prompt.queued",
]);

/** Whether an event of this type would come too late to change anything. */
export function isLate(state: TaskState, type: EventType): boolean {
  if (ASKED.has(type)) return state.ended.kind !== "no" || (state.stop.kind !== "none" && type !== "stop.requested");
  if (!OUTSIDE.has(type)) return false;
  /* A worker that is being ended gets no more calls through. */
  if (type === "gate.verdict" && state.worker.kind === "ending") return true;
  const ours = state.owner.kind === "held" && state.control.kind === "supervised";
  return !ours || state.stop.kind !== "none" || state.ended.kind !== "no";
}

/** Whether this very event counts as late: marked so by the writer, or too late by the state. */
export function arrivesLate(state: TaskState, event: TaskEvent): boolean {
  const marked = "late" in event.data && event.data.late === true;
  return marked || isLate(state, event.type);
}
