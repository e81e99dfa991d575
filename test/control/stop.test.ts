/** Stops against real processes: a controller that obeys, one that hangs, one that is dead, and none at all. */
import assert from "node:assert/strict";
import { existsSync, readFileSync, unlinkSync, writeFileSync } from "node:fs";
import { describe, test } from "node:test";
import { StopChecker } from "../../src/control/check.ts";
import { openControl } from "../../src/control/controller.ts";
import { readRecordFile } from "../../src/control/files.ts";
import { recordPath, stopAllPath } from "../../src/control/folder.ts";
import { type RequestDeps, requestStop, type StopReport } from "../../src/control/request.ts";
import { resume } from "../../src/control/resume.ts";
import { ALL } from "../../src/control/set-latch.ts";
import { stillThere } from "../../src/control/sweep.ts";
import { identify, isAlive, signal } from "../../src/platform/process/index.ts";
import { until } from "../support/until.ts";
import { ACTOR, dummyWorker, fakeController, type Lab, lab, latchRequest } from "./support.ts";

const redact = (text: string): string => text;

async function stopAll(where: Lab, more: Partial<RequestDeps> = {}): Promise<StopReport> {
  const outcome = await requestStop(where.folder, latchRequest("stop", ALL), { redact, ...more });
  if (!outcome.ok) throw new Error(outcome.message);
  return outcome.report;
}

function recordOf(where: Lab, identity: string) {
  const reading = readRecordFile(where.folder, identity);
  if (reading.state !== "read") throw new Error(`${identity}: ${reading.state}`);
  return reading.value;
}

describe("a stop of everything", () => {
  test("ends every task through its own controller and proves it", async (t) => {
    const where = lab(t);
    const controller = await fakeController(where, { identities: ["one", "two"] });
    const report = await stopAll(where);
    assert.equal(report.exitCode, 0, JSON.stringify(report));
    assert.deepEqual(
      report.records.map(({ identity, state, owner, remaining }) => ({ identity, state, owner, remaining })),
      ["one", "two"].map((identity) => ({ identity, state: "stopped", owner: "answered", remaining: [] })),
    );
    assert.deepEqual(controller.resources.flatMap(stillThere), []);
    const record = recordOf(where, "one");
    const [asked, acknowledged, verified] = [record.requestedAt, record.acknowledgedAt, record.verifiedAt];
    assert.ok(asked && acknowledged && verified && asked <= acknowledged && acknowledged <= verified);
    assert.equal(new StopChecker(where.folder).check("one").clear, false);
    assert.ok(report.durationMs < 3000, `${report.durationMs} ms`);
    const again = await stopAll(where);
    assert.equal(again.exitCode, 0);
    assert.ok(again.epoch >= report.epoch);
  });

  test("55: a controller that was killed leaves nothing, and its task does not come back without a resume", async (t) => {
    const where = lab(t);
    const controller = await fakeController(where, { identities: ["one"] });
    const self = identify(controller.pid);
    assert.ok(self);
    signal(self, "SIGKILL");
    await until(() => !isAlive(self), 5000, "the controller is gone");
    assert.notDeepEqual(controller.resources.flatMap(stillThere), []);
    const report = await stopAll(where);
    assert.equal(report.exitCode, 0, JSON.stringify(report));
    assert.equal(report.records[0]?.owner, "gone");
    assert.deepEqual(controller.resources.flatMap(stillThere), []);
    const next = await fakeController(where, { identities: ["one"] });
    assert.equal(next.said("refused")?.["reason"], "estop");
  });

  for (const { name, manner, stopped, exitCode } of [
    { name: "33: a controller that is stopped by a signal", manner: "obedient", stopped: true, exitCode: 4 },
    { name: "33: a controller that never acknowledges", manner: "deaf", stopped: false, exitCode: 4 },
    { name: "one that acknowledges and then does nothing", manner: "stubborn", stopped: false, exitCode: 0 },
  ] as const) {
    test(`ends from outside what belongs to ${name}, and the exit code tells`, async (t) => {
      const where = lab(t);
      const controller = await fakeController(where, { identities: ["one"], manner });
      const self = identify(controller.pid);
      assert.ok(self);
      if (stopped) {
        signal(self, "SIGSTOP");
        where.after(() => signal(self, "SIGCONT"));
      }
      const report = await stopAll(where, { ackMs: 300, waitMs: 600 });
      assert.equal(report.exitCode, exitCode, JSON.stringify(report));
      assert.deepEqual(controller.resources.flatMap(stillThere), []);
      assert.equal(recordOf(where, "one").state, "stopped");
    });
  }

  test("29: works when the socket was deleted, and the controller makes it anew", async (t) => {
    const where = lab(t);
    const controller = await fakeController(where, { identities: ["one"] });
    const socket = String(controller.said("ready")?.["socket"]);
    unlinkSync(socket);
    const report = await stopAll(where);
    assert.equal(report.exitCode, 0, JSON.stringify(report));
    assert.equal(report.records[0]?.owner, "answered");
    await until(() => existsSync(socket), 3000, "the socket is there again");
  });

  test("is made by touching STOP-ALL where no command can run", async (t) => {
    const where = lab(t);
    const controller = await fakeController(where, { identities: ["one"] });
    writeFileSync(stopAllPath(where.folder), "");
    await until(() => controller.said("reported"), 5000, "the controller acted");
    assert.deepEqual(controller.resources.flatMap(stillThere), []);
    const record = recordOf(where, "one");
    assert.equal(record.state, "stopped");
    assert.equal(record.cause, "stop-all-file");
    assert.ok(record.epoch > 0);
  });

  test("needs nobody to be running", async (t) => {
    const where = lab(t);
    const report = await stopAll(where);
    assert.equal(report.exitCode, 0);
    assert.deepEqual(report.records, []);
  });
});

