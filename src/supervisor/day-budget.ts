/** The limits of a day over all tasks: what their use calls for in one automatic task. */
import type { EventDraft } from "../core/events.ts";
import { WARN_AT } from "../core/machine/deadlines.ts";
import { spentUsd } from "../core/machine/spending.ts";
import type { TaskState } from "../core/machine/state.ts";
import type { Settings } from "../store/config.ts";
import type { Spent } from "./day-ledger.ts";

export interface DayLimits {
  usd: number | undefined;
  decisions: number | undefined;
}

export function dayLimits(settings: Settings): DayLimits {
  return { usd: settings["perDay.usd"], decisions: settings["perDay.decisions"] };
}

export interface DayBudget {
  budget: "per-day-usd" | "per-day-decisions";
  used: number;
  limit: number;
  text: string;
}

/** Limits of which at least that share is used up, the worst first. */
export function usedUp(today: Spent, limits: DayLimits, share: number): DayBudget[] {
  const { usd, decisions } = limits;
  const all: (DayBudget | null)[] = [
    usd === undefined
      ? null
      : {
          budget: "per-day-usd",
          used: today.usd,
          limit: usd,
          text: `All tasks together have spent about $${today.usd.toFixed(2)} today; the limit of a day is $${usd} (an estimate).`,
        },
    decisions === undefined
      ? null
      : {
          budget: "per-day-decisions",
          used: today.decisions,
          limit: decisions,
          text: `All tasks together have used ${today.decisions} decisions today; the limit of a day is ${decisions}.`,
        },
  ];
  return all
    .filter((one) => one !== null)
    .filter((one) => one.used >= share * one.limit)
    .sort((a, b) => b.used / Math.max(b.limit, 1e-9) - a.used / Math.max(a.limit, 1e-9));
}

const GOES_ON = "The task goes on by itself when the next day begins, or with a higher limit in supervisor.json.";
const ROOM_AGAIN =
  "There is room again in the limits of a day (another day has begun, or they were raised): it goes on.";

/** The limit of a day for which this task waits; null when it waits for something else, or for nothing. */
export function heldByDay({ hold }: TaskState): DayBudget["budget"] | null {
  return hold?.reason === "per-day-usd" || hold?.reason === "per-day-decisions" ? hold.reason : null;
}

/**
 * What has to be recorded in this task: a used-up limit stops it until there is room again, one that is nearly used up is
 * told once a day.
 */
export function dayEvents(
  state: TaskState,
  today: Spent,
  limits: DayLimits,
  told: Set<string>,
  day: string,
): EventDraft[] {
  const [over] = usedUp(today, limits, 1);
  if (over)
    return state.hold === null
      ? [{ type: "budget.exhausted", data: { ...over, text: `${over.text} ${GOES_ON}` } }]
      : [];
  const held = heldByDay(state);
  const renewed: EventDraft[] =
    held === null ? [] : [{ type: "budget.renewed", data: { budget: held, text: ROOM_AGAIN } }];
  const warnings = usedUp(today, limits, WARN_AT).flatMap((one): EventDraft[] => {
    const key = `${day} ${one.budget}`;
    if (told.has(key)) return [];
    told.add(key);
    return [{ type: "budget.warning", data: one }];
  });
  return [...renewed, ...warnings];
}

/** What this step added to the day. */
export function spentBetween(before: TaskState, after: TaskState): Spent {
  return {
    usd: Math.max(0, (spentUsd(after) ?? 0) - (spentUsd(before) ?? 0)),
    decisions: Math.max(0, after.decider.decisions - before.decider.decisions),
  };
}
