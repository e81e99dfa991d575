/** Turns and results as other people met them (failure list, group D), with the scripted `claude`. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { manualClock } from "../../src/platform/clock.ts";
import { until } from "../support/until.ts";
import { OPENING, openStage, type Stage } from "./stage.ts";

const prompts = (stage: Stage): string[] =>
  stage.fake.factsOf("stdin").flatMap(({ line }) => {
    const message = JSON.parse(line) as { type: string; message?: { content: string } };
    return message.type === "user" ? [message.message?.content ?? ""] : [];
  });

describe("turns", () => {
  test("D1: a usage limit that arrives as success is waited out until its reset, then the worker is told to go on", async (t) => {
    const clock = manualClock(new Date());
    const resetsAt = Math.round((clock.now().getTime() + 3_600_000) / 1000);
    const stage = await openStage(t, {
      seams: () => ({ clock }),
      steps: [
        ...OPENING,
        { emit: { type: "rate_limit_event", rate_limit_info: { status: "rejected", resetsAt } } },
        { result: { subtype: "success", is_error: true, api_error_status: 429, result: "You've hit your limit" } },
      ],
    });
    const taskId = await stage.start({ mode: "auto" });
    const waiting = await stage.when(taskId, (view) => view.deadlines.some((one) => one.name === "retry"), "the wait");
    assert.equal(waiting.state, "running");
    const left = waiting.deadlines.find((one) => one.name === "retry")?.leftMs ?? 0;
    assert.ok(left > 3_500_000 && left < 3_700_000, String(left));
    clock.advance(3_700_000);
    const done = await stage.when(taskId, (view) => view.state === "completed", "the end");
    assert.deepEqual(prompts(stage), ["Do it", "Go on with the task where you left off."]);
    assert.equal(done.rounds.failed, 0);
  });

  test("D2: an overload after which Claude exits with 1 resumes the same session after a pause", async (t) => {
    const clock = manualClock(new Date());
    const stage = await openStage(t, {
      seams: () => ({ clock }),
      steps: [
        ...OPENING,
        ...Array.from({ length: 10 }, (_, i) => ({
          emit: {
            type: "system",
            subtype: "api_retry",
            attempt: i + 1,
            max_retries: 10,
            retry_delay_ms: 1,
            error_status: 529,
            error: "overloaded",
          },
        })),
        { result: { subtype: "success", is_error: true, api_error_status: 529, result: "overloaded" } },
        { exit: 1 },
      ],
    });
    const taskId = await stage.start({ mode: "auto" });
    const waiting = await stage.when(taskId, (view) => view.deadlines.some((one) => one.name === "retry"), "the wait");
    assert.equal(waiting.state, "running");
    await until(
      async () => (await stage.events(taskId)).find((event) => event.type === "worker.swept"),
      10_000,
      "the old process to be gone",
    );
    clock.advance(60_000);
    await stage.when(taskId, () => stage.fake.factsOf("start").length === 2, "a second process");
    const [first, second] = stage.fake.factsOf("start");
    const id = first?.argv.find((word) => word.startsWith("--session-id="))?.split("=")[1];
    assert.ok(second?.argv.includes(`--resume=${id}`), JSON.stringify(second?.argv));
  });

  const errors = [
    {
      id: "D4 turns",
      result: { subtype: "error_max_turns", is_error: true, errors: ["Reached maximum number of turns"] },
      reason: "turns-exhausted",
    },
    {
      id: "D4 money",
      result: { subtype: "error_max_budget_usd", is_error: true, errors: ["budget"] },
      reason: "budget-exhausted",
    },
    {
      id: "D4 execution",
      result: { subtype: "error_during_execution", is_error: true, errors: ["boom"] },
      reason: "turn-error",
    },
    {
      id: "B6 login",
      result: { subtype: "success", is_error: true, api_error_status: 401, result: "login" },
      reason: "auth",
    },
  ];
  for (const one of errors) {
    test(`${one.id}: its own reason, a person, never completed`, async (t) => {
      const stage = await openStage(t, { steps: [...OPENING, { result: one.result }] });
      const taskId = await stage.start({ mode: "auto" });
      const view = await stage.when(taskId, (now) => now.state === "human_required", "a person");
      assert.equal(view.reason, one.reason);
      assert.equal(view.rounds.used, 0);
    });
  }

  test("D6, D8: a turn is not over while a background task lives, nor before the turn that its end begins", async (t) => {
    const task = { task_id: "b1", task_type: "local_bash", description: "build" };
    const background = (tasks: object[]) => ({ emit: { type: "system", subtype: "background_tasks_changed", tasks } });
    const stage = await openStage(t, {
      steps: [
        ...OPENING,
        background([task]),
        { result: {} },
        { sleep: 300 },
        background([]),
        { sleep: 100 },
        { init: {} },
        { sleep: 300 },
        { say: "now done" },
        { result: { result_index: 1 } },
      ],
    });
    const taskId = await stage.start({ mode: "auto" });
    await stage.when(taskId, (view) => view.state === "completed", "the end");
    const types = (await stage.events(taskId)).map((event) => event.type);
    const verify = types.indexOf("verify.started");
    assert.equal(types.slice(0, verify).filter((type) => type === "turn.result").length, 2, types.join(" "));
  });

  test("D9, D10: two messages sent during a turn go out one at each idle point, each once", async (t) => {
    const stage = await openStage(t, { steps: [...OPENING, { sleep: 700 }, { result: {} }] });
    const taskId = await stage.start();
    await stage.when(taskId, (view) => view.state === "running", "a turn");
    assert.ok((await stage.supervisor.send(taskId, "first")).ok);
    assert.ok((await stage.supervisor.send(taskId, "second")).ok);
    await stage.when(taskId, (view) => view.waitsFor === "result" && view.turns === 3, "three results");
    assert.deepEqual(prompts(stage), ["Do it", "first", "second"]);
    const uuids = new Set(
      stage.fake
        .factsOf("stdin")
        .map(({ line }) => (JSON.parse(line) as { uuid?: string }).uuid)
        .filter(Boolean),
    );
    assert.equal(uuids.size, 3);
  });

  test("D11: costs are not added twice", async (t) => {
    const stage = await openStage(t, {
      steps: [
        ...OPENING,
        { result: { total_cost_usd: 0.1 } },
        { prompt: true },
        { init: {} },
        { result: { total_cost_usd: 0.25 } },
      ],
    });
    const taskId = await stage.start();
    await stage.when(taskId, (view) => view.costUsd === 0.1, "the first cost");
    await stage.supervisor.send(taskId, "more");
    await stage.when(taskId, (view) => view.turns === 2, "the second result");
    assert.equal((await stage.view(taskId)).costUsd, 0.25);
  });

  test("D15: a process that ends in half a message fails the task by its code, and says how to go on", async (t) => {
    const stage = await openStage(t, { steps: [...OPENING, { say: "half" }, { exit: 143 }] });
    const taskId = await stage.start();
    const view = await stage.when(taskId, (now) => now.state === "failed", "the failure");
    assert.equal(view.reason, "worker-exit 143");
    const sent = await stage.supervisor.send(taskId, "hello?");
    assert.ok(!sent.ok && /recover/.test(sent.message), JSON.stringify(sent));
  });
});

describe("watchdogs", () => {
  test("A1: a worker that falls silent in a turn is ended: failed, stalled-no-result, never completed", async (t) => {
    const stage = await openStage(t, { steps: [...OPENING, { say: "hm" }, { sleep: 60_000 }] });
    const taskId = await stage.start({ mode: "auto", quietTimeoutMs: 400 });
    const view = await stage.when(taskId, (now) => now.state === "failed", "the watchdog");
    assert.equal(view.reason, "stalled-no-result");
  });

  test("C2: the silence watch rests while a person is asked", async (t) => {
    const clock = manualClock(new Date());
    const stage = await openStage(t, {
      seams: () => ({ clock }),
      steps: [...OPENING, { hook: { tool: "Bash", input: { command: "node x.mjs" } } }, { result: {} }],
    });
    const taskId = await stage.start({ patienceMs: 3_600_000 });
    const asked = await stage.when(taskId, (view) => view.waitsFor === "approval", "the ask");
    clock.advance(31 * 60_000);
    const still = await stage.view(taskId);
    assert.equal(still.waitsFor, "approval");
    const requestId = asked.requests[0]?.requestId ?? "";
    assert.ok((await stage.supervisor.approve(requestId, undefined, "command")).ok);
    await stage.when(taskId, (view) => view.waitsFor === "result", "the result");
  });

  test("E11: a tool in flight has an allowance of its own, and the watchdog names what it waited for", async (t) => {
    const clock = manualClock(new Date());
    const stage = await openStage(t, {
      seams: () => ({ clock }),
      steps: [...OPENING, { hook: { tool: "Bash", input: { command: "ls" } } }, { sleep: 60_000 }],
    });
    const taskId = await stage.start();
    await stage.when(taskId, (view) => view.currentTool !== null, "the tool");
    clock.advance(20 * 60_000);
    const quiet = (await stage.view(taskId)).deadlines.find((one) => one.name === "quiet");
    assert.equal((await stage.view(taskId)).state, "running");
    assert.match(quiet?.what ?? "", /Bash/);
    clock.advance(11 * 60_000);
    const ended = await stage.when(
      taskId,
      (view) => {
        clock.advance(1_000); // the waits of the stop itself run on this clock too
        return view.state === "failed";
      },
      "the watchdog",
    );
    assert.equal(ended.reason, "stalled-no-result");
    assert.match(ended.why ?? "", /30 minutes.*Bash/);
  });

  test("the wall clock ends a task that is still at work", async (t) => {
    const stage = await openStage(t, { steps: [...OPENING, { sleep: 60_000 }] });
    const taskId = await stage.start({ timeoutMs: 600 });
    const view = await stage.when(taskId, (now) => now.state === "failed", "the wall");
    assert.equal(view.reason, "wall-clock");
  });
});