describe("one identity", () => {
  test("is stopped alone, and resumed alone", async (t) => {
    const where = lab(t);
    const controller = await fakeController(where, { identities: ["one", "two"] });
    const outcome = await requestStop(where.folder, latchRequest("stop", "one"), { redact });
    assert.ok(outcome.ok);
    assert.equal(outcome.report.exitCode, 0, JSON.stringify(outcome.report));
    const [one, two] = controller.resources;
    assert.ok(one && two);
    assert.deepEqual(stillThere(one), []);
    assert.notDeepEqual(stillThere(two), []);
    const checker = new StopChecker(where.folder);
    assert.equal(checker.check("one").clear, false);
    assert.equal(checker.check("two").clear, true);
    const { epoch } = outcome.report;
    const request = { scope: "one", epoch, reason: "go on", actor: ACTOR, requestId: "resume-one" };
    const wrong = await resume(where.folder, { ...request, epoch: epoch + 1 });
    assert.equal(!wrong.ok && wrong.reason, "epoch-mismatch");
    const resumed = await resume(where.folder, request);
    assert.ok(resumed.ok, JSON.stringify(resumed));
    const check = checker.check("one");
    assert.ok(check.clear);
    assert.equal(check.epoch, epoch);
    assert.equal(recordOf(where, "one").state, "resuming");
  });

  test("that nobody recorded is unknown, not stopped", async (t) => {
    const where = lab(t);
    const outcome = await requestStop(where.folder, latchRequest("stop", "nobody"), { redact });
    assert.equal(!outcome.ok && outcome.reason, "unknown-identity");
  });

  test("that completed is a success that touches nothing, and never refuses a start", async (t) => {
    const where = lab(t);
    const opened = await openControl({ env: where.env, redact });
    assert.ok(opened.ok);
    where.after(() => opened.control.close());
    const enrolled = await opened.control.enroll({ identity: "done", taskId: "done", cwd: "/usr" });
    assert.ok(enrolled.ok);
    await enrolled.task.end("completed");
    const before = readFileSync(recordPath(where.folder, "done"), "utf8");
    const outcome = await requestStop(where.folder, latchRequest("stop", "done"), { redact });
    assert.ok(outcome.ok && outcome.report.alreadyEnded);
    assert.equal(outcome.report.exitCode, 0);
    assert.equal(readFileSync(recordPath(where.folder, "done"), "utf8"), before);
    const again = await opened.control.enroll({ identity: "done", taskId: "done", cwd: "/usr" });
    assert.ok(again.ok, JSON.stringify(again));
  });
});

describe("a pause", () => {
  test("holds, is lifted by its epoch, and is refused after a stop without change", async (t) => {
    const where = lab(t);
    const controller = await fakeController(where, { identities: ["one"] });
    const paused = await requestStop(where.folder, latchRequest("pause", ALL), { redact });
    assert.ok(paused.ok && paused.report.exitCode === 0, JSON.stringify(paused));
    assert.equal(recordOf(where, "one").state, "paused");
    assert.deepEqual(controller.resources.flatMap(stillThere), []);
    const stopped = await stopAll(where);
    assert.equal(stopped.exitCode, 0, JSON.stringify(stopped));
    assert.equal(recordOf(where, "one").state, "stopped");
    const again = await requestStop(where.folder, latchRequest("pause", ALL), { redact });
    assert.equal(!again.ok && again.reason, "stop-in-force");
    assert.equal(recordOf(where, "one").epoch, stopped.epoch);
  });
});

describe("a registration", () => {
  test("is refused once a stop is in force, so that nothing is released after it", async (t) => {
    const where = lab(t);
    const opened = await openControl({ env: where.env, redact });
    assert.ok(opened.ok);
    where.after(() => opened.control.close());
    const enrolled = await opened.control.enroll({ identity: "one", taskId: "one", cwd: "/usr" });
    assert.ok(enrolled.ok);
    const { task } = enrolled;
    const began = task.check();
    assert.ok(began.clear && task.isCurrent(began.epoch));
    const worker = await dummyWorker(where);
    opened.control.onStop((order) => void task.acknowledge(order.epoch));
    const stopping = stopAll(where, { waitMs: 500 });
    await until(() => !task.check().clear, 3000, "the stop is seen");
    const registered = await task.register(worker.resource);
    assert.equal(!registered.ok && registered.reason, "estop");
    await stopping;
    assert.equal(task.isCurrent(began.epoch), false);
  });
});
