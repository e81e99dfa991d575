/** The gate and its questions as other people met them (failure list, group C, and E5), with the scripted `claude`. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { manualClock } from "../../src/platform/clock.ts";
import { assertNoneLeft } from "../support/processes.ts";
import { until } from "../support/until.ts";
import { askAnswers, bashHook, hookAnswers, promptsOf, toolResult, toolUse } from "./failures-support.ts";
import { OPENING, openStage, type Stage } from "./stage.ts";

/** The id of the one request that waits now. */
async function asked(stage: Stage, taskId: string, besides: readonly string[] = []): Promise<string> {
  const view = await stage.when(
    taskId,
    (now) => now.requests.some((one) => !besides.includes(one.requestId)),
    "a request",
  );
  return view.requests.find((one) => !besides.includes(one.requestId))?.requestId ?? "";
}

const answers = (stage: Stage, count: number) =>
  until(() => hookAnswers(stage).length >= count && hookAnswers(stage), 10_000, `${count} answers`);

describe("a person who takes long", () => {
  test("C2: after 31 minutes the answer still counts, and only the task's own time runs meanwhile", async (t) => {
    const clock = manualClock(new Date());
    const stage = await openStage(t, {
      seams: () => ({ clock }),
      steps: [...OPENING, bashHook("node x.mjs"), toolResult("toolu_1", "ran"), { result: {} }],
    });
    const taskId = await stage.start({ patienceMs: 3_600_000 });
    const requestId = await asked(stage, taskId);
    assert.deepEqual(
      (await stage.view(taskId)).deadlines.map((one) => one.name),
      ["patience", "wall"],
      "the overall limit is shown; the silence watch rests",
    );
    clock.advance(31 * 60_000);
    assert.ok((await stage.supervisor.approve(requestId, undefined, "command")).ok);
    await stage.when(taskId, (view) => view.waitsFor === "result", "the result");
    assert.equal(hookAnswers(stage)[0]?.permissionDecision, "allow");
  });

  test("C2: the overall limit stands still while a person is waited for, and is told all the time", async (t) => {
    const clock = manualClock(new Date());
    const stage = await openStage(t, {
      seams: () => ({ clock }),
      steps: [...OPENING, bashHook("node x.mjs"), toolResult("toolu_1", "ran"), { sleep: 60_000 }],
    });
    const taskId = await stage.start({ timeoutMs: 600_000, patienceMs: 3_600_000, quietTimeoutMs: 7_200_000 });
    const requestId = await asked(stage, taskId);
    const left = async (): Promise<number | undefined> =>
      (await stage.view(taskId)).deadlines.find((one) => one.name === "wall")?.leftMs;
    const atTheAsk = await left();
    assert.ok(atTheAsk !== undefined && atTheAsk > 590_000, String(atTheAsk));
    clock.advance(1_800_000);
    assert.equal(await left(), atTheAsk);
    assert.ok((await stage.supervisor.approve(requestId, undefined, "command")).ok);
    await stage.when(taskId, (view) => view.state === "running" && view.requests.length === 0, "the work");
    const view = await stage.when(
      taskId,
      (now) => {
        clock.advance(10_000); // the task's own time, and the waits of the stop
        return now.state === "failed";
      },
      "the limit",
      60_000,
    );
    assert.equal(view.reason, "wall-clock");
    await assertNoneLeft(stage.lab.mark, 3_000);
  });
});

