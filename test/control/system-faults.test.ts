/** What the system itself may do to a stop: reads that fail, processes that no kill moves, a machine that slept. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { StopChecker } from "../../src/control/check.ts";
import { openControl } from "../../src/control/controller.ts";
import { readLatchFile, readRecordFile } from "../../src/control/files.ts";
import { floorPath, latchPath, recordPath, stopAllPath } from "../../src/control/folder.ts";
import type { SavedResource } from "../../src/control/record.ts";
import { requestStop } from "../../src/control/request.ts";
import { resume } from "../../src/control/resume.ts";
import { ALL, setLatch } from "../../src/control/set-latch.ts";
import { homeStopOf } from "../../src/control/shared-names.ts";
import { SharedStop } from "../../src/control/shared-stop.ts";
import { readStatus } from "../../src/control/status.ts";
import { stillThere, sweepResource } from "../../src/control/sweep.ts";
import { systemOwnership } from "../../src/platform/account.ts";
import { manualClock } from "../../src/platform/clock.ts";
import { identify, isAlive, newMark, signal } from "../../src/platform/process/index.ts";
import { until } from "../support/until.ts";
import { failingCall, unkillable } from "./failing-calls.ts";
import { ACTOR, dummyWorker, fakeController, type Lab, lab, latchRequest } from "./support.ts";

const redact = (text: string): string => text;
/** What can't be proven gone is not waited for any longer here. */
const HASTY = { redact, proofMs: 300 };

function recordOf(where: Lab, identity: string) {
  const reading = readRecordFile(where.folder, identity);
  if (reading.state !== "read") throw new Error(`${identity}: ${reading.state}`);
  return reading.value;
}

/** One task under a port of this process. */
async function enrolled(where: Lab, identity: string) {
  const opened = await openControl({ env: where.env, redact, pollMs: 30 });
  assert.ok(opened.ok, JSON.stringify(opened));
  where.after(() => opened.control.close());
  const taken = await opened.control.enroll({ identity, taskId: identity, cwd: "/usr" });
  assert.ok(taken.ok, JSON.stringify(taken));
  return { control: opened.control, task: taken.task };
}

describe("a file of the stop that can't be read", () => {
  const files: { name: string; path(where: Lab): string; call: "openSync" | "lstatSync" }[] = [
    { name: "the latch", path: ({ folder }) => latchPath(folder), call: "openSync" },
    { name: "the latch's name", path: ({ folder }) => latchPath(folder), call: "lstatSync" },
    { name: "the floor", path: ({ folder }) => floorPath(folder), call: "openSync" },
    { name: "the record", path: ({ folder }) => recordPath(folder, "one"), call: "openSync" },
    { name: "STOP-ALL", path: ({ folder }) => stopAllPath(folder), call: "lstatSync" },
    { name: "the stop in the home", path: ({ root }) => homeStopOf(root), call: "lstatSync" },
  ];
  for (const code of ["EACCES", "EIO", "ESTALE", "EMFILE"]) {
    test(`11: (${code}) holds and is named, and is looked at again by the next check`, async (t) => {
      const where = lab(t);
      const { task } = await enrolled(where, "one");
      await task.close();
      assert.ok((await requestStop(where.folder, latchRequest("stop", ALL), { redact })).ok);
      const lifted = await resume(where.folder, {
        scope: ALL,
        epoch: 1,
        reason: "x",
        actor: ACTOR,
        requestId: "r",
      });
      assert.ok(lifted.ok, JSON.stringify(lifted));
      const account = { uid: systemOwnership.uid, gid: 0, name: "me", home: where.root };
      const shared = new SharedStop({ account: () => ({ ok: true, account }), platformFolder: where.root });
      for (const { name, path, call } of files) {
        const checker = new StopChecker(where.folder, shared.check);
        const undo = failingCall(where, call, (one) => one === path(where), code);
        const check = checker.check("one");
        undo();
        assert.ok(!check.clear && check.reason === "unclear", `${name}: ${JSON.stringify(check)}`);
        assert.ok(check.message.includes(path(where)), check.message);
        assert.equal(checker.check("one").clear, true, `${name} is read again`);
      }
    });
  }

  test("11: (EMFILE, really) nothing goes on, the socket serves nobody, and the stop is made from outside", async (t) => {
    const where = lab(t);
    const controller = await fakeController(where, { identities: ["one"], manner: "exhausted", descriptors: 96 });
    const report = await requestStop(where.folder, latchRequest("stop", ALL), { redact, ackMs: 500, waitMs: 1000 });
    assert.ok(report.ok && report.report.exitCode === 4, JSON.stringify(report));
    assert.deepEqual(controller.resources.flatMap(stillThere), []);
    assert.equal(controller.said("order"), undefined, "it could read nothing");
    controller.child.stdin?.write("free\n");
    await until(() => controller.said("order"), 30_000, "it reads the latch once it can");
    assert.equal(recordOf(where, "one").state, "stopped");
  });
});

