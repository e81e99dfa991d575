import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  statSync,
  symlinkSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { describe, type TestContext, test } from "node:test";
import { fileURLToPath } from "node:url";
import {
  isLockHeld,
  type LockOutcome,
  probeFileLock,
  readLockInfo,
  takeFileLock,
  waitForFileLock,
} from "../../src/platform/file-lock.ts";
import { isPlainSentence, reasonOf, tempFolder } from "./temp-folder.ts";

const HOLDER = fileURLToPath(new URL("lock-holder.ts", import.meta.url));
const INFO = { pid: process.pid, since: "2026-01-02T03:04:05.000Z" };

async function startHolder(t: TestContext, path: string, ...more: string[]) {
  const child = spawn(process.execPath, ["--import", "tsx", HOLDER, path, ...more], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  t.after(() => end(child));
  const [line] = await once(createInterface({ input: child.stdout }), "line");
  return { child, said: JSON.parse(String(line)) as { ok: boolean; reason: string; child: number | null } };
}

function once(
  emitter: { once(name: string, fn: (...args: unknown[]) => void): unknown },
  name: string,
): Promise<unknown[]> {
  return new Promise((done) => emitter.once(name, (...args) => done(args)));
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill("SIGKILL");
  await once(child, "exit");
}

function mustLock(outcome: LockOutcome) {
  assert.ok(outcome.ok, JSON.stringify(outcome));
  return outcome.lock;
}

describe("a file lock", {
  skip: process.platform === "linux" || process.platform === "darwin" ? false : "no file locks",
}, () => {
  test("has one holder, also inside one process, and is free again when released", (t) => {
    const path = join(tempFolder(t), "lock");
    const lock = mustLock(takeFileLock(path, { info: INFO }));
    assert.equal(statSync(path).mode & 0o777, 0o600);
    const second = takeFileLock(path, { info: INFO, what: "task t-1" });
    assert.ok(isLockHeld(second));
    assert.deepEqual(second.holder, INFO);
    assert.match(second.message, new RegExp(`task t-1 is held by process ${process.pid} since 2026`));
    assert.equal(probeFileLock(path), true);
    lock.release();
    lock.release();
    assert.equal(probeFileLock(path), false);
    mustLock(takeFileLock(path, { info: INFO })).release();
  });

  test("is seen by another process and freed by the SIGKILL of its holder, at once", async (t) => {
    const path = join(tempFolder(t), "lock");
    const { child, said } = await startHolder(t, path);
    assert.equal(said.ok, true);
    const refused = takeFileLock(path, { info: INFO });
    assert.ok(isLockHeld(refused));
    assert.equal(refused.holder?.pid, child.pid);
    await end(child);
    mustLock(takeFileLock(path, { info: INFO })).release();
  });

  test("is refused to another process while we hold it", async (t) => {
    const path = join(tempFolder(t), "lock");
    const lock = mustLock(takeFileLock(path, { info: INFO }));
    const { said } = await startHolder(t, path);
    assert.deepEqual([said.ok, said.reason], [false, "lock-held"]);
    lock.release();
  });

  test("is not kept by a child that outlives the holder", async (t) => {
    const path = join(tempFolder(t), "lock");
    const { child, said } = await startHolder(t, path, "child");
    const survivor = said.child;
    assert.ok(survivor !== null);
    t.after(() => process.kill(survivor, "SIGKILL"));
    await end(child);
    process.kill(survivor, 0);
    mustLock(takeFileLock(path, { info: INFO })).release();
  });

  test("is never broken by age", (t) => {
    const path = join(tempFolder(t), "lock");
    const lock = mustLock(takeFileLock(path, { info: INFO }));
    utimesSync(path, new Date(0), new Date(0));
    assert.ok(isLockHeld(takeFileLock(path, { info: INFO })));
    lock.release();
  });

  test("left behind by a dead holder is taken at once, whatever its note says", (t) => {
    const path = join(tempFolder(t), "lock");
    for (const note of ["", "{", "[]", '{"pid":1,"since":"long ago"}', "\u0000".repeat(5_000)]) {
      writeFileSync(path, note, { mode: 0o600 });
      mustLock(takeFileLock(path, { info: INFO })).release();
    }
  });

  test("shows a changed note whole", (t) => {
    const path = join(tempFolder(t), "lock");
    const lock = mustLock(takeFileLock(path, { info: { ...INFO, note: "x".repeat(2_000) } }));
    assert.equal(String(readLockInfo(path)?.["note"]).length, 2_000);
    lock.describe({ ...INFO, taskId: "t-2" });
    assert.deepEqual(readLockInfo(path), { ...INFO, taskId: "t-2" });
    assert.equal(reasonOf(lock.describe({ note: "x".repeat(5_000) })), "too-large");
    lock.release();
    assert.equal(reasonOf(lock.describe(INFO)), "lock-released");
  });

  test("on a file whose name was removed is no lock: the next taker makes a new file, and the new one counts", (t) => {
    const path = join(tempFolder(t), "lock");
    const old = mustLock(takeFileLock(path, { info: INFO }));
    unlinkSync(path);
    const fresh = mustLock(takeFileLock(path, { info: INFO }));
    old.release();
    assert.ok(isLockHeld(takeFileLock(path, { info: INFO })));
    fresh.release();
  });

  test("waits a bounded time for its holder", async (t) => {
    const path = join(tempFolder(t), "lock");
    const lock = mustLock(takeFileLock(path, { info: INFO }));
    const started = performance.now();
    assert.ok(isLockHeld(await waitForFileLock(path, { info: INFO, waitMs: 60 })));
    assert.ok(performance.now() - started >= 60);
    const waiting = waitForFileLock(path, { info: INFO, waitMs: 10_000 });
    lock.release();
    mustLock(await waiting).release();
  });

  const BAD: { name: string; plant: (path: string, folder: string) => void; reason: string }[] = [
    {
      name: "a link",
      plant: (path, folder) => {
        writeFileSync(join(folder, "victim"), "keep", { mode: 0o600 });
        symlinkSync("victim", path);
      },
      reason: "symlink",
    },
    { name: "a dangling link", plant: (path) => symlinkSync("nowhere", path), reason: "symlink" },
    { name: "a folder", plant: (path) => mkdirSync(path), reason: "not-regular" },
    {
      name: "a file that others can open",
      plant: (path) => {
        writeFileSync(path, "");
        chmodSync(path, 0o666);
      },
      reason: "wrong-mode",
    },
  ];
  for (const { name, plant, reason } of BAD) {
    test(`is refused where its file is ${name}`, (t) => {
      const folder = tempFolder(t);
      const path = join(folder, "lock");
      plant(path, folder);
      const outcome = takeFileLock(path, { info: INFO });
      assert.equal(reasonOf(outcome), reason);
      assert.ok(!outcome.ok && isPlainSentence(outcome.message));
      assert.equal(existsSync(join(folder, "nowhere")), false);
    });
  }

  test("says what is missing without flock, and does not believe one that only claims success", {
    skip: process.platform !== "linux",
  }, (t) => {
    const path = join(tempFolder(t), "lock");
    assert.equal(reasonOf(takeFileLock(path, { info: INFO, flock: "/nonexistent/flock" })), "lock-failed");
    const lying = takeFileLock(path, { info: INFO, flock: "/bin/true" });
    assert.equal(reasonOf(lying), "lock-failed");
    assert.match(lying.ok ? "" : lying.message, /not locked/);
    assert.equal(reasonOf(takeFileLock(path, { info: INFO, platform: "win32" })), "lock-unsupported");
  });
});
