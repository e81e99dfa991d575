/** What a failing log may and may not do: a stop still stops, nothing is sent or allowed, nothing is claimed that is not on disk. */
import assert from "node:assert/strict";
import { chmod, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, test } from "node:test";
import { faultyFs } from "../store/faulty-fs.ts";
import { assertNoneLeft } from "../support/processes.ts";
import { logProblems } from "../support/task.ts";
import { until } from "../support/until.ts";
import { OPENING, openStage, type Stage } from "./stage.ts";

const prompts = (stage: Stage): number =>
  stage.fake.factsOf("stdin").filter(({ line }) => (JSON.parse(line) as { type: string }).type === "user").length;

const hookAnswers = (stage: Stage): string[] =>
  stage.fake.facts().flatMap((fact) => (fact.fact === "note" && "hook" in fact ? [JSON.stringify(fact.hook)] : []));

describe("while the disk is full", () => {
  test("nothing is sent and no call is allowed; when there is room again the kept records are written in order", async (t) => {
    const logFs = faultyFs();
    const stage = await openStage(t, {
      seams: () => ({ logFs }),
      steps: [...OPENING, { sleep: 300 }, { hook: { tool: "Bash", input: { command: "ls" } } }, { result: {} }],
    });
    const taskId = await stage.start();
    await stage.when(taskId, (view) => view.state === "running", "a turn");
    logFs.space = 0;
    await until(async () => hookAnswers(stage)[0], 10_000, "the answer to the call");
    assert.match(hookAnswers(stage)[0] ?? "", /deny/);
    await stage.when(taskId, (view) => view.waitsFor === "result", "the result, in memory");
    const sent = await stage.supervisor.send(taskId, "more");
    assert.ok(!sent.ok, "a message that can't be logged is refused");
    assert.equal(prompts(stage), 1);
    logFs.space = Number.POSITIVE_INFINITY;
    await until(
      async () => (await stage.supervisor.send(taskId, "again")).ok || undefined,
      10_000,
      "the disk to be used again",
    );
    await stage.when(taskId, (view) => view.turns >= 2 && view.waitsFor === "result", "the next result");
    assert.deepEqual(await logProblems(stage.lab.stateDir, taskId), []);
    const types = (await stage.events(taskId)).map((event) => event.type);
    assert.ok(types.indexOf("turn.result") > types.indexOf("gate.verdict"), types.join(" "));
    assert.ok((await stage.supervisor.stop(taskId, undefined)).ok);
    const replayed = await stage.supervisor.replay(taskId);
    assert.ok(replayed.ok && replayed.matches, JSON.stringify(replayed));
  });

  test("a stop works, is proven, and its records are written when there is room", async (t) => {
    const logFs = faultyFs();
    const stage = await openStage(t, { seams: () => ({ logFs }), steps: [...OPENING, { sleep: 60_000 }] });
    const taskId = await stage.start();
    await stage.when(taskId, (view) => view.state === "running", "a turn");
    logFs.space = 0;
    const stopped = await stage.supervisor.stop(taskId, "full");
    assert.deepEqual([stopped.ok, stopped.ok && stopped.state], [true, "stopped"], JSON.stringify(stopped));
    await assertNoneLeft(stage.lab.mark, 2_000);
    const record = JSON.parse(await readFile(join(stage.lab.stateDir, "tasks", taskId, "task.json"), "utf8")) as {
      state: string;
    };
    assert.notEqual(record.state, "stopped", "the record claims nothing that the log does not hold");
  });
});

describe("when the disk fails for good", () => {
  test("a stop still ends everything, and what is on disk stays a true prefix", async (t) => {
    const logFs = faultyFs();
    const stage = await openStage(t, { seams: () => ({ logFs }), steps: [...OPENING, { sleep: 60_000 }] });
    const taskId = await stage.start();
    await stage.when(taskId, (view) => view.state === "running", "a turn");
    logFs.failSync = "EIO";
    assert.equal((await stage.supervisor.send(taskId, "x")).ok, false);
    const stopped = await stage.supervisor.stop(taskId, "broken");
    assert.deepEqual([stopped.ok, stopped.ok && stopped.state], [true, "stopped"], JSON.stringify(stopped));
    await assertNoneLeft(stage.lab.mark, 2_000);
    assert.deepEqual(await logProblems(stage.lab.stateDir, taskId), []);
    assert.equal(prompts(stage), 1);
  });

  test("the watchdog's stop works too, whose own event can't be written", async (t) => {
    const logFs = faultyFs();
    const stage = await openStage(t, { seams: () => ({ logFs }), steps: [...OPENING, { sleep: 60_000 }] });
    const taskId = await stage.start({ quietTimeoutMs: 1_500 });
    await stage.when(taskId, (view) => view.state === "running", "a turn");
    logFs.failSync = "EIO";
    await stage.supervisor.send(taskId, "x");
    await until(async () => stage.supervisor.live().length === 0 || undefined, 15_000, "the watchdog");
    await assertNoneLeft(stage.lab.mark, 2_000);
  });

  test("an error at start-up keeps its own text", async (t) => {
    const logFs = faultyFs();
    const stage = await openStage(t, { seams: () => ({ logFs }) });
    const broken = join(stage.lab.tmp, "broken-claude");
    await writeFile(
      broken,
      '#!/bin/sh\ncase "$1" in --version) echo "2.1.268 (Claude Code)";; *) echo "my own words" >&2; sleep 0.3; exit 7;; esac\n',
    );
    await chmod(broken, 0o755);
    const other = await openStage(t, {
      lab: stage.lab,
      cwd: stage.cwd,
      seams: () => ({ logFs }),
      env: { PI_CLAUDE_SUPERVISOR_CLAUDE: broken },
    });
    const texts: string[] = [];
    other.supervisor.subscribe((update) => {
      if (update.event.type === "worker.spawned") logFs.space = 0;
      if (update.after.ended.kind === "failed") texts.push(update.after.ended.message);
    });
    await other.start();
    await until(async () => texts[0], 15_000, "the failure");
    assert.match(texts[0] ?? "", /my own words/);
    await assertNoneLeft(stage.lab.mark, 3_000);
  });
});
