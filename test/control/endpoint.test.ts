/** Lock, socket and protocol of the fault table. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  symlinkSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { createConnection, createServer, type Socket } from "node:net";
import { join } from "node:path";
import { describe, test } from "node:test";
import type { ControlPort, OpenControlOptions } from "../../src/control/control-port.ts";
import { openControl } from "../../src/control/controller.ts";
import { socketPathOf } from "../../src/control/endpoint.ts";
import { changeRecord, readRecordFile } from "../../src/control/files.ts";
import { instanceLockPath } from "../../src/control/folder.ts";
import { sendNudge } from "../../src/control/nudge.ts";
import { type Nudge, parseNudge } from "../../src/control/protocol.ts";
import { isOwnerAlive, requestStop } from "../../src/control/request.ts";
import { ALL } from "../../src/control/set-latch.ts";
import { type Ownership, systemOwnership } from "../../src/platform/account.ts";
import { probeFileLock } from "../../src/platform/file-lock.ts";
import { identify, isAlive, signal } from "../../src/platform/process/index.ts";
import { until, within } from "../support/until.ts";
import { ACTOR, dummyWorker, fakeController, type Lab, lab, latchRequest } from "./support.ts";

const redact = (text: string): string => text;

async function portOf(where: Lab, more: Partial<OpenControlOptions> = {}): Promise<ControlPort> {
  const opened = await openControl({ env: where.env, redact, pollMs: 50, ...more });
  assert.ok(opened.ok, JSON.stringify(opened));
  where.after(() => opened.control.close());
  return opened.control;
}

function nudge(more: Partial<Nudge> = {}): Nudge {
  return {
    schema: 1,
    requestId: "request-0001",
    scope: ALL,
    verb: "stop",
    epoch: 1,
    how: "now",
    cause: "operator",
    reason: "a test",
    requestedAt: "2026-01-01T00:00:00.000Z",
    actor: ACTOR,
    ...more,
  };
}

function reasonOf(result: { ok: true } | { ok: false; reason: string }): string {
  return result.ok ? "ok" : result.reason;
}

describe("the instance lock", () => {
  test("19: refuses a second controller and names the first, whose socket stays", async (t) => {
    const where = lab(t);
    const controller = await fakeController(where, { identities: ["one"] });
    const socket = String(controller.said("ready")?.["socket"]);
    const before = lstatSync(socket).ino;
    const second = await portOf(where);
    const refused = await second.enroll({ identity: "one", taskId: "one", cwd: "/usr" });
    assert.ok(!refused.ok && refused.reason === "busy");
    assert.match(refused.message, new RegExp(`process ${controller.pid} since 20`));
    assert.equal(lstatSync(socket).ino, before);
  });

  test("20: of a dead holder is free at once, and what it left is ended before the identity is used", async (t) => {
    const where = lab(t);
    const controller = await fakeController(where, { identities: ["one"] });
    const self = identify(controller.pid);
    assert.ok(self);
    signal(self, "SIGKILL");
    await until(() => !isAlive(self), 5000, "it is gone");
    const { stillThere } = await import("../../src/control/sweep.ts");
    assert.notDeepEqual(controller.resources.flatMap(stillThere), []);
    const enrolled = await (await portOf(where)).enroll({ identity: "one", taskId: "one", cwd: "/usr" });
    assert.ok(enrolled.ok, JSON.stringify(enrolled));
    assert.deepEqual(controller.resources.flatMap(stillThere), []);
  });

  test("22, 52: a holder with other start ticks or of another boot is dead, and its number is not signalled", async (t) => {
    const where = lab(t);
    const port = await portOf(where);
    const enrolled = await port.enroll({ identity: "one", taskId: "one", cwd: "/usr" });
    assert.ok(enrolled.ok);
    const worker = await dummyWorker(where);
    const { leader } = worker.resource.tree;
    await enrolled.task.close();
    for (const fake of [
      { ...leader, startTicks: "1" },
      { ...leader, bootId: "00000000-0000-4000-8000-000000000000" },
    ]) {
      const changed = await changeRecord(where.folder, "one", {}, (record) => ({
        ...record,
        controller: { ...fake, instanceId: "x", since: "2026" },
        resources: [{ id: "p", kind: "process", process: fake, what: "recycled" }],
      }));
      assert.ok(changed.ok);
      assert.equal(isOwnerAlive(where.folder, changed.record), false);
      const stopped = await requestStop(where.folder, latchRequest("stop", "one"), { redact });
      assert.ok(stopped.ok && stopped.report.exitCode === 0, JSON.stringify(stopped));
      assert.ok(isAlive(leader), "the stranger with that number lives");
    }
  });

  test("23: a holder that can't be told from a live one is a contention, though the lock is free", async (t) => {
    const where = lab(t);
    const port = await portOf(where);
    const enrolled = await port.enroll({ identity: "one", taskId: "one", cwd: "/usr" });
    assert.ok(enrolled.ok);
    await enrolled.task.close();
    const worker = await dummyWorker(where);
    const controller = { ...worker.resource.tree.leader, instanceId: "other", since: "2026" };
    assert.ok((await changeRecord(where.folder, "one", {}, (record) => ({ ...record, controller }))).ok);
    assert.equal(reasonOf(await port.enroll({ identity: "one", taskId: "one", cwd: "/usr" })), "busy");
  });

  test("24: is not inherited by a child that outlives the task", async (t) => {
    const where = lab(t);
    const port = await portOf(where);
    const enrolled = await port.enroll({ identity: "one", taskId: "one", cwd: "/usr" });
    assert.ok(enrolled.ok);
    const child = spawn("sleep", ["60"], { stdio: "ignore" });
    where.after(() => child.kill("SIGKILL"));
    assert.equal(probeFileLock(instanceLockPath(where.folder, "one")), true);
    await enrolled.task.end("completed");
    assert.equal(probeFileLock(instanceLockPath(where.folder, "one")), false);
    assert.equal(child.exitCode, null);
  });
});

describe("the socket", () => {
  test("is 0600 in a 0700 folder, whatever the umask", async (t) => {
    const where = lab(t);
    const before = process.umask(0);
    try {
      const { socket } = await portOf(where);
      assert.equal(lstatSync(socket).mode & 0o777, 0o600);
      assert.equal(lstatSync(where.folder.path).mode & 0o777, 0o700);
    } finally {
      process.umask(before);
    }
  });

  for (const { name, letter } of [
    { name: "long names", letter: "x" },
    { name: "names of several bytes a letter", letter: "é" },
  ]) {
    test(`25: with ${name} is measured in bytes before anything is bound, and the variable is named`, async (t) => {
      const where = lab(t);
      const size = (path: string): number => Buffer.byteLength(path);
      const base = join(where.root, "s");
      const width = size(letter);
      // "<base><letters>/0123456789ab.sock" is to have 103 bytes, then more.
      const room = 103 - size(base) - size("/0123456789ab.sock");
      const fits = `${base}${letter.repeat(Math.floor(room / width))}${"y".repeat(room % width)}`;
      for (const [socketDir, expected] of [
        [fits, "ok"],
        [`${fits}z`, "socket-path"],
      ] as const) {
        const env = { ...where.env, PI_CLAUDE_SUPERVISOR_CONTROL_SOCKET_DIR: socketDir };
        const opened = await openControl({ env, redact, instanceId: "0123456789ab" });
        assert.equal(reasonOf(opened), expected);
        if (opened.ok) {
          assert.equal(size(opened.control.socket), 103);
          assert.ok(lstatSync(opened.control.socket).isSocket());
          await opened.control.close();
        } else assert.match(opened.message, /PI_CLAUDE_SUPERVISOR_CONTROL_SOCKET_DIR/);
      }
    });
  }

  test("26: that nobody listens on is replaced", async (t) => {
    const where = lab(t);
    const path = socketPathOf(where.folder, "stale");
    assert.ok(path.ok);
    const child = spawn(
      process.execPath,
      [
        "-e",
        `require("net").createServer().listen(${JSON.stringify(path.path)}, () => console.log("up")); setInterval(() => {}, 1000)`,
      ],
      {
        stdio: ["ignore", "pipe", "ignore"],
      },
    );
    await new Promise((resolve) => child.stdout.once("data", resolve));
    child.kill("SIGKILL");
    await new Promise((resolve) => child.once("exit", resolve));
    assert.ok(lstatSync(path.path).isSocket());
    await portOf(where, { instanceId: "stale" });
  });

  test("17: that a killed process left is removed by the next one; a live or young one, or another file, is not", async (t) => {
    const where = lab(t);
    const first = await portOf(where);
    const at = (name: string): string => join(where.folder.path, `${name}.sock`);
    const old = new Date(Date.now() - 3_600_000);
    for (const name of ["00000000dead", "00000000beef"]) {
      const code = `require("net").createServer().listen(${JSON.stringify(at(name))}, () => process.kill(process.pid, "SIGKILL"))`;
      await new Promise((resolve) => spawn(process.execPath, ["-e", code], { stdio: "ignore" }).once("exit", resolve));
    }
    writeFileSync(at("0000000f11e0"), "");
    for (const path of [at("00000000dead"), at("0000000f11e0"), first.socket]) utimesSync(path, old, old);
    await portOf(where);
    await until(() => lstatSync(at("00000000dead"), { throwIfNoEntry: false }) === undefined, 3000, "it is removed");
    for (const path of [at("00000000beef"), at("0000000f11e0"), first.socket]) assert.ok(lstatSync(path), path);
  });

  const planted: {
    name: string;
    plant: (path: string, where: Lab) => unknown;
    reason: string;
    ownership?: Ownership;
  }[] = [
    { name: "a plain file", plant: (path) => writeFileSync(path, "mine"), reason: "not-a-socket" },
    { name: "a link", plant: (path, { root }) => symlinkSync(join(root, "nowhere"), path), reason: "not-a-socket" },
    {
      name: "another account's socket",
      plant: listenOn,
      reason: "wrong-owner",
      ownership: { ...systemOwnership, ownerOf: (path, stats) => (path.endsWith(".sock") ? 4711 : stats.uid) },
    },
    { name: "a live one", plant: listenOn, reason: "busy" },
  ];
  for (const { name, plant, reason, ownership } of planted) {
    test(`27: refuses ${name} in its place and leaves it there`, async (t) => {
      const where = lab(t);
      const path = socketPathOf(where.folder, "taken");
      assert.ok(path.ok);
      await plant(path.path, where);
      const before = lstatSync(path.path);
      const opened = await openControl({
        env: where.env,
        redact,
        instanceId: "taken",
        ...(ownership ? { ownership } : {}),
      });
      assert.equal(reasonOf(opened), reason);
      assert.equal(lstatSync(path.path).ino, before.ino);
      const sent = await sendNudge(path.path, nudge(), { deadlineMs: 100, ownership: ownership ?? systemOwnership });
      assert.equal(sent.ok, false);
    });
  }

  test("31: serves a stop beside 200 idle connections", async (t) => {
    const where = lab(t);
    const controller = await fakeController(where, { identities: ["one"] });
    const socket = String(controller.said("ready")?.["socket"]);
    const idle: Socket[] = [];
    where.after(() => {
      for (const one of idle) one.destroy();
    });
    for (let count = 0; count < 200; count += 1) {
      const one = createConnection(socket);
      one.on("error", () => undefined);
      idle.push(one);
    }
    await until(() => idle.some((one) => one.readyState === "open"), 3000, "connections are open");
    const stopped = await requestStop(where.folder, latchRequest("stop", ALL), { redact });
    assert.ok(stopped.ok && stopped.report.exitCode === 0, JSON.stringify(stopped));
    assert.equal(stopped.report.records[0]?.owner, "answered");
  });

  test("29: is made anew when its name is gone", async (t) => {
    const where = lab(t);
    const { socket } = await portOf(where);
    unlinkSync(socket);
    await until(() => lstatSync(socket, { throwIfNoEntry: false })?.isSocket(), 3000, "the socket is back");
    const sent = await sendNudge(socket, nudge({ verb: "status" }), { deadlineMs: 1000, ownership: systemOwnership });
    assert.ok(sent.ok, JSON.stringify(sent));
  });

  test("comes up where the socket folder is elsewhere, and goes away with the port", async (t) => {
    const where = lab(t);
    mkdirSync(join(where.root, "sockets"), { mode: 0o700 });
    chmodSync(join(where.root, "sockets"), 0o700);
    const env = { ...where.env, PI_CLAUDE_SUPERVISOR_CONTROL_SOCKET_DIR: join(where.root, "sockets") };
    const opened = await openControl({ env, redact });
    assert.ok(opened.ok);
    assert.ok(opened.control.socket.startsWith(join(where.root, "sockets")));
    await opened.control.close();
    await until(() => lstatSync(opened.control.socket, { throwIfNoEntry: false }) === undefined, 2000, "it is gone");
  });
});

function listenOn(path: string, where: Lab): Promise<void> {
  const server = createServer((socket) => socket.resume());
  where.after(() => server.close());
  return new Promise((resolve) => server.listen(path, () => resolve()));
}

describe("a request over the socket", () => {
  const good = nudge();
  const bad: { name: string; line: string }[] = [
    { name: "an unknown verb", line: JSON.stringify({ ...good, verb: "resume" }) },
    { name: "another schema", line: JSON.stringify({ ...good, schema: 2 }) },
    { name: "a field too many", line: JSON.stringify({ ...good, more: 1 }) },
    { name: "a field missing", line: JSON.stringify({ ...good, epoch: undefined }) },
    { name: "an epoch that is no counter", line: JSON.stringify({ ...good, epoch: 1.5 }) },
    { name: "a reason with control characters", line: JSON.stringify({ ...good, reason: "a\u001b[2J" }) },
    { name: "a reason that is too long", line: JSON.stringify({ ...good, reason: "x".repeat(600) }) },
    { name: "a key twice", line: JSON.stringify(good).replace('"epoch":1', '"epoch":1,"epoch":1') },
    { name: "an actor of a wrong kind", line: JSON.stringify({ ...good, actor: { ...ACTOR, kind: "root" } }) },
    { name: "no JSON", line: "stop" },
    { name: "a list", line: "[]" },
    { name: "too many bytes", line: JSON.stringify({ ...good, scope: "x".repeat(5000) }) },
  ];
  for (const { name, line } of bad) {
    test(`32: with ${name} is refused`, () => assert.equal(reasonOf(parseNudge(Buffer.from(line))), "bad-request"));
  }
  test("32: that is right is read", () => assert.equal(reasonOf(parseNudge(Buffer.from(JSON.stringify(good)))), "ok"));

  test("32: for an identity that is not driven here is refused; a replay gets the first answer", async (t) => {
    const where = lab(t);
    const port = await portOf(where);
    const enrolled = await port.enroll({ identity: "one", taskId: "one", cwd: "/usr" });
    assert.ok(enrolled.ok);
    let orders = 0;
    port.onStop((order) => {
      orders += 1;
      void enrolled.task.acknowledge(order.epoch);
    });
    const send = (one: Nudge) => sendNudge(port.socket, one, { deadlineMs: 3000, ownership: systemOwnership });
    const wrong = await send(nudge({ scope: "two", requestId: "request-0002" }));
    assert.ok(wrong.ok && !wrong.reply.ok);
    const one = nudge({ scope: "one", requestId: "request-0003", epoch: 7 });
    const first = await send(one);
    assert.ok(first.ok);
    assert.deepEqual(first.reply.acknowledged, ["one"]);
    assert.deepEqual(await send(one), first);
    assert.equal(orders, 1);
    // What came by the socket alone (a full disk) holds from memory, and is written as soon as it can be.
    await until(
      () => readRecordFile(where.folder, "one").state === "read" && !port.check("one").clear,
      3000,
      "it holds",
    );
    await until(
      () => /"state": "stop/.test(readFileSync(join(where.folder.path, "one.json"), "utf8")),
      3000,
      "it is written",
    );
  });

  test("that never ends is cut off, and the next one is served", async (t) => {
    const where = lab(t);
    const port = await portOf(where);
    const slow = createConnection(port.socket);
    slow.on("error", () => undefined).resume();
    slow.write("x".repeat(5000));
    await within(new Promise((resolve) => slow.once("close", resolve)), 5000, "the long line is cut off");
    const sent = await sendNudge(port.socket, nudge({ verb: "status" }), {
      deadlineMs: 2000,
      ownership: systemOwnership,
    });
    assert.ok(sent.ok, JSON.stringify(sent));
  });
});
