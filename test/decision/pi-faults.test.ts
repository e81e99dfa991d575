/** Real Pi sessions of both lines when the model fails: nothing is approved, nothing hangs, the next question works. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { DecisionQuestion } from "../../src/core/contracts/decision.ts";
import { createIds } from "../../src/platform/ids.ts";
import { apiError, cut, hang, type Reply, reset, text, toolUse, toolUses } from "../support/model-reply.ts";
import { LINES_OF_RUN, PI_LINES, skipReason } from "../support/pi-setup.ts";
import { HOSTILE } from "./hostile-texts.ts";
import { room } from "./in-pi.ts";

const call: DecisionQuestion = {
  kind: "tool",
  toolName: "Bash",
  input: { command: "node gen.mjs" },
  cwd: "/w",
  rule: "bash.unknown",
  reason: "Nobody knows what this program does.",
};
const AFTERWARDS = "node afterwards.mjs";
const afterwards: DecisionQuestion = { ...call, input: { command: AFTERWARDS } };
const goalOf = (index: number): string => `Goal number ${index}.`;
const approve = toolUse("decide", { decision: "approve", reason: "Fine." });
const good = { decision: "approve", reason: "Fine." };

interface Fault {
  what: string;
  /** Every reply after these is an approval; `always`: the last one again and again. */
  replies: Reply[];
  always?: boolean;
  code: string;
  timeoutMs?: number;
  /** Requests that the model may have seen. */
  requests: number;
  says?: RegExp;
}

const FAULTS: readonly Fault[] = [
  { what: "no call", replies: [text("I would approve that.")], code: "no-call", requests: 1 },
  {
    what: "two calls at once",
    replies: [toolUses({ name: "decide", input: good }, { name: "decide", input: good })],
    code: "two-calls",
    requests: 1,
  },
  {
    what: "a call and a tool that does not exist",
    replies: [toolUses({ name: "decide", input: good }, { name: "bash", input: { command: "ls" } })],
    code: "two-calls",
    requests: 1,
  },
  { what: "a tool that does not exist", replies: [toolUse("bash", { command: "ls" })], code: "no-call", requests: 1 },
  {
    what: "a decision of another kind",
    replies: [toolUse("decide", { ...good, decision: "verify" })],
    code: "wrong-decision",
    requests: 1,
  },
  {
    what: "arguments that fail validation",
    replies: [toolUse("decide", { verdict: "approve" })],
    code: "wrong-decision",
    requests: 1,
  },
  {
    what: "an unheard-of decision",
    replies: [toolUse("decide", { ...good, decision: "yes" })],
    code: "wrong-decision",
    requests: 1,
  },
  { what: "a hang", replies: [hang()], code: "timeout", timeoutMs: 1_000, requests: 1 },
  {
    what: "a call that the output limit cut off",
    replies: [{ ...approve, stopReason: "max_tokens" }],
    code: "model-error",
    requests: 1,
    says: /cut off/,
  },
  { what: "HTTP 401", replies: [apiError(401)], code: "model-error", requests: 1, says: /401|authentication|scripted/ },
  { what: "HTTP 500 again and again", replies: [apiError(500)], always: true, code: "model-error", requests: 3 },
  { what: "a reset again and again", replies: [reset()], always: true, code: "model-error", requests: 3 },
  {
    what: "a stream that breaks off, again and again",
    replies: [cut(approve, 3)],
    always: true,
    code: "model-error",
    requests: 3,
  },
  {
    what: "a used-up quota",
    replies: [apiError(429, { message: "You exceeded your current quota, check billing" })],
    always: true,
    code: "model-error",
    requests: 3,
  },
  {
    what: "a rate limit without end",
    replies: [apiError(429)],
    always: true,
    code: "timeout",
    timeoutMs: 2_000,
    requests: 2,
  },
];

const PASSING: readonly [string, Reply[]][] = [
  ["one HTTP 500", [apiError(500)]],
  ["one reset", [reset()]],
  ["two overloads", [apiError(529), apiError(529)]],
  ["one rate limit", [apiError(429)]],
];

