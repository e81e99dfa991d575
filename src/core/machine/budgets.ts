/** What was used up. Numbers that Claude did not report are absent, never 0 (invariant 10). */
import type { TaskEvent } from "../events.ts";
import { isTakenOver } from "./control.ts";
import { type StateName, stateName } from "./project.ts";
import type { BudgetState, TaskState } from "./state.ts";
import { isAwaited } from "./verification.ts";

export function budgets(state: TaskState, event: TaskEvent): TaskState {
  const b = state.budgets;
  const to = (next: Partial<BudgetState>): TaskState => ({ ...state, budgets: { ...b, ...next } });
  switch (event.type) {
    case "turn.result":
      return to({ turns: b.turns + 1, ...cost(b, event.data.costUsd) });
    case "verify.started":
      return to({ rounds: b.rounds + 1 });
    case "verify.finished": {
      if (state.verification.kind !== "running") return state;
      if (event.data.outcome === "fail") return to({ failedRounds: b.failedRounds + 1, voidRuns: 0 });
      if (event.data.outcome === "error" && event.data.reason === "tree-changed")
        return to({ voidRuns: b.voidRuns + 1 });
      return to({ voidRuns: 0 });
    }
    /* The task's clock stands still while a person has the wheel. */
    case "takeover.requested":
      return isTakenOver(state) ? state : to({ usedMs: b.usedMs + spentMs(state), ownerMono: event.mono });
    case "review.finished":
      return event.data.verdict === "revise" && isAwaited(state.verification, event.data)
        ? to({ failedRounds: b.failedRounds + 1 })
        : state;
    case "prompt.intent":
      return state.verification.kind === "repair" ? to({ failedRounds: b.failedRounds + 1 }) : state;
    case "task.recovering":
      if (event.data.handback && isTakenOver(state)) return to({ ownerMono: event.mono });
      return to({ wallWarned: false, extraMs: b.extraMs + (event.data.extendMs ?? 0) });
    case "timer.fired":
      return event.data.name === "wall-warning" ? to({ wallWarned: true }) : state;
    case "verify.stale":
      return to({ voidRuns: b.voidRuns + 1 });
    default:
      return state;
  }
}

/**
 * `total_cost_usd` is cumulative, also across `--resume`; a number lower than the last one is a reset, and what was
 * counted before it stays counted.
 */
function cost(b: BudgetState, reported: number | undefined): Partial<BudgetState> {
  if (reported === undefined || !Number.isFinite(reported) || reported < 0) return {};
  const reset = b.costLast !== null && reported < b.costLast;
  return { costBase: reset ? b.costBase + (b.costLast ?? 0) : b.costBase, costLast: reported };
}

/** What the present owner has added to the time used (ms). */
export function spentMs(state: TaskState): number {
  return isTakenOver(state) || state.budgets.resting ? 0 : Math.max(0, state.mono - state.budgets.ownerMono);
}

/** Milliseconds that are left of the task's time. */
export function wallLeft(state: TaskState): number {
  /* The last owner's time counts into `usedMs` only when the next one claims the task. */
  return wallLength(state) - state.budgets.usedMs - spentMs(state);
}

/** The task's whole time (ms). */
export function wallLength({ budgets: b, spec }: TaskState): number {
  return (spec?.limits.wallMs ?? 0) + b.extraMs;
}

/** When the task's time would have begun had it never stood still, on the owner's clock (ms). */
export function wallBegan(state: TaskState): number {
  return state.mono - state.budgets.usedMs - spentMs(state);
}

const RESTING: ReadonlySet<StateName> = new Set<StateName>(["human_required", "paused", "taken_over"]);

/** The clock stands still while nothing goes on without a person: an approval may take days. */
export function wallClock(state: TaskState): TaskState {
  const { budgets: b, mono } = state;
  const resting = RESTING.has(stateName(state));
  if (resting === b.resting) return state;
  const next = resting ? { resting, usedMs: b.usedMs + spentMs(state) } : { resting, ownerMono: mono };
  return { ...state, budgets: { ...b, ...next } };
}

/** Cost so far in USD as Claude estimates it, or undefined when it never reported any. */
export function costUsd(state: TaskState): number | undefined {
  const { costBase, costLast } = state.budgets;
  return costLast === null ? undefined : costBase + costLast;
}
