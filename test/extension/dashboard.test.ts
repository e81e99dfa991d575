/** The dashboard by its keys and its screens; in a real terminal it is in tui-takeover.test.ts. */
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, test } from "node:test";
import { Dashboard, type DashboardPage } from "../../src/extension/ui/dashboard.ts";
import { type Key, keyOf, type ScreenHost } from "../../src/extension/ui/screen-port.ts";
import type { TaskView } from "../../src/supervisor/api.ts";
import { until } from "../support/until.ts";
import { type FakeSupervisor, fakeSupervisor, requestView, taskView } from "./support/fake-supervisor.ts";

const plain = (text: string): string => text;
const opened: Dashboard[] = [];
afterEach(() => {
  for (const one of opened.splice(0)) one.dispose();
});

interface Shown {
  dashboard: Dashboard;
  copied: string[];
  closed: () => boolean;
  screen(): string;
  press(...keys: (Key | string)[]): void;
  when(pattern: RegExp): Promise<string>;
}

async function open(
  supervisor: FakeSupervisor,
  page: DashboardPage = "sessions",
  [columns, rows]: readonly [number, number] = [100, 30],
): Promise<Shown> {
  const copied: string[] = [];
  let closed = false;
  const host: ScreenHost = {
    rows: () => rows,
    paint: { strong: plain, dim: plain, accent: plain, warning: plain, error: plain },
    fit: (text, width) => [...text].slice(0, width).join(""),
    redraw: () => undefined,
    copy: (text) => void copied.push(text),
    close: () => {
      closed = true;
    },
  };
  const dashboard = new Dashboard(host, supervisor, page);
  opened.push(dashboard);
  const shown: Shown = {
    dashboard,
    copied,
    closed: () => closed,
    screen: () => dashboard.render(columns).join("\n"),
    press(...keys) {
      for (const key of keys) {
        const known = ["up", "down", "page-up", "page-down", "enter", "escape", "backspace", "tab"];
        const pressed =
          typeof key !== "string" || known.includes(key) ? [key as Key] : [...key].map((char) => ({ char }));
        for (const one of pressed) dashboard.press(one);
      }
    },
    when: (pattern) =>
      until(
        () => (pattern.test(shown.screen()) ? shown.screen() : undefined),
        10_000,
        () => `${pattern} on:\n${shown.screen()}`,
      ),
  };
  await dashboard.refresh();
  return shown;
}

function busy(): TaskView {
  return taskView({
    state: "human_required",
    waitsFor: "approval",
    requests: [requestView({ input: { command: "node gen.mjs\u001b[31m --all\u202e" } })],
    currentTool: { toolName: "Bash", since: "2026-01-01T00:00:02.000Z" },
    rounds: { used: 2, failed: 2, max: 3 },
    deadlines: [{ name: "wall", length: 28_800_000, what: "the task", leftMs: 7_200_000 }],
    why: "Bash waits for approval: What it does is not known.",
  });
}

function several(): FakeSupervisor {
  const supervisor = fakeSupervisor();
  supervisor.views = [
    busy(),
    taskView({ taskId: "t-2", goal: "Write the manual", state: "running", requests: [], recoverable: true }),
    taskView({ taskId: "t-3", goal: "Count the sheep", state: "taken_over", requests: [] }),
  ];
  return supervisor;
}

const acts = (supervisor: FakeSupervisor): string[] =>
  supervisor.calls
    .map(({ name, args }) => `${name} ${String(args[0])}`)
    .filter((call) => /^(approve|deny|stop|kill|recover|handback|send|verify|answer) /.test(call));

