import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import type { StoredEvent } from "../../src/core/events.ts";
import { fold } from "../../src/core/fold.ts";
import type { History, ReportView } from "../../src/report/history.ts";
import { eventLine, renderHtml, renderText, renderTotals, totalsOf } from "../../src/report/index.ts";
import { cut, escapeHtml, oneLine, showControls, stripControls } from "../../src/report/inert.ts";
import { timeline } from "../../src/report/timeline.ts";

const EVIL = `</pre><script>alert(1)</script><img src="http://x/" onerror=go()>\u001b[2J\u001b]0;t\u0007\r\u202egnp.exe "quoted" 'single' &amp;`;

const VIEW: ReportView = {
  taskId: "t-1",
  state: "completed",
  waitsFor: null,
  why: null,
  reason: null,
  recoverable: false,
  goal: "Fix the parser",
  cwd: "/home/me/here",
  mode: "auto",
  createdAt: "2026-01-01T00:00:00.000Z",
  lastEventAt: "2026-01-01T00:09:00.000Z",
  claudeSessionId: "11111111-1111-4111-8111-111111111111",
  model: "scripted",
  rounds: { used: 2, failed: 1, max: 3 },
  turns: 2,
  costUsd: 0.1234,
  verdicts: { allow: 5, review: 1, person: 0, deny: 1 },
  asksByRule: { "bash.unknown": 1, "claude.bypass": 1 },
  stopCommand: "/supervise stop t-1",
  logPath: "/state/tasks/t-1/events.jsonl",
};

const command = {
  text: "node --test",
  exitCode: 1,
  signal: null,
  timedOut: false,
  durationMs: 1_500,
  outputBytes: 40,
  outputSha256: "f".repeat(64),
  outputTail: "not ok 1 - parser",
  outcome: "fail",
};

function history(extra: [string, object][] = [], view: Partial<ReportView> = {}): History {
  const data: [string, object][] = [
    [
      "task.created",
      {
        goal: "Fix the parser",
        goalRedacted: false,
        mode: "auto",
        cwd: "/home/me/here",
        transport: "claude-jsonl",
        trust: "user",
        profile: "standard",
        verify: {
          commands: [{ text: "node --test", argv: ["node", "--test"], shell: false, timeoutMs: 1 }],
          cwd: "/home/me/here",
          where: "workspace",
          carry: [],
          runs: 1,
          envNames: [],
          inputs: {},
        },
        limits: { startupMs: 1, quietMs: 1, toolQuietMs: 1, toolCapMs: 1, wallMs: 1, stopGraceMs: 1, maxRounds: 3 },
        sessionId: "s",
        workerEnvNames: [],
        cgroup: "auto",
        repositoryFindings: [],
      },
    ],
    ["prompt.intent", { promptId: "p-1", source: "goal", text: "Fix the parser", redacted: false }],
    [
      "gate.verdict",
      {
        callId: "c",
        via: "hook",
        toolUseId: "toolu_1",
        toolName: "Bash",
        verdict: "deny",
        rule: "claude.bypass",
        reason: "It would lift the gate.",
        input: { command: "claude --dangerously-skip-permissions" },
        cwd: "/home/me/here",
      },
    ],
    ["request.answered", { requestId: "r-1", decision: "approve", by: "person", via: "dialog", note: "fine" }],
    [
      "verify.finished",
      {
        outcome: "fail",
        exitCode: 1,
        treeId: "abc123",
        message: "node --test exited with 1.",
        by: "auto",
        round: 1,
        where: "workspace",
        durationMs: 1_500,
        commands: [command],
        findings: [{ kind: "changed-input", path: "test/a.test.js", detail: "The worker changed it." }],
      },
    ],
    ["prompt.intent", { promptId: "p-2", source: "verifier", text: "It did not pass.", redacted: false }],
    ["task.completed", { treeId: "def456", round: 2, by: "auto" }],
    ...extra,
  ];
  const events = data.map(
    ([type, one], index): StoredEvent => ({
      v: 1,
      seq: index + 1,
      taskId: "t-1",
      workerId: null,
      at: new Date(Date.UTC(2026, 0, 1, 0, 0, index)).toISOString(),
      mono: index * 1_000,
      type,
      data: one,
      prev: "0".repeat(64),
    }),
  );
  return { view: { ...VIEW, ...view }, events, state: fold("t-1", events) };
}