describe("calls that nobody was asked about", () => {
  const incidents = [
    { what: "of the main loop", parent: undefined, mode: "auto" as const },
    { what: "of the main loop", parent: undefined, mode: "manual" as const },
    { what: "of a subagent", parent: "toolu_agent", mode: "auto" as const },
    { what: "of a subagent", parent: "toolu_agent", mode: "manual" as const },
  ];
  for (const { what, parent, mode } of incidents) {
    test(`C3, C13: one ${what} that ran ends automation and the worker (${mode}); nothing goes on by itself`, async (t) => {
      const stage = await openStage(t, {
        steps: [
          ...OPENING,
          toolUse("tu1", "Bash", { command: "rm -rf build" }, parent),
          toolResult("tu1", "removed"),
          { sleep: 60_000 },
        ],
      });
      const taskId = await stage.start({ mode });
      const view = await stage.when(taskId, (now) => now.state === "human_required", "the incident");
      assert.deepEqual([view.reason, view.waitsFor], ["ungated-call", "person"]);
      await assertNoneLeft(stage.lab.mark, 5_000);
      assert.deepEqual(promptsOf(stage), ["Do it"]);
      const verified = await stage.supervisor.verify(taskId);
      assert.ok(!verified.ok || (await stage.view(taskId)).state !== "running");
    });
  }

  test("C3: what was refused before any hook, or cut off by an interrupt, did not run and is no incident", async (t) => {
    const stage = await openStage(t, {
      steps: [
        ...OPENING,
        toolUse("tu1", "Bash", { command: "" }),
        toolResult("tu1", "<tool_use_error>InputValidationError: no command</tool_use_error>", { is_error: true }),
        { result: {} },
      ],
    });
    const taskId = await stage.start({ mode: "auto" });
    await stage.when(taskId, (view) => view.state === "completed", "the end");
    const types = (await stage.events(taskId)).map((event) => event.type);
    assert.ok(types.includes("gate.not-run") && !types.includes("gate.incident"), types.join(" "));
  });

  test("C13: a subagent in a wider mode is denied or a person's, one in ours is let go", async (t) => {
    const agent = (mode: string | undefined) => ({
      hook: {
        tool: "Agent",
        input: { description: "look", prompt: "look", subagent_type: "general-purpose", ...(mode && { mode }) },
      },
    });
    const stage = await openStage(t, {
      steps: [
        ...OPENING,
        agent("bypassPermissions"),
        agent("acceptEdits"),
        agent(undefined),
        agent("plan"),
        { result: {} },
      ],
    });
    const taskId = await stage.start();
    const requestId = await asked(stage, taskId);
    const [request] = (await stage.view(taskId)).requests;
    assert.deepEqual([request?.toolName, request?.rule], ["Agent", "agent.mode"]);
    assert.ok((await stage.supervisor.deny(requestId, "in our mode, please", "command")).ok);
    await stage.when(taskId, (view) => view.waitsFor === "result", "the result");
    assert.deepEqual(
      hookAnswers(stage).map((one) => one.permissionDecision),
      ["deny", "deny", "allow", "allow"],
    );
    assert.match(hookAnswers(stage)[0]?.permissionDecisionReason ?? "", /polic/i);
  });
});

