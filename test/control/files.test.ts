/** Paths and files of the fault table: what is damaged, planted or swapped is never taken for "no stop". */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { describe, test } from "node:test";
import fc from "fast-check";
import { StopChecker } from "../../src/control/check.ts";
import { openControl } from "../../src/control/controller.ts";
import { readRecordFile } from "../../src/control/files.ts";
import {
  controlPaths,
  floorPath,
  latchPath,
  openControlFolder,
  recordPath,
  refuseWorkspace,
  stopAllPath,
} from "../../src/control/folder.ts";
import { checkIdentity } from "../../src/control/identity.ts";
import { parseLatch } from "../../src/control/latch.ts";
import { parseRecord, serializeRecord } from "../../src/control/record.ts";
import { requestStop } from "../../src/control/request.ts";
import { resume } from "../../src/control/resume.ts";
import { ALL, setLatch } from "../../src/control/set-latch.ts";
import { CONTROL_STATES, mayMove } from "../../src/control/states.ts";
import { parseStrict } from "../../src/control/strict-json.ts";
import { type Ownership, systemOwnership } from "../../src/platform/account.ts";
import { ACTOR, type Lab, lab, latchRequest } from "./support.ts";

/** One after the other. */
function both(..._done: unknown[]): void {
  // Arguments are evaluated in order; there is nothing left to do.
}

const redact = (text: string): string => text;
const isRoot = process.getuid?.() === 0;

function reasonOf(result: { ok: true } | { ok: false; reason: string }): string {
  return result.ok ? "ok" : result.reason;
}

/** A folder in which one task ran and was stopped, so that every file exists. */
async function stoppedLab(t: Parameters<typeof lab>[0]): Promise<Lab> {
  const where = lab(t);
  const opened = await openControl({ env: where.env, redact });
  assert.ok(opened.ok);
  const enrolled = await opened.control.enroll({ identity: "one", taskId: "one", cwd: "/usr" });
  assert.ok(enrolled.ok, JSON.stringify(enrolled));
  await enrolled.task.close();
  await opened.control.close();
  const stopped = await requestStop(where.folder, latchRequest("stop", ALL), { redact });
  assert.ok(stopped.ok && stopped.report.exitCode === 0, JSON.stringify(stopped));
  return where;
}

function resumeRequest(epoch: number, scope = ALL) {
  return { scope, epoch, reason: "a test", actor: ACTOR, requestId: `resume-${epoch}` };
}