describe("inert text", () => {
  const table: [input: string, stripped: string, shown: string][] = [
    ["plain\ttext\n", "plain\ttext\n", "plain\ttext\n"],
    ["\u001b[31mred\u001b[0m", "red", "<U+001B>[31mred<U+001B>[0m"],
    ["\u001b]8;;http://x\u0007link\u001b]8;;\u0007", "link", "<U+001B>]8;;http://x<U+0007>link<U+001B>]8;;<U+0007>"],
    ["\u009b2Jx", "x", "<U+009B>2Jx"],
    ["rm x\rls", "rm xls", "rm x<U+000D>ls"],
    ["a\r\nb", "a\nb", "a\nb"],
    ["a\u202eb\u2066c\u200bd\ufeffe", "abcde", "a<U+202E>b<U+2066>c<U+200B>d<U+FEFF>e"],
    ["x\u{e0041}y", "xy", "x<U+E0041>y"],
    ["\u001b[", "", "<U+001B>["],
    ["äöü 漢字 🎉", "äöü 漢字 🎉", "äöü 漢字 🎉"],
  ];
  for (const [input, stripped, shown] of table)
    test(JSON.stringify(input), () => {
      assert.equal(stripControls(input), stripped);
      assert.equal(showControls(input), shown);
    });

  test("holds no control character, whatever came in", () => {
    const bad = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b-\u200f\u202a-\u202e\u2066-\u2069\ufeff]/;
    const text = fc.string({
      unit: fc.oneof(
        fc.constantFrom("\u001b", "[", "]", "\u0007", "\u009b", "m", "\r", "\n", "\u202e", ";"),
        fc.string(),
      ),
    });
    fc.assert(
      fc.property(text, (value) => {
        assert.doesNotMatch(stripControls(value), bad);
        assert.doesNotMatch(showControls(value), bad);
        assert.doesNotMatch(oneLine(value, 50), /[\n\t]/);
        assert.ok(oneLine(value, 50).length <= 50);
        assert.doesNotMatch(escapeHtml(value), /[<>"']/);
      }),
    );
  });

  test("takes time linear in its length", () => {
    const worst = ["\u001b[".repeat(100_000), "\u001b]".repeat(100_000), `\u001b[${"0;".repeat(100_000)}`];
    for (const text of worst) {
      const from = performance.now();
      stripControls(text);
      assert.ok(performance.now() - from < 2_000, `${text.slice(0, 4)} took too long`);
    }
  });

  test("never cuts a character in two", () => {
    assert.equal(cut("ab🎉cd", 4), "ab…");
    assert.equal(cut("abc", 3), "abc");
  });
});

describe("the page", () => {
  test("stands alone: no script, and nothing from the network", () => {
    const page = renderHtml(history());
    assert.doesNotMatch(page, /<script|\bsrc\s*=|\bhref\s*=|url\(|@import|https?:/i);
    assert.match(page, /default-src 'none'/);
  });

  test("holds goal, timeline, verdicts and rules, answers, rounds, evidence, cost and how to repeat it", () => {
    const page = renderHtml(history());
    for (const part of [
      "Fix the parser",
      "Bash: deny by claude.bypass",
      "claude --dangerously-skip-permissions",
      "r-1: approved by a person (dialog)",
      "Round 1: fail",
      "abc123",
      "node --test",
      "f".repeat(64),
      "not ok 1 - parser",
      "changed-input test/a.test.js: The worker changed it.",
      "Completed: verified at tree def456",
      "$0.1234",
      "1 of 3 failing",
      "/supervise verify t-1, or in /home/me/here: node --test",
    ])
      assert.ok(page.includes(escapeHtml(part)), part);
  });

  test("lets nothing of a worker, tool or repository be markup or a control character", () => {
    const tainted: [string, object][] = [
      ["worker.text", { preview: EVIL, chars: 1 }],
      ["prompt.intent", { promptId: "p", source: "person", text: EVIL, redacted: false }],
      [
        "gate.verdict",
        {
          callId: "c",
          via: "hook",
          toolUseId: EVIL,
          toolName: EVIL,
          verdict: "deny",
          rule: EVIL,
          reason: EVIL,
          input: { [EVIL]: EVIL },
          cwd: EVIL,
        },
      ],
      ["tool.result", { toolUseId: EVIL, isError: true, wrapped: false, aborted: false, preview: EVIL, chars: 1 }],
      ["turn.result", { subtype: EVIL, isError: true, errors: [EVIL], preview: EVIL, chars: 1, permissionDenials: 0 }],
      ["request.answered", { requestId: EVIL, decision: "deny", by: "person", via: "command", note: EVIL }],
      ["decision.made", { decision: EVIL, reason: EVIL }],
      ["gate.incident", { fault: EVIL, detail: EVIL }],
      ["worker.exited", { code: null, signal: EVIL, exitReason: EVIL }],
      ["notice", { level: "error", text: EVIL }],
      [
        "verify.finished",
        {
          outcome: "fail",
          exitCode: 1,
          treeId: EVIL,
          message: EVIL,
          by: "auto",
          round: 1,
          where: EVIL,
          durationMs: 1,
          commands: [{ ...command, text: EVIL, outputTail: EVIL, signal: EVIL }],
          findings: [{ kind: EVIL, path: EVIL, detail: EVIL }],
        },
      ],
    ];
    const page = renderHtml(
      history(tainted, { goal: EVIL, cwd: EVIL, why: EVIL, model: EVIL, asksByRule: { [EVIL]: 1 } }),
    );
    const clean = renderHtml(history());
    const tagsOf = (html: string) =>
      new Set([...html.matchAll(/<\/?([a-z0-9!]+)/gi)].map((match) => match[1]?.toLowerCase()));
    assert.deepEqual(
      [...tagsOf(page)].filter((tag) => !tagsOf(clean).has(tag)),
      [],
    );
    assert.doesNotMatch(page, /<script|<img|onerror=go\(\)>/i);
    assert.doesNotMatch(page, /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202e]/);
    const text = renderText(history(tainted, { goal: EVIL }));
    assert.doesNotMatch(text, /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202e]/);
  });

  test("has balanced elements whatever is in it", () => {
    const page = renderHtml(history([["worker.text", { preview: EVIL, chars: 1 }]]));
    for (const tag of ["li", "details", "summary", "pre", "table", "tr", "ol", "main", "span"]) {
      const open = page.match(new RegExp(`<${tag}[ >]`, "g"))?.length ?? 0;
      const close = page.match(new RegExp(`</${tag}>`, "g"))?.length ?? 0;
      assert.equal(open, close, tag);
    }
  });
});

