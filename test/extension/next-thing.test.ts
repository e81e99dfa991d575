/** `/supervise` alone names one thing to do: what waits first, then what is missing, then a start. */
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, afterEach, describe, test } from "node:test";
import { nextThing } from "../../src/extension/commands/next-thing.ts";
import { openPort } from "../../src/extension/pi-port.ts";
import { whileShown } from "../../src/extension/progress.ts";
import { runCommand } from "../../src/extension/run.ts";
import type { Supervisor, TaskView } from "../../src/supervisor/api.ts";
import { FAKE_CLAUDE } from "../support/fake-claude/index.ts";
import { fakeSession } from "./support/fake-pi.ts";
import { type FakeSupervisor, fakeSupervisor, hubWith, requestView, taskView } from "./support/fake-supervisor.ts";

const root = mkdtempSync(join(tmpdir(), "next-"));
after(() => rmSync(root, { recursive: true }));
afterEach(() => void hubWith(undefined));

/** A person with a Claude and a login. */
function person(spoil: (env: NodeJS.ProcessEnv, home: string) => unknown = () => undefined): NodeJS.ProcessEnv {
  const home = mkdtempSync(join(root, "home-"));
  mkdirSync(join(home, ".claude"));
  writeFileSync(join(home, ".claude", ".credentials.json"), "{}");
  const env: NodeJS.ProcessEnv = {
    HOME: home,
    PATH: "/usr/bin:/bin",
    PI_CLAUDE_SUPERVISOR_CLAUDE: FAKE_CLAUDE,
    PI_CLAUDE_SUPERVISOR_STATE_DIR: join(home, "state"),
  };
  spoil(env, home);
  return env;
}

function having(over: Partial<TaskView>): FakeSupervisor {
  const supervisor = fakeSupervisor();
  supervisor.views = [taskView(over)];
  return supervisor;
}

/** What is stored and nobody of this process drives. */
function stored(over: Partial<TaskView>): FakeSupervisor {
  const supervisor = having(over);
  supervisor.live = () => [];
  return supervisor;
}

