/** The emergency stop and a supervisor with the scripted `claude`: what is fenced, ended, kept and refused. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { type ControlFolder, openControlFolder } from "../../src/control/folder.ts";
import type { Actor, ControlRecord } from "../../src/control/record.ts";
import { requestStop, type StopReport } from "../../src/control/request.ts";
import { resume } from "../../src/control/resume.ts";
import { ALL } from "../../src/control/set-latch.ts";
import {
  homeStopOf,
  PLATFORM_SHARED,
  settingPathOf,
  stopFileOf,
  stopFolderOf,
} from "../../src/control/shared-names.ts";
import { systemOwnership } from "../../src/platform/account.ts";
import { type FaultyFs, faultyFs } from "../store/faulty-fs.ts";
import { assertNoneLeft, isAlive } from "../support/processes.ts";
import { gate, until } from "../support/until.ts";
import { OPENING, openStage, type Stage } from "./stage.ts";
import { race } from "./stop-races.ts";

const ACTOR: Actor = { uid: process.getuid?.() ?? 0, kind: "person", tty: true, host: "test" };
/** A write that the gate leaves to a person: the worker waits in the middle of its turn. */
const ASKS = { hook: { tool: "Bash", input: { command: "node gen.mjs" } } };
let requests = 0;

function folderOf(stage: Stage): ControlFolder {
  const opened = openControlFolder({ env: { PI_CLAUDE_SUPERVISOR_STATE_DIR: stage.lab.stateDir } });
  if (!opened.ok) throw new Error(opened.message);
  return opened.folder;
}

async function bringDown(
  stage: Stage,
  more: { verb?: "stop" | "pause"; scope?: string; how?: "now" | "after-call" } = {},
): Promise<StopReport> {
  requests += 1;
  const request = { verb: "stop", scope: ALL, how: "now", cause: "operator", ...more } as const;
  const outcome = await requestStop(
    folderOf(stage),
    { ...request, reason: "a test", actor: ACTOR, requestId: `estop-test-${requests}` },
    { redact: (text) => text },
  );
  assert.ok(outcome.ok, JSON.stringify(outcome));
  return outcome.report;
}

async function lift(stage: Stage, epoch: number, scope: string = ALL): Promise<void> {
  const lifted = await resume(folderOf(stage), { scope, epoch, reason: "t", actor: ACTOR, requestId: `lift-${epoch}` });
  assert.ok(lifted.ok, JSON.stringify(lifted));
}

function recordOf(stage: Stage, identity: string): ControlRecord {
  return JSON.parse(readFileSync(join(folderOf(stage).path, `${identity}.json`), "utf8")) as ControlRecord;
}

async function typesOf(stage: Stage, taskId: string): Promise<string[]> {
  return (await stage.events(taskId)).map((event) => event.type);
}

