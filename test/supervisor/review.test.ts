/** The reviewer in a task's life: what it sees, what its word leads to, and that no fault of it passes or loses a candidate. */
import assert from "node:assert/strict";
import { readdir, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, test } from "node:test";
import type { DecisionSessionFactory, DecisionTurn, HelperTool } from "../../src/core/contracts/decision.ts";
import type { EventMap } from "../../src/core/events.ts";
import { gate, until } from "../support/until.ts";
import { type AfterHook, createLab, writeTree } from "../support/workspace.ts";
import { OPENING, openStage, type Stage, type StageOptions } from "./stage.ts";

const PATIENT = 60_000;

interface Look {
  prompt: string;
  signal: AbortSignal;
  tool(name: string, args: unknown): Promise<string>;
}

/** A reviewer of Pi's place: each look is answered by the next of these, the last one again and again. */
function reviewers(...answers: ((look: Look) => Promise<DecisionTurn> | DecisionTurn)[]): {
  factory: DecisionSessionFactory;
  looks: Look[];
} {
  const looks: Look[] = [];
  const open: DecisionSessionFactory["open"] = async ({ helpers = [], tool }) => ({
    ok: true,
    session: {
      file: undefined,
      resumed: false,
      model: "lab/reviewer",
      async prompt(prompt, signal) {
        if (tool.name === "decide") return decided(prompt);
        const look = { prompt, signal, tool: (name: string, args: unknown) => run(helpers, name, args, signal) };
        looks.push(look);
        const answer = answers[Math.min(looks.length, answers.length) - 1];
        return answer === undefined ? { calls: [] } : answer(look);
      },
      dispose: () => undefined,
    },
  });
  return { factory: { open, usable: () => ({ ok: true }) }, looks };
}

/** The decider leaves calls to a person and has every result verified. */
function decided(prompt: string): DecisionTurn {
  const decision = prompt.startsWith("kind: turn-end") ? "verify" : "escalate";
  return { calls: [{ name: "decide", arguments: { decision, reason: "r" } }] };
}

function run(helpers: readonly HelperTool[], name: string, args: unknown, signal: AbortSignal): Promise<string> {
  const helper = helpers.find((one) => one.name === name);
  assert.ok(helper, name);
  return helper.run(args, signal);
}

const verdict = (word: string, more: object = {}): DecisionTurn => ({
  calls: [{ name: "review", arguments: { verdict: word, summary: "because", ...more } }],
});

async function stageWith(
  t: AfterHook,
  factory: DecisionSessionFactory | undefined,
  more: Partial<StageOptions> = {},
): Promise<Stage> {
  return openStage(t, {
    ...more,
    files: { "sum.mjs": "old\n", ".gitignore": "left-over\n" },
    steps: [...OPENING, { hook: { tool: "Bash", input: { command: "node gen.mjs" } } }, { result: {} }],
    seams: (deps) => ({
      agentDir: more.lab?.tmp ?? deps.agentDir,
      ...(factory === undefined ? {} : { decisions: factory }),
    }),
  });
}

/** A task whose worker has made its change and ends its turn. */
async function worked(stage: Stage, mode: "auto" | "manual" = "auto"): Promise<string> {
  const taskId = await stage.start({ mode, verify: ["true"], review: true, patienceMs: 600_000 });
  const asking = await stage.when(
    taskId,
    (view) => view.requests[0]?.askedOf === "person",
    "the worker's call",
    PATIENT,
  );
  await writeFile(join(stage.cwd, "sum.mjs"), "new\n");
  await writeFile(join(stage.cwd, "left-over"), "x\n");
  const answered = await stage.supervisor.approve(asking.requests[0]?.requestId ?? "", undefined, "command");
  assert.ok(answered.ok, JSON.stringify(answered));
  return taskId;
}

async function dataOf<K extends keyof EventMap>(stage: Stage, taskId: string, type: K): Promise<EventMap[K][]> {
  return (await stage.events(taskId)).filter((event) => event.type === type).map((event) => event.data as EventMap[K]);
}

const completed = (stage: Stage, taskId: string) =>
  until(async () => (await stage.view(taskId)).state === "completed", PATIENT, "the completion");

