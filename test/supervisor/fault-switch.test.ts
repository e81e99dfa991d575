/** The fault switch in a whole supervisor: what turns it, its report, and how a person turns it back. */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { readFile, stat, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import type { WorkerAdapter } from "../../src/core/contracts/worker.ts";
import type { EventDraft } from "../../src/core/events.ts";
import { FAULTS } from "../../src/core/machine/hold-reasons.ts";
import { manualClock } from "../../src/platform/clock.ts";
import type { TaskView } from "../../src/supervisor/api.ts";
import { faultOf, harmless } from "../../src/supervisor/fault.ts";
import { guardedRedactor, LEFT_OUT } from "../../src/supervisor/guarded-redactor.ts";
import { assertNoneLeft } from "../support/processes.ts";
import { until } from "../support/until.ts";
import { OPENING, openStage, type Stage, type StageOptions, type Step } from "./stage.ts";

const WIDER: readonly Step[] = [{ handshake: {} }, { prompt: true }, { init: { permissionMode: "acceptEdits" } }];

const faulted = (stage: Stage, taskId: string, fault: string) =>
  stage.when(taskId, (view) => view.state === "human_required" && view.reason === fault, `the fault ${fault}`, 30_000);

/** Another look at the task than the stage's own, which reads it as `status` does. */
async function unseen(stage: Stage, taskId: string): Promise<void> {
  await until(
    () => stage.supervisor.live().some((view) => view.taskId === taskId && view.faultReport !== null),
    30_000,
    "the fault",
  );
}

describe("a fault", () => {
  test("leaves a report with what, evidence and both ways on, and is cleared only after it was shown", async (t) => {
    const stage = await openStage(t, { steps: [...WIDER, { sleep: 60_000 }] });
    const taskId = await stage.start({ mode: "auto" });
    await unseen(stage, taskId);
    await until(
      async () => (await stage.events(taskId)).some((event) => event.type === "worker.swept"),
      30_000,
      "the worker's end",
    );
    const unread = await stage.supervisor.recover(taskId, { fresh: false, fault: "permission-mode" });
    assert.ok(!unread.ok && unread.reason === "fault-report", JSON.stringify(unread));
    const view = await stage.view(taskId);
    assert.equal(view.reason, "permission-mode");
    const path = view.faultReport ?? "";
    assert.equal(path, join(dirname(view.logPath), "fault-permission-mode.md"));
    assert.equal((await stat(path)).mode & 0o777, 0o600);
    const report = await readFile(path, "utf8");
    assert.ok(unread.message.startsWith(report), "the refusal shows the report");
    for (const part of [
      /# Fault: permission-mode/,
      /acceptEdits/,
      new RegExp(`/supervise resume ${taskId} --fault permission-mode`),
      /event \d+ \(gate\.incident\)/,
      new RegExp(`cd ${stage.cwd} && \\S+ --resume=${view.claudeSessionId} --setting-sources=user --strict-mcp-config`),
    ])
      assert.match(report, part);
    const sent = await stage.supervisor.send(taskId, "go on");
    assert.ok(!sent.ok && sent.reason === "fault");
    const plain = await stage.supervisor.recover(taskId, { fresh: false });
    assert.ok(!plain.ok && plain.reason === "fault");
    const cleared = await stage.supervisor.recover(taskId, { fresh: false, fault: "permission-mode" });
    assert.ok(cleared.ok || cleared.reason === "permission-mode", JSON.stringify(cleared));
    const types = (await stage.events(taskId)).map((event) => event.type);
    assert.equal(types.filter((type) => type === "fault.cleared").length, 1);
  });

  test("of a worker that is gone while its pipes say nothing is seen by the silence watch", async (t) => {
    const clock = manualClock(new Date());
    let pid = 0;
    const stage = await openStage(t, {
      steps: [...OPENING, { say: "at work" }, { sleep: 60_000 }],
      seams: (deps) => ({
        clock,
        createWorker: (transport, input, more) => {
          const worker = deps.createWorker(transport, input, more);
          const deaf: Pick<WorkerAdapter, "subscribe"> = {
            subscribe: (listener) =>
              worker.subscribe((event) => {
                if (event.type === "spawned") pid = event.containment.leader.pid;
                if (event.type !== "exited") listener(event);
              }),
          };
          return new Proxy(worker, {
            get: (target, key) => {
              if (key === "subscribe") return deaf.subscribe;
              const value: unknown = Reflect.get(target, key, target);
              return typeof value === "function" ? value.bind(target) : value;
            },
          });
        },
      }),
    });
    const taskId = await stage.start({ mode: "auto", quietTimeoutMs: 60_000 });
    await until(
      async () => (await stage.events(taskId)).some((event) => event.type === "worker.text"),
      30_000,
      "a word of the worker",
    );
    process.kill(pid, "SIGKILL");
    await until(
      async () => !/^\d+ \(.*\) [^Z]/.test(await readFile(`/proc/${pid}/stat`, "utf8").catch(() => "")),
      10_000,
      "its end",
    );
    clock.advance(61_000);
    await faulted(stage, taskId, "watchdog-contradiction");
  });
});

interface Trigger {
  what: string;
  fault: string;
  /** After the opening; without them the fake does as it is told. */
  steps?: readonly Step[];
  opening?: readonly Step[];
  seams?: StageOptions["seams"];
  /** What brings it about, once the task was started; default: nothing more. */
  act?: (stage: Stage, taskId: string, t: TestContext) => Promise<Stage | undefined>;
  look?: (stage: Stage, view: TaskView) => void | Promise<void>;
}

const TOKEN = `ghp_${randomBytes(20).toString("hex").slice(0, 36)}`;
const LEAK = "IT IS MISSED";

/** A redactor that misses what stands in a text with those words, as a bug of ours would. */
const forgetful: StageOptions["seams"] = (deps) => ({
  createRedactor: (options) => {
    const redactor = deps.createRedactor(options);
    return { ...redactor, text: (value) => (value.includes(LEAK) ? value : redactor.text(value)) };
  },
});

/** A step that breaks this invariant, the first time that the worker says something. */
const broken =
  (sentence: string): StageOptions["seams"] =>
  () => {
    let said = false;
    return {
      violations: (_before, event) => {
        if (said || event.type !== "worker.text") return [];
        said = true;
        return [sentence];
      },
    };
  };

/** The worker's adapter says that another text was sent under this key before. */
const conflicting: StageOptions["seams"] = (deps) => ({
  createWorker: (transport, input, more) => {
    const worker = deps.createWorker(transport, input, more);
    return new Proxy(worker, {
      get: (target, key) => {
        if (key === "send")
          return async () => ({ ok: false, reason: "key-conflict", message: "Another text has this key." });
        const value: unknown = Reflect.get(target, key, target);
        return typeof value === "function" ? value.bind(target) : value;
      },
    });
  },
});

const BUSY_THEN: readonly Step[] = [{ sleep: 60_000 }];
const uncalled = {
  type: "user",
  message: { role: "user", content: [{ type: "tool_result", tool_use_id: "tu1", content: "gone", is_error: false }] },
};
const unreadable = {
  type: "control_request",
  request_id: "odd",
  request: { subtype: "hook_callback", callback_id: "gate", input: { hook_event_name: "PreToolUse", tool_input: {} } },
};

/** Every trigger that docs/recovery.md names, but the one of the silence watch, which needs a clock of its own. */
const TRIGGERS: readonly Trigger[] = [
  { what: "a call that ran without the gate", fault: "ungated-call", steps: [{ emit: uncalled }, ...BUSY_THEN] },
  {
    what: "a wider permission mode than asked for",
    fault: "permission-mode",
    opening: WIDER,
    steps: BUSY_THEN,
  },
  {
    what: "a call that the gate could not read",
    fault: "gate-failure",
    steps: [{ emit: unreadable }, ...BUSY_THEN],
  },
  {
    what: "a Claude that does not confirm the gate any more",
    fault: "protocol-change",
    steps: BUSY_THEN,
    async act(stage, taskId, t) {
      await stage.when(taskId, (view) => view.state === "running", "the first worker", 30_000);
      await stage.supervisor.shutdown(2_000);
      const other = await openStage(t, {
        lab: stage.lab,
        cwd: stage.cwd,
        steps: [{ handshake: { hooks_applied: false } }, ...BUSY_THEN],
      });
      const refused = await other.supervisor.recover(taskId, { fresh: false });
      assert.equal(refused.ok, false);
      return other;
    },
  },
  {
    what: "a step that broke an invariant",
    fault: "inconsistent-state",
    seams: broken("4: a deny was answered with allow"),
    steps: [{ say: "hello" }, ...BUSY_THEN],
    look: (_stage, view) => assert.match(view.why ?? "", /worker\.text\): 4: a deny was answered/),
  },
  {
    what: "a step that would have sent a message again",
    fault: "duplicate-send",
    seams: broken("9: the goal a second time"),
    steps: [{ say: "hello" }, ...BUSY_THEN],
  },
  {
    what: "another text under a key that was sent",
    fault: "duplicate-send",
    seams: conflicting,
    opening: [{ handshake: {} }],
    steps: BUSY_THEN,
  },
  {
    what: "a verifier that itself failed",
    fault: "verifier-unavailable",
    steps: [{ waitFile: "go" }, { result: {} }],
    seams: (deps) => ({
      layout: {
        ...deps.layout,
        folder(name) {
          if (name === "scratch" && existsSync(join(deps.layout.root, "broken"))) throw new Error("a bug of ours");
          return deps.layout.folder(name);
        },
      },
    }),
    async act(stage) {
      await writeFile(join(stage.deps.layout.root, "broken"), "");
      await writeFile(join(stage.cwd, "go"), "");
      return undefined;
    },
    look(_stage, view) {
      assert.equal(view.rounds.failed, 0, "it is no failing verification");
      assert.match(view.why ?? "", /a bug of ours/);
    },
  },
  {
    what: "a text that could not be redacted",
    fault: "secret-risk",
    steps: [{ say: "fine" }, { say: "UNREDACTABLE words" }, ...BUSY_THEN],
    seams: (deps) => ({
      createRedactor: (options) => {
        const redactor = deps.createRedactor(options);
        const text = (value: string): string => {
          if (value.includes("UNREDACTABLE")) throw new Error(`bad text: ${value}`);
          return redactor.text(value);
        };
        return { ...redactor, text };
      },
    }),
    async look(_stage, view) {
      const log = await readFile(view.logPath, "utf8");
      assert.ok(!log.includes("UNREDACTABLE"), "it was left out");
      assert.ok(log.includes(LEFT_OUT));
    },
  },
  {
    what: "a secret in clear in a record",
    fault: "secret-risk",
    seams: forgetful,
    steps: [{ say: `${LEAK}: ${TOKEN}` }, { result: {} }],
    look(_stage, view) {
      assert.match(view.why ?? "", /Record \d+ \(worker\.text\) holds a secret in clear \(github-token\)/);
      assert.ok(!JSON.stringify(view).includes(TOKEN), "and the fault does not say it again");
    },
  },
  {
    what: "a secret in clear in an artifact",
    fault: "secret-risk",
    seams: forgetful,
    steps: [{ say: `${LEAK} ${"words ".repeat(1_000)} ${TOKEN}` }, { result: {} }],
    look: (_stage, view) => assert.match(view.why ?? "", /The artifact [0-9a-f]{64} of record \d+ \(worker\.text\)/),
  },
];