describe("the next thing", () => {
  const tasks: [name: string, supervisor: () => Supervisor, next: RegExp][] = [
    [
      "a call that waits",
      () => having({ requests: [requestView()] }),
      /^\/supervise approve r-1 \(t-1 waits for your answer\)$/,
    ],
    [
      "several that wait",
      () => having({ requests: [requestView(), requestView({ requestId: "r-2" })] }),
      /^\/supervise approve r-1 .*2 requests in all: \/supervise approvals/,
    ],
    [
      "a question",
      () => having({ requests: [requestView({ kind: "question" })] }),
      /^\/supervise answer r-1 <label or text>/,
    ],
    ["a result", () => having({ waitsFor: "result", state: "human_required" }), /^\/supervise verify t-1/],
    [
      "a task that stands still",
      () => having({ waitsFor: "person", state: "human_required" }),
      /^\/supervise status t-1 \(it waits/,
    ],
    ["a task that works", () => having({}), /^\/supervise status t-1 \(it works\)$/],
    ["a task that was taken over", () => stored({ state: "taken_over" }), /^\/supervise handback t-1/],
    ["a task whose Pi is gone", () => stored({ recoverable: true }), /^\/supervise recover t-1/],
    [
      "nothing but ended tasks",
      () =>
        fakeSupervisor({
          sessions: async () => ({ ok: true, tasks: [] }),
          live: () => [],
          approvals: async () => ({ ok: true, requests: [] }),
        }),
      /^\/supervise start <goal> --verify/,
    ],
  ];
  for (const [name, supervisor, next] of tasks)
    test(`with ${name}`, async () => assert.match(await nextThing({ hub: hubWith(supervisor()) }, person()), next));

  const machines: [name: string, env: () => NodeJS.ProcessEnv, next: RegExp][] = [
    ["all that is needed", () => person(), /^\/supervise start <goal> --verify/],
    [
      "no Claude",
      () => person((env) => delete env.PI_CLAUDE_SUPERVISOR_CLAUDE),
      /^Install Claude Code, or set PI_CLAUDE_SUPERVISOR_CLAUDE .*\(No claude program was found on PATH\.\)$/,
    ],
    [
      "a Claude that is not where it should be",
      () =>
        person((env) => {
          env.PI_CLAUDE_SUPERVISOR_CLAUDE = "/nowhere/claude";
        }),
      /PI_CLAUDE_SUPERVISOR_CLAUDE to the path.*\(There is no \/nowhere\/claude\.\)/,
    ],
    [
      "no login",
      () => person((_env, home) => rmSync(join(home, ".claude"), { recursive: true })),
      /^Run `claude` once and type \/login.*\(No login for Claude was found\.\)$/,
    ],
    [
      "a broken setting",
      () =>
        person((env) => {
          env.PI_CLAUDE_SUPERVISOR_MODE = "automatic";
        }),
      /PI_CLAUDE_SUPERVISOR_MODE/,
    ],
    [
      "an emergency stop in force",
      () =>
        person((env, home) => {
          mkdirSync(join(home, "control"), { mode: 0o700 });
          writeFileSync(join(home, "control", "STOP-ALL"), "", { mode: 0o600 });
          env.PI_CLAUDE_SUPERVISOR_CONTROL_DIR = join(home, "control");
        }),
      /^\/supervise estop status \(an emergency stop is in force/,
    ],
  ];
  for (const [name, env, next] of machines)
    test(`on a machine with ${name}, before the first start; no folder is made`, async () => {
      const there = env();
      const hub = hubWith(undefined);
      assert.match(await nextThing({ hub }, there), next);
      assert.equal(hub.supervisor, undefined);
    });

  test("is the first thing that /supervise alone says, after what this is", async () => {
    hubWith(having({ requests: [requestView()] }));
    const session = fakeSession("rpc");
    await runCommand("", { cwd: "/" }, openPort(session.ctx));
    assert.match(session.notices[0]?.text.split("\n")[1] ?? "", /^Next: /);
  });
});

describe("what takes long", () => {
  for (const mode of ["tui", "rpc", "print"] as const)
    test(`in ${mode} mode ${mode === "print" ? "shows nothing" : "stands in the status line while it runs, and is taken away"}`, async () => {
      const verify: Supervisor["verify"] = async () => {
        during.push(...session.statuses);
        return { ok: true, outcome: "pass", state: "completed", message: "", treeId: "a" };
      };
      const during: (string | undefined)[] = [];
      const session = fakeSession(mode);
      hubWith(fakeSupervisor({ verify }));
      const port = openPort(session.ctx, () => undefined);
      await runCommand("verify t-1", { cwd: "/" }, port);
      assert.deepEqual(during, mode === "print" ? [] : ["supervise: verifying t-1…"]);
      assert.deepEqual(session.statuses, mode === "print" ? [] : ["supervise: verifying t-1…", undefined]);
      await runCommand("verify t-1 --json", { cwd: "/" }, port);
      assert.equal(session.statuses.length, mode === "print" ? 0 : 2, "programs see nothing of it");
      process.exitCode = undefined;
    });

  test("is taken away when it fails, and several stand side by side", async () => {
    const session = fakeSession("tui");
    const port = openPort(session.ctx);
    let release: (() => void) | undefined;
    const first = whileShown(
      port,
      "one",
      () =>
        new Promise<void>((resolve) => {
          release = resolve;
        }),
    );
    await assert.rejects(
      whileShown(port, "two", () => Promise.reject(new Error("no"))),
      /no/,
    );
    assert.deepEqual(session.statuses, ["supervise: one…", "supervise: two…", undefined]);
    release?.();
    await first;
    assert.deepEqual(session.statuses.at(-1), undefined);
    assert.equal(session.statuses.length, 4);
  });
});
