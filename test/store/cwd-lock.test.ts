import assert from "node:assert/strict";
import { mkdirSync, readdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { takeCwdLock } from "../../src/store/cwd-lock.ts";
import { holderOf, layoutAt, mustBeOk, newTaskId, reasonOf, tempFolder } from "./temp-store.ts";

describe("the lock of a working folder", () => {
  test("is one for all names of a folder, and names who holds it", (t) => {
    const folder = tempFolder(t);
    const layout = layoutAt(join(folder, "state"));
    const work = join(folder, "work");
    mkdirSync(work);
    symlinkSync(work, join(folder, "alias"));
    const taskId = newTaskId();
    const first = mustBeOk(takeCwdLock(layout, join(folder, "alias"), holderOf(taskId)));
    assert.equal(first.cwd, work);

    const second = takeCwdLock(layout, `${work}/./`, holderOf(newTaskId()));
    assert.equal(reasonOf(second), "cwd-busy");
    assert.ok(!second.ok && second.message.includes(taskId) && second.message.includes(`process ${process.pid}`));
    assert.ok(!second.ok && "holder" in second && second.holder?.["cwd"] === work);

    mkdirSync(join(work, "sub"));
    mustBeOk(takeCwdLock(layout, join(work, "sub"), holderOf(newTaskId()))).lock.release();
    first.lock.release();
    mustBeOk(takeCwdLock(layout, work, holderOf(newTaskId()))).lock.release();
    assert.equal(readdirSync(layout.locks).length, 2);
  });

  test("of a folder that does not exist is refused and makes nothing", (t) => {
    const layout = layoutAt(join(tempFolder(t), "state"));
    assert.equal(reasonOf(takeCwdLock(layout, join(layout.root, "none"), holderOf(newTaskId()))), "missing");
    assert.deepEqual(readdirSync(layout.locks), []);
  });
});