describe("the text", () => {
  test("leaves out what Claude did not report", () => {
    assert.match(renderText(history()), /Cost as Claude estimates it: \$0\.1234/);
    assert.doesNotMatch(renderText(history([], { costUsd: null })), /Cost|\$0/);
  });

  test("stays within its bound and says where the rest is", () => {
    const many = Array.from({ length: 3_000 }, (_, index): [string, object] => [
      "worker.text",
      { preview: `${index} ${"x".repeat(1_000)}`, chars: 1_000 },
    ]);
    const text = renderText(history(many));
    assert.ok(text.length < 41_000);
    assert.match(text, /earlier entries are in the log/);
  });

  test("of one event is one bounded line", () => {
    const [first] = history([["notice", { level: "info", text: EVIL.repeat(50) }]]).events.slice(-1);
    assert.ok(first);
    const line = eventLine(first);
    assert.ok(line.length <= 200);
    assert.doesNotMatch(line, /[\u0000-\u001f\u202e]/);
  });
});

describe("the timeline", () => {
  test("tells late events as late, and unknown ones not at all", () => {
    const told = timeline(
      history([
        ["task.completed", { late: true }],
        ["something.new", {}],
      ]).events,
    );
    assert.match(told.at(-1)?.title ?? "", /too late and changed nothing: task\.completed/);
  });
});

describe("the totals", () => {
  test("add up what was reported, and say what was not", () => {
    const totals = totalsOf(
      [
        VIEW,
        { ...VIEW, state: "failed", reason: "worker-exit-1", costUsd: null },
        { ...VIEW, state: "human_required", reason: "rounds-exhausted", costUsd: 1 },
      ],
      { unreadable: 1, notLooked: 2 },
    );
    assert.deepEqual(totals.byState, { completed: 1, failed: 1, human_required: 1 });
    assert.deepEqual(totals.byReason, { "worker-exit-1": 1, "rounds-exhausted": 1 });
    assert.deepEqual([totals.turns, totals.verifications, totals.failingVerifications], [6, 6, 3]);
    assert.equal(totals.costUsd, 1.1234);
    const text = renderTotals(totals);
    assert.match(text, /\$1\.12 \(1 tasks reported none\)/);
    assert.match(text, /1 records could not be read/);
    assert.match(text, /2 older tasks were not looked into/);
  });

  test("of nothing say so", () => assert.match(renderTotals(totalsOf([], { unreadable: 0, notLooked: 0 })), /no task/));
});
