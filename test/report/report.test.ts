/** What reports tell, and what nothing from outside can make of them. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import type { StoredEvent } from "../../src/core/events.ts";
import { Collector, eventLine, type Report, type ReportView, renderPage, renderText } from "../../src/report/index.ts";
import { escapeHtml, oneLine } from "../../src/report/inert.ts";
import { LogBuilder, longTask, TASK } from "./long-task.ts";

const EVIL = `</pre><script>alert(1)</script><img src="http://x/" onerror=go()>\u001b[2J\u001b]0;t\u0007\r\u202egnp.exe "quoted" 'single' &amp;`;
const OPTIONS = { zone: "UTC", now: "2026-11-30T06:00:00.000Z" };

function collected(events: readonly StoredEvent[], view: ReportView): Report {
  const collector = new Collector(TASK);
  for (const event of events) collector.add(event);
  return collector.done(view);
}

/** A log whose every text is hostile, past the schema: what a broken or foreign writer might have left. */
function tainted(): Report {
  const log = new LogBuilder()
    .created({ goal: EVIL, repositoryFindings: [EVIL] })
    .claimed("start")
    .worker(false);
  log.prompt("goal", EVIL).prompt("person", EVIL).say(EVIL);
  const odd = (type: string, data: object): void => {
    const seq = log.events.length + 1;
    const at = new Date(Date.UTC(2026, 10, 30) + seq * 1_000).toISOString();
    log.events.push({ v: 1, seq, taskId: TASK, workerId: null, at, mono: seq * 1_000, type, data, prev: "" });
  };
  const gate = {
    callId: "c",
    via: "hook",
    toolName: EVIL,
    rule: EVIL,
    reason: EVIL,
    input: { [EVIL]: EVIL },
    cwd: EVIL,
  };
  odd("gate.verdict", { ...gate, toolUseId: "a", verdict: "deny" });
  odd("gate.verdict", { ...gate, toolUseId: "b", verdict: "review", requestId: "r-9", kind: "tool" });
  odd("gate.verdict", { ...gate, toolUseId: "__proto__", toolName: "__proto__", rule: "__proto__", verdict: "deny" });
  odd("tool.result", { toolUseId: "a", isError: true, wrapped: false, aborted: false, preview: EVIL, chars: 1 });
  odd("turn.result", { subtype: EVIL, isError: true, errors: [EVIL], preview: EVIL, chars: 1, permissionDenials: 0 });
  odd("decision.made", { decision: EVIL, reason: EVIL });
  odd("decision.made", { requestId: "r-9", decision: EVIL, reason: EVIL });
  odd("request.answered", { requestId: "r-9", decision: "deny", by: "person", via: "command", note: EVIL });
  odd("gate.incident", { fault: EVIL, detail: EVIL });
  odd("worker.exited", { code: null, signal: EVIL, exitReason: EVIL });
  odd("worker.start-failed", { reason: EVIL, message: EVIL });
  odd("notice", { level: "error", text: EVIL });
  odd("rejected", { what: EVIL, reason: EVIL, message: EVIL });
  const command = {
    text: EVIL,
    argv: [EVIL],
    run: 1,
    exitCode: 1,
    signal: EVIL,
    timedOut: false,
    durationMs: 1,
    outputBytes: 1,
    outputSha256: EVIL,
    outputTail: EVIL,
    outcome: "fail",
  };
  odd("verify.finished", {
    outcome: "fail",
    exitCode: 1,
    treeId: EVIL,
    message: EVIL,
    by: "auto",
    round: 1,
    where: EVIL,
    durationMs: 1,
    commands: [command],
    findings: [{ kind: EVIL, path: EVIL, detail: EVIL }],
    changes: { files: [{ path: EVIL, status: EVIL, kind: EVIL, added: 1, deleted: 2 }], more: 0 },
  });
  const view = log.view();
  return collected(log.events, {
    ...view,
    goal: EVIL,
    cwd: EVIL,
    why: EVIL,
    model: EVIL,
    claudeSessionId: EVIL,
    logPath: EVIL,
    asksByRule: { [EVIL]: 1 },
    remaining: [{ kind: EVIL, id: EVIL, detail: EVIL }],
    waitsFor: "approval",
    state: "human_required",
    requests: [
      {
        requestId: "r-8",
        kind: "tool",
        toolName: EVIL,
        input: { command: EVIL },
        cwd: EVIL,
        rule: EVIL,
        reason: EVIL,
        loss: "lost",
        askedOf: "person",
        since: EVIL,
        deferred: true,
      },
    ],
  });
}

