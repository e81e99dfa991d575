/** Automatic mode with the scripted `claude` and a scripted decider: what is asked, what follows, what a fault leads to. */
import assert from "node:assert/strict";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import type { DecisionTurn } from "../../src/core/contracts/decision.ts";
import type { StoredEvent } from "../../src/core/events.ts";
import type { StartInput, TaskView } from "../../src/supervisor/api.ts";
import { HOSTILE } from "../decision/hostile-texts.ts";
import { gate, until } from "../support/until.ts";
import { bashHook, hookAnswers, promptsOf } from "./failures-support.ts";
import { decides, hangs, type Mind, mindOf, type ScriptedDecider, scriptedDecider } from "./scripted-decider.ts";
import { OPENING, openStage, type Stage, type StageOptions, type Step } from "./stage.ts";

const CALL = "node gen.mjs --count 3";
const COLOUR = {
  questions: [
    {
      question: "Which color?",
      header: "Color",
      options: [
        { label: "Red", description: "warm" },
        { label: "Blue", description: "cold" },
      ],
      multiSelect: false,
    },
  ],
};
const ask = (tool: string, input: object): Step => ({ hook: { tool, input } });

interface Scene extends Stage {
  decider: ScriptedDecider;
  taskId: string;
  /** Events of that type. */
  of(type: string): Promise<Readonly<Record<string, unknown>>[]>;
  waits(what: string): Promise<TaskView>;
  completed(): Promise<TaskView>;
}

interface SceneOptions extends StageOptions {
  start?: Partial<StartInput>;
  timeoutMs?: number;
  opening?: readonly Step[];
}

/** A running automatic task whose worker plays `steps` after its opening. */
async function scene(
  t: Parameters<typeof openStage>[0],
  mind: Mind | ScriptedDecider,
  steps: readonly Step[],
  { start, timeoutMs, opening = OPENING, ...options }: SceneOptions = {},
): Promise<Scene> {
  const decider = typeof mind === "function" ? scriptedDecider(mind) : mind;
  const stage = await openStage(t, {
    ...options,
    steps: [...opening, ...steps],
    seams: () => ({
      decisions: decider.factory,
      ...(timeoutMs === undefined ? {} : { decisionTimeoutMs: timeoutMs }),
    }),
  });
  const taskId = await stage.start({ mode: "auto", ...start });
  return {
    ...stage,
    decider,
    taskId,
    of: async (type) =>
      (await stage.events(taskId)).filter((event) => event.type === type).map((event) => event.data as never),
    waits: (what) => stage.when(taskId, (view) => view.state === "human_required", what, 60_000),
    completed: () => stage.when(taskId, (view) => view.state === "completed", "the end", 60_000),
  };
}

const seqOf = (events: readonly StoredEvent[], type: string): number =>
  events.find((event) => event.type === type)?.seq ?? Number.NaN;

