/** Numbers over all tasks add up, and their memory does not grow with the tasks. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { IndexRows, type ReportView, renderIndex, renderTotals, TotalsOf } from "../../src/report/index.ts";
import { LogBuilder, longTask } from "./long-task.ts";

const VIEW: ReportView = longTask(500).view();
const OPTIONS = { zone: "UTC", now: "2026-11-30T06:00:00.000Z" };

function sumOf(views: readonly ReportView[]): TotalsOf {
  const sums = new TotalsOf();
  for (const view of views) sums.add(view);
  return sums;
}

describe("the totals", () => {
  test("add up what was reported, and say what was not", () => {
    const { totals } = sumOf([
      VIEW,
      { ...VIEW, state: "failed", reason: "worker-exit-1", costUsd: null },
      { ...VIEW, state: "human_required", waitsFor: "person", reason: "rounds-exhausted", costUsd: 1 },
    ]);
    assert.deepEqual(totals.byState, { completed: 1, failed: 1, human_required: 1 });
    assert.deepEqual(totals.byReason, { "worker-exit-1": 1, "rounds-exhausted": 1 });
    assert.deepEqual([totals.verifications, totals.failingVerifications], [9, 6]);
    assert.equal(totals.turns, 3 * VIEW.turns);
    assert.equal(totals.waiting, 1);
    assert.deepEqual(totals.roundsToPass, { 3: 1 });
    assert.equal(totals.asksByRule["git.push"], 3);
    assert.equal(totals.asksByRule["claude.bypass"], undefined, "what the gate denies is not asked about");
    assert.deepEqual(totals.refusalsByRule, { "claude.bypass": 3 });
    assert.deepEqual(totals.decisions, { escalate: 3, verify: 3 });
    assert.equal(totals.costUsd, (VIEW.costUsd ?? 0) + 1);
    const text = renderTotals({ ...totals, unreadable: 1, notLooked: 2 });
    assert.match(text, /1 task reported none/);
    assert.match(text, /1 record could not be read/);
    assert.match(text, /2 older tasks were not looked into/);
    assert.match(text, /Completed: 1 of 3 \(33 %\)/);
  });

  test("count what a person decided otherwise than the Decision Worker would have", () => {
    const asked = (requestId: string, verdict: "review" | "person" = "review") =>
      ({ verdict, rule: "bash.unknown", reason: "Unknown.", requestId, runs: false }) as const;
    const log = new LogBuilder().created().claimed("start").worker(false).prompt("goal", "x");
    log.call("Bash", { command: "a" }, asked("r-1"));
    log.decided("tool", { requestId: "r-1", decision: "escalate", meant: "approve", category: "risk" });
    log.answered("r-1", "deny", "person");
    log.call("Bash", { command: "b" }, asked("r-2"));
    log.decided("tool", { requestId: "r-2", decision: "escalate", meant: "approve", category: "scope" });
    log.answered("r-2", "approve", "person");
    log.call("Bash", { command: "c" }, asked("r-3"));
    log.decided("tool", { requestId: "r-3", decision: "deny" }).answered("r-3", "deny", "decider");
    log.call("Bash", { command: "d" }, asked("r-4")).decided("tool", { requestId: "r-4", decision: "unavailable" });
    const { totals } = sumOf([log.view()]);
    assert.equal(totals.overridden, 1);
    assert.deepEqual(totals.decisions, { escalate: 2, deny: 1, unavailable: 1 });
    assert.ok(Math.abs((totals.decisionsCostUsd ?? 0) - 0.008) < 1e-9);
    assert.match(
      renderTotals(totals),
      /Decision Worker: escalate 2, .*; 1 decided otherwise by a person; about \$0\.0080/,
    );
  });

  test("of nothing say so", () => assert.match(renderTotals(new TotalsOf().totals), /no task/));

  test("take a rule named like a part of every object as a rule", () => {
    const asksByRule = JSON.parse('{"__proto__": 2, "constructor": 3}');
    const { totals } = sumOf([{ ...VIEW, asksByRule, deniedByRule: {} }]);
    assert.deepEqual(Object.entries(totals.asksByRule), [
      ["__proto__", 2],
      ["constructor", 3],
    ]);
  });

  test("of 20,000 tasks hold nothing of a task but its numbers", () => {
    const sums = new TotalsOf();
    const rows = new IndexRows();
    for (let i = 0; i < 20_000; i++) {
      const view = {
        ...VIEW,
        taskId: `t-${i}`,
        goal: "g".repeat(5_000),
        reason: `r-${i}`,
        asksByRule: { [`rule-${i}`]: 1 },
      };
      sums.add(view);
      rows.add(view);
    }
    const { totals } = sums;
    assert.equal(totals.tasks, 20_000);
    assert.ok(JSON.stringify(totals).length < 20_000);
    assert.equal(
      Object.values(totals.asksByRule).reduce((a, b) => a + b, 0),
      20_000,
    );
    const page = renderIndex(totals, rows, OPTIONS);
    assert.ok(page.length < 12_000_000, `${page.length}`);
    assert.match(page, /10,000 older tasks are in the numbers/);
  });
});

describe("the page of all tasks", () => {
  test("has a row for every task, shows what waits first, and stands alone", () => {
    const views = [
      VIEW,
      {
        ...VIEW,
        taskId: "t-2",
        state: "human_required" as const,
        waitsFor: "person" as const,
        reason: "rounds-exhausted",
        goal: "<b>Bold</b> \u202egoal",
      },
      { ...new LogBuilder().created().view(), taskId: "t-3", recoverable: true },
    ];
    const rows = new IndexRows();
    for (const view of views) rows.add(view);
    const page = renderIndex(sumOf(views).totals, rows, OPTIONS);
    for (const { taskId } of views) assert.ok(page.includes(taskId), taskId);
    assert.match(page, /1 of 3 tasks completed, 2 wait for you/);
    assert.ok(page.indexOf("What waits for you") < page.indexOf("Every task"));
    assert.ok(page.includes("&lt;b&gt;Bold&lt;/b&gt; &lt;U+202E&gt;goal"));
    assert.doesNotMatch(page, /<script|\bsrc\s*=|https?:|href="[^#]/i);
  });
});
