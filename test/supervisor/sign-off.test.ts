/** Signing a pass whose verification the worker changed: durable, without a worker, and only for the verified tree. */
import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, test } from "node:test";
import type { EventMap } from "../../src/core/events.ts";
import type { RequestView } from "../../src/supervisor/api.ts";
import { until } from "../support/until.ts";
import type { AfterHook } from "../support/workspace.ts";
import { OPENING, openStage, type Stage } from "./stage.ts";

const PATIENT = 60_000;
const files = { "check.sh": "exit 1\n", "a.txt": "x\n" };

/** A task whose worker made the check pass by changing it, waiting for its signature. */
async function candidate(t: AfterHook, mode: "auto" | "manual" = "auto"): Promise<[Stage, string, RequestView]> {
  const asks = { hook: { tool: "Bash", input: { command: "node gen.mjs" } } };
  const stage = await openStage(t, { files, steps: [...OPENING, asks, { result: {} }] });
  const taskId = await stage.start({ mode, verify: ["sh check.sh"] });
  await stage.when(taskId, (view) => view.waitsFor === "approval", "the worker's call", PATIENT);
  await writeFile(join(stage.cwd, "check.sh"), "exit 0\n");
  assert.ok((await stage.supervisor.approve((await only(stage)).requestId, undefined, "command")).ok);
  if (mode === "manual") {
    await stage.when(taskId, (view) => view.waitsFor === "result", "the result", PATIENT);
    const verified = await stage.supervisor.verify(taskId);
    assert.ok(verified.ok && verified.outcome === "pass", JSON.stringify(verified));
    assert.match(verified.message, /approve r-/);
  }
  const view = await stage.when(taskId, (now) => now.requests[0]?.kind === "sign-off", "the request", PATIENT);
  assert.deepEqual([view.state, view.waitsFor, view.reason], ["human_required", "approval", "sign-off"]);
  return [stage, taskId, await only(stage)];
}

async function only(stage: Stage): Promise<RequestView> {
  const { requests } = await stage.supervisor.approvals();
  assert.equal(requests.length, 1, JSON.stringify(requests));
  const [request] = requests;
  assert.ok(request);
  return request;
}

/** The same store and folder in another supervisor, as in a Pi of the next day. */
async function nextDay(t: AfterHook, stage: Stage): Promise<Stage> {
  await stage.supervisor.shutdown(1_000);
  return openStage(t, { lab: stage.lab, cwd: stage.cwd });
}

async function completed(stage: Stage, taskId: string): Promise<void> {
  const recorded = async (): Promise<boolean> => {
    const replayed = await stage.supervisor.replay(taskId);
    return replayed.ok && replayed.matches && replayed.state === "completed";
  };
  await until(recorded, PATIENT, "the completion, in record and log");
}

async function eventsOf<K extends keyof EventMap>(stage: Stage, taskId: string, type: K): Promise<EventMap[K][]> {
  return (await stage.events(taskId)).filter((event) => event.type === type).map((event) => event.data as EventMap[K]);
}

describe("a sign-off", () => {
  for (const mode of ["auto", "manual"] as const) {
    test(`is a request among the approvals in ${mode} mode, and an approval of it completes the task`, async (t) => {
      const [stage, taskId, request] = await candidate(t, mode);
      assert.deepEqual([request.kind, request.taskId, request.deferred], ["sign-off", taskId, true]);
      assert.match(request.reason, /check\.sh/);
      const approved = await stage.supervisor.approve(request.requestId, "it is meant so", "command");
      assert.ok(approved.ok, JSON.stringify(approved));
      await completed(stage, taskId);
      const [end] = await eventsOf(stage, taskId, "task.completed");
      assert.equal(end?.by, "person");
      const kept = join(stage.lab.stateDir, "tasks", taskId, "evidence.json");
      const evidence = await until(() => readFile(kept, "utf8").catch(() => null), PATIENT, "the evidence");
      const { signOff } = JSON.parse(evidence) as { signOff: { treeId: string } | null };
      assert.equal(signOff?.treeId, end?.treeId);
      assert.deepEqual((await stage.supervisor.approvals()).requests, []);
    });
  }

  test("survives the end of Pi, and is signed from another one without any worker", async (t) => {
    const [stage, taskId, request] = await candidate(t);
    const next = await nextDay(t, stage);
    assert.deepEqual((await only(next)).requestId, request.requestId);
    const spawned = (await eventsOf(next, taskId, "worker.spawning")).length;
    assert.ok((await next.supervisor.approve(request.requestId, undefined, "command")).ok);
    await completed(next, taskId);
    assert.equal((await eventsOf(next, taskId, "worker.spawning")).length, spawned, "no worker was started");
    const again = await next.supervisor.approve(request.requestId, undefined, "command");
    assert.equal(!again.ok && again.reason, "no-request");
  });

  test("of a tree that has changed since completes nothing, and a person is asked", async (t) => {
    const [stage, taskId, request] = await candidate(t);
    const next = await nextDay(t, stage);
    await writeFile(join(stage.cwd, "a.txt"), "changed behind its back\n");
    assert.ok((await next.supervisor.approve(request.requestId, undefined, "command")).ok);
    const view = await next.when(taskId, (now) => now.reason === "tree-changed", "the refusal", PATIENT);
    assert.deepEqual([view.state, view.requests], ["human_required", []]);
  });

  test("that is refused lets go of the task, and the worker is told why when it goes on", async (t) => {
    const [stage, taskId, request] = await candidate(t);
    const next = await nextDay(t, stage);
    assert.ok((await next.supervisor.deny(request.requestId, "the check must stay as it was", "command")).ok);
    const view = await next.view(taskId);
    assert.deepEqual([view.state, view.reason, view.recoverable], ["human_required", "sign-off-denied", true]);
    assert.ok((await next.supervisor.recover(taskId, { fresh: false })).ok);
    const said = await until(
      async () => (await eventsOf(next, taskId, "prompt.intent")).find((prompt) => prompt.source === "recover"),
      PATIENT,
      "the word to go on",
    );
    assert.match(said.text, /did not accept it: the check must stay as it was/);
  });

  test("refused while the worker is there is told with the person's next message, whose own words stay as they are", async (t) => {
    const [stage, taskId, request] = await candidate(t);
    assert.ok((await stage.supervisor.deny(request.requestId, "no", "dialog")).ok);
    await stage.when(taskId, (view) => view.reason === "sign-off-denied", "the refusal", PATIENT);
    assert.ok((await stage.supervisor.send(taskId, "Undo that.")).ok);
    const said = await until(
      async () => (await eventsOf(stage, taskId, "prompt.intent")).find((prompt) => prompt.source === "person"),
      PATIENT,
      "the message",
    );
    assert.match(said.text, /^A person looked at your last result and did not accept it: no\n\nUndo that\.$/);
  });

  test("can't be answered in words, nor under a stop", async (t) => {
    const [stage, taskId, request] = await candidate(t);
    const answer = await stage.supervisor.answer(request.requestId, "yes", "command");
    assert.equal(!answer.ok && answer.reason, "no-question");
    assert.ok((await stage.supervisor.stop(taskId, undefined)).ok);
    const late = await stage.supervisor.approve(request.requestId, undefined, "command");
    assert.equal(late.ok, false);
    assert.equal((await stage.view(taskId)).state, "stopped");
    assert.equal(await readFile(join(stage.cwd, "check.sh"), "utf8"), "exit 0\n");
  });
});
