/** The fault switch in a whole supervisor: what turns it, its report, and how a person turns it back. */
import assert from "node:assert/strict";
import { readFile, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { describe, test } from "node:test";
import type { WorkerAdapter } from "../../src/core/contracts/worker.ts";
import type { EventDraft } from "../../src/core/events.ts";
import { manualClock } from "../../src/platform/clock.ts";
import { faultOf, harmless } from "../../src/supervisor/fault.ts";
import { guardedRedactor, LEFT_OUT } from "../../src/supervisor/guarded-redactor.ts";
import { until } from "../support/until.ts";
import { OPENING, openStage, type Stage, type Step } from "./stage.ts";

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

  test("of the verifier itself is told from a verification that fails", async (t) => {
    let started = false;
    const stage = await openStage(t, {
      steps: [...OPENING, { result: {} }],
      seams: (deps) => ({
        layout: {
          ...deps.layout,
          folder(name) {
            if (started && name === "scratch") throw new Error("a bug of ours");
            return deps.layout.folder(name);
          },
        },
      }),
    });
    const taskId = await stage.start({ mode: "auto" });
    started = true;
    const view = await faulted(stage, taskId, "verifier-unavailable");
    assert.equal(view.rounds.failed, 0);
    assert.match(view.why ?? "", /a bug of ours/);
  });

  test("of the redaction leaves the text out, once and for all", async (t) => {
    const stage = await openStage(t, {
      steps: [...OPENING, { say: "fine" }, { say: "UNREDACTABLE words" }, { sleep: 60_000 }],
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
    });
    const taskId = await stage.start({ mode: "auto" });
    const view = await faulted(stage, taskId, "secret-risk");
    const log = await readFile(view.logPath, "utf8");
    assert.ok(!log.includes("UNREDACTABLE"));
    assert.ok(log.includes(LEFT_OUT));
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