describe("the emergency stop of a task at work", () => {
  test("ends it with proof, refuses every move until a person lifts it, and nothing begins by itself then", async (t) => {
    const stage = await openStage(t, { steps: [...OPENING, ASKS, { eof: true }] });
    const taskId = await stage.start();
    await stage.when(taskId, (view) => view.waitsFor === "approval", "the question");
    const [asked] = (await stage.supervisor.approvals()).requests;
    const report = await bringDown(stage);
    assert.deepEqual(
      [
        report.exitCode,
        report.durable,
        report.records.map(({ identity, state, remaining, owner }) => [identity, state, remaining, owner]),
      ],
      [0, "full", [[taskId, "stopped", [], "answered"]]],
    );
    await assertNoneLeft(stage.lab.mark, 1_000);
    await until(() => stage.supervisor.live().length === 0, 10_000, "the task to be let go of");
    assert.equal((await stage.view(taskId)).state, "stopped");
    const events = await stage.events(taskId);
    const types = events.map((event) => event.type);
    assert.deepEqual(events.find((event) => event.type === "estop.requested")?.data, {
      epoch: report.epoch,
      reason: "a test",
      verb: "stop",
      how: "now",
    });
    assert.ok(types.indexOf("estop.requested") < types.indexOf("stop.requested"), types.join(" "));
    for (const type of ["estop.acknowledged", "stop.proven", "estop.verified"]) assert.ok(types.includes(type), type);
    const record = recordOf(stage, taskId);
    assert.deepEqual([record.state, record.evidenceStatus, record.resources], ["stopped", "recorded", []]);
    for (const time of [record.requestedAt, record.acknowledgedAt, record.verifiedAt])
      assert.ok(time, JSON.stringify(record));
    const replayed = await stage.supervisor.replay(taskId);
    assert.ok(replayed.ok && replayed.matches, JSON.stringify(replayed));

    const other = await stage.lab.repo({ "b.txt": "x\n" });
    const moves = [
      await stage.supervisor.start({ goal: "x", from: other, mode: "manual", verify: ["true"] }),
      await stage.supervisor.recover(taskId, { fresh: false }),
      await stage.supervisor.send(taskId, "hello"),
      await stage.supervisor.approve(asked?.requestId ?? "", undefined, "command"),
      await stage.supervisor.verify(taskId),
      await stage.supervisor.takeover(taskId),
      await stage.supervisor.handback(taskId, undefined),
    ];
    assert.deepEqual(
      moves.map((move) => (move.ok ? "ok" : move.reason)),
      moves.map(() => "estop"),
    );
    const again = await bringDown(stage);
    assert.equal(again.exitCode, 0);
    await lift(stage, again.epoch);
    assert.equal((await stage.view(taskId)).state, "stopped");
    assert.equal(stage.supervisor.live().length, 0);
    const back = await stage.supervisor.recover(taskId, { fresh: false });
    assert.ok(back.ok, JSON.stringify(back));
    assert.equal(recordOf(stage, taskId).state, "running");
  });

  test("a pause keeps the session, and after the lift `resume` goes on with it", async (t) => {
    const stage = await openStage(t, { steps: [...OPENING, { eof: true }] });
    const taskId = await stage.start();
    await stage.when(taskId, (view) => view.state === "running", "a turn");
    await until(() => stage.fake.factsOf("stdin").length > 1, 30_000, "the goal to be read");
    const report = await bringDown(stage, { verb: "pause" });
    assert.deepEqual([report.exitCode, report.records[0]?.state], [0, "paused"], JSON.stringify(report));
    await assertNoneLeft(stage.lab.mark, 1_000);
    assert.equal((await stage.view(taskId)).state, "paused");
    const early = await stage.supervisor.recover(taskId, { fresh: false });
    assert.ok(!early.ok && early.reason === "estop", JSON.stringify(early));
    await lift(stage, report.epoch);
    const back = await stage.supervisor.recover(taskId, { fresh: false });
    assert.ok(back.ok, JSON.stringify(back));
    const second = await bringDown(stage);
    assert.deepEqual([second.exitCode, second.records[0]?.state], [0, "stopped"], JSON.stringify(second));
  });

  test("of one task leaves the others at work, and its own name lifts it", async (t) => {
    const stage = await openStage(t, { steps: [...OPENING, { eof: true }] });
    const first = await stage.start();
    const cwd = await stage.lab.repo({ "b.txt": "x\n" });
    const second = await stage.start({ from: cwd });
    for (const id of [first, second]) await stage.when(id, (view) => view.state === "running", "a turn");
    const report = await bringDown(stage, { scope: first });
    assert.deepEqual(
      report.records.map(({ identity, state }) => [identity, state]),
      [[first, "stopped"]],
    );
    assert.equal((await stage.view(second)).state, "running");
    const refused = await stage.supervisor.recover(first, { fresh: false });
    assert.ok(!refused.ok && refused.reason === "estop", JSON.stringify(refused));
    await lift(stage, report.epoch, first);
    assert.ok((await stage.supervisor.recover(first, { fresh: false })).ok);
    assert.ok(!(await typesOf(stage, second)).includes("estop.requested"));
  });

  test("by the file STOP-ALL alone ends it too", async (t) => {
    const stage = await openStage(t, { steps: [...OPENING, { eof: true }] });
    const taskId = await stage.start();
    await stage.when(taskId, (view) => view.state === "running", "a turn");
    writeFileSync(join(folderOf(stage).path, "STOP-ALL"), "");
    await until(async () => (await stage.view(taskId)).state === "stopped", 30_000, "the stop");
    await assertNoneLeft(stage.lab.mark, 1_000);
    const started = await stage.supervisor.start({ goal: "x", from: stage.cwd, mode: "manual", verify: ["true"] });
    assert.ok(!started.ok && started.reason === "estop", JSON.stringify(started));
  });

  test("after the call lets the running call end, denies the next one, and never completes", async (t) => {
    const stage = await openStage(t, { steps: [...OPENING, { eof: true }] });
    const taskId = await stage.start({ mode: "auto" });
    await stage.when(taskId, (view) => view.state === "running", "a turn");
    const report = await bringDown(stage, { how: "after-call" });
    assert.deepEqual([report.exitCode, report.records[0]?.state], [0, "stopped"], JSON.stringify(report));
    assert.ok(!(await typesOf(stage, taskId)).includes("task.completed"));
  });
});

