/** Time, order and faults around the model: nothing late is heard, nothing hangs, and no fault approves. */
import assert from "node:assert/strict";
import { mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, test } from "node:test";
import { setImmediate as tick } from "node:timers/promises";
import type {
  DecisionOutcome,
  DecisionQuestion,
  DecisionSession,
  DecisionSessionOptions,
  DecisionTurn,
} from "../../src/core/contracts/decision.ts";
import { failure, type Result } from "../../src/core/result.ts";
import { createDecisionWorker, DECISION_TIMEOUT_MS, decisionSessionStore } from "../../src/decision/index.ts";
import { manualClock } from "../../src/platform/clock.ts";
import { createIds } from "../../src/platform/ids.ts";
import { createRedactor } from "../../src/redaction/index.ts";

const call: DecisionQuestion = {
  kind: "tool",
  toolName: "Bash",
  input: { command: "ls" },
  cwd: "/w",
  rule: "r",
  reason: "why",
};
const APPROVE: DecisionTurn = { calls: [{ name: "decide", arguments: { decision: "approve", reason: "Fine." } }] };
const secret = `ghp_${"A1b2C3d4E5f6".repeat(3)}`;

interface Prompted {
  text: string;
  signal: AbortSignal;
  answer(turn: DecisionTurn): void;
  fail(error: Error): void;
}

function scene(t: { after(fn: () => void): void }, more: { timeoutMs?: number } = {}) {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "pcs-worker-")));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const clock = manualClock();
  const taskId = createIds().taskId();
  const opened: DecisionSessionOptions[] = [];
  const prompts: Prompted[] = [];
  const notes: string[] = [];
  const disposed: number[] = [];
  const refuse: (Result<{ session: DecisionSession }> | Error)[] = [];
  const open = (): ReturnType<typeof createDecisionWorker> =>
    createDecisionWorker({
      taskId,
      brief: { goal: "Fix the parser", verification: ["npm test"], workspace: "/w" },
      store: decisionSessionStore(folder),
      redactor: createRedactor({ salt: "test" }),
      clock,
      onNote: (note) => notes.push(note),
      factory: {
        usable: () => ({ ok: true }),
        async open(options) {
          opened.push(options);
          const refused = refuse.shift();
          if (refused instanceof Error) throw refused;
          if (refused) return refused;
          const index = opened.length - 1;
          const file = options.file ?? join(options.folder, `s${index}.jsonl`);
          if (options.file === undefined) writeFileSync(file, '{"type":"session","id":"s"}\n');
          const session: DecisionSession = {
            file,
            resumed: options.file !== undefined,
            model: "lab/scripted",
            contextWindow: 200_000,
            prompt: (text, signal) =>
              new Promise((resolve, reject) => prompts.push({ text, signal, answer: resolve, fail: reject })),
            dispose: () => disposed.push(index),
          };
          return { ok: true, session };
        },
      },
      ...more,
    });
  const worker = open();
  const prompted = async (index: number): Promise<Prompted> => {
    for (let round = 0; round < 200; round += 1) {
      const found = prompts[index];
      if (found) return found;
      await tick();
    }
    throw new Error(`prompt ${index} was not sent`);
  };
  return { worker, open, clock, opened, prompts, prompted, notes, disposed, refuse };
}

const never = new AbortController().signal;

/** Resolves with the outcome when it is there without any time passing, else with "waiting". */
async function now(outcome: Promise<DecisionOutcome>): Promise<DecisionOutcome | "waiting"> {
  let found: DecisionOutcome | "waiting" = "waiting";
  outcome.then((one) => {
    found = one;
  });
  for (let round = 0; round < 20; round += 1) await tick();
  return found;
}

const codeOf = (outcome: DecisionOutcome): string =>
  outcome.decision === "unavailable" ? outcome.code : outcome.decision;

