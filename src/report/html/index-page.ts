/** All tasks on one page: the numbers first, then every task with where it stands. */
import { outcomeTone } from "../outcome.ts";
import { percent, type Totals, type TotalsView } from "../totals.ts";
import { type Clock, clockIn, count, money, number, stateWords } from "../words.ts";
import { firstLine } from "./head.ts";
import { type Html, html, inline } from "./html.ts";
import { documentOf, type PageOptions } from "./page.ts";
import { momentOf, section, table, th } from "./parts.ts";

/** Tasks that have a row of their own: about 4 MB of memory and 5 MB of page. */
const MAX_ROWS = 10_000;

interface IndexRow {
  taskId: string;
  state: TotalsView["state"];
  recoverable: boolean;
  waits: boolean;
  reason: string | null;
  goal: string;
  cwd: string;
  createdAt: string;
  rounds: number;
  turns: number;
  calls: number;
  denied: number;
  costUsd: number | null;
}

/** The rows of the page: a bounded extract of each task. */
export class IndexRows {
  readonly rows: IndexRow[] = [];
  more = 0;

  add(view: TotalsView): void {
    if (this.rows.length >= MAX_ROWS) {
      this.more += 1;
      return;
    }
    const { allow, review, person, deny } = view.verdicts;
    this.rows.push({
      taskId: view.taskId,
      state: view.state,
      recoverable: view.recoverable,
      waits: view.waitsFor !== null,
      reason: view.reason === null ? null : inline(view.reason, 60),
      goal: firstLine(view.goal),
      cwd: inline(view.cwd, 140),
      createdAt: view.createdAt,
      rounds: view.rounds.used,
      turns: view.turns,
      calls: allow + review + person + deny,
      denied: deny,
      costUsd: view.costUsd,
    });
  }
}

export function renderIndex(totals: Totals, { rows, more }: IndexRows, options: PageOptions): string {
  const clock = clockIn(options.zone);
  const waiting = rows.filter((row) => row.waits || row.recoverable);
  return documentOf(
    `All tasks: ${totals.tasks}`,
    html`<header><div class="wrap">
<p class="meta"><span>pi-claude-supervisor</span>${totals.since === null ? null : html`<span>${momentOf(totals.since, clock)} to ${momentOf(totals.until ?? totals.since, clock)}</span>`}</p>
<h1>All tasks</h1>
<p class="headline">${headline(totals)}</p>
</div></header>
<main id="main" tabindex="-1"><div class="wrap">
${cards(totals)}
${waiting.length === 0 ? null : section("waits", "What waits for you", taskTable("Tasks that wait for a person or can be recovered", waiting, clock))}
${numbers(totals)}
${section("tasks", "Every task", rows.length === 0 ? html`<p>There is no task yet.</p>` : taskTable("Every task, the newest first", rows, clock), more === 0 ? null : html`<p>${number(more)} older tasks are in the numbers and not in this table.</p>`)}
</div></main>
<footer><div class="wrap"><p>Made ${momentOf(options.now, clock)} (${clock.zone}). One task in full: <code>/supervise report ID --html FILE</code>. This page loads nothing and runs nothing.</p></div></footer>`,
  );
}

function headline(totals: Totals): string {
  const done = totals.byState["completed"] ?? 0;
  const wait = totals.waiting + totals.recoverable;
  const cost = totals.costUsd === null ? "no cost was reported" : `${money(totals.costUsd)} by Claude's estimate`;
  const left = totals.unreadable + totals.notLooked;
  return `${done} of ${count(totals.tasks, "task")} completed, ${wait === 0 ? "none waits for you" : `${wait} ${wait === 1 ? "waits" : "wait"} for you`}; ${cost}${left === 0 ? "" : `; ${count(left, "record")} could not be read`}.`;
}

function cards(totals: Totals): Html {
  const { allow, review, person, deny } = totals.verdicts;
  const calls = allow + review + person + deny;
  const done = totals.byState["completed"] ?? 0;
  const card = (name: string, big: string, more: string) =>
    html`<div><dt>${name}</dt><dd class="big">${big}</dd><dd class="more">${more}</dd></div>\n`;
  return html`<dl class="cards">
${card("Completed", percent(done, totals.tasks), `${number(done)} of ${number(totals.tasks)}`)}
${card("Verifications", number(totals.verifications), `${number(totals.failingVerifications)} of them failed`)}
${card("Asks per 100 calls", calls === 0 ? "–" : (((review + person) * 100) / calls).toFixed(1), `${number(calls)} calls, ${number(deny)} denied`)}
${card("Cost", totals.costUsd === null ? "unknown" : money(totals.costUsd), totals.withoutCost === 0 ? "Claude's estimate" : `${count(totals.withoutCost, "task")} reported none`)}
${card("Wait for you", number(totals.waiting), `${totals.recoverable} can be recovered`)}
</dl>
`;
}

function numbers(totals: Totals): Html {
  const list = (caption: string, head: string, values: Record<string, number>, say = (key: string) => key) =>
    Object.keys(values).length === 0
      ? null
      : table(
          caption,
          [th(head), th("Number", "n")],
          Object.entries(values)
            .sort(([, a], [, b]) => b - a)
            .map(
              ([key, n]) =>
                html`<tr><td><bdi>${inline(say(key), 120)}</bdi></td><td class="n">${number(n)}</td></tr>\n`,
            ),
        );
  return section(
    "numbers",
    "Numbers",
    html`<div class="side">${[
      list("How the tasks stand", "State", totals.byState, stateWords),
      list("What parked or failed them", "Reason", totals.byReason),
      list("Verifications that completed tasks needed", "Verifications", totals.roundsToPass),
      list("Calls asked about, by rule", "Rule", totals.asksByRule),
      list("Calls denied, by rule", "Rule", totals.refusalsByRule),
      list("What the Decision Worker said", "Decision", {
        ...totals.decisions,
        ...(totals.overridden > 0 ? { "decided otherwise by a person": totals.overridden } : {}),
      }),
    ]}</div>`,
  );
}

function taskTable(caption: string, rows: readonly IndexRow[], clock: Clock): Html {
  return table(
    caption,
    [
      th("Begun", "w"),
      th("Goal"),
      th("State", "w"),
      th("Rounds", "n"),
      th("Turns", "n"),
      th("Calls", "n"),
      th("Denied", "n"),
      th("Cost", "n"),
    ],
    rows.map((row) => rowHtml(row, clock)),
    true,
  );
}

function rowHtml(row: IndexRow, clock: Clock): Html {
  const state = row.recoverable ? "recoverable" : stateWords(row.state);
  return html`<tr><td class="w"><time datetime="${row.createdAt}">${clock.day(row.createdAt)}</time></td><td><bdi>${row.goal}</bdi><br><span class="soft"><span class="mono">${row.taskId}</span> <bdi>${row.cwd}</bdi></span></td><td class="w"><span class="tag ${TAGS[outcomeTone(row)]}">${state}</span>${row.reason === null ? null : html`<br><span class="soft">${row.reason}</span>`}</td><td class="n">${row.rounds}</td><td class="n">${row.turns}</td><td class="n">${row.calls}</td><td class="n">${row.denied}</td><td class="n">${row.costUsd === null ? "–" : money(row.costUsd)}</td></tr>
`;
}

const TAGS = { good: "good", bad: "bad", wait: "warn", busy: "plain" } as const;