describe("a process", () => {
  test("41: that is a zombie whose parent never reaps it is gone", async (t) => {
    const where = lab(t);
    const parent = spawn("/bin/sh", ["-c", "sleep 600 & echo $!; exec sleep 600"], {
      stdio: ["ignore", "pipe", "ignore"],
    });
    const pid = Number(await new Promise((resolve) => parent.stdout.once("data", resolve)));
    const [keeper, child] = [identify(parent.pid ?? -1), identify(pid)];
    assert.ok(keeper && child);
    where.after(() => signal(keeper, "SIGKILL"));
    const resource: SavedResource = { id: "z", kind: "process", process: child, what: "sleep" };
    const swept = await sweepResource(resource, { kind: "now", graceMs: 0 });
    assert.ok(swept.proven, JSON.stringify(swept));
    assert.equal(process.kill(pid, 0), true, "the system still has its number");
    assert.match(readFileSync(`/proc/${pid}/stat`, "utf8"), /\) Z /);
    assert.deepEqual(stillThere(resource), []);
  });

  for (const { name, how } of [
    { name: "41: that no kill moves (state D)", how: "ignored" },
    { name: "46: that may not be killed (EPERM)", how: "denied" },
  ] as const) {
    test(`${name} is listed, keeps the stop failed and a resume back, and the stop is finished once it goes`, async (t) => {
      const where = lab(t);
      const { task } = await enrolled(where, "one");
      const worker = await dummyWorker(where);
      assert.ok((await task.register(worker.resource)).ok);
      await task.close();
      const pids = new Set(stillThere(worker.resource).map((entry) => Number(entry.id)));
      const undo = unkillable(where, pids, how);
      const failed = await requestStop(where.folder, latchRequest("stop", ALL), HASTY);
      assert.ok(failed.ok && failed.report.exitCode === 1, JSON.stringify(failed));
      const [report] = failed.report.records;
      assert.equal(report?.state, "failed-to-stop");
      assert.deepEqual(new Set(report?.remaining.map((entry) => Number(entry.id))), pids);
      assert.ok(report?.remaining.every((entry) => entry.kind === "process" && entry.identity !== ""));
      const { epoch } = failed.report;
      const request = { scope: ALL, epoch, reason: "x", actor: ACTOR, requestId: "r" };
      const early = await resume(where.folder, request);
      assert.ok(!early.ok && early.reason === "failed-to-stop", JSON.stringify(early));
      undo();
      const again = await requestStop(where.folder, latchRequest("stop", ALL), { redact });
      assert.ok(again.ok && again.report.exitCode === 0, JSON.stringify(again));
      assert.equal(worker.isAlive(), false);
    });
  }

  test("43: that forks while it is killed is swept until two looks find nothing", async (t) => {
    const where = lab(t);
    const mark = newMark(undefined);
    const script = `n=0; echo up; while [ $n -lt 300 ]; do n=$((n+1)); (trap '' TERM; setsid sh -c 'sleep 600 & sleep 600') & done; wait`;
    const child = spawn("/bin/sh", ["-c", script], {
      detached: true,
      env: { PATH: process.env.PATH ?? "", [mark.name]: mark.value },
      stdio: ["ignore", "pipe", "ignore"],
    });
    const leader = identify(child.pid ?? -1);
    assert.ok(leader);
    const tree = { kind: "census" as const, marker: mark.marker, leader };
    const resource: SavedResource = { id: "bomb", kind: "tree", tree, what: "sh" };
    where.after(() => sweepResource(resource, { kind: "now", graceMs: 0, proofMs: 30_000 }));
    await new Promise((resolve) => child.stdout.once("data", resolve));
    await until(() => stillThere(resource).length > 20, 30_000, "it forks");
    const swept = await sweepResource(resource, { kind: "now", graceMs: 0, proofMs: 30_000 });
    assert.ok(swept.proven, JSON.stringify(swept).slice(0, 400));
    assert.deepEqual(stillThere(resource), []);
  });
});