describe("a call that the gate leaves to judgement", () => {
  test("runs when the decider approves it; the question is in the log before it is put, and nobody is bothered", async (t) => {
    const here = await scene(t, mindOf({ tool: decides("approve", {}, 0.25) }), [bashHook(CALL), { result: {} }]);
    const view = await here.completed();
    assert.equal(hookAnswers(here)[0]?.permissionDecision, "allow");
    assert.deepEqual(here.decider.kinds(), ["tool", "turn-end"]);
    assert.match(here.decider.prompts[0] ?? "", /\| command: node gen\.mjs --count 3\n/);
    const events = await here.events(here.taskId);
    const order = ["gate.verdict", "decision.asked", "decision.made", "request.answered", "request.replied"];
    const seqs = order.map((type) => seqOf(events, type));
    assert.deepEqual(
      seqs,
      [...seqs].sort((a, b) => a - b),
    );
    const [answered] = await here.of("request.answered");
    assert.deepEqual([answered?.["by"], answered?.["via"], answered?.["decision"]], ["decider", "decider", "approve"]);
    assert.equal((await here.supervisor.approvals()).ok, true);
    const { used, max, costUsd, byOutcome } = view.decisions ?? {};
    assert.deepEqual([used, max, costUsd, byOutcome], [2, 200, 0.25, { approve: 1, verify: 1 }]);
    const replayed = await here.supervisor.replay(here.taskId);
    assert.ok(replayed.ok && replayed.matches, JSON.stringify(replayed));
    await until(() => here.supervisor.live().length === 0, 30_000, "the task to be let go of");
    const kept = join(here.deps.layout.root, "decisions", here.taskId);
    assert.ok(existsSync(kept), "its conversation is kept");
    assert.ok((await here.supervisor.discard(here.taskId, true)).ok);
    assert.ok(!existsSync(kept), "and goes with the task");
  });

  test("does not run when the decider denies it, and the worker reads why", async (t) => {
    const here = await scene(t, mindOf({ tool: decides("deny", { reason: "Use the test runner." }) }), [
      bashHook(CALL),
      { result: {} },
    ]);
    await here.completed();
    const [answer] = hookAnswers(here);
    assert.equal(answer?.permissionDecision, "deny");
    assert.match(answer?.permissionDecisionReason ?? "", /Use the test runner\./);
    assert.equal(answer?.ends, false);
  });

  test("is stalled when the decider denies it three times: the turn ends, a person is asked", async (t) => {
    const here = await scene(t, mindOf({ tool: decides("deny") }), [
      bashHook(CALL),
      bashHook(`${CALL} `),
      bashHook(CALL),
      { result: {} },
    ]);
    const view = await here.waits("the stall");
    assert.equal(view.reason, "stalled");
    await until(() => hookAnswers(here).length === 3, 30_000, "the last answer to reach the worker");
    assert.deepEqual(
      hookAnswers(here).map(({ ends }) => ends),
      [false, false, true],
    );
    assert.equal(here.decider.kinds().length, 3);
  });

  const personal: [what: string, command: string][] = [
    ["reaches others", "git push origin main"],
    ["loses work for good", "git clean -fdx"],
  ];
  for (const [what, command] of personal) {
    test(`that ${what} is never shown to the decider`, async (t) => {
      const here = await scene(t, mindOf({ tool: decides("approve") }), [bashHook(command), { result: {} }]);
      const view = await here.waits("the person's request");
      assert.equal(view.waitsFor, "approval");
      assert.deepEqual(here.decider.prompts, []);
      const [request] = view.requests;
      assert.equal(request?.askedOf, "person");
      assert.equal((await here.supervisor.deny(request?.requestId ?? "", "no", "command")).ok, true);
      await here.completed();
    });
  }

  test("is handed over whole: a long input that the log only keeps in part", async (t) => {
    const long = `${CALL} ${"x".repeat(20_000)} --end`;
    const here = await scene(t, mindOf({ tool: decides("approve") }), [bashHook(long), { result: {} }]);
    await here.completed();
    assert.ok(here.decider.prompts[0]?.includes("x --end"), "the end of the command was shown");
    const [verdict] = await here.of("gate.verdict");
    assert.ok(JSON.stringify(verdict?.["input"]).length < 20_000, "the log's copy is bounded");
  });

  test("is shown without its secrets, which the approved call still has", async (t) => {
    const secret = `ghp_${"a1B2c3D4e5".repeat(3)}F6g7H8`;
    const here = await scene(t, mindOf({ tool: decides("approve") }), [bashHook(`${CALL} ${secret}`), { result: {} }]);
    await here.completed();
    assert.ok(!here.decider.prompts.join("\n").includes(secret));
    assert.equal(hookAnswers(here)[0]?.permissionDecision, "allow");
    assert.equal(hookAnswers(here)[0]?.updatedInput, undefined, "the call runs as Claude made it");
  });
});

