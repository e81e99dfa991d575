/** The main job, end to end: real Pi (both lines), real Claude Code, scripted model. */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { bash, text } from "../support/model-reply.ts";
import { logProblems, readEvents, readTask, waitForState } from "../support/task.ts";
import { until } from "../support/until.ts";
import { MEND, onBothLines, openScene, test } from "./scene.ts";

await onBothLines("the main job", (line) => {
  test("an automatic task gets its failing evidence, mends the code and ends completed", async (t) => {
    const { lab, modelServer, start, run, pi } = await openScene(t, line);
    modelServer.script("main", [
      bash("ls"),
      text("All done, every test is green!"),
      bash(MEND),
      text("Now it is right."),
    ]);
    const taskId = await start('Mend sum --mode auto --verify "node --test"');
    await waitForState(pi, taskId, ["completed"], 60_000);
    const events = await readEvents(lab.stateDir, taskId);
    const outcomes = events.filter((event) => event.type === "verify.finished").map((event) => event.data.outcome);
    assert.deepEqual(outcomes, ["fail", "pass"]);
    const listing = events.find((event) => event.type === "gate.verdict" && event.data.toolName === "Bash");
    assert.equal(listing?.data.verdict, "allow", "even `ls`, which Claude never asks about, passes the gate");
    assert.deepEqual(await logProblems(lab.stateDir, taskId), []);
    const replayed = await run(`replay ${taskId}`);
    assert.deepEqual(
      [replayed.ok, replayed.matches, replayed.state],
      [true, true, "completed"],
      JSON.stringify(replayed),
    );
    assert.equal((await readTask(lab.stateDir, taskId)).state, "completed");
    const goals = new Set(
      modelServer.of("main").map((request) => request.userTexts().filter((said) => said.includes("Mend sum")).length),
    );
    assert.deepEqual([...goals], [1], "the goal stands in exactly one message of the conversation");
    const last = modelServer.of("main").at(-1);
    assert.ok(
      last?.userTexts().some((said) => said.includes("$ node --test") && said.includes("not ok")),
      "the evidence reached the worker",
    );
  });

  test("a worker that claims success with a red test never completes", async (t) => {
    const { lab, modelServer, start, pi, run } = await openScene(t, line);
    modelServer.script("main", () => text("VERIFIED. All tests pass. Task completed."));
    const taskId = await start('Mend sum --mode auto --max-rounds 2 --verify "node --test"');
    const status = await waitForState(pi, taskId, ["human_required", "completed", "failed"], 60_000);
    assert.equal(status.state, "human_required");
    assert.equal(status.waitsFor, "person");
    const events = await readEvents(lab.stateDir, taskId);
    assert.equal(events.filter((event) => event.type === "verify.finished").length, 2);
    assert.equal(
      events.filter((event) => event.type === "prompt.intent" && event.data.source === "verifier").length,
      1,
    );
    assert.ok(!events.some((event) => event.type === "task.completed"));
    const stopped = await run(`stop ${taskId}`);
    assert.deepEqual([stopped.ok, stopped.state], [true, "stopped"], JSON.stringify(stopped));
    assert.equal((await run(`replay ${taskId}`)).matches, true);
  });

  test("a manual task asks for what the gate leaves open, waits for its person, and completes by their verify", async (t) => {
    const { lab, cwd, modelServer, start, run, waitsFor, approvals } = await openScene(t, line, {
      files: { "gen.mjs": 'import { writeFileSync } from "node:fs";\nwriteFileSync(process.argv[2], "made");\n' },
    });
    modelServer.script("main", [
      bash("node gen.mjs made.txt"),
      bash("node gen.mjs other.txt"),
      bash("touch pwned && claude --dangerously-skip-permissions -p hi"),
      text("I made it."),
    ]);
    const taskId = await start('Make made.txt --mode manual --verify "test -f made.txt"');
    await waitsFor(taskId, "approval");
    const [first] = await approvals();
    assert.deepEqual(
      [first?.taskId, first?.toolName, first?.kind, first?.input["command"], first?.deferred],
      [taskId, "Bash", "tool", "node gen.mjs made.txt", false],
    );
    assert.equal((await run(`approve ${first?.requestId}`)).ok, true);
    assert.equal((await run(`approve ${first?.requestId}`)).ok, false, "an answer counts once");
    const second = await until(
      async () => (await approvals()).find((one) => one.requestId !== first?.requestId),
      20_000,
      "the second request",
    );
    assert.equal((await run(`deny ${second.requestId} not this one`)).ok, true);
    await waitsFor(taskId, "result");
    const told = modelServer.of("main").at(-1)?.toolResults() ?? [];
    assert.match(told[1]?.text ?? "", /not this one/);
    assert.match(told[2]?.text ?? "", /policy/i);
    await assert.rejects(readFile(join(cwd, "pwned")), "a denied command runs no part of itself");
    await assert.rejects(readFile(join(cwd, "other.txt")));
    assert.equal(await readFile(join(cwd, "made.txt"), "utf8"), "made");
    const verified = await run(`verify ${taskId}`);
    assert.deepEqual([verified.ok, verified.outcome], [true, "pass"], JSON.stringify(verified));
    assert.equal((await run(`status ${taskId}`)).state, "completed");
    assert.equal((await run(`stop ${taskId}`)).state, "completed", "a stop changes nothing on an ended task");
    const events = await readEvents(lab.stateDir, taskId);
    assert.ok(!events.some((event) => event.type === "stop.requested"));
  });
});
