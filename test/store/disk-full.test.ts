/** A real full disk: a small tmpfs, where this account may mount one. The injected disks are in log-faults.test.ts. */
import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { readdirSync, readFileSync, rmSync, statfsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, type TestContext, test } from "node:test";
import { manualClock } from "../../src/platform/clock.ts";
import { durableWrite, durableWriteAsync } from "../../src/platform/durable-write.ts";
import { takeFileLock } from "../../src/platform/file-lock.ts";
import { openArtifacts } from "../../src/store/artifacts.ts";
import { readEvents, verifyLog } from "../../src/store/log-reader.ts";
import { createTask } from "../../src/store/task-store.ts";
import {
  holderOf,
  isPlainSentence,
  layoutAt,
  mustBeOk,
  newLog,
  newTaskId,
  note,
  reasonOf,
  tempFolder,
} from "./temp-store.ts";

function mounted(t: TestContext): string | undefined {
  const folder = tempFolder(t);
  const run = spawnSync("mount", ["-t", "tmpfs", "-o", "size=256k,mode=0700", "tmpfs", folder]);
  if (run.status !== 0) {
    t.skip("no tmpfs can be mounted here");
    return undefined;
  }
  mounts.add(folder);
  return folder;
}

const mounts = new Set<string>();

function unmount(folder: string): void {
  execFileSync("umount", ["-l", folder]);
  mounts.delete(folder);
}

/** Leaves `left` bytes, to the file system's block. */
function fill(folder: string, left: number): string {
  const { bavail, bsize } = statfsSync(folder);
  const path = join(folder, "filler");
  writeFileSync(path, Buffer.alloc(Math.max(0, bavail * bsize - left)));
  return path;
}

describe("a real full disk", { skip: process.platform !== "linux" }, () => {
  before(() => mounts.clear());
  after(() => {
    for (const folder of mounts) unmount(folder);
  });

  test("tears no record, claims nothing, and takes the lifecycle in order when there is space again", async (t) => {
    const folder = mounted(t);
    if (folder === undefined) return;
    const taskId = newTaskId();
    const clock = manualClock();
    const { path, log } = newLog(folder, { taskId, clock });
    const filler = fill(folder, 20_000);
    let written = 0;
    let refusal = "";
    for (let i = 0; i < 1_000 && refusal === ""; i += 1) {
      const outcome = log.append([note(`${i} ${"x".repeat(333)}`)]);
      if (outcome.ok) written += 1;
      else refusal = outcome.message;
    }
    assert.match(refusal, /the disk is full/);
    assert.equal(readFileSync(path).at(-1), 10, "the log ends with a whole line");
    assert.equal(mustBeOk(await verifyLog(path, taskId)).records, written);

    assert.equal(log.append([note("exited")], { keep: true }).ok, false);
    assert.equal(log.append([note("stopped")], { keep: true }).ok, false);
    assert.equal((await log.sync()).ok, false);
    rmSync(filler);
    clock.advance(1_000);
    assert.equal(log.state.mode, "open");
    mustBeOk(await log.close());
    const texts: unknown[] = [];
    for await (const item of readEvents(path, taskId, { from: written + 1 })) texts.push(mustBeOk(item).event.data);
    assert.deepEqual(texts, [{ text: "exited" }, { text: "stopped" }]);
    unmount(folder);
  });

  test("leaves old files whole and no half-made task, artifact or lock", async (t) => {
    const folder = mounted(t);
    if (folder === undefined) return;
    const layout = layoutAt(join(folder, "state"));
    const record = join(folder, "record.json");
    mustBeOk(durableWrite(record, "old"));
    const { artifacts } = mustBeOk(openArtifacts(join(folder, "artifacts")));
    fill(folder, 0);

    const replaced = durableWrite(record, "x".repeat(100_000));
    assert.equal(reasonOf(replaced), "disk-full");
    assert.equal(readFileSync(record, "utf8"), "old");
    assert.equal(reasonOf(await durableWriteAsync(record, "x".repeat(100_000))), "disk-full");
    assert.equal(readFileSync(record, "utf8"), "old");

    const taskId = newTaskId();
    const created = await createTask(layout, {
      taskId,
      holder: holderOf(taskId),
      events: [{ type: "task.created", data: {} }],
      record: () => ({ v: 1, taskId, state: "created", seq: 1 }),
    });
    assert.equal(reasonOf(created), "disk-full");
    assert.ok(!created.ok && isPlainSentence(created.message));
    assert.deepEqual(readdirSync(layout.tasks), []);

    const writer = artifacts.writer({ push: (text) => text, end: () => "" });
    writer.push("x".repeat(100_000));
    assert.equal(reasonOf(writer.end()), "disk-full");
    assert.deepEqual(readdirSync(join(folder, "artifacts")), []);

    // The lock itself needs no space; only its note may be missing.
    const lock = takeFileLock(join(layout.locks, "x.lock"), { info: { pid: process.pid } });
    assert.equal(reasonOf(lock), "ok");
    assert.equal(reasonOf(takeFileLock(join(layout.locks, "x.lock"), { info: {} })), "lock-held");
    if (lock.ok) lock.lock.release();
    unmount(folder);
  });

  test("a read-only file system is named as such", async (t) => {
    const folder = mounted(t);
    if (folder === undefined) return;
    const { log } = newLog(folder, { taskId: newTaskId() });
    mustBeOk(log.append([note("x")]));
    mustBeOk(await log.close());
    execFileSync("mount", ["-o", "remount,ro", folder]);
    const outcome = durableWrite(join(folder, "f"), "x");
    assert.equal(reasonOf(outcome), "read-only-disk");
    assert.ok(!outcome.ok && isPlainSentence(outcome.message));
    unmount(folder);
  });
});