/** As a person runs Claude by hand: it has a command under way, and does not listen to TERM. */
async function personsClaude(stage: Stage, args: readonly string[]): Promise<{ pid: number; inner: number }> {
  const script = `trap '' TERM; setsid sleep 600 & echo $!; wait`;
  const child = spawn("/bin/sh", ["-c", script, "claude", ...args], {
    env: stage.lab.env,
    detached: true,
    stdio: ["ignore", "pipe", "ignore"],
  });
  const inner = Number(await new Promise((resolve) => child.stdout.once("data", resolve)));
  return { pid: child.pid ?? -1, inner };
}

async function leave(claude: { pid: number; inner: number }): Promise<void> {
  const pids = [claude.pid, claude.inner];
  for (const pid of pids) process.kill(pid, "SIGKILL");
  await until(() => !pids.some((pid) => isAlive(pid)), 10_000, "the person has left");
}

describe("the emergency stop of a task that a person has taken over", () => {
  async function takenOver(t: Parameters<typeof openStage>[0]) {
    const stage = await openStage(t);
    const taskId = await stage.start();
    await stage.when(taskId, (view) => view.waitsFor === "result", "the result");
    const taken = await stage.supervisor.takeover(taskId);
    assert.ok(taken.ok, JSON.stringify(taken));
    const { claudeSessionId } = await stage.view(taskId);
    return { stage, taskId, sessionId: claudeSessionId ?? "", args: taken.launch.args };
  }

  test("ends the person's Claude too, with all that it runs, and nobody who only names the session", async (t) => {
    const { stage, taskId, sessionId, args } = await takenOver(t);
    const claude = await personsClaude(stage, args);
    const reader = await personsClaude(stage, [`${sessionId}.jsonl`]);
    const report = await bringDown(stage);
    assert.deepEqual([report.exitCode, report.records[0]?.state], [0, "stopped"], JSON.stringify(report));
    await assertNoneLeft(stage.lab.mark, 0, [reader.pid, reader.inner]);
    assert.ok(isAlive(reader.pid) && isAlive(reader.inner));
    assert.equal(isAlive(claude.pid), false);
    await until(() => stage.supervisor.live().length === 0, 10_000, "the task to be let go of");
    assert.equal((await stage.view(taskId)).state, "stopped");
    await lift(stage, report.epoch);
    assert.ok((await stage.supervisor.recover(taskId, { fresh: false })).ok);
    await leave(reader);
  });

  test("ends it from outside where its Pi has quit, and a pause ends it as well", async (t) => {
    for (const verb of ["stop", "pause"] as const) {
      const { stage, taskId, args } = await takenOver(t);
      await stage.supervisor.shutdown(2_000);
      const claude = await personsClaude(stage, args);
      const report = await bringDown(stage, { verb });
      assert.deepEqual([report.exitCode, report.records[0]?.owner], [0, "gone"], JSON.stringify(report));
      await assertNoneLeft(stage.lab.mark, 0);
      assert.equal(isAlive(claude.pid), false);
      await lift(stage, report.epoch);
      const other = await openStage(t, { lab: stage.lab, cwd: stage.cwd });
      assert.ok((await other.supervisor.handback(taskId, undefined)).ok, verb);
    }
  });

  test("a pause of it is over at once, and it is still the person's after the lift", async (t) => {
    const { stage, taskId } = await takenOver(t);
    const report = await bringDown(stage, { verb: "pause" });
    assert.deepEqual([report.exitCode, report.records[0]?.state], [0, "paused"], JSON.stringify(report));
    assert.ok(report.durationMs < 3_000, `${report.durationMs} ms`);
    await lift(stage, report.epoch);
    assert.equal((await stage.view(taskId)).state, "taken_over");
    assert.ok((await stage.supervisor.handback(taskId, undefined)).ok);
  });

  test("after the handback nothing but the worker is the stop's, and a Claude that is open is not joined by another", async (t) => {
    const { stage, taskId, args } = await takenOver(t);
    assert.equal(recordOf(stage, taskId).resources.length, 1);
    assert.ok((await stage.supervisor.handback(taskId, undefined)).ok);
    assert.deepEqual(
      recordOf(stage, taskId).resources.map(({ kind }) => kind),
      ["tree"],
    );
    await stage.when(taskId, (view) => view.waitsFor === "result", "the result");
    assert.ok((await stage.supervisor.stop(taskId, undefined)).ok);
    const claude = await personsClaude(stage, args);
    const refused = await stage.supervisor.recover(taskId, { fresh: false });
    assert.deepEqual([refused.ok, refused.ok ? "" : refused.reason], [false, "session-busy"], JSON.stringify(refused));
    await leave(claude);
  });
});

