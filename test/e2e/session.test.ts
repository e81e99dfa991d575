/** Pi's own life around a task: `/new`, quitting, SIGKILL. */
import assert from "node:assert/strict";
import { bash, held, text } from "../support/model-reply.ts";
import { startPi } from "../support/pi.ts";
import { assertNoneLeft } from "../support/processes.ts";
import { waitForState } from "../support/task.ts";
import { gate, until } from "../support/until.ts";
import { MEND, onBothLines, openScene, test } from "./scene.ts";

await onBothLines("Pi's sessions", (line) => {
  test("/new in the middle of a run neither crashes Pi nor loses the task", async (t) => {
    const { modelServer, start, pi, run } = await openScene(t, line);
    const hold = gate();
    modelServer.script("main", [bash("ls"), held(hold.opened, bash(MEND)), text("Done.")]);
    const taskId = await start('Mend sum --mode auto --verify "node --test"');
    await modelServer.waitForRequest(
      (request) => request.kind === "main" && request.toolResults().length === 1,
      30_000,
    );
    await pi.newSession();
    assert.equal((await run(`status ${taskId}`)).ok, true);
    hold.open();
    await waitForState(pi, taskId, ["completed"], 60_000);
    await pi.newSession();
    assert.equal((await run(`status ${taskId}`)).state, "completed");
  });

  test("quitting Pi ends its worker and leaves the task recoverable; nothing of it is left", async (t) => {
    const { lab, cwd, modelServer, start, pi } = await openScene(t, line);
    const hold = gate();
    modelServer.script("main", [bash("ls"), held(hold.opened, text("Done."))]);
    const taskId = await start('Mend sum --mode auto --verify "node --test"');
    await modelServer.waitForRequest(
      (request) => request.kind === "main" && request.toolResults().length === 1,
      30_000,
    );
    await pi.quit();
    await assertNoneLeft(lab.mark, 5_000);
    hold.open();
    const other = await startPi({ lab, modelServer, line, cwd });
    lab.defer(() => other.quit());
    const sessions = (await other.run("/supervise sessions --json")).tasks as {
      taskId: string;
      recoverable: boolean;
    }[];
    assert.deepEqual(
      sessions.map((row) => [row.taskId, row.recoverable]),
      [[taskId, true]],
    );
    assert.equal((await other.run(`/supervise replay ${taskId} --json`)).matches, true);
  });

  test("SIGKILL of Pi ends all of its worker's processes within 5 s, and another Pi can stop what is left of the task", async (t) => {
    const { lab, cwd, modelServer, start, pi } = await openScene(t, line);
    modelServer.script("main", [bash("sleep 300 & setsid sleep 301 & sleep 302"), text("Done.")]);
    const taskId = await start('Wait --mode manual --verify "true"');
    const asked = await until(
      async () => ((await pi.run("/supervise approvals --json")).requests as { requestId: string }[])[0],
      30_000,
      "the ask",
    );
    assert.equal((await pi.run(`/supervise approve ${asked.requestId} --json`)).ok, true);
    const { processesWithMark } = await import("../support/processes.ts");
    await until(
      async () =>
        processesWithMark(lab.mark).filter((one) => one.command.startsWith("sleep 30")).length === 3 || undefined,
      20_000,
      "three sleeps",
    );
    await pi.kill();
    await assertNoneLeft(lab.mark, 5_000);
    const other = await startPi({ lab, modelServer, line, cwd });
    lab.defer(() => other.quit());
    const lost = await other.run(`/supervise approve ${asked.requestId} --json`);
    assert.equal(lost.ok, false);
    const stopped = await other.run(`/supervise stop ${taskId} --json`);
    assert.deepEqual([stopped.ok, stopped.state], [true, "stopped"], JSON.stringify(stopped));
    assert.equal((await other.run(`/supervise replay ${taskId} --json`)).matches, true);
  });
});
