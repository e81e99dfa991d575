/** Durability, processes and races of the fault table. */
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { existsSync, fstatSync, mkdirSync, readFileSync, unlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import fc from "fast-check";
import { StopChecker } from "../../src/control/check.ts";
import type { OpenControlOptions } from "../../src/control/control-port.ts";
import { openControl } from "../../src/control/controller.ts";
import { changeRecord, readFloorFile, readLatchFile, readRecordFile, underLock } from "../../src/control/files.ts";
import { mutexPath, openControlFolder, sparePath, stopAllPath } from "../../src/control/folder.ts";
import type { SavedResource } from "../../src/control/record.ts";
import { requestStop, settleOrphans } from "../../src/control/request.ts";
import { resume } from "../../src/control/resume.ts";
import { ALL, setLatch } from "../../src/control/set-latch.ts";
import { stillThere, sweepResource } from "../../src/control/sweep.ts";
import { type Clock, systemClock } from "../../src/platform/clock.ts";
import { type DurableFs, nodeDurableFs } from "../../src/platform/durable-write.ts";
import { identify, isAlive, signal } from "../../src/platform/process/index.ts";
import { gate, until } from "../support/until.ts";
import { ACTOR, dummyWorker, fakeController, type Lab, lab, latchRequest } from "./support.ts";

const redact = (text: string): string => text;

function failingFs(code: string): DurableFs {
  return {
    ...nodeDurableFs,
    writeSync: () => {
      throw Object.assign(new Error(code), { code });
    },
  };
}

/** Until neither a byte nor a name is left. */
function fill(disk: string): void {
  for (let count = 0; count < 60; count += 1) {
    try {
      writeFileSync(join(disk, `filler-${count}`), Buffer.alloc(16 * 1024));
    } catch (error) {
      if (!(error instanceof Error && "code" in error && error.code === "ENOSPC")) throw error;
    }
  }
}

async function enrolled(where: Lab, identity: string, more: Partial<OpenControlOptions> = {}) {
  const opened = await openControl({ env: where.env, redact, pollMs: 30, ...more });
  assert.ok(opened.ok, JSON.stringify(opened));
  where.after(() => opened.control.close());
  const taken = await opened.control.enroll({ identity, taskId: identity, cwd: "/usr" });
  assert.ok(taken.ok, JSON.stringify(taken));
  return { control: opened.control, task: taken.task };
}

function recordOf(where: Lab, identity: string) {
  const reading = readRecordFile(where.folder, identity);
  if (reading.state !== "read") throw new Error(`${identity}: ${reading.state}`);
  return reading.value;
}

describe("a disk that refuses the latch", () => {
  for (const code of ["ENOSPC", "EDQUOT", "EROFS", "EIO"]) {
    test(`35: (${code}) leaves an empty file as the latch, and every process is ended all the same`, async (t) => {
      const where = lab(t);
      const controller = await fakeController(where, { identities: ["one"] });
      const outcome = await requestStop(where.folder, latchRequest("stop", ALL), { redact, fs: failingFs(code) });
      assert.ok(outcome.ok);
      const { report } = outcome;
      assert.equal(report.durable, "marker", JSON.stringify(report));
      assert.ok(existsSync(stopAllPath(where.folder)));
      assert.deepEqual(controller.resources.flatMap(stillThere), []);
      assert.equal(new StopChecker(where.folder).check().clear, false);
    });
  }

  const canMount = process.getuid?.() === 0 && spawnSync("mount", ["--version"]).status === 0;
  for (const { name, spare, durable, exitCode } of [
    { name: "the spare file becomes the latch", spare: true, durable: "marker", exitCode: 0 },
    { name: "without the spare file memory holds, and the exit code is 1", spare: false, durable: "no", exitCode: 1 },
  ]) {
    test(`35: really full (tiny tmpfs): ${name}`, { skip: canMount ? false : "needs root" }, async (t) => {
      const where = lab(t);
      const disk = join(where.root, "disk");
      mkdirSync(disk, { mode: 0o700 });
      if (spawnSync("mount", ["-t", "tmpfs", "-o", "size=64k,nr_inodes=14,mode=700", "none", disk]).status !== 0) {
        t.skip("no tmpfs can be mounted here");
        return;
      }
      where.after(() => spawnSync("umount", ["-l", disk]));
      const env = { ...where.env, PI_CLAUDE_SUPERVISOR_STATE_DIR: join(disk, "state") };
      const controller = await fakeController({ ...where, env }, { identities: ["one"] });
      const opened = openControlFolder({ env });
      assert.ok(opened.ok);
      const { folder } = opened;
      assert.ok(existsSync(sparePath(folder)));
      writeFileSync(mutexPath(folder), "", { flag: "a", mode: 0o600 });
      if (!spare) unlinkSync(sparePath(folder));
      fill(disk);
      const outcome = await requestStop(folder, latchRequest("stop", ALL), { redact, ackMs: 2000, waitMs: 4000 });
      assert.ok(outcome.ok);
      const { report } = outcome;
      assert.equal(report.durable, durable, JSON.stringify(report));
      assert.equal(report.exitCode, exitCode, JSON.stringify(report));
      assert.equal(report.records[0]?.owner, "answered");
      assert.deepEqual(controller.resources.flatMap(stillThere), []);
      assert.equal(existsSync(sparePath(folder)), false);
      assert.equal(existsSync(stopAllPath(folder)), spare);
    });
  }

  test("35: that brings the request by the socket alone: memory holds it, and it is written once that is possible", async (t) => {
    const where = lab(t);
    const { control, task } = await enrolled(where, "one");
    const worker = await dummyWorker(where);
    assert.ok((await task.register(worker.resource)).ok);
    control.onStop(async (order) => {
      await task.acknowledge(order.epoch);
      await sweepResource(worker.resource, { kind: "now", graceMs: 0 });
      await task.report(order.epoch, {});
    });
    // As when neither latch nor empty file could be made: only the socket brings the request.
    const { sendNudge } = await import("../../src/control/nudge.ts");
    const sent = await sendNudge(
      control.socket,
      {
        schema: 1,
        requestId: "request-full",
        scope: ALL,
        verb: "stop",
        epoch: 5,
        how: "now",
        cause: "operator",
        reason: "full",
        requestedAt: new Date().toISOString(),
        actor: ACTOR,
      },
      { deadlineMs: 4000, ownership: where.folder.ownership },
    );
    assert.ok(sent.ok && sent.reply.acknowledged?.includes("one"), JSON.stringify(sent));
    await until(() => !worker.isAlive(), 3000, "the worker is gone");
    await until(
      () => {
        const latch = readLatchFile(where.folder);
        return latch.state === "read" && latch.value.state === "stopped";
      },
      5000,
      "the latch is written",
    );
    assert.equal(control.check().clear, false);
  });

  test("a process that hangs in the folder's lock does not hold up a stop", async (t) => {
    const where = lab(t);
    const controller = await fakeController(where, { identities: ["one"] });
    const holder = spawn("flock", ["-x", mutexPath(where.folder), "sleep", "60"], { stdio: "ignore", detached: true });
    where.after(() => {
      if (holder.pid !== undefined) process.kill(-holder.pid, "SIGKILL");
    });
    await until(async () => !(await underLock(where.folder, { lockWaitMs: 0 }, () => 0)).ok, 3000, "the lock is held");
    const began = performance.now();
    const outcome = await requestStop(where.folder, latchRequest("stop", ALL), {
      redact,
      lockWaitMs: 200,
      ackMs: 500,
      waitMs: 1500,
    });
    assert.ok(outcome.ok);
    assert.equal(outcome.report.durable, "marker");
    assert.deepEqual(controller.resources.flatMap(stillThere), []);
    assert.ok(performance.now() - began < 8000);
    const pause = await setLatch(where.folder, latchRequest("pause", ALL), { lockWaitMs: 50 });
    assert.ok(!pause.ok && pause.reason === "lock-held");
  });
});

describe("a file system that can't sync folders", () => {
  test("37: makes the latch a weak one, which is said, and no failure", async (t) => {
    const where = lab(t);
    const fs: DurableFs = {
      ...nodeDurableFs,
      fsyncSync: (fd) => {
        if (fstatSync(fd).isDirectory()) throw Object.assign(new Error("EINVAL"), { code: "EINVAL" });
      },
    };
    const outcome = await requestStop(where.folder, latchRequest("stop", ALL), { redact, fs });
    assert.ok(outcome.ok && outcome.report.exitCode === 0);
    assert.equal(outcome.report.durable, "weak");
  });
});

describe("49: a stop at the same moment", () => {
  test("as a completion wins: the record never says completed", async (t) => {
    const where = lab(t);
    const { control, task } = await enrolled(where, "one");
    control.onStop(async (order) => {
      await task.acknowledge(order.epoch);
      await task.report(order.epoch, {});
    });
    assert.ok((await setLatch(where.folder, latchRequest("stop", ALL))).ok);
    await task.end("completed");
    const record = recordOf(where, "one");
    assert.equal(record.cause, "operator");
    assert.notEqual(record.state, "running");
    assert.equal(new StopChecker(where.folder).check("one").clear, false);
  });

  test("as completions of several tasks leaves each either completed before it, or stopped by it", async (t) => {
    const where = lab(t);
    const opened = await openControl({ env: where.env, redact, pollMs: 30 });
    assert.ok(opened.ok);
    const { control } = opened;
    where.after(() => control.close());
    const names = ["a", "b", "c", "d"];
    const tasks = [];
    for (const identity of names) {
      const taken = await control.enroll({ identity, taskId: identity, cwd: "/usr" });
      assert.ok(taken.ok);
      tasks.push(taken.task);
    }
    control.onStop((order) => void control.task(order.identity)?.acknowledge(order.epoch));
    const [outcome] = await Promise.all([
      requestStop(where.folder, latchRequest("stop", ALL), { redact, waitMs: 500 }),
      ...tasks.map((task) => task.end("completed")),
    ]);
    assert.ok(outcome.ok);
    for (const identity of names) {
      const record = recordOf(where, identity);
      assert.equal(record.state, "stopped");
      assert.equal(record.epoch === 0, record.cause === "completed", JSON.stringify(record));
    }
  });
});

describe("38: the evidence recorder", () => {
  const recorders: { name: string; evidence: OpenControlOptions["evidence"]; status: string }[] = [
    { name: "that never answers", evidence: () => new Promise(() => undefined), status: "pending" },
    { name: "that rejects", evidence: () => Promise.reject(new Error("disk full")), status: "pending" },
    {
      name: "that throws",
      evidence: () => {
        throw new Error("broken");
      },
      status: "pending",
    },
    { name: "that works", evidence: () => Promise.resolve(), status: "recorded" },
  ];
  for (const { name, evidence, status } of recorders) {
    test(`${name} delays nothing, and the record says so`, async (t) => {
      const where = lab(t);
      const { control, task } = await enrolled(where, "one", evidence ? { evidence } : {});
      const worker = await dummyWorker(where);
      assert.ok((await task.register(worker.resource)).ok);
      control.onStop(async (order) => {
        await task.acknowledge(order.epoch);
        await task.report(order.epoch, {});
      });
      const outcome = await requestStop(where.folder, latchRequest("stop", ALL), { redact });
      assert.ok(outcome.ok && outcome.report.exitCode === 0, JSON.stringify(outcome));
      assert.ok(outcome.report.durationMs < 3000, `${outcome.report.durationMs} ms`);
      await until(() => recordOf(where, "one").evidenceStatus === status, 3000, `evidence ${status}`);
    });
  }

  test("ends as failed after its tries, and a late answer of an older epoch is dropped", async (t) => {
    const where = lab(t);
    const late = gate();
    let calls = 0;
    const hasty: Clock = {
      ...systemClock,
      setTimer: (ms, fn, more) => systemClock.setTimer(more?.background ? ms / 20 : ms, fn, more),
    };
    const { control, task } = await enrolled(where, "one", {
      clock: hasty,
      evidence: async () => {
        calls += 1;
        if (calls === 1) return late.opened;
        throw new Error("no");
      },
    });
    control.onStop(async (order) => void (await task.acknowledge(order.epoch)));
    assert.ok((await requestStop(where.folder, latchRequest("stop", ALL), { redact, waitMs: 50 })).ok);
    const second = await requestStop(where.folder, latchRequest("stop", ALL), { redact, waitMs: 50 });
    assert.ok(second.ok);
    late.open();
    await until(() => recordOf(where, "one").evidenceStatus === "failed", 8000, "it failed");
    assert.equal(recordOf(where, "one").evidenceDetail, "no");
  });
});

describe("saved resources", () => {
  const me = identify(process.pid);
  assert.ok(me);
  for (const pid of [0, 1, -1, process.pid, process.ppid, 2 ** 33]) {
    test(`45: with pid ${pid === process.pid ? "of ourselves" : pid === process.ppid ? "of our parent" : pid} are never signalled, and named`, async (t) => {
      const where = lab(t);
      const { task } = await enrolled(where, "one");
      const real = identify(pid) ?? { pid, startTicks: "1", bootId: me.bootId };
      const marker = `PI_CLAUDE_SUPERVISOR_TREE=${"0123456789abcdef".repeat(2)}`;
      const resource: SavedResource = {
        id: "x",
        kind: "tree",
        tree: { kind: "census", marker, leader: real },
        what: "forged",
      };
      assert.ok((await task.register(resource)).ok);
      const outcome = await requestStop(where.folder, latchRequest("stop", "one"), { redact, ackMs: 50, waitMs: 50 });
      assert.ok(outcome.ok);
      assert.equal(outcome.report.exitCode, 1, JSON.stringify(outcome.report));
      assert.equal(outcome.report.records[0]?.state, "failed-to-stop");
      assert.equal(outcome.report.records[0]?.remaining[0]?.kind, "untrusted");
    });
  }

  test("40, 42: that ignore TERM and left their group are killed and proven gone", async (t) => {
    const where = lab(t);
    const worker = await dummyWorker(where);
    assert.ok(stillThere(worker.resource).length >= 2);
    const swept = await sweepResource(worker.resource, { kind: "graceful", graceMs: 100 });
    assert.ok(swept.proven);
    assert.deepEqual(stillThere(worker.resource), []);
  });

  test("42: outside of a containment (a takeover) are ended with their children", async (t) => {
    const where = lab(t);
    const child = spawn("/bin/sh", ["-c", `trap '' TERM; sleep 60 & echo $!; while :; do sleep 1; done`], {
      stdio: ["ignore", "pipe", "ignore"],
    });
    const inner = Number(
      await new Promise<string>((resolve) => child.stdout.once("data", (data) => resolve(String(data)))),
    );
    const leader = identify(child.pid ?? -1);
    const sleeper = identify(inner);
    assert.ok(leader && sleeper);
    where.after(() => {
      for (const one of [leader, sleeper]) signal(one, "SIGKILL");
    });
    const resource: SavedResource = { id: "takeover", kind: "process", process: leader, what: "claude" };
    const swept = await sweepResource(resource, { kind: "graceful", graceMs: 50 });
    assert.ok(swept.proven, JSON.stringify(swept));
    assert.ok(!isAlive(leader) && !isAlive(sleeper));
  });

  test("47: that only the supervisor knows of keep a stop unproven until their own authority says they are gone", async (t) => {
    const where = lab(t);
    const { control, task } = await enrolled(where, "one");
    control.onStop(async (order) => {
      await task.acknowledge(order.epoch);
      await task.report(order.epoch, {
        remaining: [{ kind: "sandbox", id: "s1", detail: "its host still lists it" }],
      });
    });
    const outcome = await requestStop(where.folder, latchRequest("stop", ALL), { redact });
    assert.ok(outcome.ok && outcome.report.exitCode === 1, JSON.stringify(outcome));
    assert.equal(recordOf(where, "one").state, "failed-to-stop");
    const refused = await resume(where.folder, {
      scope: ALL,
      epoch: outcome.report.epoch,
      reason: "x",
      actor: ACTOR,
      requestId: "r",
    });
    assert.ok(!refused.ok && refused.reason === "failed-to-stop");
    // The authority looked again, and the stop is finished.
    const again = await task.report(outcome.report.epoch, {});
    assert.ok(again.ok && again.state === "stopped");
    assert.ok(
      (
        await resume(where.folder, {
          scope: ALL,
          epoch: outcome.report.epoch,
          reason: "x",
          actor: ACTOR,
          requestId: "r",
        })
      ).ok,
    );
  });

  test("20: of a controller that died in its stop stay failed until they are ended and verified", async (t) => {
    const where = lab(t);
    const { task } = await enrolled(where, "one");
    const worker = await dummyWorker(where);
    assert.ok((await task.register(worker.resource)).ok);
    const marked = await changeRecord(where.folder, "one", {}, ({ controller, ...record }) => ({
      ...record,
      state: "failed-to-stop",
      desired: "stopped",
      cause: "operator",
      epoch: 1,
      remaining: [{ kind: "process", id: String(worker.resource.tree.leader.pid), identity: "sh" }],
    }));
    assert.ok(marked.ok);
    await settleOrphans(where.folder, { redact });
    assert.equal(worker.isAlive(), false);
    const record = recordOf(where, "one");
    assert.equal(record.state, "stopped");
    assert.ok(record.verifiedAt);
    assert.deepEqual(record.remaining, []);
  });
});

describe("50: requests at the same moment", () => {
  test("get one epoch each, in one order, and the stop stands at the end", async (t) => {
    const where = lab(t);
    const { control, task } = await enrolled(where, "one");
    const epochs: number[] = [];
    control.onStop(async (order) => {
      epochs.push(order.epoch);
      await task.acknowledge(order.epoch);
      await task.report(order.epoch, {});
    });
    const verbs = ["pause", "stop", "pause", "stop", "pause"] as const;
    const outcomes = await Promise.all(
      verbs.map((verb) => requestStop(where.folder, latchRequest(verb, ALL), { redact })),
    );
    const given = outcomes.flatMap((outcome) => (outcome.ok ? [outcome.report.epoch] : []));
    assert.equal(new Set(given).size, given.length, `${given}`);
    for (const outcome of outcomes) if (!outcome.ok) assert.equal(outcome.reason, "stop-in-force");
    const latch = readLatchFile(where.folder);
    assert.ok(latch.state === "read" && latch.value.state === "stopped");
    const floor = readFloorFile(where.folder);
    assert.ok(floor.state === "read" && floor.value.epoch === Math.max(...given));
    assert.deepEqual(
      epochs,
      [...epochs].sort((a, b) => a - b),
      "orders never go back",
    );
    assert.equal(recordOf(where, "one").state, "stopped");
  });

  test("never lower an epoch and never clear a stop by a stale resume, whatever their order", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.oneof(fc.constant("stop"), fc.constant("pause"), fc.nat({ max: 6 })), {
          minLength: 1,
          maxLength: 8,
        }),
        async (acts) => {
          const cleanUps: (() => unknown)[] = [];
          const where = lab({ after: (run: () => unknown) => void cleanUps.push(run) } as unknown as Parameters<
            typeof lab
          >[0]);
          try {
            let epoch = 0;
            let state = "clear" as "clear" | "paused" | "stopped";
            for (const act of acts) {
              if (typeof act === "number") {
                const lifted = await resume(where.folder, {
                  scope: ALL,
                  epoch: act,
                  reason: "x",
                  actor: ACTOR,
                  requestId: "r",
                });
                assert.equal(lifted.ok, act === epoch, JSON.stringify(lifted));
                if (lifted.ok) state = "clear";
              } else {
                const set = await setLatch(where.folder, latchRequest(act === "stop" ? "stop" : "pause", ALL));
                assert.equal(set.ok, !(act === "pause" && state === "stopped"));
                if (set.ok) {
                  assert.equal(set.latched.epoch, epoch + 1);
                  epoch += 1;
                  state = act === "stop" ? "stopped" : "paused";
                }
              }
              const check = new StopChecker(where.folder).check();
              assert.equal(check.clear, state === "clear");
              assert.equal(check.epoch, epoch);
            }
          } finally {
            for (const cleanUp of cleanUps) await cleanUp();
          }
        },
      ),
      { numRuns: 15 },
    );
  });
});