describe("the control folder", () => {
  const faults: { name: string; make: (where: Lab) => Record<string, string>; reason: string }[] = [
    {
      name: "1: refuses a link as the folder",
      make: ({ root }) => {
        mkdirSync(join(root, "real"), { mode: 0o700 });
        symlinkSync(join(root, "real"), join(root, "link"));
        return { PI_CLAUDE_SUPERVISOR_CONTROL_DIR: join(root, "link") };
      },
      reason: "symlink",
    },
    {
      name: "1: refuses a link on the way",
      make: ({ root }) => {
        mkdirSync(join(root, "real"), { mode: 0o700 });
        symlinkSync(join(root, "real"), join(root, "link"));
        return { PI_CLAUDE_SUPERVISOR_CONTROL_DIR: join(root, "link", "control") };
      },
      reason: "symlink",
    },
    {
      name: "1: refuses a dangling link",
      make: ({ root }) => {
        symlinkSync(join(root, "nowhere"), join(root, "link"));
        return { PI_CLAUDE_SUPERVISOR_CONTROL_DIR: join(root, "link") };
      },
      reason: "symlink",
    },
    {
      name: "3: refuses a folder open to others, and does not change it",
      make: ({ root }) => {
        mkdirSync(join(root, "open"));
        chmodSync(join(root, "open"), 0o755);
        return { PI_CLAUDE_SUPERVISOR_CONTROL_DIR: join(root, "open") };
      },
      reason: "wrong-mode",
    },
    {
      name: "3: refuses a parent that others can write",
      make: ({ root }) => {
        mkdirSync(join(root, "open"));
        chmodSync(join(root, "open"), 0o777);
        return { PI_CLAUDE_SUPERVISOR_CONTROL_DIR: join(root, "open", "control") };
      },
      reason: "unsafe-parent",
    },
    {
      name: "is not moved by two variables that disagree",
      make: ({ root }) => ({
        PI_CLAUDE_SUPERVISOR_CONTROL_DIR: join(root, "a"),
        PI_CLAUDE_SUPERVISOR_CONTROL_STATE_DIR: join(root, "b"),
      }),
      reason: "control-dir",
    },
    {
      name: "34: is never a relative path, whatever the variable says",
      make: () => ({ PI_CLAUDE_SUPERVISOR_CONTROL_DIR: "control" }),
      reason: "control-dir",
    },
  ];
  for (const { name, make, reason } of faults) {
    test(name, (t) => {
      const where = lab(t);
      assert.equal(reasonOf(openControlFolder({ env: { ...where.env, ...make(where) } })), reason);
    });
  }

  test("3: refuses a folder of another account", (t) => {
    const where = lab(t);
    const foreign: Ownership = {
      ...systemOwnership,
      ownerOf: (path) => (path === where.folder.path ? 4711 : systemOwnership.uid),
    };
    assert.equal(reasonOf(openControlFolder({ env: where.env, ownership: foreign })), "wrong-owner");
  });

  test("is told by the alias too, and 13: not by HOME", (t) => {
    const where = lab(t);
    const alias = controlPaths({ env: { PI_CLAUDE_SUPERVISOR_CONTROL_STATE_DIR: "/a/b" } });
    assert.ok(alias.ok && alias.control === "/a/b" && alias.sockets === "/a/b");
    const home = controlPaths({
      env: { HOME: "/elsewhere" },
      account: () => ({ ok: true, account: { uid: 1, gid: 1, name: "x", home: where.root } }),
    });
    assert.ok(home.ok && home.control === join(where.root, ".local/share/pi-claude-supervisor/control"));
    const none = controlPaths({
      env: { HOME: "/x" },
      account: () => ({ ok: false, reason: "no-account", message: "" }),
    });
    assert.equal(reasonOf(none), "no-account");
  });

  test("2: refuses a workspace that is it, holds it, or lies in it, by real path too", (t) => {
    const where = lab(t);
    const { folder, root } = where;
    const link = join(root, "another-name");
    symlinkSync(folder.path, link);
    for (const workspace of [folder.path, root, join(folder.path, "inside"), link, "/"]) {
      assert.equal(reasonOf(refuseWorkspace(folder, workspace)), "control-dir-in-workspace", workspace);
    }
    mkdirSync(join(root, "apart"));
    assert.equal(reasonOf(refuseWorkspace(folder, join(root, "apart"))), "ok");
  });

  test("1: holds everything when it is swapped later", async (t) => {
    const where = lab(t);
    const checker = new StopChecker(where.folder);
    assert.equal(checker.check().clear, true);
    renameSync(where.folder.path, `${where.folder.path}-away`);
    assert.equal(checker.check().clear, false);
    mkdirSync(where.folder.path, { mode: 0o700 });
    const check = checker.check();
    assert.ok(!check.clear && check.source === "folder" && check.reason === "unclear");
  });
});

describe("an identity", () => {
  for (const bad of [
    "..",
    "a/b",
    "",
    "a".repeat(65),
    "a\0b",
    "a\nb",
    "-a",
    ".a",
    "a..b",
    "all",
    "latch",
    "é",
    "a b",
    "A.",
  ]) {
    test(`18: is not ${JSON.stringify(bad.slice(0, 12))}`, () => assert.equal(checkIdentity(bad).ok, false));
  }
  for (const good of ["a", "t-01j2k3m4n5p6q", "Build_1.2", "a".repeat(64)]) {
    test(`may be ${good.slice(0, 20)}`, () => assert.equal(checkIdentity(good).ok, true));
  }
  test("18: that differs from a present one only in case is refused", async (t) => {
    const where = await stoppedLab(t);
    const opened = await openControl({ env: where.env, redact });
    assert.ok(opened.ok);
    where.after(() => opened.control.close());
    const enrolled = await opened.control.enroll({ identity: "ONE", taskId: "x", cwd: "/usr" });
    assert.equal(reasonOf(enrolled), "bad-identity");
  });
});

