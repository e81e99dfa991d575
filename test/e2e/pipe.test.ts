/** The transport without a gate, end to end: real Pi (both lines), real Claude Code in text mode, scripted model. */
import assert from "node:assert/strict";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { bash, hang, text } from "../support/model-reply.ts";
import { startModelServer } from "../support/model-server.ts";
import { runPrint } from "../support/pi-print.ts";
import { assertNoneLeft, processesWithMark } from "../support/processes.ts";
import { logProblems, readEvents, waitForState } from "../support/task.ts";
import { until } from "../support/until.ts";
import { createLab } from "../support/workspace.ts";
import { onBothLines, openScene, test } from "./scene.ts";

const START = 'start Say hello --transport process-pipe --verify "test -f a.txt"';
const FILES = { "a.txt": "x\n" };
const tasksIn = (stateDir: string) => readdir(join(stateDir, "tasks")).catch(() => []);

await onBothLines("process-pipe", (line) => {
  test("is refused where nobody said that it has no gate: nothing is recorded, nothing runs", async (t) => {
    const { lab, modelServer, run } = await openScene(t, line, { files: FILES });
    const refused = await run(START);
    assert.deepEqual([refused.ok, refused.reason], [false, "ungated"]);
    assert.match(String(refused.message), /--ungated/);
    assert.deepEqual(await tasksIn(lab.stateDir), []);
    assert.deepEqual(modelServer.requests, []);
  });

  test("is refused in print mode too, with an exit code", async (t) => {
    const lab = await createLab(t);
    const modelServer = await startModelServer();
    lab.defer(() => modelServer.close());
    const cwd = await lab.repo(FILES);
    const ended = await runPrint({ lab, modelServer, line, cwd, prompt: `/supervise ${START} --json` });
    const answer = ended.answers.find((one) => one["command"] === "start");
    assert.deepEqual([answer?.["ok"], answer?.["reason"]], [false, "ungated"], ended.stderr);
    assert.notEqual(ended.code, 0);
    assert.deepEqual(await tasksIn(lab.stateDir), []);
    assert.deepEqual(modelServer.requests, []);
  });

  for (const yes of [false, true]) {
    test(`asks a person who can answer, and ${yes ? "starts when they know" : "starts nothing without them"}`, async (t) => {
      const { lab, modelServer, pi } = await openScene(t, line, {
        files: FILES,
        onDialog: (dialog) => {
          const choice = dialog.options?.find((option) => /without a gate/.test(option) === yes);
          return choice === undefined ? undefined : { value: choice };
        },
      });
      modelServer.script("main", [text("Hello.")]);
      const said = (await pi.runForPeople(`/supervise ${START}`)).join("\n");
      const tasks = await tasksIn(lab.stateDir);
      assert.ok(pi.ui.some((shown) => shown.method === "select" && /no gate/.test(shown.title ?? "")));
      if (!yes) {
        assert.deepEqual(tasks, []);
        assert.match(said, /no gate/);
        return;
      }
      const [taskId = ""] = tasks;
      const ungated = (await readEvents(lab.stateDir, taskId)).filter((event) => event.type === "ungated");
      assert.deepEqual(
        ungated.map((event) => event.data),
        [{ why: "process-pipe", confirmedBy: "dialog" }],
      );
      await waitForState(pi, taskId, ["human_required"], 60_000);
    });
  }

  test("runs one prompt in text mode, says that nothing was gated, and is completed by its person's verify", async (t) => {
    const { lab, modelServer, start, run, waitsFor } = await openScene(t, line, { files: FILES });
    modelServer.script("main", [bash("touch by-claude"), text("Hello from the pipe.")]);
    const taskId = await start(`${START.slice("start ".length)} --ungated`);
    const status = await waitsFor(taskId, "result");
    assert.deepEqual([status.state, status.mode], ["human_required", "manual"]);
    const events = await readEvents(lab.stateDir, taskId);
    const types = events.map((event) => event.type);
    assert.ok(types.indexOf("ungated") < types.indexOf("worker.spawned"), "said before anything runs");
    assert.deepEqual(events.find((event) => event.type === "ungated")?.data, {
      why: "process-pipe",
      confirmedBy: "flag",
    });
    assert.ok(!types.some((type) => type.startsWith("gate.")), "no call passed the gate, and none is an incident");
    const said = events.filter((event) => event.type === "worker.text").map((event) => event.data["preview"]);
    assert.match(said.join(""), /Hello from the pipe\./);
    const spawned = events.find((event) => event.type === "worker.spawned")?.data["argv"] as string[];
    assert.ok(spawned.includes("-p") && !spawned.some((word) => /stream-json|dangerously|bypass/.test(word)));
    const goals = modelServer.of("main").map((one) => one.userTexts().filter((said) => said.includes("Say hello")));
    assert.deepEqual([...new Set(goals.map((found) => found.length))], [1]);

    for (const words of [`send ${taskId} and more`, `recover ${taskId}`, `resume ${taskId}`, `pause ${taskId}`]) {
      const refused = await run(words);
      assert.deepEqual([words, refused.ok, refused.reason], [words, false, "no-capability"]);
      assert.match(String(refused.message), /process-pipe/);
    }
    assert.equal((await run(`status ${taskId}`)).waitsFor, "result", "the refusals changed nothing");
    const verified = await run(`verify ${taskId}`);
    assert.deepEqual([verified.ok, verified.outcome, verified.state], [true, "pass", "completed"]);
    assert.deepEqual(await logProblems(lab.stateDir, taskId), []);
    assert.equal((await run(`replay ${taskId}`)).matches, true);
  });

  test("is stopped in the middle of its turn, and nothing of it is left", async (t) => {
    const { lab, modelServer, start, run, pi } = await openScene(t, line, { files: FILES });
    modelServer.script("main", [hang()]);
    const taskId = await start(`${START.slice("start ".length)} --ungated`);
    await modelServer.waitForRequest((request) => request.kind === "main", 30_000);
    const stopped = await run(`stop ${taskId}`);
    assert.deepEqual([stopped.ok, stopped.state], [true, "stopped"], JSON.stringify(stopped));
    await assertNoneLeft(lab.mark, 5_000, [pi.pid]);
    const recovered = await run(`recover ${taskId}`);
    assert.deepEqual([recovered.ok, recovered.reason], [false, "no-capability"]);
  });

  test("cannot be automatic: a task without a gate is a person's", async (t) => {
    const { lab, run } = await openScene(t, line, { files: FILES });
    const refused = await run(`${START} --ungated --mode auto`);
    assert.equal(refused.ok, false, JSON.stringify(refused));
    assert.deepEqual(await tasksIn(lab.stateDir), []);
    await until(() => processesWithMark(lab.mark).length === 1, 5_000, "Pi alone");
  });
});
