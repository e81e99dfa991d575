/** What was used up. Numbers that Claude did not report are absent, never 0 (invariant 10). */
import type { TaskEvent } from "../events.ts";
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
    case "task.recovering":
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

/** Milliseconds that are left of the task's time. */
export function wallLeft(state: TaskState): number {
  const { budgets: b, spec } = state;
  /* The last owner's time counts into `usedMs` only when the next one claims the task. */
  return (spec?.limits.wallMs ?? 0) + b.extraMs - b.usedMs - (state.mono - b.ownerMono);
}

/** Cost so far in USD as Claude estimates it, or undefined when it never reported any. */
export function costUsd(state: TaskState): number | undefined {
  const { costBase, costLast } = state.budgets;
  return costLast === null ? undefined : costBase + costLast;
}