describe("a reviewer", () => {
  test("sees goal, evidence, diff and exactly the verified tree; its pass completes the task, its checkout is gone", async (t) => {
    const seen: string[] = [];
    const { factory, looks } = reviewers(async (look) => {
      seen.push(await look.tool("read", { path: "sum.mjs" }), await look.tool("ls", {}));
      return verdict("pass");
    });
    const stage = await stageWith(t, factory);
    const taskId = await worked(stage);
    await completed(stage, taskId);
    assert.deepEqual(seen, ["1\tnew\n2\t", ".gitignore\nsum.mjs"], "no ignored leftover, no git folder");
    assert.match(looks[0]?.prompt ?? "", /\| Do it\n[\s\S]*\| true\n[\s\S]*modified sum\.mjs[\s\S]*\| -old\n\| \+new/);
    const [finished] = await dataOf(stage, taskId, "review.finished");
    assert.deepEqual([finished?.verdict, finished?.model, finished?.looks], ["pass", "lab/reviewer", 2]);
    const clean = join(stage.lab.stateDir, "scratch", "clean");
    assert.deepEqual(await readdir(clean).catch(() => []), []);
  });

  test("that wants a revision costs a round, its findings go to the worker, and the next candidate is reviewed anew", async (t) => {
    const { factory, looks } = reviewers(
      () => verdict("revise", { findings: [{ file: "sum.mjs", line: 1, problem: "Say it louder." }] }),
      () => verdict("pass"),
    );
    const stage = await stageWith(t, factory);
    const taskId = await worked(stage);
    await completed(stage, taskId);
    assert.equal(looks.length, 2);
    const told = (await dataOf(stage, taskId, "prompt.intent")).filter((prompt) => prompt.source === "verifier");
    assert.equal(told.length, 1);
    assert.match(told[0]?.text ?? "", /- sum\.mjs:1: Say it louder\./);
    assert.equal((await stage.view(taskId)).rounds.failed, 1);
  });

  const unable: [string, DecisionSessionFactory | undefined, string][] = [
    ["person", reviewers(() => verdict("person")).factory, "review-person"],
    ["prose only", reviewers(() => ({ calls: [] })).factory, "review-unavailable"],
    ["an error", reviewers(() => ({ calls: [], error: "500" })).factory, "review-unavailable"],
    ["nobody there", undefined, "review-unavailable"],
    ["silence", reviewers(() => new Promise(() => undefined)).factory, "review-unavailable"],
  ];
  for (const [what, factory, why] of unable) {
    test(`that ends with ${what} leaves the candidate to a person, who completes it with a signature`, async (t) => {
      const lab = await createLab(t);
      const limit = JSON.stringify({ reviewTimeout: what === "silence" ? "1s" : "10m" });
      await writeFile(join(lab.tmp, "supervisor.json"), limit, { mode: 0o600 });
      const stage = await stageWith(t, factory, { lab });
      const taskId = await worked(stage);
      const view = await stage.when(taskId, (now) => now.requests[0]?.kind === "sign-off", "the request", PATIENT);
      assert.deepEqual([view.state, view.waitsFor, view.rounds.failed], ["human_required", "approval", 0]);
      const [asked] = await dataOf(stage, taskId, "signoff.requested");
      assert.equal(asked?.why, why);
      assert.ok((await stage.supervisor.approve(view.requests[0]?.requestId ?? "", undefined, "command")).ok);
      await completed(stage, taskId);
    });
  }

  test("that takes its time holds no program up: the answer says that it looks, and its word still counts", async (t) => {
    const answer = gate();
    const { factory } = reviewers(async () => {
      await answer.opened;
      return verdict("pass");
    });
    const stage = await stageWith(t, factory);
    const taskId = await worked(stage, "manual");
    await stage.when(taskId, (view) => view.waitsFor === "result", "the result", PATIENT);
    const soon = await stage.supervisor.verify(taskId, { reviewWaitMs: 1 });
    assert.deepEqual([soon.ok && soon.outcome, soon.ok && soon.state], ["pass", "verifying"], JSON.stringify(soon));
    assert.match(soon.ok ? soon.message : "", /exited with 0.*reviewer still looks at it/);
    const again = await stage.supervisor.verify(taskId);
    assert.equal(!again.ok && again.reason, "verifying");
    answer.open();
    await completed(stage, taskId);
  });

  test("reads a copy of a folder that is in no git repository, and is told what was written since the start", async (t) => {
    const seen: string[] = [];
    const { factory, looks } = reviewers(async (look) => {
      seen.push(await look.tool("read", { path: "sum.mjs" }), await look.tool("ls", {}));
      return verdict("pass");
    });
    const lab = await createLab(t);
    const cwd = join(lab.root, "plain");
    await writeTree(cwd, { "sum.mjs": "old\n", "old.txt": "x\n", "node_modules/x/index.js": "x\n" });
    await utimes(join(cwd, "old.txt"), 1, 1);
    const stage = await stageWith(t, factory, { lab, cwd });
    const taskId = await worked(stage);
    await completed(stage, taskId);
    assert.deepEqual(seen, ["1\tnew\n2\t", "left-over\nold.txt\nsum.mjs"], "what the hash covers, and nothing else");
    const said = looks[0]?.prompt ?? "";
    assert.match(said, /By their time alone[\s\S]*\| written left-over\n\| written sum\.mjs\n/);
    assert.doesNotMatch(said, /old\.txt/);
    const [finished] = await dataOf(stage, taskId, "review.finished");
    assert.match(finished?.treeId ?? "", /^sha256:/);
    assert.deepEqual(await readdir(join(lab.stateDir, "scratch", "clean")), []);
  });

  test("whose Pi is gone is asked anew by the next one, about the candidate that has already passed", async (t) => {
    const first = reviewers(() => new Promise<DecisionTurn>(() => undefined));
    const stage = await stageWith(t, first.factory);
    const taskId = await worked(stage);
    await until(() => first.looks.length === 1, PATIENT, "the review");
    await stage.supervisor.shutdown(1_000);
    assert.equal((await stage.view(taskId)).recoverable, true);

    const { factory, looks } = reviewers(() => verdict("pass"));
    const next = await openStage(t, {
      lab: stage.lab,
      cwd: stage.cwd,
      steps: [{ handshake: {} }, { prompt: true }],
      seams: () => ({ decisions: factory }),
    });
    const recovered = await next.supervisor.recover(taskId, { fresh: false });
    assert.ok(recovered.ok, JSON.stringify(recovered));
    await completed(next, taskId);
    assert.equal(looks.length, 1);
    const events = await next.events(taskId);
    const counted = (type: string): number => events.filter((event) => event.type === type).length;
    assert.deepEqual(
      [counted("verify.finished"), counted("prompt.intent"), counted("task.completed")],
      [1, 1, 1],
      "one verification, no message to the worker",
    );
    const replayed = await next.supervisor.replay(taskId);
    assert.ok(replayed.ok && replayed.matches);
  });

  test("in manual mode answers a person's verify; their second one overrules it", async (t) => {
    const { factory, looks } = reviewers(() => verdict("revise", { findings: ["Say it louder."] }));
    const stage = await stageWith(t, factory);
    const taskId = await worked(stage, "manual");
    await stage.when(taskId, (view) => view.waitsFor === "result", "the result", PATIENT);
    const first = await stage.supervisor.verify(taskId);
    assert.deepEqual(
      [first.ok && first.outcome, first.ok && first.state],
      ["fail", "human_required"],
      JSON.stringify(first),
    );
    assert.match(first.ok ? first.message : "", /The reviewer wants something changed/);
    const second = await stage.supervisor.verify(taskId);
    assert.deepEqual([second.ok && second.outcome, second.ok && second.state], ["pass", "completed"]);
    assert.equal(looks.length, 1);
  });

  test("is ended by a stop, and its late pass changes nothing", async (t) => {
    let answer: (turn: DecisionTurn) => void = () => undefined;
    const { factory, looks } = reviewers(
      () =>
        new Promise((resolve) => {
          answer = resolve;
        }),
    );
    const stage = await stageWith(t, factory);
    const taskId = await worked(stage);
    await until(() => looks.length === 1, PATIENT, "the review");
    const stopped = await stage.supervisor.stop(taskId, undefined);
    assert.deepEqual(stopped.ok && stopped.state, "stopped", JSON.stringify(stopped));
    assert.ok(looks[0]?.signal.aborted);
    answer(verdict("pass"));
    assert.equal((await stage.view(taskId)).state, "stopped");
    assert.deepEqual(await dataOf(stage, taskId, "task.completed"), []);
  });

  test("never hears of a candidate whose workspace changed meanwhile: it is verified anew", async (t) => {
    let changed = false;
    const { factory, looks } = reviewers(() => verdict("pass"));
    const stage = await stageWith(t, factory);
    stage.supervisor.subscribe(({ event }) => {
      if (event.type !== "review.started" || changed) return;
      changed = true;
      void writeFile(join(stage.cwd, "sum.mjs"), "behind its back\n");
    });
    const taskId = await worked(stage);
    await completed(stage, taskId);
    const passes = (await dataOf(stage, taskId, "verify.finished")).map((facts) => facts.treeId);
    const [end] = await dataOf(stage, taskId, "task.completed");
    assert.equal(end?.treeId, passes.at(-1));
    assert.ok(
      looks.every((look) => !/\| \+new\n/.test(look.prompt)) || passes.length > 1,
      "another tree is another candidate",
    );
  });
});