describe("the time limit of a question", () => {
  test(`is ${DECISION_TIMEOUT_MS / 1_000} s, ends the prompt, and what comes later is not heard`, async (t) => {
    const { worker, clock, prompted, opened } = scene(t);
    const outcome = worker.ask(call, { signal: never });
    const first = await prompted(0);
    clock.advance(119_999);
    assert.equal(await now(outcome), "waiting");
    clock.advance(1);
    assert.equal(codeOf(await outcome), "timeout");
    assert.equal((await outcome).durationMs, 120_000);
    assert.ok(first.signal.aborted);
    first.answer(APPROVE);
    const next = worker.ask(call, { signal: never });
    const second = await prompted(1);
    assert.match(second.text, /^All messages before this one are settled or taken back/m);
    second.answer(APPROVE);
    assert.equal((await next).decision, "approve");
    assert.equal(opened.length, 1);
    assert.deepEqual(worker.cost(), { decisions: 1 }, "a question without an answer in time costs no decision");
    await tick();
    assert.equal(clock.pending, 0, "no timer is left");
  });

  test("begins when it is the question's turn", async (t) => {
    const { worker, clock, prompted } = scene(t);
    const first = worker.ask(call, { signal: never });
    const second = worker.ask(call, { signal: never });
    (await prompted(0)).signal.addEventListener("abort", () => undefined);
    clock.advance(100_000);
    (await prompted(0)).answer(APPROVE);
    await first;
    await prompted(1);
    clock.advance(100_000);
    (await prompted(1)).answer(APPROVE);
    assert.equal((await second).decision, "approve");
  });

  test("holds for a model that does not let go: its session is given up and another begins", async (t) => {
    const { worker, clock, prompted, opened, disposed } = scene(t, { timeoutMs: 5_000 });
    const first = worker.ask(call, { signal: never });
    const second = worker.ask(call, { signal: never });
    await prompted(0);
    clock.advance(5_000);
    assert.equal(codeOf(await first), "timeout");
    assert.equal(await now(second), "waiting");
    clock.advance(2_000);
    (await prompted(1)).answer(APPROVE);
    assert.equal((await second).decision, "approve");
    assert.deepEqual([opened.length, disposed, opened[1]?.file], [2, [0], undefined]);
    (await prompted(0)).fail(new Error("late"));
  });
});

describe("a stop", () => {
  test("voids the question in flight at once, whatever the model says then", async (t) => {
    const { worker, prompted } = scene(t);
    const stop = new AbortController();
    const outcome = worker.ask(call, { signal: stop.signal });
    const prompt = await prompted(0);
    stop.abort();
    assert.equal(codeOf(await outcome), "aborted");
    assert.ok(prompt.signal.aborted);
    prompt.answer(APPROVE);
    assert.equal(codeOf(await outcome), "aborted");
  });

  test("voids a question that waits for its turn, and it is never put", async (t) => {
    const { worker, prompted, prompts } = scene(t);
    const stop = new AbortController();
    const first = worker.ask(call, { signal: never });
    const second = worker.ask(call, { signal: stop.signal });
    await prompted(0);
    stop.abort();
    assert.equal(codeOf(await second), "aborted");
    (await prompted(0)).answer(APPROVE);
    assert.equal((await first).decision, "approve");
    const third = worker.ask(call, { signal: never });
    (await prompted(1)).answer(APPROVE);
    await third;
    assert.equal(prompts.length, 2);
  });

  test("before the question voids it without opening anything", async (t) => {
    const { worker, opened } = scene(t);
    assert.equal(codeOf(await worker.ask(call, { signal: AbortSignal.abort() })), "aborted");
    assert.equal(opened.length, 0);
  });

  test("by dispose voids all, closes the session once its prompt has ended, and can come twice", async (t) => {
    const { worker, prompted, disposed, clock } = scene(t);
    const outcomes = [worker.ask(call, { signal: never }), worker.ask(call, { signal: never })];
    const prompt = await prompted(0);
    worker.dispose();
    worker.dispose();
    assert.deepEqual((await Promise.all(outcomes)).map(codeOf), ["aborted", "aborted"]);
    assert.deepEqual(disposed, []);
    prompt.answer(APPROVE);
    for (let round = 0; round < 20 && disposed.length === 0; round += 1) await tick();
    assert.deepEqual(disposed, [0]);
    assert.equal(codeOf(await worker.ask(call, { signal: never })), "aborted");
    assert.equal(clock.pending, 0);
  });

  test("by dispose while the session is being opened closes it", async (t) => {
    const { worker, disposed } = scene(t);
    const outcome = worker.ask(call, { signal: never });
    worker.dispose();
    assert.equal(codeOf(await outcome), "aborted");
    for (let round = 0; round < 50 && disposed.length === 0; round += 1) await tick();
    assert.ok(disposed.length <= 1);
  });
});