const CONTROLS = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b-\u200f\u202a-\u202e\u2066-\u2069\ufeff]/;

describe("lines", () => {
  test("hold no control character and keep their bound, whatever came in", () => {
    const unit = fc.oneof(
      fc.constantFrom("\u001b", "[", "]", "\u0007", "\u009b", "m", "\r", "\n", "\u202e", ";"),
      fc.string(),
    );
    fc.assert(
      fc.property(fc.string({ unit }), (value) => {
        assert.doesNotMatch(oneLine(value, 50), CONTROLS);
        assert.doesNotMatch(oneLine(value, 50), /[\n\t]/);
        assert.ok(oneLine(value, 50).length <= 50);
        assert.doesNotMatch(escapeHtml(value), /[<>"']/);
      }),
    );
  });

  test("of one event are one bounded line", () => {
    const [event] = new LogBuilder().add("notice", { level: "info", text: EVIL.repeat(50) }).events;
    assert.ok(event);
    assert.ok(eventLine(event).length <= 200);
    assert.doesNotMatch(eventLine(event), /[\u0000-\u001f\u202e]/);
  });
});

describe("the page", () => {
  test("stands alone: no script, nothing from the network, links only within itself", () => {
    const page = renderPage(longTask(500).report(), OPTIONS);
    assert.doesNotMatch(page, /<script|<img|<link|<iframe|\bsrc\s*=|\bstyle\s*=|url\(|@import|https?:|\bon[a-z]+\s*=/i);
    const targets = [...page.matchAll(/href="([^"]*)"/g)].map((match) => match[1] ?? "");
    assert.ok(targets.length > 5);
    for (const target of targets) {
      assert.match(target, /^#/);
      assert.ok(page.includes(`id="${target.slice(1)}"`), target);
    }
    assert.match(page, /default-src 'none'; style-src 'sha256-/);
  });

  test("holds goal, verdicts and rules, answers, rounds, evidence, cost and how to repeat it", () => {
    const page = renderPage(longTask(500).report(), OPTIONS);
    for (const part of [
      "Make the duration parser add up mixed units",
      "must give 5400 seconds",
      "claude --dangerously-skip-permissions",
      "claude.bypass",
      "approve by person",
      "Not before I have seen it.",
      "Round 1",
      "not ok 3 - adds up mixed units",
      "changed-input",
      "Completed: verified at tree",
      "cd /home/me/parser && npm test",
      "claude --resume=11111111-1111-4111-8111-111111111111",
      "git -C /home/me/parser diff 9f86d081884c",
    ])
      assert.ok(page.includes(escapeHtml(part)), part);
  });

  test("lets nothing of a worker, tool or repository be markup or a control character", () => {
    const page = renderPage(tainted(), OPTIONS);
    const clean = renderPage(longTask(500).report(), OPTIONS);
    const tagsOf = (html: string) =>
      new Set([...html.matchAll(/<\/?([a-z0-9!-]+)/gi)].map((match) => match[1]?.toLowerCase()));
    const own = new Set([...tagsOf(clean), "ul", "br"]);
    assert.deepEqual(
      [...tagsOf(page)].filter((tag) => !own.has(tag)),
      [],
    );
    assert.doesNotMatch(page, /<script|<img|onerror=go\(\)>/i);
    assert.doesNotMatch(page, CONTROLS);
    assert.match(page, /&lt;U\+202E&gt;/);
    const text = renderText(tainted(), OPTIONS);
    assert.doesNotMatch(text, CONTROLS);
    assert.ok(text.includes("<script>"), "a terminal needs no escapes");
  });

  test("has balanced elements and unique ids whatever is in it", () => {
    for (const report of [tainted(), longTask(500).report(), new LogBuilder().created().report()]) {
      const page = renderPage(report, OPTIONS).replace(/<style>[\s\S]*?<\/style>/, "");
      for (const tag of [
        "li",
        "ul",
        "ol",
        "details",
        "summary",
        "pre",
        "table",
        "tr",
        "td",
        "section",
        "main",
        "span",
        "svg",
        "bdi",
      ]) {
        const open = page.match(new RegExp(`<${tag}[ >]`, "g"))?.length ?? 0;
        const close = page.match(new RegExp(`</${tag}>`, "g"))?.length ?? 0;
        assert.equal(open, close, tag);
      }
      const ids = [...page.matchAll(/ id="([^"]*)"/g)].map((match) => match[1]);
      assert.equal(new Set(ids).size, ids.length);
    }
  });

  test("is bounded whatever the log, and says what it leaves out", () => {
    const log = new LogBuilder().created().claimed("start").worker(false).prompt("goal", "x");
    const wide = `${"\u202e\u001b".repeat(1_000)}`;
    for (let i = 0; i < 6_000; i++) {
      const seq = log.events.length + 1;
      const at = new Date(Date.UTC(2026, 10, 30) + seq * 1_000).toISOString();
      const data = {
        callId: "c",
        via: "hook",
        toolUseId: `t${i}`,
        toolName: "Bash",
        verdict: i % 3 === 0 ? "deny" : "allow",
        rule: `rule-${i}`,
        reason: wide,
        input: { command: `${i} ${wide}` },
        cwd: "/w",
      };
      const record = { v: 1 as const, taskId: TASK, workerId: null, at, mono: seq, prev: "" };
      log.events.push({ ...record, seq, type: "gate.verdict", data });
      const result = { toolUseId: `t${i}`, isError: true, wrapped: false, aborted: false, preview: wide, chars: 1 };
      log.events.push({ ...record, seq: seq + 1, type: "tool.result", data: result });
    }
    const report = log.report();
    const page = renderPage(report, OPTIONS);
    assert.ok(page.length < 5_000_000, `${page.length} characters`);
    assert.match(page, /ordinary entries of this chapter/);
    assert.match(page, /1,[78]\d\d earlier refusals are not on this page/);
    assert.equal(report.refusals.length + report.moreRefusals, 2_000);
    assert.ok(Object.keys(report.refusalsByRule).length <= 201);
    const text = renderText(report, OPTIONS);
    assert.ok(text.length < 41_000);
  });

  test("counts a night of 2,000 records as it was", () => {
    const log = longTask(2_000);
    const { truth } = log;
    const report = log.report();
    const sum = (key: "calls" | "errors" | "asked") =>
      report.chapters.reduce((total, chapter) => total + chapter[key], 0);
    assert.equal(report.records, log.events.length);
    assert.equal(sum("calls"), truth.calls);
    assert.equal(sum("asked"), truth.asked);
    assert.equal(sum("errors"), truth.errors);
    assert.equal(report.calls.errors, truth.errors);
    assert.equal(report.refusals.length, truth.denied + truth.deniedByPerson);
    assert.equal(report.rounds.length, truth.rounds);
    assert.equal(report.usage.length, truth.turns);
    assert.equal(report.chapters.filter((chapter) => chapter.source !== null).length, truth.prompts);
    assert.equal(report.view.costUsd, truth.costUsd);
    const cost = report.chapters.reduce((total, chapter) => total + (chapter.costUsd ?? 0), 0);
    assert.ok(Math.abs(cost - truth.costUsd) < 1e-9);
    const { spans, byDoing } = report.time;
    assert.ok(spans.length > 3);
    assert.ok(byDoing.nobody >= 5_400_000, "the time without an owner is nobody's");
    assert.ok(byDoing.waiting >= 1_240_000, "two answers of a person took their time");
  });
});

describe("the text", () => {
  test("begins and ends with what a person needs", () => {
    const lines = renderText(longTask(500).report(), OPTIONS).split("\n");
    assert.match(lines[0] ?? "", /^t-1m8p0jax7xnx2: Completed/);
    assert.match(lines.join("\n"), /Done: the verification passed in round 3; of \d+ tool calls 2 were refused; \$\d/);
    assert.match(lines.at(-1) ?? "", /^Completed\. Nothing waits for you\./);
  });

  test("leaves out what Claude did not report", () => {
    const log = new LogBuilder().created().claimed("start").worker(false).prompt("goal", "x");
    assert.doesNotMatch(renderText(log.report(), OPTIONS), /\$0|Tokens/);
    assert.match(renderText(log.report(), OPTIONS), /no cost was reported/);
  });

  test("of a task without one record but its creation is short and whole", () => {
    const text = renderText(new LogBuilder().created().report(), OPTIONS);
    assert.match(text, /Only begun/);
    assert.ok(text.length < 2_000);
  });

  test("says where a damaged log ends", () => {
    const log = longTask(500);
    const collector = new Collector(TASK);
    for (const event of log.events) collector.add(event);
    const report = collector.done(log.view(), "record 501 is broken");
    assert.match(renderText(report, OPTIONS), /damaged; this is told up to record \d+: record 501 is broken/);
    assert.match(renderPage(report, OPTIONS), /The log is damaged/);
  });
});
