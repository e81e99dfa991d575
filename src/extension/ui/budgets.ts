/** What a task may use up, and how much of it is used: one list for the widget's bar and the task view's bars. */
import type { TaskView } from "../../supervisor/api.ts";
import { duration, money } from "../words-for-people.ts";

export interface Budget {
  what: string;
  /** 0 to 1, and beyond where it was exceeded. */
  used: number;
  /** What is used or left, in words. */
  said: string;
}

/** Rounds, money, decisions, time: those that have an end. */
export function budgetsOf(task: TaskView): Budget[] {
  const { rounds, budget, decisions } = task;
  const counted = (what: string, used: number, max: number, said: string): Budget[] =>
    max > 0 ? [{ what, used: used / max, said }] : [];
  return [
    ...counted("failing rounds", rounds.failed, rounds.max, `${rounds.failed} of ${rounds.max}`),
    ...(budget === null
      ? []
      : counted(
          "budget",
          budget.spentUsd,
          budget.usd,
          `${money(budget.spentUsd)} of ${money(budget.usd)}, an estimate`,
        )),
    ...(decisions === null
      ? []
      : counted("decisions", decisions.used, decisions.max, `${decisions.used} of ${decisions.max}`)),
    ...task.deadlines
      .filter(({ name }) => !NO_LIMIT.has(name))
      .flatMap(({ name, what, length, leftMs }) =>
        counted(nameOf(name, what), length - leftMs, length, `${duration(leftMs)} left of ${duration(length)}`),
      ),
  ];
}

/** Clocks at whose end something is only said or looked at. */
const NO_LIMIT: ReadonlySet<string> = new Set(["wall-warning", "wrap-up", "settle"]);

/** The task's own time may stand still: `the task (not counted while …)`. */
function nameOf(name: string, what: string): string {
  if (name !== "wall") return what;
  return what === "the task" ? "the task's time" : "the task's time (stands still)";
}

/** `▰▰▱▱`: `cells` columns. */
export function drawBar(used: number, cells: number): string {
  const full = Math.min(cells, Math.max(0, Math.round(used * cells)));
  return `${"▰".repeat(full)}${"▱".repeat(cells - full)}`;
}