describe("a plan", () => {
  const PLAN = { plan: "1. Delete everything. 2. Start again." };
  const leave = { hook: { tool: "ExitPlanMode", input: PLAN } };
  const suggestion = {
    ask: {
      tool: "ExitPlanMode",
      input: PLAN,
      tool_use_id: "toolu_1",
      permission_suggestions: [{ type: "setMode", mode: "acceptEdits", destination: "session" }],
    },
  };

  for (const mode of ["manual", "auto"] as const) {
    test(`C9: one that is asked for again and again after every denial ends the turn and waits for a person (${mode})`, async (t) => {
      const stage = await openStage(t, { steps: [...OPENING, leave, leave, leave, { result: {} }] });
      const taskId = await stage.start({ mode });
      const seen: string[] = [];
      for (let n = 1; n <= 3; n += 1) {
        const requestId = await asked(stage, taskId, seen);
        seen.push(requestId);
        assert.ok((await stage.supervisor.deny(requestId, "smaller steps", "command")).ok);
        await answers(stage, n);
      }
      assert.deepEqual(
        hookAnswers(stage).map(({ permissionDecision, ends }) => [permissionDecision, ends]),
        [
          ["deny", false],
          ["deny", false],
          ["deny", true],
        ],
      );
      const view = await stage.when(taskId, (now) => now.reason === "stalled" && now.turns === 1, "the stall");
      assert.deepEqual([view.state, view.waitsFor, view.rounds.used], ["human_required", "person", 0]);
      assert.match(view.why ?? "", /ExitPlanMode/);
      assert.equal(new Set(seen).size, 3);
    });
  }

  test("C11: leaving plan mode waits for a person, the mode that it suggests is never granted, and the mode is looked at again", async (t) => {
    const stage = await openStage(t, {
      steps: [
        ...OPENING,
        leave,
        suggestion,
        { result: {} },
        { prompt: true },
        { init: { permissionMode: "acceptEdits" } },
        { sleep: 60_000 },
      ],
    });
    const taskId = await stage.start();
    const requestId = await asked(stage, taskId);
    assert.equal((await stage.view(taskId)).requests[0]?.kind, "plan");
    assert.ok((await stage.supervisor.approve(requestId, undefined, "command")).ok);
    await stage.when(taskId, (view) => view.waitsFor === "result", "the result");
    assert.equal(hookAnswers(stage)[0]?.permissionDecision, "allow");
    const [grant] = askAnswers(stage);
    assert.deepEqual([grant?.behavior, grant?.updatedPermissions, grant?.updatedInput], ["allow", undefined, PLAN]);
    assert.ok((await stage.supervisor.send(taskId, "go on")).ok);
    const view = await stage.when(taskId, (now) => now.waitsFor === "person", "the incident");
    assert.equal(view.reason, "permission-mode");
    await assertNoneLeft(stage.lab.mark, 5_000);
  });

  test("C11: a plan that a person denied is denied again where Claude asks a second way", async (t) => {
    const stage = await openStage(t, { steps: [...OPENING, leave, suggestion, { result: {} }] });
    const taskId = await stage.start();
    assert.ok((await stage.supervisor.deny(await asked(stage, taskId), undefined, "command")).ok);
    await stage.when(taskId, (view) => view.waitsFor === "result", "the result");
    assert.deepEqual([hookAnswers(stage)[0]?.permissionDecision, askAnswers(stage)[0]?.behavior], ["deny", "deny"]);
  });

  test("C11: after an approval that leaves the mode as it is, the work goes on", async (t) => {
    const stage = await openStage(t, {
      steps: [
        ...OPENING,
        leave,
        { result: {} },
        { prompt: true },
        { init: { permissionMode: "default" } },
        { result: {} },
      ],
    });
    const taskId = await stage.start();
    assert.ok((await stage.supervisor.approve(await asked(stage, taskId), undefined, "command")).ok);
    await stage.when(taskId, (view) => view.waitsFor === "result", "the result");
    assert.ok((await stage.supervisor.send(taskId, "go on")).ok);
    const view = await stage.when(taskId, (now) => now.turns === 2, "the second result");
    assert.equal(view.waitsFor, "result");
  });
});

