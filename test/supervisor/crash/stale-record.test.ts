/** `task.json` is a copy that may be late, torn out or broken: the log says what a task is. */
import assert from "node:assert/strict";
import { copyFileSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { until } from "../../support/until.ts";
import { openStage, type Stage } from "../stage.ts";

const recordOf = (stage: Stage, taskId: string): string => join(stage.lab.stateDir, "tasks", taskId, "task.json");

/** A task whose Pi has quit, and the next Pi. */
async function left(t: Parameters<typeof openStage>[0]) {
  const first = await openStage(t, { scenario: "obedient" });
  const taskId = await first.start();
  await first.when(taskId, (view) => view.waitsFor === "result", "the result");
  await first.supervisor.shutdown(2_000);
  const second = await openStage(t, { scenario: "obedient", lab: first.lab, cwd: first.cwd });
  return { taskId, second, record: recordOf(first, taskId) };
}

describe("a record that can't be read", () => {
  const spoilt: Record<string, (path: string) => void> = {
    "holds an empty object": (path) => writeFileSync(path, "{}"),
    "is empty": (path) => writeFileSync(path, ""),
    "is cut off": (path) => writeFileSync(path, readFileSync(path, "utf8").slice(0, 100)),
    "is not there": (path) => rmSync(path),
    "has nothing but its head": (path) => {
      const { v, taskId, state, seq } = JSON.parse(readFileSync(path, "utf8"));
      writeFileSync(path, JSON.stringify({ v, taskId, state, seq }));
    },
  };
  for (const [what, spoil] of Object.entries(spoilt)) {
    test(`because it ${what}: status, log, report and recover work from the log`, async (t) => {
      const { taskId, second, record } = await left(t);
      const { supervisor } = second;
      const before = await second.view(taskId);
      spoil(record);
      assert.deepEqual(await second.view(taskId), before);
      const log = await supervisor.log(taskId, { limit: 5 });
      assert.ok(log.ok && log.events.length === 5 && log.events.at(-1)?.seq === log.lastSeq, JSON.stringify(log));
      assert.ok((await supervisor.verifyLog(taskId)).ok);
      assert.ok((await supervisor.history(taskId, () => undefined)).ok);
      const replayed = await supervisor.replay(taskId);
      assert.ok(replayed.ok && !replayed.matches, JSON.stringify(replayed));
      assert.equal(replayed.state, before.state);
      assert.match(replayed.differences.join(), /record can't be read/);
      const recovered = await supervisor.recover(taskId, { fresh: false });
      assert.ok(recovered.ok, JSON.stringify(recovered));
      await second.when(taskId, (view) => view.turns === 2, "the turn");
      await until(
        async () => (await supervisor.replay(taskId).then((now) => now.ok && now.matches)) || undefined,
        5_000,
        "a new record",
      );
    });
  }

  test("and has no log either is no task", async (t) => {
    const { taskId, second, record } = await left(t);
    rmSync(join(record, "..", "events.jsonl"));
    rmSync(record);
    for (const answer of [
      await second.supervisor.status(taskId),
      await second.supervisor.replay(taskId),
      await second.supervisor.recover(taskId, { fresh: false }),
    ]) {
      assert.deepEqual([answer.ok, !answer.ok && answer.reason], [false, "no-task"]);
    }
  });
});

test("a record that was left behind its log is not believed: the task had ended", async (t) => {
  const first = await openStage(t, { scenario: "obedient" });
  const taskId = await first.start();
  await first.when(taskId, (view) => view.waitsFor === "result", "the result");
  const record = recordOf(first, taskId);
  const old = `${record}.old`;
  await until(() => JSON.parse(readFileSync(record, "utf8")).state === "human_required", 5_000, "the record");
  copyFileSync(record, old);
  assert.ok((await first.supervisor.verify(taskId)).ok);
  await until(() => first.supervisor.live().length === 0, 5_000, "the task to be let go of");
  copyFileSync(old, record);
  /* As if its owner had died: its own process is alive and owns nothing. */
  const stored = JSON.parse(readFileSync(record, "utf8"));
  writeFileSync(record, JSON.stringify({ ...stored, owner: { ...stored.owner, startTicks: "1" } }));

  const second = await openStage(t, { lab: first.lab, cwd: first.cwd, scenario: "obedient" });
  assert.equal((await second.view(taskId)).state, "completed");
  const [row] = (await second.supervisor.sessions(true)).tasks;
  assert.deepEqual([row?.state, row?.recoverable], ["completed", false]);
  const recovered = await second.supervisor.recover(taskId, { fresh: false });
  assert.deepEqual([recovered.ok, !recovered.ok && recovered.reason], [false, "completed"]);
  const stopped = await second.supervisor.stop(taskId, undefined);
  assert.deepEqual([stopped.ok, stopped.ok && stopped.state], [true, "completed"]);
  const sent = await second.supervisor.send(taskId, "more");
  assert.deepEqual([sent.ok, !sent.ok && sent.reason], [false, "completed"]);
  assert.equal(second.supervisor.live().length, 0, "nothing was kept");
  assert.equal(JSON.parse(readFileSync(record, "utf8")).state, "completed", "the record is put right");
  const replayed = await second.supervisor.replay(taskId);
  assert.ok(replayed.ok && replayed.matches && replayed.state === "completed", JSON.stringify(replayed));
});
