/** Approvals that outlive the worker and Pi: `--patience`, quitting, restarting, answering. */
import assert from "node:assert/strict";
import { access, readFile } from "node:fs/promises";
import { join } from "node:path";
import { bash, text, toolUses } from "../support/model-reply.ts";
import { startPi } from "../support/pi.ts";
import { assertNoneLeft } from "../support/processes.ts";
import { logProblems, readEvents } from "../support/task.ts";
import { until } from "../support/until.ts";
import { type Asked, onBothLines, openScene, test } from "./scene.ts";

const FILES = { "gen.mjs": 'import { appendFileSync } from "node:fs";\nappendFileSync(process.argv[2], "made\\n");\n' };

await onBothLines("deferral", (line) => {
  test("unanswered for --patience: the call is deferred, survives Pi, and runs once when it is approved", async (t) => {
    const { lab, cwd, modelServer, start, run, pi } = await openScene(t, line, { files: FILES });
    modelServer.script("main", [bash("node gen.mjs made.txt"), text("I made it.")]);
    const taskId = await start('Make it --mode manual --patience 1s --verify "test -f made.txt"');
    const asked = await until(
      async () => ((await run("approvals")).requests as Asked[]).find((one) => one.deferred),
      30_000,
      "the deferral",
    );
    await assertNoneLeft(lab.mark, 30_000, [pi.pid]);
    const status = await run(`status ${taskId}`);
    assert.deepEqual([status.state, status.waitsFor], ["human_required", "approval"]);
    await pi.quit();
    const other = await startPi({ lab, modelServer, line, cwd });
    lab.defer(() => other.quit());
    const again = (await other.run("/supervise approvals --json")).requests as Asked[];
    assert.deepEqual(
      again.map((one) => [one.requestId, one.deferred]),
      [[asked.requestId, true]],
    );
    assert.equal(modelServer.of("main").length, 1, "nothing was sent in between");
    assert.equal((await other.run(`/supervise approve ${asked.requestId} --json`)).ok, true);
    await until(
      async () => (await other.run(`/supervise status ${taskId} --json`)).waitsFor === "result" || undefined,
      30_000,
      "the result",
    );
    assert.equal(await readFile(join(cwd, "made.txt"), "utf8"), "made\n", "it ran once");
    const verified = await other.run(`/supervise verify ${taskId} --json`);
    assert.equal(verified.outcome, "pass", JSON.stringify(verified));
    assert.deepEqual(await logProblems(lab.stateDir, taskId), []);
    assert.equal((await other.run(`/supervise replay ${taskId} --json`)).matches, true);
    const sources = (await readEvents(lab.stateDir, taskId))
      .filter((event) => event.type === "prompt.intent")
      .map((event) => event.data.source);
    assert.deepEqual(sources, ["goal"], "the deferred call needs no message to go on");
  });

  test("quitting Pi with a request waiting makes it durable; a denial reaches the worker later", async (t) => {
    const { lab, cwd, modelServer, start, pi, waitsFor, run } = await openScene(t, line, { files: FILES });
    modelServer.script("main", [bash("node gen.mjs made.txt"), text("All right.")]);
    const taskId = await start('Make it --mode manual --verify "true"');
    await waitsFor(taskId, "approval");
    const [asked] = (await run("approvals")).requests as Asked[];
    await pi.quit();
    await assertNoneLeft(lab.mark, 30_000);
    const other = await startPi({ lab, modelServer, line, cwd });
    lab.defer(() => other.quit());
    const [kept] = (await other.run("/supervise approvals --json")).requests as Asked[];
    assert.deepEqual([kept?.requestId, kept?.deferred], [asked?.requestId, true]);
    assert.equal((await other.run(`/supervise deny ${kept?.requestId} not today --json`)).ok, true);
    await until(
      async () => (await other.run(`/supervise status ${taskId} --json`)).waitsFor === "result" || undefined,
      30_000,
      "the result",
    );
    await assert.rejects(access(join(cwd, "made.txt")));
    assert.match(modelServer.of("main").at(-1)?.toolResults()[0]?.text ?? "", /not today/);
  });

  test("of two waiting calls of one message the last is kept, the other may be asked again", async (t) => {
    const { cwd, modelServer, start, run, approvals, waitsFor } = await openScene(t, line, { files: FILES });
    modelServer.script("main", [
      toolUses(
        { name: "Bash", input: { command: "node gen.mjs one.txt", description: "one" } },
        { name: "Bash", input: { command: "node gen.mjs two.txt", description: "two" } },
      ),
      text("Done for now."),
    ]);
    const taskId = await start('Make both --mode manual --patience 1s --verify "true"');
    const kept = await until(
      async () => {
        const list = await approvals();
        return list.length === 1 && list[0]?.deferred ? list[0] : undefined;
      },
      30_000,
      "one deferred call",
    );
    assert.equal(kept.input["command"], "node gen.mjs two.txt");
    assert.equal((await run(`approve ${kept.requestId}`)).ok, true);
    await waitsFor(taskId, "result");
    assert.equal(await readFile(join(cwd, "two.txt"), "utf8"), "made\n");
    await assert.rejects(access(join(cwd, "one.txt")));
  });

  test("a stop ends a deferred task, and its request with it", async (t) => {
    const { modelServer, start, run, approvals } = await openScene(t, line, { files: FILES });
    modelServer.script("main", [bash("node gen.mjs made.txt"), text("no")]);
    const taskId = await start('Make it --mode manual --patience 500ms --verify "true"');
    const asked = await until(async () => (await approvals()).find((one) => one.deferred), 30_000, "the deferral");
    assert.equal((await run(`stop ${taskId}`)).state, "stopped");
    assert.deepEqual(await approvals(), []);
    assert.equal((await run(`approve ${asked.requestId}`)).ok, false);
  });
});
