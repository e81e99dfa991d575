/** What was used up. Numbers that Claude did not report are absent, never 0 (invariant 10). */
import type { TaskEvent } from "../events.ts";
import { isTakenOver } from "./control.ts";
import type { BudgetState, TaskState } from "./state.ts";

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
    case "task.recovering":
      if (event.data.handback && isTakenOver(state)) return to({ ownerMono: event.mono });
      return to({ extraMs: b.extraMs + (event.data.extendMs ?? 0) });
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
  return isTakenOver(state) ? 0 : Math.max(0, state.mono - state.budgets.ownerMono);
}

/** Milliseconds that are left of the task's time. */
export function wallLeft(state: TaskState): number {
  const { budgets: b, spec } = state;
  /* The last owner's time counts into `usedMs` only when the next one claims the task. */
  return (spec?.limits.wallMs ?? 0) + b.extraMs - b.usedMs - spentMs(state);
}

/** Cost so far in USD as Claude estimates it, or undefined when it never reported any. */
export function costUsd(state: TaskState): number | undefined {
  const { costBase, costLast } = state.budgets;
  return costLast === null ? undefined : costBase + costLast;
}