describe("each trigger of the switch, in a whole supervisor", { concurrency: 3 }, () => {
  for (const { what, fault, opening = OPENING, steps = [], seams, act, look } of TRIGGERS)
    test(`${what}: ${fault}`, async (t) => {
      const first = await openStage(t, { steps: [...opening, ...steps], ...(seams === undefined ? {} : { seams }) });
      const taskId = await first.start({ mode: "auto" });
      const stage = (await act?.(first, taskId, t)) ?? first;
      const view = await faulted(stage, taskId, fault);
      assert.equal(view.waitsFor, "person");
      const report = await readFile(view.faultReport ?? "", "utf8");
      assert.match(report, new RegExp(`^# Fault: ${fault}\n`));
      assert.ok(!report.includes(TOKEN));
      await look?.(stage, view);
      await assertNoneLeft(stage.lab.mark, 30_000);
      const refused = await Promise.all([
        stage.supervisor.send(taskId, "go on"),
        stage.supervisor.recover(taskId, { fresh: false }),
        stage.supervisor.recover(taskId, { fresh: false, fault: "else" }),
      ]);
      assert.deepEqual(
        refused.map((one) => (one.ok ? "done" : one.reason)),
        ["fault", "fault", "no-fault"],
      );
      const after = (await stage.events(taskId)).slice(-12).map((event) => event.type);
      assert.ok(!after.includes("fault.cleared"), "nothing but its own act clears it");
      await stage.supervisor.recover(taskId, { fresh: false, fault });
      const types = (await stage.events(taskId)).map((event) => event.type);
      assert.equal(types.filter((type) => type === "fault.cleared").length, 1);
      await stage.supervisor.kill(taskId);
    });

  test("are all that there are", () => {
    const seen = new Set([...TRIGGERS.map(({ fault }) => fault), "watchdog-contradiction"]);
    assert.deepEqual([...seen].sort(), Object.keys(FAULTS).sort());
  });
});

