/** What people see by itself: chip, widget, milestones, the proposal of a verification. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { openPort } from "../../src/extension/pi-port.ts";
import { askForVerification, proposals } from "../../src/extension/ui/ask-verification.ts";
import { chipText, widgetLines } from "../../src/extension/ui/chip.ts";
import { milestone } from "../../src/extension/ui/milestones.ts";
import { throttle } from "../../src/extension/ui/throttle.ts";
import { duration } from "../../src/extension/words-for-people.ts";
import { until } from "../support/until.ts";
import { fakeSession } from "./support/fake-pi.ts";
import { fakeSupervisor, requestView, taskView } from "./support/fake-supervisor.ts";

const NOW = Date.parse("2026-01-01T00:08:00.000Z");

describe("the chip", () => {
  const table: [views: Parameters<typeof chipText>[0], expected: string | undefined][] = [
    [[], undefined],
    [[taskView({ state: "completed" })], undefined],
    [[taskView()], "supervise: running · 3 turns · $0.12"],
    [[taskView({ turns: 1, costUsd: null })], "supervise: running · 1 turn"],
    [[taskView({ costUsd: 0.001, turns: 0 })], "supervise: running · 0 turns · under $0.01"],
    [
      [taskView({ waitsFor: "approval", state: "human_required" })],
      "supervise: waits for your approval · 3 turns · $0.12",
    ],
    [[taskView({ state: "failed_to_stop", waitsFor: "person" })], "supervise: waits for you · 3 turns · $0.12"],
    [[taskView(), taskView({ waitsFor: "result" })], "supervise: 2 tasks · 1 waiting for you"],
  ];
  for (const [views, expected] of table) test(`says ${expected}`, () => assert.equal(chipText(views), expected));
});

describe("the widget", () => {
  test("has a line a task with tool, age, cost and the nearest limit, and what waits", () => {
    const lines = widgetLines(
      [
        taskView({
          currentTool: { toolName: "Bash", since: "2026-01-01T00:07:35.000Z" },
          rounds: { used: 2, failed: 2, max: 3 },
          requests: [requestView()],
        }),
      ],
      NOW,
    );
    assert.deepEqual(lines, [
      "t-1 · running · Bash 20 s · 8 min · $0.12 · ▰▰▰▰▰▱▱▱ failing rounds",
      "  ? r-1 Bash: node gen.mjs",
    ]);
  });

  test("has the bar of whatever is nearest to its end: rounds, money, decisions, time", () => {
    const worst = (over: Parameters<typeof taskView>[0]) =>
      widgetLines([taskView(over)], NOW)?.[0]
        ?.split(" · ")
        .at(-1);
    const decisions = { used: 180, max: 200, costUsd: null, byOutcome: {}, overridden: 0 };
    const clock = (name: "wall" | "wall-warning") => ({ name, length: 1_000, what: "the task", leftMs: 100 });
    assert.equal(worst({ budget: { usd: 2, spentUsd: 1.5 } }), "▰▰▰▰▰▰▱▱ budget");
    assert.equal(worst({ budget: { usd: 2, spentUsd: 1.5 }, decisions }), "▰▰▰▰▰▰▰▱ decisions");
    assert.equal(worst({ deadlines: [clock("wall")] }), "▰▰▰▰▰▰▰▱ the task's time");
    assert.equal(worst({ deadlines: [clock("wall-warning")] }), "$0.12", "a notice to come is no limit");
    assert.equal(worst({ budget: { usd: 2, spentUsd: 5 } }), "▰▰▰▰▰▰▰▰ budget");
  });

  test("never has more than ten lines, and says how many are left out", () => {
    const lines = widgetLines(
      Array.from({ length: 14 }, (_, index) => taskView({ taskId: `t-${index}` })),
      NOW,
    );
    assert.equal(lines?.length, 10);
    assert.match(lines?.at(-1) ?? "", /5 more/);
  });

  test("shows a worker's text without control characters, in bounded lines", () => {
    const toolName = `Ev\u001b[2Jil\u0007\n\u202e${"x".repeat(500)}`;
    const lines = widgetLines(
      [
        taskView({
          currentTool: { toolName, since: "2026-01-01T00:00:00.000Z" },
          requests: [requestView({ toolName, input: { command: `a\n\u001b]0;t\u0007${"b".repeat(9_000)}` } })],
        }),
      ],
      NOW,
    );
    for (const line of lines ?? []) {
      assert.doesNotMatch(line, /[\u0000-\u001f\u007f-\u009f\u202e]/);
      assert.ok(line.length <= 110);
    }
  });

  test("is away when nothing is live", () =>
    assert.equal(widgetLines([taskView({ state: "stopped" })], NOW), undefined));
});

describe("milestones", () => {
  const worker = { executable: { version: "2.1.268" }, resume: false, argv: [], envNames: [] };
  const finished = (outcome: string) => ({
    outcome,
    message: "It said \u001b[31mno.",
    round: 1,
    treeId: "abc",
    commands: [],
    findings: [],
  });
  const table: [type: string, data: object, level: string | null, text: RegExp][] = [
    ["worker.started", worker, "info", /Claude Code 2\.1\.268 has started/],
    [
      "gate.verdict",
      { toolName: "Bash", verdict: "review", rule: "r", input: { command: "x" }, requestId: "r-1" },
      "warning",
      /t-1 asks \(r\): Bash: x\n\/supervise approve r-1 {2}or {2}\/supervise deny r-1/,
    ],
    [
      "gate.verdict",
      { toolName: "AskUserQuestion", verdict: "review", rule: "q", input: {}, requestId: "r-1", kind: "question" },
      "warning",
      /\/supervise answer r-1/,
    ],
    ["gate.verdict", { toolName: "Bash", verdict: "allow", rule: "r", input: {} }, null, /./],
    ["verify.finished", finished("pass"), null, /./],
    ["verify.finished", { ...finished("fail"), by: "person" }, null, /./],
    ["verify.stale", { passedTree: "a", presentTree: "b" }, "warning", /changed since/],
    ["verify.finished", finished("fail"), "warning", /did not pass \(round 1\)\. It said no\./],
    ["verify.finished", finished("error"), "warning", /could not say anything/],
    ["task.completed", { treeId: "abc", round: 1, by: "auto" }, "info", /is completed/],
    ["task.failed", { reason: "worker-exit-1", message: "Claude ended." }, "error", /has failed: Claude ended\./],
    ["stop.proven", { method: "cgroup", killed: 1, durationMs: 5 }, "info", /nothing of it runs/],
    ["stop.failed", { remaining: [{}], durationMs: 5 }, "error", /1 of it may still run/],
    ["gate.incident", { fault: "ungated-call", detail: "x" }, "error", /automation is off/],
    ["worker.rate-limit", { status: "rejected", resetsAt: "soon" }, "warning", /usage limit/],
    ["worker.rate-limit", { status: "allowed" }, null, /./],
    ["notice", { level: "warning", text: "Look \u202eout" }, "warning", /Look out/],
    ["task.completed", { late: true }, null, /./],
    ["something.new", {}, null, /./],
  ];
  for (const [type, data, level, text] of table)
    test(`${type} ${JSON.stringify(data).slice(0, 40)}`, () => {
      const told = milestone(fakeSupervisor().happen("t-1", type, data));
      assert.equal(told?.level ?? null, level);
      if (told !== null) assert.match(told.text, text);
    });
});

describe("a proposed verification", () => {
  const table: [files: Record<string, string>, expected: string[]][] = [
    [{}, []],
    [{ "package.json": '{"scripts":{"test":"node --test"}}' }, ["npm test"]],
    [{ "package.json": '{"scripts":{"test":"x"}}', "pnpm-lock.yaml": "" }, ["pnpm test"]],
    [{ "package.json": '{"scripts":{"test":"echo \\"Error: no test specified\\" && exit 1"}}' }, []],
    [{ "package.json": "not json" }, []],
    [{ "package.json": "null" }, []],
    [{ "Cargo.toml": "", "go.mod": "" }, ["cargo test", "go test ./..."]],
    [{ "pyproject.toml": "[tool.pytest.ini_options]" }, ["pytest"]],
    [{ Makefile: "build:\n\ttrue\ntest:\n\ttrue\n" }, ["make test"]],
  ];
  for (const [files, expected] of table)
    test(`for ${Object.keys(files).join(", ") || "nothing"}`, () => {
      assert.deepEqual(
        proposals("/w", (path) => files[path.replace("/w/", "")]),
        expected,
      );
    });

  test("that is declined starts nothing, and one that is typed is taken", async () => {
    const session = fakeSession("rpc");
    const port = openPort(session.ctx);
    const declined = askForVerification(port, undefined, "/nonexistent");
    (await until(() => session.dialogs[0], 10_000, "the question")).choose(undefined);
    assert.equal(await declined, undefined);
    const typed = askForVerification(port, undefined, "/nonexistent");
    (await until(() => session.dialogs[1], 10_000, "the question")).choose(" make check ");
    assert.deepEqual(await typed, ["make check"]);
  });
});

test("the throttle runs at once, then at most once in its time, and keeps the last ask", () => {
  let runs = 0;
  let now = 0;
  const paint = throttle(
    250,
    () => void runs++,
    () => now,
  );
  paint.soon();
  paint.soon();
  paint.soon();
  assert.equal(runs, 1);
  paint.cancel();
  now = 300;
  paint.soon();
  assert.equal(runs, 2);
});

describe("durations", () => {
  const table: [number, string][] = [
    [0, "0 s"],
    [59_400, "59 s"],
    [60_000, "1 min"],
    [90_000, "1 min 30 s"],
    [3_600_000, "1 h"],
    [5_400_000, "1 h 30 min"],
    [200 * 3_600_000, "8 days"],
    [-5, "0 s"],
  ];
  for (const [ms, text] of table) test(`${ms} ms`, () => assert.equal(duration(ms), text));
});
