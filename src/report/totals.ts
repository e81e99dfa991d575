/** Numbers over all tasks: how they ended, what parked them, what was asked about, what it cost. */
import type { ReportView } from "./history.ts";

export interface Totals {
  tasks: number;
  byState: Record<string, number>;
  /** Codes of what parked or failed tasks. */
  byReason: Record<string, number>;
  turns: number;
  verifications: number;
  failingVerifications: number;
  verdicts: ReportView["verdicts"];
  asksByRule: Record<string, number>;
  /** Sum of what Claude reported (USD), null when it never reported any. */
  costUsd: number | null;
  /** Tasks for which no cost was reported. */
  withoutCost: number;
  unreadable: number;
  /** Tasks that were too many to look into. */
  notLooked: number;
}

export function totalsOf(views: readonly ReportView[], rest: Pick<Totals, "unreadable" | "notLooked">): Totals {
  const totals: Totals = {
    tasks: views.length,
    byState: {},
    byReason: {},
    turns: 0,
    verifications: 0,
    failingVerifications: 0,
    verdicts: { allow: 0, review: 0, person: 0, deny: 0 },
    asksByRule: {},
    costUsd: null,
    withoutCost: 0,
    ...rest,
  };
  for (const view of views) {
    add(totals.byState, view.state, 1);
    if (view.reason !== null) add(totals.byReason, view.reason, 1);
    totals.turns += view.turns;
    totals.verifications += view.rounds.used;
    totals.failingVerifications += view.rounds.failed;
    for (const verdict of ["allow", "review", "person", "deny"] as const)
      totals.verdicts[verdict] += view.verdicts[verdict];
    for (const [rule, times] of Object.entries(view.asksByRule)) add(totals.asksByRule, rule, times);
    if (view.costUsd === null) totals.withoutCost++;
    else totals.costUsd = (totals.costUsd ?? 0) + view.costUsd;
  }
  return totals;
}

export function renderTotals(totals: Totals): string {
  if (totals.tasks === 0 && totals.unreadable === 0) return "There is no task to report on yet.";
  const { allow, review, person, deny } = totals.verdicts;
  const cost =
    totals.costUsd === null
      ? "Cost: none was reported"
      : `Cost as Claude estimates it: $${totals.costUsd.toFixed(2)}${totals.withoutCost > 0 ? ` (${totals.withoutCost} tasks reported none)` : ""}`;
  return [
    `${totals.tasks} tasks: ${list(totals.byState, (state) => state.replaceAll("_", " "))}`,
    ...(Object.keys(totals.byReason).length > 0 ? [`Parked or failed by: ${list(totals.byReason)}`] : []),
    `${totals.turns} turns, ${totals.verifications} verifications, ${totals.failingVerifications} of them failing`,
    `Calls: ${allow} allowed, ${review + person} asked about, ${deny} denied`,
    ...(Object.keys(totals.asksByRule).length > 0 ? [`Not allowed at once, by rule: ${list(totals.asksByRule)}`] : []),
    cost,
    ...(totals.unreadable > 0 ? [`${totals.unreadable} records could not be read: /supervise sessions --all`] : []),
    ...(totals.notLooked > 0 ? [`${totals.notLooked} older tasks were not looked into.`] : []),
  ].join("\n");
}

function add(numbers: Record<string, number>, key: string, by: number): void {
  numbers[key] = (Object.hasOwn(numbers, key) ? (numbers[key] ?? 0) : 0) + by;
}

function list(numbers: Record<string, number>, say: (key: string) => string = (key) => key): string {
  return Object.entries(numbers)
    .sort(([, a], [, b]) => b - a)
    .slice(0, 20)
    .map(([key, times]) => `${say(key)} ${times}`)
    .join(", ");
}