test("49: a stop against completion, message, approval, verification and takeover wins", async (t) => {
  const tally = await race(t, { rounds: 2, seed: 7 });
  assert.ok(tally.stopped > 3);
});

describe("39: an event log", () => {
  const faults: { name: string; fault: (hangs: Promise<void>) => Partial<FaultyFs>; evidence: string[] }[] = [
    { name: "that is full", fault: () => ({ space: 0 }), evidence: ["failed"] },
    { name: "whose disk fails", fault: () => ({ failSync: "EIO" }), evidence: ["pending", "failed"] },
    { name: "whose disk hangs", fault: (hold) => ({ hold }), evidence: ["pending", "failed"] },
  ];
  for (const { name, fault, evidence } of faults) {
    test(`${name} delays no stop, and the record does not say that there is evidence`, async (t) => {
      const logFs = faultyFs();
      const stage = await openStage(t, { seams: () => ({ logFs }), steps: [...OPENING, { eof: true }] });
      const taskId = await stage.start();
      await stage.when(taskId, (view) => view.state === "running", "a turn");
      const later = gate();
      Object.assign(logFs, fault(later.opened));
      const report = await bringDown(stage);
      assert.deepEqual(
        report.records.map(({ state, remaining }) => [state, remaining]),
        [["stopped", []]],
        JSON.stringify(report),
      );
      assert.equal(report.exitCode, 0, JSON.stringify(report));
      await assertNoneLeft(stage.lab.mark, 1_000);
      await until(
        () => evidence.includes(recordOf(stage, taskId).evidenceStatus),
        30_000,
        () => `the evidence; record: ${JSON.stringify(recordOf(stage, taskId))}`,
      );
      later.open();
    });
  }
});

