/** Money: Claude's own estimate and the decider's, against the task's budget. All of it is USD, and none of it exact. */
import type { EventDraft } from "../events.ts";
import { costUsd } from "./budgets.ts";
import type { TaskState } from "./state.ts";

/** The share of a budget at which people are told. */
const WARN_AT = 0.8;

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

/** Notices about budgets of which this step has used up most. */
export function budgetWarnings(before: TaskState, after: TaskState): EventDraft[] {
  const { maxDecisions, budgetUsd } = after.spec?.limits ?? {};
  const warn = (text: string): EventDraft => ({ type: "notice", data: { level: "warning", text } });
  return [
    ...(crossed(before.decider.decisions, after.decider.decisions, maxDecisions)
      ? [warn(`${after.decider.decisions} of ${maxDecisions} decisions are used; after them every question is yours.`)]
      : []),
    ...(crossed(spentUsd(before) ?? 0, spentUsd(after) ?? 0, budgetUsd)
      ? [warn(`About $${(spentUsd(after) ?? 0).toFixed(2)} of the budget of $${budgetUsd} is spent (an estimate).`)]
      : []),
  ];
}

function crossed(before: number, after: number, max: number | undefined): boolean {
  if (max === undefined || max <= 0) return false;
  return before < WARN_AT * max && after >= WARN_AT * max;
}
