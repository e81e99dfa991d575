import assert from "node:assert/strict";
import { appendFileSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { describe, test } from "node:test";
import { createTask, openTask, openTaskVerified, readTask } from "../../src/store/task-store.ts";
import { holderOf, mustBeOk, newTask, newTaskId, note, reasonOf, tempLayout } from "./temp-store.ts";

describe("the task store", () => {
  test("a new task has its record, its first event and one owner", async (t) => {
    const layout = tempLayout(t);
    const task = await newTask(layout);
    assert.equal(mustBeOk(readTask(layout, task.taskId)).record.state, "created");
    assert.deepEqual(readdirSync(layout.tasks), [task.taskId]);
    const second = openTask(layout, { taskId: task.taskId, holder: holderOf(task.taskId) });
    assert.equal(second.ok, false);
    assert.equal(!second.ok && second.reason, "live");
    assert.match(second.ok ? "" : second.message, new RegExp(`process ${process.pid} since `));

    mustBeOk(await task.log.close());
    task.lock.release();
    const third = mustBeOk(openTask(layout, { taskId: task.taskId, holder: holderOf(task.taskId) }));
    assert.equal(third.task.log.seq, 1);
    mustBeOk(await third.task.log.close());
    third.task.lock.release();
  });

  test("a second task with the same id is refused and leaves nothing behind", async (t) => {
    const layout = tempLayout(t);
    const taskId = newTaskId();
    const task = await newTask(layout, taskId);
    const twin = await createTask(layout, {
      taskId,
      holder: holderOf(taskId),
      events: [{ type: "task.created", data: {} }],
      record: () => ({ v: 1, taskId, state: "created", seq: 1 }),
    });
    assert.equal(!twin.ok && twin.reason, "task-exists");
    assert.deepEqual(readdirSync(layout.tasks), [taskId]);
    await task.log.close();
    task.lock.release();
  });

  test("opening a task that does not exist makes nothing", (t) => {
    const layout = tempLayout(t);
    const taskId = newTaskId();
    const opened = openTask(layout, { taskId, holder: holderOf(taskId) });
    assert.equal(!opened.ok && opened.reason, "no-task");
    assert.deepEqual(readdirSync(layout.tasks), []);
  });

  test("a task with damage inside and a torn end is refused by a verified opening, with not one byte changed", async (t) => {
    const layout = tempLayout(t);
    const task = await newTask(layout);
    const { taskId, paths } = task;
    mustBeOk(task.log.append([note("one"), note("two"), note("three")]));
    mustBeOk(await task.log.close());
    task.lock.release();
    const open = { taskId, holder: holderOf(taskId) };
    const sound = readFileSync(paths.log);

    appendFileSync(paths.log, '{"v":1,"seq":5');
    const recovered = mustBeOk(await openTaskVerified(layout, open));
    assert.equal(recovered.recovered?.bytes, 14);
    await recovered.task.log.close();
    recovered.task.lock.release();
    assert.deepEqual(readFileSync(paths.log), sound);

    const damaged = Buffer.concat([sound, Buffer.from('{"v":1,"seq":5')]);
    damaged[40] = 0;
    writeFileSync(paths.log, damaged);
    for (let attempt = 0; attempt < 2; attempt += 1) {
      const refused = await openTaskVerified(layout, open);
      assert.equal(reasonOf(refused), "log-damaged");
      assert.deepEqual(readFileSync(paths.log), damaged);
      assert.equal(readdirSync(paths.folder).filter((name) => name.includes(".torn-")).length, 1);
    }
  });
});