describe("after-call", () => {
  test("becomes now when its patience is over", async (t) => {
    const where = lab(t);
    const { control, task } = await enrolled(where, "one", { afterCallMs: 50 });
    const seen: string[] = [];
    control.onStop(async (order) => {
      seen.push(order.how);
      await task.acknowledge(order.epoch);
      if (order.how === "now") await task.report(order.epoch, {});
    });
    const outcome = await requestStop(where.folder, latchRequest("stop", ALL, { how: "after-call" }), { redact });
    assert.ok(outcome.ok && outcome.report.exitCode === 0, JSON.stringify(outcome));
    assert.deepEqual(seen, ["after-call", "now"]);
  });
});

test("62: a marker in the workspace has no effect on the latch", async (t) => {
  const where = lab(t);
  const { control } = await enrolled(where, "one");
  const workspace = join(where.root, "workspace");
  mkdirSync(workspace);
  for (const name of ["PAUSE", ".pause", "STOP", "STOP-ALL", "RESUME"]) writeFileSync(join(workspace, name), "");
  assert.equal(control.check("one").clear, true);
  assert.ok((await setLatch(where.folder, latchRequest("pause", ALL))).ok);
  assert.equal(control.check("one").clear, false);
  assert.match(readFileSync(join(where.folder.path, "latch.json"), "utf8"), /"paused"/);
});
