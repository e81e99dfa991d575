/** Money: Claude's own estimate and the decider's, against the task's budget. All of it is USD, and none of it exact. */
import { costUsd } from "./budgets.ts";
import type { TaskState } from "./state.ts";

/** What is known to be spent; undefined while nobody has reported anything (invariant 10). */
export function spentUsd(state: TaskState): number | undefined {
  const worker = costUsd(state);
  const { usd } = state.decider;
  return worker === undefined && usd === null ? undefined : (worker ?? 0) + (usd ?? 0);
}

export function isOverBudget(state: TaskState): boolean {
  const max = state.spec?.limits.budgetUsd;
  return max !== undefined && (spentUsd(state) ?? 0) >= max;
}
