/** Numbers over all tasks: how they ended, what parked them, what was asked about and refused, what it cost. */
import type { ReportView } from "./history.ts";
import { oneLine } from "./inert.ts";
import { tally } from "./tail.ts";
import { count, money, number, stateWords } from "./words.ts";

/** What the totals need of a task. */
export type TotalsView = Pick<
  ReportView,
  | "taskId"
  | "state"
  | "waitsFor"
  | "reason"
  | "recoverable"
  | "goal"
  | "cwd"
  | "createdAt"
  | "lastEventAt"
  | "rounds"
  | "turns"
  | "costUsd"
  | "verdicts"
  | "asksByRule"
  | "deniedByRule"
  | "decisions"
>;

export interface Totals {
  tasks: number;
  byState: Record<string, number>;
  /** Codes of what parked or failed tasks. */
  byReason: Record<string, number>;
  /** Tasks that wait for a person now. */
  waiting: number;
  recoverable: number;
  turns: number;
  verifications: number;
  failingVerifications: number;
  /** Completed tasks by how many verifications they took. */
  roundsToPass: Record<string, number>;
  verdicts: ReportView["verdicts"];
  /** Calls that somebody was asked about, and calls that the gate denied, by rule. */
  asksByRule: Record<string, number>;
  refusalsByRule: Record<string, number>;
  /** What the Decision Worker said, by its word; how often a person decided otherwise; its cost (USD). */
  decisions: Record<string, number>;
  overridden: number;
  decisionsCostUsd: number | null;
  /** Sum of what Claude reported (USD), null when it never reported any. */
  costUsd: number | null;
  /** Tasks for which no cost was reported. */
  withoutCost: number;
  /** First and last sign of any task, ISO. */
  since: string | null;
  until: string | null;
  unreadable: number;
  /** Tasks that there was no time to look into. */
  notLooked: number;
}

/** Adds one task after the other; holds nothing of a task but its numbers. */
export class TotalsOf {
  readonly totals: Totals = {
    tasks: 0,
    byState: {},
    byReason: {},
    waiting: 0,
    recoverable: 0,
    turns: 0,
    verifications: 0,
    failingVerifications: 0,
    roundsToPass: {},
    verdicts: { allow: 0, review: 0, person: 0, deny: 0 },
    asksByRule: {},
    refusalsByRule: {},
    decisions: {},
    overridden: 0,
    decisionsCostUsd: null,
    costUsd: null,
    withoutCost: 0,
    since: null,
    until: null,
    unreadable: 0,
    notLooked: 0,
  };

  add(view: TotalsView): void {
    const { totals } = this;
    totals.tasks += 1;
    tally(totals.byState, view.state);
    if (view.reason !== null) tally(totals.byReason, view.reason);
    if (view.waitsFor !== null) totals.waiting += 1;
    if (view.recoverable) totals.recoverable += 1;
    totals.turns += view.turns;
    totals.verifications += view.rounds.used;
    totals.failingVerifications += view.rounds.failed;
    if (view.state === "completed") tally(totals.roundsToPass, String(view.rounds.used));
    for (const verdict of ["allow", "review", "person", "deny"] as const)
      totals.verdicts[verdict] += view.verdicts[verdict];
    const denied = view.deniedByRule ?? {};
    for (const [rule, times] of Object.entries(view.asksByRule)) {
      const refused = Object.hasOwn(denied, rule) ? (denied[rule] ?? 0) : 0;
      if (times > refused) tally(totals.asksByRule, rule, times - refused);
      if (refused > 0) tally(totals.refusalsByRule, rule, refused);
    }
    if (view.decisions) {
      for (const [word, times] of Object.entries(view.decisions.byOutcome)) tally(totals.decisions, word, times);
      totals.overridden += view.decisions.overridden ?? 0;
      if (view.decisions.costUsd !== null)
        totals.decisionsCostUsd = (totals.decisionsCostUsd ?? 0) + view.decisions.costUsd;
    }
    if (view.costUsd === null) totals.withoutCost += 1;
    else totals.costUsd = (totals.costUsd ?? 0) + view.costUsd;
    const { createdAt, lastEventAt } = view;
    if (createdAt !== "" && (totals.since === null || createdAt < totals.since)) totals.since = createdAt;
    if (lastEventAt !== "" && (totals.until === null || lastEventAt > totals.until)) totals.until = lastEventAt;
  }
}

