/**
 * Waiting for the model service: a usage limit until its reset, an overload with growing pauses. It costs no round and no
 * decision. Null means that waiting is not the answer: another kind of result, a manual task, no time left, too often.
 */
import { classifyResult } from "../classify.ts";
import type { EventMap } from "../events.ts";
import { wallBegan, wallLength } from "./budgets.ts";
import type { TaskState } from "./state.ts";

const MINUTE = 60_000;
/** Failures in a row after which a person is asked. */
const MAX_FAILURES = 10;

export interface ServiceWait {
  why: "rate-limited" | "overloaded";
  attempt: number;
  /** On the owner's monotonic clock (ms). */
  due: number;
}

/** `event`: the result that the service's refusal came with. Jitter comes from its number, so that a replay agrees. */
export function serviceWait(
  state: TaskState,
  event: { seq: number; at: string; mono: number; data: EventMap["turn.result"] },
): ServiceWait | null {
  if (state.spec?.mode !== "auto") return null;
  const judged = classifyResult(event.data);
  if (judged.ok || (judged.reason !== "rate-limited" && judged.reason !== "overloaded")) return null;
  const attempt = state.serviceFailures;
  if (attempt > MAX_FAILURES) return null;
  const growing = Math.min(15 * MINUTE, (MINUTE / 2) * 2 ** (attempt - 1));
  const untilReset = judged.reason === "rate-limited" ? msUntil(state.limitEndsAt, event.at) : null;
  const wait = untilReset ?? (judged.reason === "rate-limited" ? 2 * growing : growing);
  const jitter = (event.seq * 7_919) % Math.max(1_000, Math.min(30_000, wait / 4));
  const due = event.mono + wait + Math.round(jitter);
  return due < wallBegan(state) + wallLength(state) ? { why: judged.reason, attempt, due } : null;
}

function msUntil(moment: string | null, now: string): number | null {
  if (moment === null) return null;
  const ms = Date.parse(moment) - Date.parse(now);
  return Number.isFinite(ms) && ms > 0 ? ms : null;
}