describe("a step that breaks an invariant", () => {
  test("sends, spawns and allows nothing; denials and stops go through", () => {
    const reply = { kind: "reply", callId: "c", toolUseId: "t", requestId: null } as const;
    const left = harmless([
      { kind: "send", source: "recover", promptId: null, text: "go on", redacted: false },
      { kind: "spawn", resume: true, sessionId: "s" },
      { ...reply, reply: { decision: "allow" } },
      { ...reply, reply: { decision: "deny", reason: "no" } },
      { kind: "sweep" },
    ]);
    assert.deepEqual(
      left.map((effect) => (effect.kind === "reply" ? `${effect.kind} ${effect.reply.decision}` : effect.kind)),
      ["reply deny", "reply deny", "sweep"],
    );
  });

  const kinds: [string[], string][] = [
    [["9: the goal a second time"], "duplicate-send"],
    [["9: two messages at once", "2: a message after a stop, a pause or an end"], "inconsistent-state"],
    [["4: a deny was answered with allow"], "inconsistent-state"],
  ];
  for (const [broken, fault] of kinds)
    test(`${broken.join(" and ")} is the fault ${fault}`, () => {
      const draft: EventDraft = faultOf(broken, { seq: 7, type: "turn.result" });
      assert.ok(draft.type === "gate.incident");
      assert.equal(draft.data.fault, fault);
      assert.match(draft.data.detail, /Event 7 \(turn\.result\)/);
    });
});

test("a redactor that throws says so once, without the text, and lets nothing through", () => {
  const told: string[] = [];
  const bad = (): never => {
    throw new TypeError("secret inside");
  };
  const redactor = guardedRedactor(
    { text: bad, data: bad, hasSecret: bad, stream: () => ({ push: bad, end: bad }) },
    (detail) => told.push(detail),
  );
  const stream = redactor.stream();
  assert.deepEqual([redactor.text("a"), stream.push("b"), stream.end()], [LEFT_OUT, LEFT_OUT, LEFT_OUT]);
  assert.equal(redactor.hasSecret("a"), true);
  assert.equal(told.length, 1);
  assert.ok(!told[0]?.includes("secret inside"));
});
