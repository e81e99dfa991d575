import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { describe, test } from "node:test";
import { createTask, openTask, readTask } from "../../src/store/task-store.ts";
import { holderOf, mustBeOk, newTask, newTaskId, tempLayout } from "./temp-store.ts";

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
});
