/** What a command's answer says stands on disk when it is said: who reads `task.json` then, or replays, sees the same. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { readTask } from "../support/task.ts";
import { OPENING, openStage, type Stage } from "./stage.ts";

async function onDisk(stage: Stage, taskId: string): Promise<unknown[]> {
  const [record, replayed] = await Promise.all([readTask(stage.lab.stateDir, taskId), stage.supervisor.replay(taskId)]);
  return [record["state"], replayed.ok && replayed.state, replayed.ok && replayed.matches];
}

for (const scenario of ["obedient", "chatters"]) {
  test(`a stop of a worker that is ${scenario}`, async (t) => {
    const stage = await openStage(t, { scenario });
    const taskId = await stage.start();
    await stage.when(taskId, (view) => view.state === "running" || view.waitsFor === "result", "a turn");
    const stopped = await stage.supervisor.stop(taskId, undefined);
    assert.deepEqual([stopped.ok, stopped.ok && stopped.state], [true, "stopped"], JSON.stringify(stopped));
    assert.deepEqual(await onDisk(stage, taskId), ["stopped", "stopped", true]);
  });
}

test("a kill in the middle of a turn", async (t) => {
  const stage = await openStage(t, { steps: [...OPENING, { sleep: 60_000 }] });
  const taskId = await stage.start();
  await stage.when(taskId, (view) => view.state === "running", "a turn");
  assert.ok((await stage.supervisor.kill(taskId)).ok);
  assert.deepEqual(await onDisk(stage, taskId), ["stopped", "stopped", true]);
});

test("a pause, and the stop of a paused task", async (t) => {
  const stage = await openStage(t, { scenario: "obedient" });
  const taskId = await stage.start();
  await stage.when(taskId, (view) => view.waitsFor === "result", "the result");
  assert.ok((await stage.supervisor.pause(taskId, undefined)).ok);
  assert.deepEqual(await onDisk(stage, taskId), ["paused", "paused", true]);
  assert.ok((await stage.supervisor.stop(taskId, undefined)).ok);
  assert.deepEqual(await onDisk(stage, taskId), ["stopped", "stopped", true]);
});

test("a verification that passes, and one that fails", async (t) => {
  const stage = await openStage(t, { scenario: "obedient" });
  const red = await stage.start({ verify: ["false"] });
  await stage.when(red, (view) => view.waitsFor === "result", "the result");
  const failed = await stage.supervisor.verify(red);
  assert.ok(failed.ok && failed.outcome === "fail");
  assert.deepEqual(await onDisk(stage, red), [failed.state, failed.state, true]);
  assert.ok((await stage.supervisor.stop(red, undefined)).ok);
  const green = await stage.start();
  await stage.when(green, (view) => view.waitsFor === "result", "the result");
  const passed = await stage.supervisor.verify(green);
  assert.ok(passed.ok && passed.state === "completed", JSON.stringify(passed));
  assert.deepEqual(await onDisk(stage, green), ["completed", "completed", true]);
});
