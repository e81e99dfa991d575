/** The five answers for every way in which a task can stand. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { type ReportView, renderPage, renderText } from "../../src/report/index.ts";
import { outcomeOf } from "../../src/report/outcome.ts";
import { stepsOf } from "../../src/report/steps.ts";
import { LogBuilder } from "./long-task.ts";

const request = {
  requestId: "r-7",
  kind: "tool" as const,
  toolName: "Bash",
  input: { command: "git push" },
  cwd: "/w",
  rule: "git.push",
  reason: "It leaves this machine.",
  loss: null,
  askedOf: "person" as const,
  since: "2026-11-29T23:00:00.000Z",
  deferred: true,
};

const table: [name: string, view: Partial<ReportView>, lead: RegExp, waits: RegExp, first: RegExp][] = [
  ["completed", { state: "completed" }, /Completed/, /Nothing waits/, /git -C|claude --resume/],
  [
    "an approval",
    { state: "human_required", waitsFor: "approval", requests: [request] },
    /your answer/,
    /1 request waits/,
    /approve r-7/,
  ],
  [
    "a question",
    { state: "human_required", waitsFor: "approval", requests: [{ ...request, kind: "question" }] },
    /your answer/,
    /1 request/,
    /answer r-7/,
  ],
  ["a result", { state: "human_required", waitsFor: "result" }, /Waits for you/, /look at it/, /verify/],
  [
    "a person",
    { state: "human_required", waitsFor: "person", why: "The rounds are used up." },
    /Waits for you/,
    /waits for you/,
    /verify/,
  ],
  [
    "a person, Pi gone",
    { state: "human_required", waitsFor: "person", recoverable: true },
    /Waits for you/,
    /waits for you/,
    /recover/,
  ],
  ["failed", { state: "failed" }, /Failed/, /recover it/, /recover/],
  ["stopped", { state: "stopped" }, /Stopped/, /recover it/, /recover/],
  ["failed to stop", { state: "failed_to_stop", waitsFor: "person" }, /Not stopped whole/, /waits for you/, /stop/],
  ["paused", { state: "paused" }, /Paused/, /when you say so/, /resume/],
  ["taken over", { state: "taken_over" }, /In your hands/, /when you say so/, /handback/],
  ["interrupted", { state: "running", recoverable: true }, /Interrupted/, /when you say so/, /recover/],
  ["running", { state: "running" }, /At work/, /Nothing waits for you now/, /status/],
  ["deciding", { state: "deciding" }, /At work/, /Nothing waits for you now/, /status/],
  ["verifying", { state: "verifying" }, /Verifying/, /Nothing waits for you now/, /status/],
  ["stopping", { state: "stopping" }, /Stopping/, /Nothing waits for you now/, /status/],
  ["starting", { state: "starting" }, /Starting/, /Nothing waits for you now/, /status/],
  ["created", { state: "created" }, /Starting/, /Nothing waits for you now/, /status/],
];

function reportWith(view: Partial<ReportView>) {
  const log = new LogBuilder().created().claimed("start").worker(false).prompt("goal", "x");
  log.call("Read", { file_path: "/home/me/parser/a" }).turnOver("done", 0.5, undefined);
  const report = log.report();
  return { ...report, view: { ...report.view, waitsFor: null, why: null, reason: null, recoverable: false, ...view } };
}

describe("the outcome of a task that stands in", () => {
  for (const [name, view, lead, waits, first] of table)
    test(name, () => {
      const report = reportWith(view);
      const outcome = outcomeOf(report);
      assert.match(outcome.lead, lead);
      assert.match(outcome.waits, waits);
      assert.match(outcome.steps[0]?.command ?? "", first);
      assert.equal(outcome.sentence.match(/\.(?:\s|$)/g)?.length, 1, `one sentence: ${outcome.sentence}`);
      assert.match(outcome.sentence, /\$0\.50 by Claude's estimate/);
      const options = { zone: "UTC", now: "2026-11-30T06:00:00.000Z" };
      assert.ok(renderText(report, options).includes(outcome.sentence));
      assert.ok(renderPage(report, options).includes(outcome.lead));
    });

  test("a fault names the command that clears it", () => {
    const log = new LogBuilder().created().claimed("start").worker(false).prompt("goal", "x");
    log.add("gate.incident", { fault: "ungated-call", detail: "A call ran without the gate." });
    const report = log.report();
    assert.match(stepsOf(report)[0]?.command ?? "", /resume t-\w+ --fault ungated-call/);
    assert.match(renderPage(report, { zone: "UTC", now: "" }), /Incident ungated-call: automation is off/);
  });
});