export function renderTotals(totals: Totals): string {
  if (totals.tasks === 0 && totals.unreadable === 0) return "There is no task to report on yet.";
  const { allow, review, person, deny } = totals.verdicts;
  const calls = allow + review + person + deny;
  const asks = calls === 0 ? "" : ` (${(((review + person) * 100) / calls).toFixed(1)} asks per 100 calls)`;
  const done = totals.byState["completed"] ?? 0;
  return [
    `${count(totals.tasks, "task")}${period(totals)}: ${named(totals.byState, stateWords)}`,
    ...(totals.tasks > 0 ? [`Completed: ${done} of ${totals.tasks} (${percent(done, totals.tasks)})`] : []),
    ...(totals.waiting + totals.recoverable > 0
      ? [`Wait for you: ${totals.waiting}; can be recovered: ${totals.recoverable} (/supervise sessions)`]
      : []),
    ...(Object.keys(totals.byReason).length > 0 ? [`Parked or failed by: ${named(totals.byReason)}`] : []),
    `${count(totals.turns, "turn")}, ${count(totals.verifications, "verification")}, ${totals.failingVerifications} of them failing`,
    ...(done > 0
      ? [`Completed tasks by verifications needed: ${named(totals.roundsToPass, (n) => `${n} verified:`)}`]
      : []),
    `Calls: ${number(allow)} allowed, ${review + person} asked about, ${deny} denied${asks}`,
    ...(Object.keys(totals.asksByRule).length > 0 ? [`Asked about, by rule: ${named(totals.asksByRule)}`] : []),
    ...(Object.keys(totals.refusalsByRule).length > 0 ? [`Denied, by rule: ${named(totals.refusalsByRule)}`] : []),
    ...(Object.keys(totals.decisions).length > 0
      ? [
          `Decision Worker: ${named(totals.decisions)}; ${totals.overridden} decided otherwise by a person${decisionsCost(totals)}`,
        ]
      : []),
    costLine(totals),
    ...(totals.unreadable > 0
      ? [`${count(totals.unreadable, "record")} could not be read: /supervise sessions --all`]
      : []),
    ...(totals.notLooked > 0
      ? [`${count(totals.notLooked, "older task was", "older tasks were")} not looked into.`]
      : []),
  ].join("\n");
}

function decisionsCost({ decisionsCostUsd: usd }: Totals): string {
  return usd === null ? "" : `; about ${money(usd)}`;
}

function costLine(totals: Totals): string {
  if (totals.costUsd === null) return "Cost: none was reported";
  const none = totals.withoutCost === 0 ? "" : ` (${count(totals.withoutCost, "task")} reported none)`;
  return `Cost as Claude estimates it: ${money(totals.costUsd)}${none}`;
}

function period({ since, until }: Totals): string {
  return since === null || until === null ? "" : ` from ${since.slice(0, 10)} to ${until.slice(0, 10)}`;
}

export function percent(part: number, whole: number): string {
  return whole === 0 ? "0 %" : `${Math.round((part * 100) / whole)} %`;
}

/** The biggest first; what does not fit is counted. */
function named(numbers: Record<string, number>, say: (key: string) => string = (key) => key): string {
  const sorted = Object.entries(numbers).sort(([, a], [, b]) => b - a);
  const shown = sorted.slice(0, 20).map(([key, times]) => `${oneLine(say(key), 80)} ${times}`);
  return [...shown, ...(sorted.length > 20 ? [`${sorted.length - 20} more`] : [])].join(", ");
}
