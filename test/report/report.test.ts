/** What reports tell, and what nothing from outside can make of them. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { Collector, eventLine, renderPage, renderText } from "../../src/report/index.ts";
import { escapeHtml, oneLine } from "../../src/report/inert.ts";
import { EVIL, hostileReport } from "./hostile.ts";
import { LogBuilder, longTask, TASK } from "./long-task.ts";

const OPTIONS = { zone: "UTC", now: "2026-11-30T06:00:00.000Z" };

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
  test("tells what a reviewer found, and where", () => {
    const tree = "a".repeat(40);
    const log = longTask(100);
    log.add("review.started", { treeId: tree, round: 1 });
    log.add("review.finished", {
      verdict: "revise",
      treeId: tree,
      round: 1,
      message: "The edge is missing.",
      findings: [{ file: "src/sum.ts", line: 7, problem: "zero is lost" }, { problem: "no test for it" }],
      looks: 3,
      durationMs: 900,
    });
    const page = renderPage(log.report(), OPTIONS);
    for (const part of ["Review: revise. The edge is missing.", "src/sum.ts:7: zero is lost", "no test for it"])
      assert.ok(page.includes(part), part);
  });

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
      "escalate",
      'It would have said "approve", but risk is a person\'s to decide.',
      "Decision Worker on the end of the turn: verify",
      "src/units.ts",
      "+72",
      "−29",
      "added, binary, 20,480 bytes",
    ])
      assert.ok(page.includes(escapeHtml(part)), part);
  });

  test("lets nothing of a worker, tool or repository be markup or a control character", () => {
    const page = renderPage(hostileReport(), OPTIONS);
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
    const text = renderText(hostileReport(), OPTIONS);
    assert.doesNotMatch(text, CONTROLS);
    assert.ok(text.includes("<script>"), "a terminal needs no escapes");
  });

  test("has balanced elements and unique ids whatever is in it", () => {
    for (const report of [hostileReport(), longTask(500).report(), new LogBuilder().created().report()]) {
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
      if (i % 15 !== 0) continue;
      const prompt = { promptId: `p${i}`, source: "person", text: `${i} ${wide}`, redacted: false };
      log.events.push({ ...record, seq: seq + 2, type: "prompt.intent", data: prompt });
    }
    const report = log.report();
    const page = renderPage(report, OPTIONS);
    assert.ok(page.length < 5_000_000, `${page.length} characters`);
    assert.match(page, /ordinary entries of this chapter/);
    assert.match(page, /\d+ early chapters with [\d,]+ calls/);
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