describe("a question with two parts", () => {
  const QUESTIONS = {
    questions: [
      {
        question: "Which store?",
        header: "Store",
        multiSelect: false,
        options: [
          { label: "SQLite", description: "one file" },
          { label: "Postgres", description: "a server" },
        ],
      },
      {
        question: "Which checks?",
        header: "Checks",
        multiSelect: true,
        options: [
          { label: "Lint", description: "fast" },
          { label: "Types", description: "slow" },
        ],
      },
    ],
  };
  const ask = { hook: { tool: "AskUserQuestion", input: QUESTIONS } };

  test("C10: is never allowed with empty answers; what it gets are answers to both, in its own input", async (t) => {
    const stage = await openStage(t, { steps: [...OPENING, ask, { result: {} }] });
    const taskId = await stage.start();
    const requestId = await asked(stage, taskId);
    assert.equal((await stage.view(taskId)).requests[0]?.kind, "question");
    const refusals: [string, Promise<{ ok: boolean; reason?: string }>][] = [
      ["needs-answer", stage.supervisor.approve(requestId, undefined, "command")],
      ["answer-empty", stage.supervisor.answer(requestId, "   ", "command")],
      ["answer-missing", stage.supervisor.answer(requestId, "SQLite", "command")],
      ["answer-missing", stage.supervisor.answer(requestId, "1=SQLite", "command")],
      ["answer-missing", stage.supervisor.answer(requestId, "1=SQLite; 2=", "command")],
    ];
    for (const [reason, answer] of refusals) {
      const got = await answer;
      assert.deepEqual([got.ok, got.reason], [false, reason]);
    }
    assert.deepEqual(hookAnswers(stage), [], "none of them reached the worker");
    assert.ok((await stage.supervisor.answer(requestId, "1=sqlite; 2=Lint, Types", "command")).ok);
    const [answer] = await answers(stage, 1);
    assert.equal(answer?.permissionDecision, "allow");
    assert.deepEqual(answer?.updatedInput, {
      ...QUESTIONS,
      answers: { "Which store?": "SQLite", "Which checks?": "Lint, Types" },
    });
  });

  test("C10: a denial carries the person's words, and a person may leave it open", async (t) => {
    const stage = await openStage(t, { steps: [...OPENING, ask, { result: {} }] });
    const taskId = await stage.start();
    const requestId = await asked(stage, taskId);
    assert.ok((await stage.supervisor.deny(requestId, "decide yourself, and say why", "command")).ok);
    const [answer] = await answers(stage, 1);
    assert.equal(answer?.permissionDecision, "deny");
    assert.match(answer?.permissionDecisionReason ?? "", /decide yourself, and say why/);
  });

  for (const input of [{}, { questions: [] }, { questions: [{ header: "?" }] }]) {
    test(`C10: one that can't be read (${JSON.stringify(input)}) is never allowed`, async (t) => {
      const stage = await openStage(t, {
        steps: [...OPENING, { hook: { tool: "AskUserQuestion", input } }, { result: {} }],
      });
      const taskId = await stage.start();
      const requestId = await asked(stage, taskId);
      for (const answer of [
        await stage.supervisor.answer(requestId, "SQLite", "command"),
        await stage.supervisor.approve(requestId, undefined, "command"),
      ])
        assert.equal(answer.ok, false);
      assert.ok((await stage.supervisor.deny(requestId, "ask in words", "command")).ok);
      assert.equal((await answers(stage, 1))[0]?.permissionDecision, "deny");
    });
  }
});

describe("commands that end processes", () => {
  const DENIED = [
    "pkill -f node",
    "pkill node",
    "killall node",
    "killall -9 claude",
    "kill -9 -1",
    "kill -1",
    "kill -- -1",
    "kill $PPID",
    'kill -9 "$PPID"',
    "bash -c 'pkill -f node'",
    "sleep 1 && env pkill -f pi",
  ];
  test("E5: by name, by group or of the parent are denied end to end; one pid of its own is a person's", async (t) => {
    const stage = await openStage(t, {
      steps: [...OPENING, ...DENIED.map(bashHook), bashHook("kill 424242"), { result: {} }],
    });
    const taskId = await stage.start();
    const requestId = await asked(stage, taskId);
    const [request] = (await stage.view(taskId)).requests;
    assert.deepEqual(request?.input, { command: "kill 424242" });
    assert.deepEqual(
      hookAnswers(stage).map(({ permissionDecision }, index) => [DENIED[index], permissionDecision]),
      DENIED.map((command) => [command, "deny"]),
    );
    assert.ok((await stage.supervisor.deny(requestId, undefined, "command")).ok);
    const view = await stage.when(taskId, (now) => now.waitsFor === "result", "the result");
    assert.equal(view.verdicts.deny, DENIED.length, "a denied attempt is a normal event, no fault");
  });
});