describe("a latch, a floor or a record", () => {
  const valid = { schema: 1, state: "clear", epoch: 1, how: "now", cause: "start", history: [] };
  const deep = `${"[".repeat(40)}${"]".repeat(40)}`;
  const bytes: { name: string; text: string | Buffer }[] = [
    { name: "truncated", text: JSON.stringify(valid).slice(0, -4) },
    { name: "empty", text: "" },
    { name: "with a byte order mark", text: `\ufeff${JSON.stringify(valid)}` },
    { name: "with a key twice", text: JSON.stringify(valid).replace('"epoch":1', '"epoch":9,"epoch":1') },
    {
      name: "with a key twice behind blanks",
      text: JSON.stringify(valid).replace('"epoch":1', `"epoch"${" ".repeat(90)}:9,"epoch":1`),
    },
    {
      name: "with an escaped key twice",
      text: JSON.stringify(valid).replace('"epoch":1', '"epo\\u0063h":9,"epoch":1'),
    },
    { name: "with __proto__", text: JSON.stringify(valid).replace('"epoch":1', '"__proto__":{},"epoch":1') },
    { name: "nested deeply", text: JSON.stringify(valid).replace('"history":[]', `"history":${deep}`) },
    { name: "larger than 64 KiB", text: JSON.stringify({ ...valid, filler: "x".repeat(70_000) }) },
    { name: "with a negative epoch", text: JSON.stringify({ ...valid, epoch: -1 }) },
    { name: "with a fractional epoch", text: JSON.stringify({ ...valid, epoch: 1.5 }) },
    { name: "with an epoch of 2^53", text: JSON.stringify(valid).replace('"epoch":1', '"epoch":9007199254740992') },
    { name: "with NaN", text: JSON.stringify(valid).replace('"epoch":1', '"epoch":NaN') },
    { name: "with an unknown state", text: JSON.stringify({ ...valid, state: "perhaps" }) },
    { name: "of a newer schema", text: JSON.stringify({ ...valid, schema: 2 }) },
    { name: "that is a list", text: "[]" },
    { name: "that is not UTF-8", text: Buffer.from([0x7b, 0xff, 0x7d]) },
  ];
  for (const { name, text } of bytes) {
    for (const file of ["latch", "floor", "record"] as const) {
      test(`14: ${file} ${name} holds, is kept aside, and a new stop is accepted above it`, async (t) => {
        const where = await stoppedLab(t);
        const lifted = await resume(where.folder, resumeRequest(1));
        assert.ok(lifted.ok, JSON.stringify(lifted));
        const checker = new StopChecker(where.folder);
        assert.equal(checker.check("one").clear, true);
        const path = { latch: latchPath, floor: floorPath, record: (f: Lab["folder"]) => recordPath(f, "one") }[file](
          where.folder,
        );
        writeFileSync(path, text);
        const check = checker.check("one");
        assert.ok(!check.clear, "it holds");
        assert.equal(check.reason, "unclear");
        const stopped = await setLatch(where.folder, latchRequest("stop", ALL));
        assert.ok(stopped.ok && stopped.latched.epoch === 2, JSON.stringify(stopped));
        const aside = readdirSync(where.folder.path).find((entry) => entry.includes(".damaged-"));
        assert.ok(aside, "it was kept");
        assert.deepEqual(readFileSync(join(where.folder.path, aside)), Buffer.from(text));
        const after = checker.check("one");
        assert.ok(!after.clear && after.reason === "stop" && after.epoch === 2);
      });
    }
  }

  const planted: { name: string; plant: (path: string, where: Lab) => void | Promise<void> }[] = [
    {
      name: "5: a link",
      plant: (path, { root }) => both(writeFileSync(join(root, "x"), "{}"), symlinkSync(join(root, "x"), path)),
    },
    { name: "5: a dangling link", plant: (path, { root }) => symlinkSync(join(root, "nowhere"), path) },
    { name: "5: a folder", plant: (path) => void mkdirSync(path) },
    {
      name: "5: a socket",
      plant: (path, where) => {
        const server = createServer();
        where.after(() => server.close());
        return new Promise((resolve) => server.listen(path, () => resolve()));
      },
    },
    // Only root may make one; elsewhere a FIFO stands for it.
    { name: "5: a device", plant: (path) => void spawnSync("mknod", [path, ...(isRoot ? ["c", "1", "3"] : ["p"])]) },
    { name: "6: a FIFO", plant: (path) => void spawnSync("mkfifo", [path]) },
    {
      name: "a second name of another file",
      plant: (path, { root }) =>
        both(writeFileSync(join(root, "x"), "{}", { mode: 0o600 }), linkSync(join(root, "x"), path)),
    },
    { name: "a file that others can write", plant: (path) => both(writeFileSync(path, "{}"), chmodSync(path, 0o666)) },
  ];
  for (const { name, plant } of planted) {
    test(`${name} in its place holds at once, and does not stand in the way of a stop`, async (t) => {
      const where = lab(t);
      for (const path of [latchPath(where.folder), floorPath(where.folder), recordPath(where.folder, "one")]) {
        await plant(path, where);
        const began = performance.now();
        const check = new StopChecker(where.folder).check("one");
        assert.ok(!check.clear && check.reason === "unclear", path);
        assert.ok(performance.now() - began < 1000, "no read blocks");
        const stopped = await setLatch(where.folder, latchRequest("stop", ALL));
        assert.ok(stopped.ok && stopped.latched.durable === "full", JSON.stringify(stopped));
        for (const entry of readdirSync(where.folder.path)) rmSync(join(where.folder.path, entry), { recursive: true });
        rmSync(join(where.root, "x"), { force: true });
      }
    });
  }

  for (const file of ["latch", "record"] as const) {
    test(`16: an older ${file} that comes back, or is removed, holds`, async (t) => {
      const where = await stoppedLab(t);
      const path = file === "latch" ? latchPath(where.folder) : recordPath(where.folder, "one");
      assert.ok((await resume(where.folder, resumeRequest(1))).ok);
      const old = readFileSync(path);
      assert.ok((await setLatch(where.folder, latchRequest("stop", file === "latch" ? ALL : "one"))).ok);
      writeFileSync(path, old);
      const check = new StopChecker(where.folder).check("one");
      assert.ok(!check.clear && check.reason === "unclear", JSON.stringify(check));
      unlinkSync(path);
      assert.equal(new StopChecker(where.folder).check("one").clear, false);
    });
  }

  test("16: a floor that goes back or away holds", async (t) => {
    const where = await stoppedLab(t);
    assert.ok((await resume(where.folder, resumeRequest(1))).ok);
    const checker = new StopChecker(where.folder);
    assert.equal(checker.check().clear, true);
    const old = readFileSync(floorPath(where.folder));
    unlinkSync(floorPath(where.folder));
    assert.equal(checker.check().clear, false);
    writeFileSync(floorPath(where.folder), old, { mode: 0o600 });
    assert.equal(checker.check().clear, true);
  });

  test("17: left-over temporary files mean nothing", async (t) => {
    const where = lab(t);
    writeFileSync(join(where.folder.path, `.latch.json.${"a".repeat(24)}.tmp`), "half", { mode: 0o600 });
    assert.equal(new StopChecker(where.folder).check().clear, true);
  });

  test("keeps what a newer version wrote into it", async (t) => {
    const where = await stoppedLab(t);
    for (const path of [latchPath(where.folder), floorPath(where.folder), recordPath(where.folder, "one")]) {
      const value = JSON.parse(readFileSync(path, "utf8")) as object;
      writeFileSync(path, JSON.stringify({ ...value, fromTheFuture: { a: [1] } }));
    }
    assert.ok((await setLatch(where.folder, latchRequest("stop", ALL))).ok);
    for (const path of [latchPath(where.folder), floorPath(where.folder), recordPath(where.folder, "one")]) {
      const value = JSON.parse(readFileSync(path, "utf8")) as Record<string, unknown>;
      assert.deepEqual(value["fromTheFuture"], { a: [1] }, path);
    }
  });

  test("is never read as something by accident, whatever bytes it holds", () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.uint8Array({ maxLength: 300 }),
          fc.json().map((text) => Buffer.from(text)),
        ),
        (some) => {
          const parsed = parseStrict(some, "x");
          if (!parsed.ok) return;
          // What is accepted is what JSON.parse says, and no record or latch of ours.
          assert.deepEqual(parsed.value, JSON.parse(Buffer.from(some).toString("utf8")));
          assert.equal(parseLatch(some).ok, false);
          assert.equal(parseRecord(some, "x").ok, false);
        },
      ),
    );
  });

  test("holds no more than its bound, however much is put into it", async (t) => {
    const where = await stoppedLab(t);
    const reading = readRecordFile(where.folder, "one");
    assert.ok(reading.state === "read");
    const long = "x".repeat(5000);
    const many = <T>(value: T): T[] => Array.from({ length: 300 }, () => value);
    const text = serializeRecord({
      ...reading.value,
      cleanup: many({ resource: "r", step: "s", outcome: "done", detail: long, at: "t" }),
      remaining: many({ kind: "process", id: "1", identity: long }),
      history: many({ at: "t", state: "s", cause: "c", epoch: 1 }),
    });
    assert.ok(text.length < 64 * 1024, `${text.length}`);
    assert.ok(parseRecord(Buffer.from(text), "one").ok);
  });
});