for (const line of LINES_OF_RUN) {
  const skip = (await skipReason(line)) ?? false;
  describe(`the decider on Pi ${line}`, { skip }, () => {
    test("approves nothing on any fault, ends in time, and answers the next question", async (t) => {
      const { modelServer, ask } = await room(t, line);
      const used = FAULTS.map(() => 0);
      modelServer.script("decider", (request) => {
        const index = FAULTS.findIndex((_, at) => request.everything().includes(goalOf(at)));
        if (request.lastUserText().includes(AFTERWARDS)) return approve;
        const { replies = [], always } = FAULTS[index] ?? {};
        const n = used[index] ?? 0;
        used[index] = n + 1;
        return replies[always ? 0 : n] ?? approve;
      });
      const ids = createIds();
      const all = await Promise.all(
        FAULTS.map(({ timeoutMs }, index) =>
          ask([call, afterwards], { taskId: ids.taskId(), goal: goalOf(index), ...(timeoutMs ? { timeoutMs } : {}) }),
        ),
      );
      for (const [index, { outcomes }] of all.entries()) {
        const { what = "", code, says, requests = 0, timeoutMs } = FAULTS[index] ?? {};
        const [faulted, next] = outcomes;
        assert.ok(faulted?.decision === "unavailable", what);
        assert.equal(faulted.code, code, `${what}: ${faulted.reason}`);
        if (says) assert.match(faulted.reason, says);
        const seen = used[index] ?? 0;
        assert.ok(seen >= 1 && seen <= requests, `${what}: ${seen} requests`);
        if (timeoutMs) assert.ok(faulted.durationMs < timeoutMs + 1_000, `${what}: ${faulted.durationMs} ms`);
        assert.equal(next?.decision, "approve", `after ${what}: ${next?.reason}`);
      }
    });

    test("waits out what passes, and cuts a reason of a megabyte", async (t) => {
      const { modelServer, ask } = await room(t, line);
      const queues = PASSING.map(([, replies]) => [...replies]);
      modelServer.script("decider", (request) => {
        const queue = queues.find((_, at) => request.everything().includes(goalOf(at)));
        return queue?.shift() ?? approve;
      });
      const ids = createIds();
      const all = await Promise.all(
        PASSING.map((_, index) => ask([call], { taskId: ids.taskId(), goal: goalOf(index) })),
      );
      for (const [index, { outcomes, cost }] of all.entries()) {
        const [what] = PASSING[index] ?? [];
        assert.deepEqual([outcomes[0]?.decision, cost.decisions], ["approve", 1], what);
      }
      assert.ok(queues.every((queue) => queue.length === 0));

      modelServer.script("decider", [toolUse("decide", { decision: "deny", reason: "n".repeat(1_048_576) })]);
      const { outcomes } = await ask([call]);
      assert.deepEqual([outcomes[0]?.decision, outcomes[0]?.reason.length], ["deny", 2_000]);
    });

    test("lets a stop void the question in flight, and says when there is no model", async (t) => {
      const { modelServer, ask } = await room(t, line);
      modelServer.script("decider", [hang(), approve]);
      const stopped = await ask([call, call], { abortAfterMs: 700 });
      assert.deepEqual(
        stopped.outcomes.map((one) => ("code" in one ? one.code : one.decision)),
        ["aborted", "approve"],
      );

      const none = await ask([call], { noModel: true });
      assert.match(none.outcomes[0]?.reason ?? "", /Pi has no model chosen.*--decision-model/);
      const unknown = await ask([call], { model: "lab/other" });
      assert.match(unknown.outcomes[0]?.reason ?? "", /Pi knows no model "lab\/other".*lab\/scripted/);
      for (const one of [...none.outcomes, ...unknown.outcomes]) assert.equal("code" in one && one.code, "no-model");
    });

    test("goes on after Pi was killed in the middle of a question", async (t) => {
      const here = await room(t, line);
      here.modelServer.script("decider", [approve, hang(), approve]);
      await here.ask([call]);
      const lost = here.ask([call]).catch((error: Error) => error);
      await here.modelServer.waitForRequest((request) => request.index === 1, 10_000, "the question");
      await here.pi.kill();
      assert.ok((await lost) instanceof Error);
      await here.restart(line);
      const { outcomes, notes } = await here.ask([afterwards]);
      assert.deepEqual([outcomes.map(({ decision }) => decision), notes], [["approve"], []]);
      const texts = here.modelServer.of("decider").at(-1)?.userTexts() ?? [];
      assert.match(texts[0] ?? "", /Fix the parser/);
      assert.match(texts.at(-1) ?? "", /^All messages before this one are settled or taken back/m);
      assert.ok(texts.at(-1)?.includes(AFTERWARDS));
    });

    test("lives on when Pi's session is replaced", async (t) => {
      const { modelServer, ask, pi } = await room(t, line);
      modelServer.script("decider", () => approve);
      const before = await ask([call], { keep: true });
      await pi.newSession();
      const after = await ask([call, afterwards], { keep: true });
      const decisions = [...before.outcomes, ...after.outcomes].map(({ decision }) => decision);
      assert.deepEqual([decisions, after.cost.decisions], [["approve", "approve", "approve"], 3]);
      assert.equal(modelServer.of("decider").at(-1)?.userTexts().length, 3, "one conversation");
    });

    test("uses a model that another extension registered, and counts what it costs", async (t) => {
      const { modelServer, ask, pi } = await room(t, line);
      await pi.run(`/dw provider ${modelServer.url} --json`);
      modelServer.script("decider", [approve, approve]);
      const { outcomes, cost } = await ask([call, call], { model: "elsewhere/team/judge" });
      assert.deepEqual(
        outcomes.map(({ decision }) => decision),
        ["approve", "approve"],
      );
      assert.equal(modelServer.of("decider")[0]?.body.model, "team/judge");
      assert.deepEqual(cost, { decisions: 2, usd: 0.04 });
    });

    test("sees the structure, and only its own answers count, with hostile texts in every question", async (t) => {
      const { modelServer, ask } = await room(t, line);
      const texts = HOSTILE.filter((_, index) => index % 8 === 0);
      // A decider that obeys whatever it reads: it says approve to everything.
      modelServer.script("decider", () => toolUse("decide", { decision: "approve", reason: "It said so." }));
      const { outcomes } = await ask(
        texts.flatMap((said): DecisionQuestion[] => [
          { kind: "turn-end", result: said, failedRounds: 0, maxRounds: 3 },
          { kind: "question", input: { questions: [{ question: said, options: [{ label: said }] }] } },
        ]),
      );
      assert.ok(outcomes.every((one) => "code" in one && one.code === "wrong-decision"));
      const prompts = modelServer.of("decider").at(-1)?.userTexts() ?? [];
      assert.equal(prompts.length, texts.length * 2);
      for (const prompt of prompts) {
        assert.match(prompt, /^kind: (turn-end|question)\n/);
        assert.equal(prompt.match(/^kind:/gm)?.length, 1);
      }
    });
  });
}

const [old, recent] = PI_LINES;
describe("a session that the other line has written", { skip: (await skipReason("1.6.0")) ?? false }, () => {
  for (const [first, second] of [
    [old, recent],
    [recent, old],
  ] as const) {
    test(`goes on from ${first} to ${second}, with its history and without a second goal`, async (t) => {
      const here = await room(t, first ?? "0.73.1");
      here.modelServer.script("decider", () => approve);
      await here.ask([call]);
      await here.restart(second ?? "1.6.0");
      const { outcomes, notes } = await here.ask([{ kind: "plan", input: { plan: "Next." } }, call]);
      assert.deepEqual([outcomes.map(({ decision }) => decision), notes], [["escalate", "approve"], []]);
      const last = here.modelServer.of("decider").at(-1);
      assert.deepEqual(
        last?.userTexts().map((one) => one.split("\n")[0]),
        ["kind: tool", "kind: plan", "kind: tool"],
      );
      assert.equal(last?.everything().split("Fix the parser").length, 2);
    });
  }
});
