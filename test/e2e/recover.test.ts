/** A killed Pi loses nothing: the task is recoverable, goes on in its session, and is never told its goal twice. */
import assert from "node:assert/strict";
import { bash, hang, text } from "../support/model-reply.ts";
import { startPi } from "../support/pi.ts";
import { assertNoneLeft } from "../support/processes.ts";
import { logProblems, readEvents, waitForState } from "../support/task.ts";
import { MEND, onBothLines, openScene, test } from "./scene.ts";

await onBothLines("recovery", (line) => {
  test("SIGKILL in mid-turn → recoverable → recover → completed, the goal given once", async (t) => {
    const { lab, cwd, modelServer, start, pi } = await openScene(t, line);
    modelServer.script("main", [bash("ls"), hang()]);
    const taskId = await start('Mend the sum --mode auto --verify "node --test"');
    await modelServer.waitForRequest(
      (request) => request.kind === "main" && request.toolResults().length === 1,
      30_000,
    );
    await pi.kill();
    await assertNoneLeft(lab.mark, 5_000);
    modelServer.script("main", [bash(MEND), text("Done.")]);
    const other = await startPi({ lab, modelServer, line, cwd });
    lab.defer(() => other.quit());
    const rows = (await other.run("/supervise sessions --json")).tasks as { taskId: string; recoverable: boolean }[];
    assert.deepEqual(
      rows.map((row) => [row.taskId, row.recoverable]),
      [[taskId, true]],
    );
    const recovered = await other.run(`/supervise recover ${taskId} --json`);
    assert.equal(recovered.ok, true, JSON.stringify(recovered));
    await waitForState(other, taskId, ["completed"], 60_000);
    const said =
      modelServer
        .of("main")
        .at(-1)
        ?.userTexts()
        .filter((one) => one.includes("Mend the sum")) ?? [];
    assert.equal(said.length, 1, "the goal stands once in the whole conversation");
    const events = await readEvents(lab.stateDir, taskId);
    assert.deepEqual(
      events.filter((event) => event.type === "prompt.intent").map((event) => event.data.source),
      ["goal", "recover"],
    );
    assert.deepEqual(await logProblems(lab.stateDir, taskId), []);
    assert.equal((await other.run(`/supervise replay ${taskId} --json`)).matches, true);
    const again = await other.run(`/supervise recover ${taskId} --json`);
    assert.equal(again.ok, false);
  });

  test("a question that Pi took along when it was killed is lost, and refused by that name", async (t) => {
    const { lab, cwd, modelServer, start, pi, waitsFor, approvals } = await openScene(t, line);
    modelServer.script("main", [bash("node sum.mjs")]);
    const taskId = await start('Run it --mode manual --patience 1h --verify "true"');
    await waitsFor(taskId, "approval");
    const [lost] = await approvals();
    assert.ok(lost && !lost.deferred);
    await pi.kill();
    await assertNoneLeft(lab.mark, 5_000);
    const other = await startPi({ lab, modelServer, line, cwd });
    lab.defer(() => other.quit());
    assert.deepEqual((await other.run("/supervise approvals --json")).requests, []);
    const refused = await other.run(`/supervise approve ${lost.requestId} --json`);
    assert.deepEqual([refused.ok, refused.reason], [false, "request-lost"]);
    assert.equal((await other.run(`/supervise stop ${taskId} --json`)).ok, true);
  });

  test("pause and resume keep the session; a killed task is not recovered while it lives", async (t) => {
    const { modelServer, start, run, waitsFor } = await openScene(t, line);
    modelServer.script("main", [text("First."), text("Second.")]);
    const taskId = await start('Say something --mode manual --verify "true"');
    await waitsFor(taskId, "result");
    const live = await run(`recover ${taskId}`);
    assert.deepEqual([live.ok, live.reason], [false, "live"]);
    const paused = await run(`pause ${taskId}`);
    assert.equal(paused.ok, true, JSON.stringify(paused));
    assert.equal((await run(`status ${taskId}`)).state, "paused");
    const resumed = await run(`resume ${taskId}`);
    assert.equal(resumed.ok, true, JSON.stringify(resumed));
    await waitsFor(taskId, "result");
    const verified = await run(`verify ${taskId}`);
    assert.equal(verified.outcome, "pass", JSON.stringify(verified));
  });
});
