/** Budgets of which most is used up: told once each, while there is still time to do something about it. */
import { classifyResult } from "../classify.ts";
import type { EventDraft, EventMap, TaskEvent } from "../events.ts";
import { wallLeft, wallLength } from "./budgets.ts";
import { WARN_AT } from "./deadlines.ts";
import { spentUsd } from "./spending.ts";
import type { TaskState } from "./state.ts";

/** What this event has used up most of. */
export function budgetWarnings(before: TaskState, after: TaskState, event: TaskEvent): EventDraft[] {
  return [...spent(before, after), ...usedUp(before, after, event)];
}

/** Decisions and money. */
function spent(before: TaskState, after: TaskState): EventDraft[] {
  const { maxDecisions, budgetUsd } = after.spec?.limits ?? {};
  const { decisions } = after.decider;
  const usd = spentUsd(after) ?? 0;
  return [
    ...(maxDecisions !== undefined && crosses(before.decider.decisions, decisions, maxDecisions)
      ? [
          warning(
            "decisions",
            decisions,
            maxDecisions,
            `${decisions} of ${maxDecisions} decisions are used; after them every question is yours.`,
          ),
        ]
      : []),
    ...(budgetUsd !== undefined && crosses(spentUsd(before) ?? 0, usd, budgetUsd)
      ? [
          warning(
            "usd",
            usd,
            budgetUsd,
            `About $${usd.toFixed(2)} of the budget of $${budgetUsd} is spent (an estimate).`,
          ),
        ]
      : []),
  ];
}

function usedUp(before: TaskState, after: TaskState, event: TaskEvent): EventDraft[] {
  const { limits } = after.spec ?? {};
  if (limits === undefined) return [];
  switch (event.type) {
    case "verify.finished": {
      const used = after.budgets.failedRounds;
      if (after.spec?.mode !== "auto" || !crosses(before.budgets.failedRounds, used, limits.maxRounds)) return [];
      return [warning("rounds", used, limits.maxRounds, `${used} of ${limits.maxRounds} rounds have failed.`)];
    }
    case "turn.result": {
      const { numTurns } = event.data;
      const max = limits.maxTurns;
      if (max === undefined || numTurns === undefined || !crosses(0, numTurns, max) || !classifyResult(event.data).ok)
        return [];
      return [warning("turns", numTurns, max, `Claude used ${numTurns} of the ${max} turns that one run may have.`)];
    }
    case "timer.fired": {
      if (event.data.name !== "wall-warning" || before.budgets.wallWarned || !after.budgets.wallWarned) return [];
      const length = wallLength(after);
      const left = Math.max(0, wallLeft(after));
      const text = `About ${Math.max(1, Math.round(left / 60_000))} minutes of the task's time are left.`;
      return [warning("wall-clock", length - left, length, text)];
    }
    default:
      return [];
  }
}

/** With this step most of the budget is used up, and not yet all of it. */
function crosses(before: number, now: number, max: number): boolean {
  return before < WARN_AT * max && now >= WARN_AT * max && now < max;
}

function warning(budget: string, used: number, limit: number, text: string): EventDraft {
  return { type: "budget.warning", data: { budget, used, limit, text } } satisfies {
    type: "budget.warning";
    data: EventMap["budget.warning"];
  };
}
