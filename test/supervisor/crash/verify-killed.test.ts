/** A verification is not a worker: what it runs must not outlive its Pi either, and its tree must not be half a verdict. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { until } from "../../support/until.ts";
import { createLab } from "../../support/workspace.ts";
import { KINDS_OF_LIFE } from "./run.ts";
import { killWhen, TEMPLATE } from "./stage.ts";

test("a Pi killed while the verification runs leaves nothing of it; recover verifies anew", async (t) => {
  const lab = await createLab(t);
  const template = await lab.repo(TEMPLATE);
  const seconds = 10_000 + Math.floor(Math.random() * 80_000);
  const command = `sleep ${seconds}`;
  const { supervisor, taskId, running } = await killWhen(lab, template, KINDS_OF_LIFE.whole, command);
  lab.defer(() => supervisor.shutdown(2_000));
  await until(
    () => running().length === 0,
    5_000,
    () => `${command} to end; left: ${JSON.stringify(running())}`,
  );
  const row = (await supervisor.sessions(true)).tasks[0];
  assert.deepEqual([row?.state, row?.recoverable], ["verifying", true]);
  const recovered = await supervisor.recover(taskId, { fresh: false });
  assert.ok(recovered.ok, JSON.stringify(recovered));
  await until(() => running().length > 0, 15_000, "the verification to run again");
  const stopped = await supervisor.stop(taskId, undefined);
  assert.deepEqual([stopped.ok, stopped.ok && stopped.state], [true, "stopped"], JSON.stringify(stopped));
  await until(() => running().length === 0, 5_000, `${command} to end with the stop`);
  const replayed = await supervisor.replay(taskId);
  assert.ok(replayed.ok && replayed.matches, JSON.stringify(replayed));
});
