/**
 * The one function that moves a task: `step(state, event) -> { state, effects }`.
 *
 * An event passes the small machines in a fixed order; each reads what the earlier ones already changed:
 *
 *   owner → automation → budgets → closing → stall → tools → stop → ended → verification → requests → prompts → control → worker → turn → hold → decider → counters
 *
 * `budgets` and `tools` stand before the machines whose old state they ask for; `ended` stands before `verification`
 * because `completed` needs the verdict that `verification` then closes; `control` stands before `worker`, whose process
 * it asks about; `decider` comes after everything that may take its right to decide away. After that `answer` (answer.ts) says what this very event calls for, and `next` (next.ts) what the state as
 * a whole wants now. Arbitration lives in these three files and nowhere else: a stop wins over everything, a person over
 * automation, a verdict counts only for the present tree.
 */
import { classifyResult } from "../classify.ts";
import type { TaskEvent } from "../events.ts";
import { answer, answerLate } from "./answer.ts";
import { automation } from "./automation.ts";
import { budgets, spentMs, wallClock } from "./budgets.ts";
import { closing } from "./closing.ts";
import { control } from "./control.ts";
import { counters } from "./counters.ts";
import { decider } from "./decider.ts";
import type { Step } from "./effects.ts";
import { ended } from "./ended.ts";
import { hold } from "./hold.ts";
import { arrivesLate } from "./late.ts";
import { next } from "./next.ts";
import { owner } from "./owner.ts";
import { prompts } from "./prompts.ts";
import { requests } from "./requests.ts";
import { stall } from "./stall.ts";
import type { ResultFacts, TaskState } from "./state.ts";
import { stop } from "./stop.ts";
import { tools } from "./tools.ts";
import { turn } from "./turn.ts";
import { verification } from "./verification.ts";
import { worker } from "./worker.ts";

export type { Step } from "./effects.ts";

const MACHINES = [
  owner,
  automation,
  budgets,
  closing,
  stall,
  tools,
  stop,
  ended,
  verification,
  requests,
  prompts,
  control,
  worker,
  turn,
  hold,
  decider,
  counters,
];

export function step(before: TaskState, event: TaskEvent): Step {
  const stamped = stamp(before, event);
  if (arrivesLate(before, event)) {
    const late = { ...stamped.counters, lateEvents: stamped.counters.lateEvents + 1 };
    return { state: { ...stamped, counters: late }, effects: answerLate(stamped, event) };
  }
  const moved = wallClock(MACHINES.reduce((state, machine) => machine(state, event), stamped));
  const effects = answer(before, moved, event);
  return next(moved, effects);
}

function stamp(state: TaskState, event: TaskEvent): TaskState {
  const stamped: TaskState = { ...state, seq: event.seq, at: event.at, mono: event.mono };
  switch (event.type) {
    case "task.created":
      return { ...stamped, spec: event.data, createdAt: event.at, sessionId: event.data.sessionId };
    case "owner.claimed": {
      /* The time of the owner before ends with its last event, on its own clock. */
      const usedMs = state.budgets.usedMs + (event.data.why === "start" ? 0 : spentMs(state));
      return { ...stamped, progressMono: event.mono, budgets: { ...state.budgets, usedMs, ownerMono: event.mono } };
    }
    case "worker.heartbeat":
    case "timer.fired":
    case "rejected":
    case "notice":
    case "budget.exhausted":
    case "budget.renewed":
    case "budget.warning":
    case "person.called":
      return stamped;
    case "worker.init":
      return { ...stamped, progressMono: event.mono, model: event.data.model ?? state.model };
    case "worker.started":
      return { ...stamped, progressMono: event.mono, executable: event.data.executable };
    case "worker.rate-limit":
      return {
        ...stamped,
        progressMono: event.mono,
        limitEndsAt: event.data.status === "rejected" ? (event.data.resetsAt ?? null) : null,
      };
    case "turn.result": {
      const lastResult = { facts: event.data, at: event.at };
      return { ...stamped, progressMono: event.mono, lastResult, serviceFailures: serviceFailures(state, event.data) };
    }
    case "worker.conversation-reset":
      return { ...stamped, progressMono: event.mono, sessionId: event.data.sessionId ?? state.sessionId };
    default:
      return { ...stamped, progressMono: event.mono };
  }
}

function serviceFailures(state: TaskState, result: ResultFacts): number {
  const judged = classifyResult(result);
  if (judged.ok) return 0;
  return judged.reason === "rate-limited" || judged.reason === "overloaded"
    ? state.serviceFailures + 1
    : state.serviceFailures;
}