describe("STOP-ALL", () => {
  const cases: { name: string; make: (path: string, where: Lab) => void; reason: "stop" | "unclear" }[] = [
    { name: "8: empty", make: (path) => writeFileSync(path, ""), reason: "stop" },
    { name: "8: of binary junk", make: (path) => writeFileSync(path, Buffer.from([0, 255, 10])), reason: "stop" },
    {
      name: "world-readable, as touch makes it",
      make: (path) => writeFileSync(path, "", { mode: 0o644 }),
      reason: "stop",
    },
    {
      name: "7: huge and sparse",
      make: (path) => both(writeFileSync(path, ""), truncateSync(path, 2 ** 33)),
      reason: "stop",
    },
    { name: "5: as a folder", make: (path) => void mkdirSync(path), reason: "unclear" },
    { name: "5: as a link", make: (path, { root }) => symlinkSync(join(root, "nowhere"), path), reason: "unclear" },
    { name: "6: as a FIFO", make: (path) => void spawnSync("mkfifo", [path]), reason: "unclear" },
  ];
  for (const { name, make, reason } of cases) {
    test(`${name} ${reason === "stop" ? "stops" : "holds"}`, (t) => {
      const where = lab(t);
      make(stopAllPath(where.folder), where);
      const check = new StopChecker(where.folder).check();
      assert.ok(!check.clear);
      assert.equal(check.reason, reason);
    });
  }

  test("of a stranger holds, and is named", (t) => {
    const where = lab(t);
    writeFileSync(stopAllPath(where.folder), "");
    const ownership: Ownership = {
      ...systemOwnership,
      ownerOf: (path, stats) => (path.endsWith("STOP-ALL") ? 4711 : stats.uid),
    };
    const check = new StopChecker({ ...where.folder, ownership }).check();
    assert.ok(!check.clear && check.reason === "unclear" && check.message.includes("STOP-ALL"));
  });

  test("is lifted by a resume of everything", async (t) => {
    const where = lab(t);
    writeFileSync(stopAllPath(where.folder), "");
    const resumed = await resume(where.folder, resumeRequest(0));
    assert.ok(resumed.ok, JSON.stringify(resumed));
    assert.equal(existsSync(stopAllPath(where.folder)), false);
    assert.equal(new StopChecker(where.folder).check().clear, true);
  });
});

