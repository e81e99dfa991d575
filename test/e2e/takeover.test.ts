/** A person takes the real session over and gives it back: nothing is sent in between, not even by a crash. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { access } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { claudeEnv } from "../support/claude.ts";
import { bash, hang, text } from "../support/model-reply.ts";
import { startPi } from "../support/pi.ts";
import { PI_LINES } from "../support/pi-setup.ts";
import { assertNoneLeft } from "../support/processes.ts";
import { logProblems, readEvents, waitForState } from "../support/task.ts";
import { until } from "../support/until.ts";
import { MEND, onBothLines, openScene, test } from "./scene.ts";

const run = promisify(execFile);

await onBothLines("takeover", (line) => {
  test("mid-turn → the printed command → Pi is killed → handback from another Pi → completed", async (t) => {
    const { lab, cwd, modelServer, start, pi } = await openScene(t, line);
    modelServer.script("main", [bash("ls"), hang()]);
    const taskId = await start('Mend the sum --mode auto --verify "node --test"');
    await modelServer.waitForRequest((r) => r.kind === "main" && r.toolResults().length === 1, 60_000);
    const taken = await pi.run(`/supervise takeover ${taskId} --json`);
    assert.deepEqual([taken.ok, taken.state], [true, "taken_over"], JSON.stringify(taken));
    await assertNoneLeft(lab.mark, 5_000, [pi.pid]);
    const before = modelServer.of("main").length;

    const command = String(taken.resumeCommand);
    modelServer.script("main", [text("I have looked.")]);
    const person = await run("sh", ["-c", `${command} -p 'Look around, please'`], {
      env: { ...lab.env, ...claudeEnv(lab, modelServer.url) },
      timeout: 60_000,
    });
    assert.match(person.stdout, /I have looked\./);

    await pi.kill();
    const other = await startPi({ lab, modelServer, line, cwd });
    lab.defer(() => other.quit());
    const refused = await other.run(`/supervise recover ${taskId} --json`);
    assert.deepEqual([refused.ok, refused.reason], [false, "taken-over"], JSON.stringify(refused));
    const rows = (await other.run("/supervise sessions --json")).tasks as { state: string; recoverable: boolean }[];
    assert.deepEqual(
      rows.map((row) => [row.state, row.recoverable]),
      [["taken_over", false]],
    );
    assert.equal(modelServer.of("main").length, before + 1, "only the person's own Claude asked the model");

    modelServer.script("main", [bash(MEND), text("Done.")]);
    const back = await other.run(`/supervise handback ${taskId} Only the sign is wrong --json`);
    assert.deepEqual([back.ok, back.turns], [true, 1], JSON.stringify(back));
    await waitForState(other, taskId, ["completed"], 90_000);

    const said = modelServer.of("main").at(-1)?.userTexts() ?? [];
    const having = (part: string): number => said.filter((one) => one.includes(part)).length;
    assert.deepEqual(
      ["Mend the sum", "Look around, please", "A person has worked in this session", "Only the sign is wrong"].map(
        having,
      ),
      [1, 1, 1, 1],
    );
    const events = await readEvents(lab.stateDir, taskId);
    assert.deepEqual(
      events.filter((event) => event.type === "prompt.intent").map((event) => event.data.source),
      ["goal", "handback"],
    );
    assert.deepEqual(await logProblems(lab.stateDir, taskId), []);
    assert.equal((await other.run(`/supervise replay ${taskId} --json`)).matches, true);
  });

  /* What Claude does with such a call is the same under either Pi. */
  if (line !== PI_LINES[0]) return;
  test("a call that was put off for a person: nobody is asked meanwhile, and Claude asks for it again after the handback", async (t) => {
    const { lab, cwd, modelServer, start, run, approvals, pi } = await openScene(t, line);
    modelServer.script("main", [bash("node gen.mjs made.txt")]);
    const taskId = await start('Mend the sum --mode auto --patience 2s --verify "node --test"');
    const asked = await until(async () => (await approvals()).find((one) => one.deferred), 60_000, "the deferral");
    const taken = await until(
      async () => {
        const answer = await run(`takeover ${taskId}`);
        return answer.ok === false && answer.reason === "busy" ? undefined : answer;
      },
      60_000,
      "the takeover",
    );
    assert.deepEqual([taken.ok, taken.state], [true, "taken_over"], JSON.stringify(taken));
    await assertNoneLeft(lab.mark, 5_000, [pi.pid]);
    assert.deepEqual(await approvals(), [], "nobody is asked while a person has the wheel");
    const late = await run(`approve ${asked.requestId}`);
    assert.deepEqual([late.ok, late.reason], [false, "no-request"], JSON.stringify(late));
    assert.equal(modelServer.of("main").length, 1, "nothing was sent");

    modelServer.script("main", [bash(MEND), text("Done."), text("As you say.")]);
    const back = await run(`handback ${taskId} Do it without a generator`);
    assert.equal(back.ok, true, JSON.stringify(back));
    /* Claude keeps a deferred call in its session and asks for it first of all (2.1.268). */
    const again = await until(async () => (await approvals())[0], 60_000, "the same call");
    assert.equal(again.input["command"], "node gen.mjs made.txt");
    assert.equal((await run(`deny ${again.requestId} no generator`)).ok, true);
    await waitForState(pi, taskId, ["completed"], 90_000);
    const last = modelServer.of("main").at(-1);
    const told = last?.everything() ?? "";
    assert.match(told, /A person has worked in this session/);
    assert.equal(told.split("Do it without a generator").length, 2, "once");
    assert.match(JSON.stringify(last?.toolResults()), /no generator/);
    await assert.rejects(access(join(cwd, "made.txt")), "the call that was put off never ran");
    assert.deepEqual(await logProblems(lab.stateDir, taskId), []);
    assert.equal((await run(`replay ${taskId}`)).matches, true);
  });
});