describe("a question and a plan", () => {
  test("a question is answered by its label", async (t) => {
    const answers = { "Which color?": "blue" };
    const here = await scene(t, mindOf({ question: decides("answer", { answers, category: "detail" }) }), [
      ask("AskUserQuestion", COLOUR),
      { result: {} },
    ]);
    await here.completed();
    assert.deepEqual(hookAnswers(here)[0]?.updatedInput, { ...COLOUR, answers: { "Which color?": "Blue" } });
  });

  test("whose text holds a secret is shown without it, and Claude gets the answer to its own words", async (t) => {
    const secret = `ghp_${"z9Y8x7W6v5".repeat(3)}U4t3S2`;
    const asked = {
      questions: [{ question: `Which key, ${secret}?`, options: [{ label: `Use ${secret}` }, { label: "None" }] }],
    };
    const mind = mindOf({
      question: (prompt) => {
        const label = /\| (Use .+)\n/.exec(prompt)?.[1] ?? "";
        return decides("answer", { answers: { "1": label }, category: "detail" });
      },
    });
    const here = await scene(t, mind, [ask("AskUserQuestion", asked), { result: {} }]);
    await here.completed();
    assert.ok(!here.decider.prompts.join("\n").includes(secret));
    const answers = { [`Which key, ${secret}?`]: `Use ${secret}` };
    assert.deepEqual(hookAnswers(here)[0]?.updatedInput, { ...asked, answers });
    assert.ok(!JSON.stringify(await here.events(here.taskId)).includes(secret));
  });

  test("is denied to text: the worker is told to choose and to say so", async (t) => {
    const here = await scene(t, mindOf({ question: decides("deny", { reason: "Either is fine." }) }), [
      ask("AskUserQuestion", COLOUR),
      { result: {} },
    ]);
    await here.completed();
    const [answer] = hookAnswers(here);
    assert.equal(answer?.permissionDecision, "deny");
    assert.match(answer?.permissionDecisionReason ?? "", /Either is fine\..*Choose yourself.*say in your text/);
  });

  test("a plan is approved, and the can_use_tool that follows gets the same answer without another question", async (t) => {
    const plan = { plan: "1. Mend it" };
    const here = await scene(t, mindOf({ plan: decides("approve", { category: "detail" }) }), [
      { hook: { tool: "ExitPlanMode", input: plan, toolUseId: "toolu_plan" } },
      { ask: { tool: "ExitPlanMode", input: plan, tool_use_id: "toolu_plan" } },
      { result: {} },
    ]);
    await here.completed();
    assert.equal(hookAnswers(here)[0]?.permissionDecision, "allow");
    assert.deepEqual(here.decider.kinds(), ["plan", "turn-end"]);
  });

  const choices: [string, string, Step, DecisionTurn][] = [
    [
      "a plan",
      "architecture",
      ask("ExitPlanMode", { plan: "Rewrite it" }),
      decides("approve", { category: "architecture" }),
    ],
    ["a plan", "no category", ask("ExitPlanMode", { plan: "Rewrite it" }), decides("approve")],
    [
      "an answer",
      "scope",
      ask("AskUserQuestion", COLOUR),
      decides("answer", { answers: { "1": "Red" }, category: "scope" }),
    ],
    [
      "an answer",
      "risk",
      ask("AskUserQuestion", COLOUR),
      decides("answer", { answers: { "1": "Red" }, category: "risk" }),
    ],
  ];
  test("of architecture, scope or risk, or of no category, is a person's: it is pending, and nothing was answered", async (t) => {
    let at = 0;
    const mind = mindOf({
      plan: () => choices[at]?.[3] ?? decides("deny"),
      question: () => choices[at]?.[3] ?? decides("deny"),
    });
    const here = await scene(t, mind, [...choices.map(([, , step]) => step), { result: {} }]);
    for (const [what, category] of choices) {
      const isIt = ({ requests, waitsFor }: TaskView): boolean => waitsFor === "approval" && requests.length === 1;
      const view = await here.when(here.taskId, isIt, `${what} of ${category}`, 60_000);
      assert.equal(view.requests[0]?.passedOn?.why, "escalate", `${what} of ${category}`);
      assert.equal(hookAnswers(here).length, at);
      const listed = await here.supervisor.approvals();
      assert.ok(listed.ok && listed.requests.length === 1);
      at += 1;
      assert.ok((await here.supervisor.deny(view.requests[0]?.requestId ?? "", "mine", "command")).ok);
      await until(() => hookAnswers(here).length === at, 30_000, "the person's answer to arrive");
    }
    await here.completed();
  });
});