test("a stop that came while nobody drove the task stands in its log once it is opened again", async (t) => {
  const stage = await openStage(t);
  const taskId = await stage.start();
  await stage.when(taskId, (view) => view.waitsFor === "result", "the result");
  await stage.supervisor.shutdown(2_000);
  const report = await bringDown(stage, { verb: "pause" });
  assert.deepEqual([report.exitCode, report.records[0]?.owner], [0, "gone"], JSON.stringify(report));
  await lift(stage, report.epoch);
  const other = await openStage(t, { lab: stage.lab, cwd: stage.cwd });
  assert.ok((await other.supervisor.recover(taskId, { fresh: false })).ok);
  const reached = (await other.events(taskId)).filter((event) => event.type === "estop.requested");
  assert.deepEqual(
    reached.map((event) => event.data),
    [{ epoch: report.epoch, reason: "a test", verb: "pause", late: true }],
  );
  assert.equal((await other.view(taskId)).state !== "stopped", true);
  await other.supervisor.shutdown(2_000);
  const third = await openStage(t, { lab: stage.lab, cwd: stage.cwd });
  assert.ok((await third.supervisor.recover(taskId, { fresh: false })).ok);
  assert.equal((await typesOf(third, taskId)).filter((type) => type === "estop.requested").length, 1, "once");
});

test("the worker may not touch what the stop of another account stands on, nor the setting of who may stop", async (t) => {
  const stage = await openStage(t);
  const { uid } = systemOwnership;
  const commands = [
    "pi-claude-supervisor-control shared-lift",
    `rm ${stopFileOf(PLATFORM_SHARED, uid)}`,
    `mv ${stopFolderOf(PLATFORM_SHARED, uid)} /tmp/x`,
    `echo '{}' > ${settingPathOf(stage.deps.home)}`,
    `rm -f ${homeStopOf(stage.deps.home)}`,
    `rm ${join(folderOf(stage).path, "STOP-ALL")}`,
  ];
  for (const command of commands) {
    const judged = await stage.supervisor.policyCheck(command, stage.cwd);
    assert.ok(judged.ok && judged.decision.verdict === "deny", `${command}: ${JSON.stringify(judged)}`);
  }
});

describe("where no stop could be received", () => {
  test("nothing starts, one sentence says why, and looking and stopping still work", async (t) => {
    const stage = await openStage(t);
    const control = join(stage.lab.stateDir, "control");
    mkdirSync(control, { mode: 0o755 });
    const started = await stage.supervisor.start({ goal: "x", from: stage.cwd, mode: "manual", verify: ["true"] });
    assert.ok(!started.ok, JSON.stringify(started));
    assert.match(started.message, /No emergency stop could be received here/);
    assert.ok((await stage.supervisor.sessions(true)).ok);
    rmSync(control, { recursive: true });
    const taskId = await stage.start();
    assert.ok((await stage.supervisor.stop(taskId, undefined)).ok);
    assert.equal(recordOf(stage, taskId).cause, "ended");
  });

  test("two variables that disagree, a folder in the workspace and a name that is none are refused", async (t) => {
    const cases: [Record<string, string>, string][] = [
      [{ PI_CLAUDE_SUPERVISOR_CONTROL_DIR: "/tmp/a", PI_CLAUDE_SUPERVISOR_CONTROL_STATE_DIR: "/tmp/b" }, "control-dir"],
      [{ PI_CLAUDE_SUPERVISOR_CONTROL_ID: "../x" }, "config-value"],
    ];
    for (const [env, reason] of cases) {
      const stage = await openStage(t, { env });
      const started = await stage.supervisor.start({ goal: "x", from: stage.cwd, mode: "manual", verify: ["true"] });
      assert.deepEqual([started.ok, started.ok ? "" : started.reason], [false, reason], JSON.stringify(started));
      assert.deepEqual((await stage.supervisor.sessions(true)).tasks, []);
    }
  });
});
