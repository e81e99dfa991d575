/** Events to state. Replay, recovery, status, reports and tests all use this one function. */
import type { EventType, StoredEvent, TaskEvent } from "./events.ts";
import { initialState, type TaskState } from "./machine/state.ts";
import { step } from "./machine/step.ts";

/** Folds stored events, in order. Unknown event types change nothing but the position. */
export function fold(taskId: string, events: Iterable<StoredEvent>): TaskState {
  let state = initialState(taskId);
  for (const event of events) state = foldOne(state, event);
  return state;
}

export function foldOne(state: TaskState, event: StoredEvent): TaskState {
  if (!isKnown(event.type)) return { ...state, seq: event.seq, at: event.at, mono: event.mono };
  return step(state, event as TaskEvent).state;
}

const KNOWN: ReadonlySet<string> = new Set<EventType>([
  "task.created",
  "owner.claimed",
  "owner.released",
  "task.recovering",
  "fault.cleared",
  "automation.changed",
  "task.completed",
  "task.failed",
  "worker.spawning",
  "worker.spawned",
  "worker.started",
  "worker.start-failed",
  "worker.init",
  "worker.text",
  "worker.stderr",
  "worker.heartbeat",
  "worker.background",
  "worker.session-state",
  "worker.retry",
  "worker.rate-limit",
  "worker.conversation-reset",
  "worker.protocol-error",
  "worker.unknown",
  "worker.ending",
  "worker.exited",
  "worker.swept",
  "prompt.queued",
  "prompt.intent",
  "prompt.written",
  "prompt.ack",
  "prompt.failed",
  "gate.verdict",
  "gate.reply-failed",
  "gate.not-run",
  "gate.incident",
  "request.answered",
  "request.deferring",
  "request.replied",
  "request.cancelled",
  "tool.use",
  "tool.result",
  "turn.result",
  "decision.asked",
  "decision.made",
  "verify.requested",
  "verify.started",
  "verify.finished",
  "verify.stale",
  "review.started",
  "review.finished",
  "signoff.requested",
  "stop.requested",
  "stop.proven",
  "stop.failed",
  "estop.requested",
  "estop.acknowledged",
  "estop.verified",
  "estop.failed",
  "pause.requested",
  "takeover.requested",
  "ungated",
  "worker.drift",
  "budget.exhausted",
  "budget.renewed",
  "budget.warning",
  "timer.fired",
  "rejected",
  "log.recovered",
  "notice",
  "person.called",
]);

export function isKnown(type: string): type is EventType {
  return KNOWN.has(type);
}