describe("faults", () => {
  test("of opening are said in Pi's words and approve nothing", async (t) => {
    const { worker, refuse, prompted, notes } = scene(t);
    refuse.push(failure("no-model", "Pi has no model chosen."));
    const none = await worker.ask(call, { signal: never });
    assert.deepEqual([codeOf(none), none.reason], ["no-model", "Pi has no model chosen."]);
    refuse.push(failure("session", `Pi says ${secret}`));
    const broken = await worker.ask(call, { signal: never });
    assert.equal(codeOf(broken), "model-error");
    assert.ok(!broken.reason.includes(secret));
    refuse.push(new Error("boom"));
    assert.equal(codeOf(await worker.ask(call, { signal: never })), "model-error");
    const later = worker.ask(call, { signal: never });
    (await prompted(0)).answer(APPROVE);
    assert.equal((await later).decision, "approve", "the next question tries again");
    assert.deepEqual(notes, []);
  });

  test("of the model end as unavailable; two in a row begin a new session", async (t) => {
    const { worker, prompted, opened, disposed } = scene(t);
    const turns: (DecisionTurn | Error)[] = [
      { calls: [], error: `401 ${secret}` },
      { calls: APPROVE.calls, error: "cut off" },
      APPROVE,
      new Error("thrown"),
    ];
    const seen: string[] = [];
    for (const [index, turn] of turns.entries()) {
      const outcome = worker.ask(call, { signal: never });
      const prompt = await prompted(index);
      if (turn instanceof Error) prompt.fail(turn);
      else prompt.answer(turn);
      seen.push(codeOf(await outcome));
      assert.ok(!(await outcome).reason.includes(secret));
    }
    assert.deepEqual(seen, ["model-error", "model-error", "approve", "model-error"]);
    assert.deepEqual(
      [opened.map(({ file }) => file !== undefined), disposed],
      [
        [false, false],
        [0, 1],
      ],
    );
    assert.match((await prompted(2)).text, /Fix the parser/, "the new session is told the goal");
  });
});

describe("a session", () => {
  test("is gone on with by the next worker, which does not tell the goal again", async (t) => {
    const { worker, open, prompted, opened } = scene(t);
    const first = worker.ask(call, { signal: never });
    (await prompted(0)).answer(APPROVE);
    await first;
    worker.dispose();
    const second = open().ask(call, { signal: never });
    const prompt = await prompted(1);
    prompt.answer(APPROVE);
    await second;
    assert.match((await prompted(0)).text, /Fix the parser/);
    assert.doesNotMatch(prompt.text, /Fix the parser/);
    assert.ok(opened[1]?.file?.endsWith("s0.jsonl"));
  });

  test("that Pi cannot open any more is left for a new one, and that is said", async (t) => {
    const { worker, open, prompted, opened, notes, refuse } = scene(t);
    const first = worker.ask(call, { signal: never });
    (await prompted(0)).answer(APPROVE);
    await first;
    worker.dispose();
    refuse.push(failure("session", "no such version"));
    const second = open().ask(call, { signal: never });
    const prompt = await prompted(1);
    prompt.answer(APPROVE);
    assert.equal((await second).decision, "approve");
    assert.deepEqual(
      opened.map(({ file }) => file !== undefined),
      [false, true, false],
    );
    assert.match(prompt.text, /Fix the parser/);
    assert.equal(notes.length, 1);
  });

  test("is renewed when its conversation has grown long, and the goal is told again", async (t) => {
    const { worker, prompted, opened, disposed } = scene(t);
    for (const [index, contextTokens] of [50_000, 100_001, 2_000].entries()) {
      const outcome = worker.ask(call, { signal: never });
      (await prompted(index)).answer({ ...APPROVE, contextTokens });
      await outcome;
    }
    assert.deepEqual([opened.length, disposed], [2, [0]]);
    const told = [0, 1, 2].map(async (index) => (await prompted(index)).text.includes("Fix the parser"));
    assert.deepEqual(await Promise.all(told), [true, false, true]);
  });

  test("is told nothing secret, and says nothing secret", async (t) => {
    const { worker, prompted } = scene(t);
    const outcome = worker.ask(
      { ...call, input: { command: `curl -H "Authorization: token ${secret}"` } } as DecisionQuestion,
      {
        signal: never,
      },
    );
    const prompt = await prompted(0);
    assert.ok(!prompt.text.includes(secret));
    // So placed that cutting first would leave half of it.
    const reason = `${"x".repeat(1_990)} ${secret}`;
    prompt.answer({ calls: [{ name: "decide", arguments: { decision: "deny", reason } }] });
    assert.ok(!(await outcome).reason.includes(secret.slice(0, 8)));
  });

  test("costs what its answers cost, and nothing is said where a price is not known", async (t) => {
    const { worker, prompted } = scene(t);
    const costs = [0.25, 0.5, undefined];
    for (const [index, usd] of costs.entries()) {
      const outcome = worker.ask(call, { signal: never });
      (await prompted(index)).answer({ ...APPROVE, ...(usd === undefined ? {} : { usd }) });
      assert.equal((await outcome).usd, usd);
      assert.equal("usd" in (await outcome), usd !== undefined);
      if (index === 1) assert.deepEqual(worker.cost(), { usd: 0.75, decisions: 2 });
    }
    assert.deepEqual(worker.cost(), { decisions: 3 });
  });
});