describe("the table of moves", () => {
  test("lets no state be left by anything but its legal moves, and a stop be asked in all of them", () => {
    const table = Object.fromEntries(
      CONTROL_STATES.map((from) => [from, CONTROL_STATES.filter((to) => mayMove(from, to)).join(" ")]),
    );
    assert.deepEqual(table, {
      running: "pausing stopping stopped failed-to-stop",
      pausing: "pausing paused stopping failed-to-stop",
      paused: "pausing paused resuming stopping",
      resuming: "running pausing stopping stopped",
      stopping: "stopping stopped failed-to-stop",
      stopped: "running resuming stopping stopped",
      "failed-to-stop": "pausing paused stopping stopped failed-to-stop",
    });
    assert.ok(CONTROL_STATES.every((state) => mayMove(state, "stopping")));
  });
});

test("the check is cheap", async (t) => {
  const where = await stoppedLab(t);
  assert.ok((await resume(where.folder, resumeRequest(1))).ok);
  const checker = new StopChecker(where.folder);
  // Readings of files that changed a moment ago are not kept.
  const fresh = statSync(latchPath(where.folder)).ctimeMs;
  while (Date.now() - fresh < 150) checker.check("one");
  const rounds = 2000;
  const began = performance.now();
  for (let round = 0; round < rounds; round += 1) assert.ok(checker.check("one").clear);
  const each = ((performance.now() - began) * 1000) / rounds;
  t.diagnostic(`${each.toFixed(1)} microseconds a check`);
  assert.ok(each < 500, `${each} microseconds`);
});