describe("the dashboard", () => {
  test("lists tasks, filters them as one types, and opens the chosen one", async () => {
    const shown = await open(several());
    assert.match(shown.screen(), /→ t-1 {2}waits for a person[\s\S]*t-2 {2}recoverable[\s\S]*t-3 {2}taken over/);
    shown.press("/", "manual");
    assert.match(shown.screen(), /→ t-2/);
    assert.doesNotMatch(shown.screen(), /t-1 /);
    shown.press("enter", "enter");
    await shown.when(/supervise · task[\s\S]*t-2[\s\S]*Write the manual/);
    shown.press("escape");
    await shown.when(/open tasks[\s\S]*→ t-1/);
    shown.press("escape");
    assert.equal(shown.closed(), true);
  });

  test("shows a request whole, with its rule and folder and with control characters visible", async () => {
    const shown = await open(several(), "approvals");
    const screen = shown.screen();
    assert.match(screen, /node gen\.mjs<U\+001B>\[31m --all<U\+202E>/);
    assert.match(screen, /Rule bash\.unknown: What it does is not known\./);
    assert.match(screen, /In \/home\/me\/here/);
    assert.doesNotMatch(screen, /[\u001b\u202e]/);
  });

  for (const [key, act] of [
    ["a", "approve r-1"],
    ["d", "deny r-1"],
    ["s", "stop t-1"],
  ] as const) {
    test(`${key} asks before it acts: only y does, and the answer is said (${act})`, async () => {
      const supervisor = several();
      const shown = await open(supervisor, "approvals");
      for (const no of ["n", "enter", "escape", " "]) {
        shown.press(key);
        assert.match(shown.screen(), /y: yes · any other key: no/);
        shown.press(no);
        assert.match(shown.screen(), /Nothing was done\./);
      }
      assert.deepEqual(acts(supervisor), []);
      shown.press(key, "y");
      await shown.when(/Done/);
      assert.deepEqual(acts(supervisor), [act]);
    });
  }

  test("recovers what has lost its worker, and hands back what a person has", async () => {
    const supervisor = several();
    const shown = await open(supervisor);
    shown.press("down", "r", "y");
    await shown.when(/Done: running/);
    shown.press("down", "r");
    assert.match(shown.screen(), /Hand t-3 back to its worker\?/);
    shown.press("y");
    await until(() => acts(supervisor).length === 2, 5_000, "the handback");
    assert.deepEqual(acts(supervisor), ["recover t-2", "handback t-3"]);
  });

  test("says what was refused, and a question's own command instead of an approval", async () => {
    const supervisor = fakeSupervisor({
      stop: async () => ({
        ok: false,
        reason: "failed-to-stop",
        message: "It may still run.",
        state: "failed_to_stop",
        remaining: [],
      }),
    });
    supervisor.views = [taskView({ requests: [requestView({ kind: "question" })] })];
    const shown = await open(supervisor, "approvals");
    shown.press("a");
    assert.match(shown.screen(), /\/supervise answer r-1 <label or text>/);
    shown.press("s", "y");
    await shown.when(/It may still run\./);
    assert.deepEqual(acts(supervisor), ["stop t-1"]);
  });

  test("copies ids, changes between its lists, and leaves no listener and no timer behind", async () => {
    const supervisor = several();
    const shown = await open(supervisor);
    shown.press("c", "tab");
    await shown.when(/what waits for you/);
    shown.press("c");
    assert.deepEqual(shown.copied, ["t-1", "r-1"]);
    assert.equal(supervisor.listeners, 1);
    shown.press("escape");
    assert.equal(supervisor.listeners, 0);
    assert.equal(shown.closed(), true);
  });

  test("in one task: answers its first request, recovers, stops and copies its id", async () => {
    const supervisor = several();
    const shown = await open(supervisor);
    shown.press("enter");
    await shown.when(/supervise · task[\s\S]*\? r-1/);
    shown.press("c");
    shown.press("a", "y");
    await shown.when(/Done\./);
    shown.press("d", "y");
    await until(() => acts(supervisor).length === 2, 5_000, "the denial");
    shown.press("s");
    assert.match(shown.screen(), /Stop t-1\?/);
    shown.press("y");
    await until(() => acts(supervisor).length === 3, 5_000, "the stop");
    shown.press("r", "y");
    await until(() => acts(supervisor).length === 4, 5_000, "the recovery");
    assert.deepEqual(acts(supervisor), ["approve r-1", "deny r-1", "stop t-1", "recover t-1"]);
    assert.deepEqual(shown.copied, ["t-1"]);
  });

  test("shows every budget as a bar, what runs and for how long, what waits, and the end of the output", async () => {
    const events = Array.from({ length: 60 }, (_, at) => ({
      v: 1 as const,
      seq: at + 1,
      taskId: "t-1",
      workerId: null,
      at: "2026-01-01T00:00:00.000Z",
      mono: 0,
      type: "worker.text",
      data: { preview: `first ${at}\nline \u001b[2J${at}` },
      prev: "",
    }));
    const supervisor = fakeSupervisor({ log: async () => ({ ok: true, events, path: "/p", lastSeq: 60 }) });
    supervisor.views = [
      {
        ...busy(),
        budget: { usd: 2, spentUsd: 1.8 },
        decisions: { used: 50, max: 200, costUsd: 0.1, byOutcome: {}, overridden: 0 },
        requests: ["r-1", "r-2", "r-3", "r-4"].map((requestId) => requestView({ requestId })),
      },
    ];
    const shown = await open(supervisor, "sessions", [100, 40]);
    shown.press("enter");
    const screen = await shown.when(/output/);
    assert.match(screen, /▰{13}▱{7} failing rounds: 2 of 3/);
    assert.match(screen, /▰{18}▱{2} budget: \$1\.80 of \$2\.00, an estimate/);
    assert.match(screen, /▰{5}▱{15} decisions: 50 of 200/);
    assert.match(screen, /▰{15}▱{5} the task's time: 2 h left of 8 h/);
    assert.match(screen, /Runs Bash for /);
    assert.match(screen, /\? r-3[\s\S]*\? and 1 more: \/supervise approvals/);
    assert.match(screen, /output\n {2}first 57\n {2}line 57\n {2}first 58\n {2}line 58\n {2}first 59\n {2}line 59\n/);
    assert.match(screen, /timeline\n[\s\S]*\n60 00:00:00 worker\.text/);
    shown.press("page-up", "up");
    assert.match(shown.screen(), /timeline \(11 newer below\)[\s\S]*\n49 00:00:00 worker\.text/);
    shown.press("page-up", "page-up", "page-up", "page-up", "page-up", "page-up", "page-up");
    assert.match(shown.screen(), /\n1 00:00:00 worker\.text/, "it stops at the oldest");
    shown.press("page-down", "down");
    assert.doesNotMatch(shown.screen(), /\n1 00:00:00 worker\.text/);
    assert.match(screen, /↑↓ scroll · a approve · d deny · r recover · s stop · c copy id · esc back/);
  });

  test("shows ended tasks with A, and filters what waits", async () => {
    const asked: boolean[] = [];
    const supervisor = several();
    const { sessions } = supervisor;
    supervisor.sessions = (all) => {
      asked.push(all);
      return sessions(all);
    };
    const shown = await open(supervisor);
    shown.press("A");
    await shown.when(/all tasks/);
    await until(() => asked.at(-1) === true, 5_000, "another look");
    shown.press("tab");
    await shown.when(/what waits for you[\s\S]*r-1/);
    shown.press("/", "nothing like it");
    assert.match(shown.screen(), /Nothing matches "nothing like it"\./);
    shown.press("backspace", "escape");
    assert.match(shown.screen(), /→ r-1/, "an escape takes the filter away");
  });

  test("says what can't be read, and keeps what it had", async () => {
    const supervisor = several();
    const shown = await open(supervisor);
    supervisor.sessions = async () => ({ ok: false, reason: "io", message: "The store can't be read." });
    await shown.dashboard.refresh();
    assert.match(shown.screen(), /→ t-1[\s\S]*The store can't be read\./);
  });

  test("what was still read of one task is not shown for another", async () => {
    const supervisor = several();
    const { status } = supervisor;
    let release: (() => void) | undefined;
    const slow = new Promise<void>((resolve) => {
      release = resolve;
    });
    supervisor.status = async (id) => {
      if (id === "t-1") await slow;
      return status(id);
    };
    const shown = await open(supervisor);
    shown.press("enter", "escape", "down", "enter");
    await shown.when(/supervise · task[\s\S]*Write the manual/);
    release?.();
    await until(() => supervisor.calls.filter((call) => call.name === "status").length >= 2, 5_000, "both answers");
    assert.match(shown.screen(), /Write the manual/);
  });

  test("with nothing to show says so, and no key of it acts", async () => {
    const supervisor = fakeSupervisor();
    supervisor.views = [];
    for (const page of ["sessions", "approvals"] as const) {
      const shown = await open(supervisor, page);
      shown.press("a", "d", "s", "r", "c", "y", "enter", "up", "down", "page-down");
      assert.match(shown.screen(), /No task is open\.|Nothing waits for your answer\./);
    }
    assert.deepEqual(acts(supervisor), []);
  });

  for (const size of [
    [80, 24],
    [200, 50],
    [20, 8],
  ] as const) {
    test(`fills ${size.join("x")} exactly, whatever a worker wrote`, async () => {
      const supervisor = several();
      const [one] = supervisor.views;
      assert.ok(one);
      supervisor.views[0] = {
        ...one,
        goal: "漢字 ".repeat(300),
        requests: [requestView({ input: { command: "x".repeat(20_000) } })],
      };
      for (const page of ["sessions", "approvals"] as const) {
        const shown = await open(supervisor, page, size);
        const lines = shown.dashboard.render(size[0]);
        assert.equal(lines.length, size[1]);
        assert.ok(lines.every((line) => [...line].length <= size[0]));
        shown.press("enter");
        await shown.when(/·/);
        assert.equal(shown.dashboard.render(size[0]).length, size[1]);
      }
    });
  }

  for (const size of [
    [80, 24],
    [200, 50],
  ] as const) {
    test(`looks as it did at ${size.join("x")}`, async () => {
      const shots: string[] = [];
      for (const page of ["sessions", "approvals"] as const) {
        const shown = await open(several(), page, size);
        shots.push(shown.screen());
        if (page === "approvals") continue;
        shown.press("enter");
        shots.push(await shown.when(/timeline[\s\S]*notice/));
      }
      const masked = shots.map(mask).join("\n=====\n");
      const file = join(import.meta.dirname, "golden", `dashboard-${size.join("x")}.txt`);
      /* A wanted change: UPDATE_GOLDEN=1 writes the file anew; look at the difference before you commit it. */
      if (process.env.UPDATE_GOLDEN === "1") writeFileSync(file, `${masked}\n`);
      assert.equal(`${masked}\n`, readFileSync(file, "utf8"));
    });
  }
});

/** Ages change with the clock. */
function mask(screen: string): string {
  return screen
    .replace(/\b\d+ (days|h \d+ min|h|min|s)\b(?! left| of)/g, "<age>")
    .split("\n")
    .map((line) => line.trimEnd())
    .join("\n");
}

describe("keys as terminals send them", () => {
  const table: [string, Key | undefined][] = [
    ["\u001b[A", "up"],
    ["\u001bOB", "down"],
    ["\r", "enter"],
    ["\u001b", "escape"],
    ["\u0003", "escape"],
    ["\u007f", "backspace"],
    ["a", { char: "a" }],
    ["漢", { char: "漢" }],
    ["\u001b[200~rm -rf\u001b[201~", undefined],
    ["yy", undefined],
    ["\u0001", undefined],
  ];
  for (const [data, key] of table)
    test(`${JSON.stringify(data)} is ${JSON.stringify(key) ?? "nothing"}`, () => assert.deepEqual(keyOf(data), key));
});