test("47: a process table that can't be read is no proof: the stop fails, and is finished when it can", async (t) => {
  const where = lab(t);
  const { task } = await enrolled(where, "one");
  const worker = await dummyWorker(where);
  assert.ok((await task.register(worker.resource)).ok);
  await task.close();
  for (const code of ["EIO", "EMFILE"]) {
    const undo = failingCall(where, "readdirSync", (path) => path === "/proc", code);
    const failed = await requestStop(where.folder, latchRequest("stop", ALL), HASTY);
    undo();
    assert.ok(failed.ok && failed.report.exitCode === 1, JSON.stringify(failed));
    assert.deepEqual(
      failed.report.records.map(({ state, remaining }) => [state, remaining.map((entry) => entry.kind)]),
      [["failed-to-stop", ["unknown"]]],
    );
  }
  const done = await requestStop(where.folder, latchRequest("stop", ALL), { redact });
  assert.ok(done.ok && done.report.exitCode === 0, JSON.stringify(done));
  assert.equal(worker.isAlive(), false);
});

describe("54: a machine that slept", () => {
  test("through a stop wakes up under it: nothing goes on, and nothing is lifted", async (t) => {
    const where = lab(t);
    const controller = await fakeController(where, { identities: ["one"] });
    const self = identify(controller.pid);
    assert.ok(self);
    signal(self, "SIGSTOP");
    where.after(() => signal(self, "SIGCONT"));
    const stopped = await requestStop(where.folder, latchRequest("stop", ALL), { redact, ackMs: 100, waitMs: 200 });
    assert.ok(stopped.ok && stopped.report.exitCode === 4, JSON.stringify(stopped));
    signal(self, "SIGCONT");
    await until(() => controller.said("reported"), 30_000, "it obeys when it wakes up");
    const { state, epoch } = recordOf(where, "one");
    assert.deepEqual([state, epoch], ["stopped", stopped.report.epoch]);
    assert.deepEqual(controller.resources.flatMap(stillThere), []);
    assert.equal(new StopChecker(where.folder).check("one").clear, false);
    assert.ok(isAlive(self));
  });

  for (const { name, to } of [
    { name: "by a year back", to: "2025-01-02T03:04:05.000Z" },
    { name: "by ten years", to: "2036-01-02T03:04:05.000Z" },
  ]) {
    test(`or whose wall clock jumped ${name} keeps stop and epoch, and after-call waits by the other clock`, async (t) => {
      const where = lab(t);
      const clock = manualClock();
      const opened = await openControl({ env: where.env, redact, clock, afterCallMs: 60_000 });
      assert.ok(opened.ok);
      const { control } = opened;
      where.after(() => control.close());
      const taken = await control.enroll({ identity: "one", taskId: "one", cwd: "/usr" });
      assert.ok(taken.ok, JSON.stringify(taken));
      const orders: string[] = [];
      control.onStop((order) => void orders.push(`${order.verb} ${order.how} ${order.epoch}`));
      assert.ok((await setLatch(where.folder, latchRequest("stop", ALL, { how: "after-call" }), { clock })).ok);
      await control.refresh();
      clock.setWall(new Date(to));
      await control.refresh();
      assert.deepEqual(orders, ["stop after-call 1"], "no patience runs by the wall clock");
      const check = control.check("one");
      assert.ok(!check.clear && check.epoch === 1);
      clock.advance(60_001);
      assert.deepEqual(orders, ["stop after-call 1", "stop now 1"]);
      const status = readStatus(where.folder, ALL, clock.now());
      assert.ok(status.ok && status.status.inForce && status.status.epoch === 1);
      const latch = readLatchFile(where.folder);
      assert.ok(latch.state === "read" && latch.value.state === "stopped");
    });
  }
});

test("17: a spare file, and one of an older version, mean nothing by themselves", (t) => {
  const where = lab(t);
  writeFileSync(join(where.folder.path, "latch.json.damaged-20260102T030405Z-1"), "x", { mode: 0o600 });
  writeFileSync(join(where.folder.path, ".stop-spare"), "", { mode: 0o600 });
  assert.equal(new StopChecker(where.folder).check().clear, true);
  assert.equal(existsSync(stopAllPath(where.folder)), false);
});