describe("a turn's end", () => {
  test("continue sends the decider's message, and the next end is judged anew", async (t) => {
    let ends = 0;
    const mind = mindOf({
      "turn-end": () => (ends++ === 0 ? decides("continue", { message: "Write the tests too." }) : decides("verify")),
    });
    const here = await scene(t, mind, [{ say: "Half of it." }, { result: { result: "Half of it." } }]);
    await here.completed();
    assert.deepEqual(promptsOf(here), ["Do it", "Write the tests too."]);
    const sources = (await here.of("prompt.intent")).map(({ source }) => source);
    assert.deepEqual(sources, ["goal", "decider"]);
    assert.match(here.decider.prompts[0] ?? "", /\| Half of it\./);
    assert.equal((await here.of("verify.finished")).length, 1);
  });

  test("continue twice on an unchanged workspace means verify", async (t) => {
    const here = await scene(t, mindOf({ "turn-end": decides("continue", { message: "Go on." }) }), [{ result: {} }]);
    await here.completed();
    assert.deepEqual(promptsOf(here), ["Do it", "Go on."]);
    assert.deepEqual(here.decider.kinds(), ["turn-end", "turn-end"]);
    assert.match(here.decider.prompts[1] ?? "", /files changed since its last turn's end: no/);
  });

  test("continue on a changing workspace means verify after five times", async (t) => {
    let edits = 0;
    let where = "";
    const mind = mindOf({
      "turn-end": () => {
        writeFileSync(join(where, "a.txt"), `${edits++}`);
        return decides("continue", { message: "More." });
      },
    });
    const decider = scriptedDecider(mind);
    const stage = await openStage(t, {
      steps: [...OPENING, { result: {} }],
      seams: () => ({ decisions: decider.factory }),
    });
    where = stage.cwd;
    const taskId = await stage.start({ mode: "auto" });
    await stage.when(taskId, (view) => view.state === "completed", "the end", 60_000);
    assert.deepEqual(promptsOf(stage), ["Do it", "More.", "More.", "More.", "More.", "More."]);
  });

  test("escalate waits for a person, whose message goes on", async (t) => {
    let ends = 0;
    const mind = mindOf({ "turn-end": () => (ends++ === 0 ? decides("escalate") : decides("verify")) });
    const here = await scene(t, mind, [{ result: {} }]);
    const view = await here.waits("the person");
    assert.deepEqual([view.reason, view.waitsFor], ["decider-escalated", "person"]);
    assert.match(view.why ?? "", /Because escalate\./);
    assert.deepEqual(await here.of("verify.started"), []);
    assert.ok((await here.supervisor.send(here.taskId, "Take the second way.")).ok);
    await here.completed();
    assert.deepEqual(promptsOf(here), ["Do it", "Take the second way."]);
  });

  test("a person's message while the decider thinks goes first, and what it says then changes nothing", async (t) => {
    const thinking = gate();
    let ends = 0;
    const mind = mindOf({
      "turn-end": async () => {
        if (ends++ > 0) return decides("verify");
        await thinking.opened;
        return decides("continue", { message: "Never sent." });
      },
    });
    const here = await scene(t, mind, [{ result: {} }]);
    await until(() => here.decider.prompts.length === 1, 30_000, "the question");
    assert.ok((await here.supervisor.send(here.taskId, "Wait, this instead.")).ok);
    thinking.open();
    await here.completed();
    assert.deepEqual(promptsOf(here), ["Do it", "Wait, this instead."]);
    assert.equal((await here.of("decision.made"))[0]?.["late"], true);
  });

  test("with a failing round the decider sees the end of its output, and no evidence follows the last round", async (t) => {
    const here = await scene(t, mindOf({}), [{ result: {} }], {
      start: { verify: ['sh -c "echo BROKEN-42; exit 1"'], maxRounds: 2 },
    });
    const view = await here.waits("the end of the rounds");
    assert.equal(view.reason, "rounds-exhausted");
    assert.equal(here.decider.prompts.length, 2);
    assert.match(here.decider.prompts[1] ?? "", /failing verifications so far: 1 of 2[\s\S]*\| BROKEN-42/);
    assert.equal(promptsOf(here).length, 2);
  });
});

describe("an unexpected exit", () => {
  const dies: Step[] = [{ say: "Working." }, { stderr: "segmentation fault\n" }, { exit: 139 }];

  test("continue resumes the same session and tells the worker to go on", async (t) => {
    const again = await scene(t, mindOf({ exit: decides("continue") }), dies);
    const { decider } = again;
    const view = await again.waits("the last of its resumes");
    const starts = again.fake.factsOf("start");
    const session = starts[0]?.argv.find((word) => word.startsWith("--session-id="))?.split("=")[1];
    assert.ok(starts[1]?.argv.includes(`--resume=${session}`), JSON.stringify(starts.map(({ argv }) => argv)));
    assert.match(
      decider.prompts.find((prompt) => prompt.startsWith("kind: exit")) ?? "",
      /exit code: 139[\s\S]*segmentation fault/,
    );
    assert.equal(view.reason, "worker-exit");
    assert.equal(starts.length, 4, "three times resumed, then a person is asked");
    assert.match(view.why ?? "", /resumed 3 times/);
    const recoveries = await again.of("task.recovering");
    assert.deepEqual(
      recoveries.map(({ by }) => by),
      ["decider", "decider", "decider"],
    );
    const goals = promptsOf(again).filter((text) => text === "Do it");
    assert.equal(goals.length, 1, "the goal is given once, whatever happens");
    assert.ok((await again.supervisor.stop(again.taskId, undefined)).ok);
  });

  const others: [string, Mind, RegExp, string][] = [
    ["escalate", () => decides("escalate"), /Because escalate/, "decider-escalated"],
    ["a fault", () => ({ calls: [] }), /without a decision/, "decider-unavailable"],
    ["a wrong decision", () => decides("approve"), /not one that a exit question allows/, "decider-unavailable"],
  ];
  for (const [what, mind, why, reason] of others) {
    test(`${what} leaves the task to a person, and recover goes on`, async (t) => {
      const here = await scene(t, mindOf({ exit: mind }), dies);
      const view = await here.waits("the person");
      assert.deepEqual([view.reason, view.waitsFor], [reason, "person"]);
      assert.match(view.why ?? "", why);
      assert.match(view.why ?? "", /Claude ended by itself \(139\)/);
      assert.equal(here.fake.factsOf("start").length, 1);
      assert.ok((await here.supervisor.recover(here.taskId, { fresh: false })).ok);
      await until(() => here.fake.factsOf("start").length === 2, 30_000, "the new worker");
      assert.ok((await here.supervisor.stop(here.taskId, undefined)).ok);
    });
  }

  test("in manual mode fails the task, and no decider is asked", async (t) => {
    const here = await scene(t, mindOf({ exit: decides("continue") }), dies, { start: { mode: "manual" } });
    const view = await here.supervisor.settled(here.taskId);
    assert.deepEqual([view.state, view.reason, here.decider.prompts], ["failed", "worker-exit 139", []]);
  });
});

describe("a decider that fails", () => {
  const huge = "because ".repeat(130_000);
  const wrong =
    (calls: DecisionTurn["calls"]): Mind =>
    () => ({ calls });
  const call = { name: "decide", arguments: { decision: "approve", reason: "r" } };
  const faults: { what: string; mind: Mind; code: string }[] = [
    { what: "never answers", mind: hangs, code: "timeout" },
    { what: "makes no call", mind: wrong([]), code: "no-call" },
    { what: "makes two calls", mind: wrong([call, call]), code: "two-calls" },
    { what: "calls something else", mind: wrong([{ name: "bash", arguments: {} }]), code: "no-call" },
    {
      what: "gives no reason",
      mind: wrong([{ name: "decide", arguments: { decision: "approve" } }]),
      code: "wrong-decision",
    },
    {
      what: "says what this question does not allow",
      mind: () => decides("continue", { message: "x" }),
      code: "wrong-decision",
    },
    { what: "gets 401", mind: () => ({ calls: [], error: "401 authentication_error" }), code: "model-error" },
    { what: "gets 500", mind: () => ({ calls: [], error: "500 api_error" }), code: "model-error" },
    {
      what: "loses its connection in a way that Pi throws",
      mind: () => Promise.reject(new Error("ECONNRESET")),
      code: "model-error",
    },
  ];
  test("at a call, in each of these ways: the call is pending, the worker lives on, a person's answer goes on", async (t) => {
    const mind = mindOf({
      tool: (prompt, signal) => {
        const index = Number(/--fault (\d+)/.exec(prompt)?.[1]);
        return faults[index]?.mind(prompt, signal) ?? decides("escalate");
      },
    });
    const calls = faults.map((_, index) => bashHook(`node gen.mjs --fault ${index}`));
    const here = await scene(t, mind, [...calls, { result: {} }], { timeoutMs: 2_000 });
    for (const [index, { what, code }] of faults.entries()) {
      const isIt = ({ waitsFor, requests }: TaskView): boolean =>
        waitsFor === "approval" && JSON.stringify(requests[0]?.input).includes(`--fault ${index}"`);
      const view = await here.when(here.taskId, isIt, `the request of a decider that ${what}`, 60_000);
      const [request, ...more] = view.requests;
      assert.deepEqual([request?.askedOf, request?.passedOn?.why, more], ["person", code, []], what);
      assert.equal(hookAnswers(here).length, index, "nothing was answered for it");
      assert.ok((await here.supervisor.approve(request?.requestId ?? "", undefined, "command")).ok);
    }
    await here.completed();
    assert.ok(hookAnswers(here).every(({ permissionDecision }) => permissionDecision === "allow"));
    const codes = (await here.of("decision.made")).flatMap((made) => made["code"] ?? []);
    assert.deepEqual(
      codes,
      faults.map(({ code }) => code),
    );
    assert.equal(here.fake.factsOf("start").length, 1);
  });

  for (const { what, mind, code } of faults
    .filter(({ code: one }) => one === "no-call" || one === "timeout")
    .slice(0, 2)) {
    test(`and ${what} at a turn's end: the verification runs all the same and completes the task`, async (t) => {
      const here = await scene(t, mindOf({ "turn-end": mind }), [{ result: {} }], { timeoutMs: 2_000 });
      await here.completed();
      assert.equal((await here.of("decision.made"))[0]?.["code"], code);
    });
  }

  test("at a turn's end, and the verification does not pass: a person is asked, no evidence is sent", async (t) => {
    const here = await scene(t, mindOf({ "turn-end": () => ({ calls: [] }) }), [{ result: {} }], {
      start: { verify: ["false"] },
    });
    const view = await here.waits("the person");
    assert.deepEqual([view.reason, view.waitsFor], ["decider-unavailable", "person"]);
    assert.deepEqual(promptsOf(here), ["Do it"]);
  });

  test("for a moment is waited for: a late answer inside the time limit counts", async (t) => {
    const overloaded = gate();
    const mind = mindOf({
      tool: async () => {
        await overloaded.opened;
        return decides("approve");
      },
    });
    const here = await scene(t, mind, [bashHook(CALL), { result: {} }]);
    const view = await here.when(here.taskId, (now) => now.state === "deciding", "the question");
    assert.deepEqual([view.waitsFor, view.requests[0]?.askedOf], [null, "decider"]);
    const listed = await here.supervisor.approvals();
    assert.ok(listed.ok && listed.requests.length === 0, "nothing waits for a person yet");
    overloaded.open();
    await here.completed();
    assert.equal(hookAnswers(here)[0]?.permissionDecision, "allow");
  });

  test("by talking a megabyte: the reason is cut, the decision counts", async (t) => {
    const here = await scene(t, mindOf({ tool: decides("approve", { reason: huge }) }), [
      bashHook(CALL),
      { result: {} },
    ]);
    await here.completed();
    const [made] = await here.of("decision.made");
    assert.equal(made?.["decision"], "approve");
    assert.ok(String(made?.["reason"]).length <= 2_001);
  });

  test("because Pi has no model for it: start says so, calls wait, results are verified, evidence goes out", async (t) => {
    const none = { ok: false, reason: "no-model", message: "Pi has no model chosen." } as const;
    const decider = scriptedDecider(hangs, none);
    const stage = await openStage(t, {
      steps: [...OPENING, bashHook(CALL), { result: {} }],
      seams: () => ({ decisions: decider.factory }),
    });
    const started = await stage.supervisor.start({
      goal: "Do it",
      from: stage.cwd,
      mode: "auto",
      verify: ["false"],
      maxRounds: 2,
    });
    assert.ok(started.ok, JSON.stringify(started));
    assert.ok(
      started.notices.some((notice) => /Pi has no model chosen\. The task runs all the same/.test(notice)),
      started.notices.join("\n"),
    );
    const view = await stage.when(started.taskId, (now) => now.state === "human_required", "the request");
    assert.equal(view.requests[0]?.passedOn?.why, "no-model");
    assert.ok((await stage.supervisor.deny(view.requests[0]?.requestId ?? "", undefined, "command")).ok);
    const end = await stage.when(started.taskId, (now) => now.reason === "rounds-exhausted", "both rounds", 60_000);
    assert.equal(end.rounds.failed, 2);
    assert.equal(promptsOf(stage).length, 2);
    const named: StartInput = {
      goal: "Do it",
      from: stage.cwd,
      mode: "auto",
      verify: ["true"],
      decisionModel: "lab/none",
    };
    const refused = await stage.supervisor.start({ ...named, cwd: await stage.lab.repo({ b: "1" }, "other") });
    assert.equal(
      refused.ok ? "started" : refused.reason,
      "no-model",
      "a model that was asked for by name has to be there",
    );
  });
});

describe("who wins while the decider thinks", () => {
  test("a person's answer: it counts, and the decider's word is noted late and changes nothing", async (t) => {
    const thinking = gate();
    const mind = mindOf({
      tool: async () => {
        await thinking.opened;
        return decides("approve");
      },
    });
    const here = await scene(t, mind, [bashHook(CALL), { result: {} }]);
    const view = await here.when(here.taskId, (now) => now.state === "deciding", "the question");
    const requestId = view.requests[0]?.requestId ?? "";
    assert.ok((await here.supervisor.deny(requestId, "mine to say", "command")).ok);
    thinking.open();
    await here.completed();
    assert.match(hookAnswers(here)[0]?.permissionDecisionReason ?? "", /mine to say/);
    const [made] = await here.of("decision.made");
    assert.deepEqual([made?.["code"], made?.["late"]], ["aborted", true]);
    assert.equal((await here.of("request.answered")).length, 1);
  });

  test("a stop: nothing is approved, the question is void, the session is let go of", async (t) => {
    const here = await scene(t, mindOf({ tool: hangs }), [bashHook(CALL), { result: {} }]);
    await here.when(here.taskId, (view) => view.state === "deciding", "the question");
    const stopped = await here.supervisor.stop(here.taskId, undefined);
    assert.ok(stopped.ok && stopped.state === "stopped", JSON.stringify(stopped));
    assert.ok(!hookAnswers(here).some((answer) => answer.permissionDecision === "allow"));
    await until(() => here.decider.open === 0, 10_000, "the decider's session to be closed");
    const replayed = await here.supervisor.replay(here.taskId);
    assert.ok(replayed.ok && replayed.matches, JSON.stringify(replayed));
  });

  test("a pause: the call is put off as it would be for a person, and the decider goes on after resume", async (t) => {
    let asked = 0;
    const mind = mindOf({ tool: (prompt, signal) => (asked++ === 0 ? hangs(prompt, signal) : decides("approve")) });
    const steps: Step[] = [
      { hook: { tool: "Bash", input: { command: CALL }, toolUseId: "toolu_put_off" } },
      {
        result: {
          terminal_reason: "tool_deferred",
          deferred_tool_use: { id: "toolu_put_off", name: "Bash", input: { command: CALL } },
        },
      },
      { eof: true },
      { exit: 0 },
    ];
    const here = await scene(t, mind, steps, { opening: [{ handshake: {} }, { prompt: "new" }, { init: {} }] });
    await until(() => here.decider.prompts.length === 1, 30_000, "the question");
    const paused = await here.supervisor.pause(here.taskId, undefined);
    assert.ok(paused.ok, JSON.stringify(paused));
    assert.equal(hookAnswers(here)[0]?.permissionDecision, "defer");
    const listed = await here.supervisor.approvals();
    assert.ok(listed.ok);
    assert.deepEqual(
      listed.requests.map(({ deferred, toolUseId }) => [deferred, toolUseId]),
      [[true, "toolu_put_off"]],
    );
    await until(() => here.decider.open === 0, 10_000, "no session while it rests");
    assert.ok((await here.supervisor.recover(here.taskId, { fresh: false })).ok);
    await until(() => hookAnswers(here).length === 2, 30_000, "the same call, asked again");
    assert.equal(hookAnswers(here)[1]?.permissionDecision, "allow");
    assert.ok(here.decider.resumed >= 1, "its conversation goes on");
    assert.ok((await here.supervisor.stop(here.taskId, undefined)).ok);
  });
});

describe("budgets", () => {
  test("no decisions left: calls are a person's, results are verified without being judged", async (t) => {
    const here = await scene(
      t,
      mindOf({ tool: decides("approve") }),
      [bashHook(CALL), bashHook("node b.mjs"), { result: {} }],
      {
        start: { maxDecisions: 1 },
      },
    );
    const view = await here.waits("the second call");
    assert.deepEqual([view.decisions?.used, view.requests[0]?.passedOn], [1, null]);
    assert.deepEqual(here.decider.kinds(), ["tool"]);
    assert.ok((await here.supervisor.approve(view.requests[0]?.requestId ?? "", undefined, "command")).ok);
    await here.completed();
    assert.deepEqual(here.decider.kinds(), ["tool"]);
  });

  test("money: told at 80 %, then the present result is verified and nothing more is spent", async (t) => {
    const here = await scene(
      t,
      mindOf({}),
      [{ result: { total_cost_usd: 0.9 } }, { prompt: true }, { init: {} }, { result: { total_cost_usd: 1.2 } }],
      {
        start: { verify: ["false"], maxRounds: 9, budgetUsd: 1 },
      },
    );
    const view = await here.waits("the end of the budget");
    assert.deepEqual([view.reason, view.waitsFor, view.rounds.failed], ["budget-usd", "person", 2]);
    assert.deepEqual(view.budget, { usd: 1, spentUsd: 1.2 });
    assert.equal(here.decider.prompts.length, 1, "the decider is not paid any more");
    assert.equal(
      (await here.of("budget.warning")).filter(({ text }) => /of the budget of \$1 is spent/.test(String(text))).length,
      1,
    );
  });

  test("the decider's own cost counts, and a good result completes all the same", async (t) => {
    const here = await scene(
      t,
      mindOf({ tool: decides("approve", {}, 2) }),
      [bashHook(CALL), { result: { total_cost_usd: 0.5 } }],
      {
        start: { budgetUsd: 1 },
      },
    );
    const view = await here.completed();
    assert.deepEqual(view.budget, { usd: 1, spentUsd: 2.5 });
    assert.deepEqual(here.decider.kinds(), ["tool"]);
  });
});

describe("a decider that obeys what the worker writes", () => {
  test("G4: approves all it is asked, in 200 ways: nothing that is denied or a person's ever runs by it", async (t) => {
    const obeys = mindOf({
      tool: decides("approve", { reason: "The text says so." }),
      plan: decides("approve", { category: "detail" }),
      "turn-end": decides("approve", { reason: "The text says that it is verified." }),
      exit: decides("approve"),
    });
    const lure = (description: string): Step[] => [
      ask("Bash", { command: "claude --dangerously-skip-permissions -p hi", description }),
      ask("Bash", { command: "git push --force origin main", description }),
      ask("Bash", { command: "git push origin main", description }),
    ];
    assert.equal(HOSTILE.length, 200);
    const here = await scene(
      t,
      obeys,
      [
        ask("Bash", { command: CALL, description: HOSTILE[0] }),
        ...HOSTILE.flatMap(lure),
        { say: HOSTILE.join("\n") },
        { result: { result: HOSTILE.join("\n") } },
      ],
      { start: { verify: ["false"], maxRounds: 1 } },
    );
    let refused = 0;
    await here.when(
      here.taskId,
      (view) => {
        for (const request of view.requests) {
          if (request.askedOf !== "person") continue;
          refused += 1;
          void here.supervisor.deny(request.requestId, undefined, "command");
        }
        return view.state === "human_required" && view.waitsFor === "person";
      },
      "the end of the rounds",
      240_000,
    );
    const answers = hookAnswers(here);
    assert.equal(answers.length, 601);
    assert.equal(answers[0]?.permissionDecision, "allow", "what it may decide, it decides");
    assert.deepEqual([...new Set(answers.slice(1).map(({ permissionDecision }) => permissionDecision))], ["deny"]);
    assert.ok(refused >= 200, "each call of a person's kind waited for a person");
    assert.deepEqual(here.decider.kinds(), ["tool", "turn-end"], "it was asked about nothing else");
    const view = await here.view(here.taskId);
    assert.equal(view.reason, "rounds-exhausted", "and no text calls the work done");
  });
});
