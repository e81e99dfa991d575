/** Secrets that come in pieces, at a cut, or by a way of their own: none of them reaches a file of the supervisor. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { StoredEvent } from "../../src/core/events.ts";
import { assertNoTrace, pemKey, pieces, token } from "../e2e/secret-values.ts";
import { until } from "../support/until.ts";
import { bashHook, promptsOf, toolResult } from "./failures-support.ts";
import { OPENING, openStage, type Stage, type StageOptions, type Step } from "./stage.ts";

/** Every update that a listener gets, as text: what the UI is made from. */
async function staged(t: Parameters<typeof openStage>[0], options: StageOptions): Promise<Stage & { shown: string[] }> {
  const stage = await openStage(t, options);
  const shown: string[] = [];
  stage.supervisor.subscribe((update) => shown.push(JSON.stringify(update)));
  return Object.assign(stage, { shown });
}

const KINDS = ["github", "aws", "slack", "anthropic"] as const;

describe("a secret on the worker's stderr", () => {
  for (const kind of KINDS) {
    test(`${kind}: in two writes, and at the end of a long tail`, async (t) => {
      const secret = token(kind);
      const [first, second] = pieces(secret, 2);
      const steps: Step[] = [
        ...OPENING,
        { stderr: `key ${first}` },
        { sleep: 150 },
        { stderr: `${second}\nand more\n` },
        { sleep: 50 },
        { exit: 9 },
      ];
      const stage = await staged(t, { steps });
      const taskId = await stage.start();
      const view = await stage.when(taskId, (now) => now.state === "failed", "the end");
      await until(() => stage.supervisor.live().length === 0, 5_000, "the task to be let go of");
      await assertNoTrace([secret], stage.lab.stateDir, [...stage.shown, JSON.stringify(view)]);
      assert.ok(
        stage.shown.some((one) => one.includes("and more")),
        "what is no secret is there",
      );
    });

    test(`${kind}: cut by the bound of the last words`, async (t) => {
      const secret = token(kind);
      for (const kept of [500, 8192]) {
        // The cut falls into the middle of the secret.
        const rest = kept - Math.floor(secret.length / 2);
        const stderr = `key ${secret}\n${"word ".repeat(Math.ceil(rest / 5))}`.slice(0, 4 + secret.length + rest);
        const stage = await staged(t, { steps: [...OPENING, { stderr }, { sleep: 100 }, { exit: 9 }] });
        const taskId = await stage.start();
        const view = await stage.when(taskId, (now) => now.state === "failed", "the end");
        await until(() => stage.supervisor.live().length === 0, 5_000, "the task to be let go of");
        await assertNoTrace([secret], stage.lab.stateDir, [...stage.shown, JSON.stringify(view)]);
      }
    });

    test(`${kind}: of a worker that never became ready`, async (t) => {
      const secret = token(kind);
      const rest = 500 - Math.floor(secret.length / 2);
      const stderr = `key ${secret}\n${"word ".repeat(Math.ceil(rest / 5))}`.slice(0, 4 + secret.length + rest);
      const stage = await staged(t, { scenario: "exits", options: { stderr, code: 1 } });
      const taskId = await stage.start();
      const view = await stage.when(taskId, (now) => now.state === "failed", "the end");
      await until(() => stage.supervisor.live().length === 0, 5_000, "the task to be let go of");
      await assertNoTrace([secret], stage.lab.stateDir, [...stage.shown, JSON.stringify(view)]);
    });
  }
});

describe("a secret in the text of a process-pipe worker", () => {
  for (const kind of KINDS) {
    test(`${kind}: where two reads of the pipe meet`, async (t) => {
      const secret = token(kind);
      const before = 65_536 - "you said: ".length - 4 - Math.floor(secret.length / 2);
      const goal = `${"word ".repeat(Math.ceil(before / 5)).slice(0, before)}key ${secret} and on ${"more ".repeat(3_000)}`;
      const stage = await staged(t, { scenario: "obedient" });
      const taskId = await stage.start({ goal, transport: "process-pipe", ungated: "flag" });
      await stage.when(taskId, (now) => now.waitsFor === "result", "the result");
      const [note] = stage.fake.factsOf("note");
      assert.ok(String(note?.["said"]).includes(secret), "the worker was told the goal itself");
      await until(() => stage.shown.some((one) => one.includes("worker.text")), 5_000, "its text");
      assert.ok((await stage.supervisor.stop(taskId, undefined)).ok);
      await assertNoTrace([secret], stage.lab.stateDir, stage.shown);
    });
  }
});

describe("a private key", () => {
  test("G2: printed by three calls of which none prints the whole", async (t) => {
    const key = pemKey();
    const lines = key.trimEnd().split("\n");
    const third = Math.ceil(lines.length / 3);
    const parts = [lines.slice(0, third), lines.slice(third, 2 * third), lines.slice(2 * third)].map((part) =>
      part.join("\n"),
    );
    const stage = await staged(t, {
      steps: [
        ...OPENING,
        ...parts.flatMap((part, index) => [bashHook("ls"), toolResult(`toolu_${index + 1}`, part)]),
        { say: "that was it" },
        { result: {} },
      ],
    });
    const taskId = await stage.start();
    await stage.when(taskId, (now) => now.waitsFor === "result", "the result");
    assert.ok((await stage.supervisor.stop(taskId, undefined)).ok);
    await assertNoTrace([key], stage.lab.stateDir, stage.shown);
    assert.ok(stage.shown.some((one) => one.includes("that was it")));
  });
});

describe("what people say", () => {
  test("a goal, a message and an answer reach the worker as they were typed, and no file", async (t) => {
    const secrets = KINDS.map((kind) => token(kind));
    const [goal = "", message = "", note = "", answer = ""] = secrets;
    const question = {
      questions: [{ question: "Which key?", header: "Key", options: [{ label: "none", description: "" }] }],
    };
    const stage = await staged(t, {
      steps: [
        ...OPENING,
        bashHook("node x.mjs"),
        { hook: { tool: "AskUserQuestion", input: question } },
        { result: {} },
      ],
    });
    const taskId = await stage.start({ goal: `Use ${goal} for it` });
    const asked = async (): Promise<string> =>
      (await stage.when(taskId, (now) => now.requests.length === 1, "a request")).requests[0]?.requestId ?? "";
    const first = await asked();
    assert.ok((await stage.supervisor.deny(first, `not with ${note}`, "command")).ok);
    const second = (
      await stage.when(taskId, (now) => now.requests.some((one) => one.requestId !== first), "the question")
    ).requests[0]?.requestId;
    assert.ok((await stage.supervisor.answer(second ?? "", answer, "command")).ok);
    await stage.when(taskId, (now) => now.waitsFor === "result", "the result");
    assert.ok((await stage.supervisor.send(taskId, `take ${message}`)).ok);
    const view = await stage.when(taskId, (now) => now.turns === 2, "the second result");
    assert.deepEqual(promptsOf(stage), [`Use ${goal} for it`, `take ${message}`]);
    const heard = stage.fake.factsOf("stdin").map(({ line }) => line);
    assert.ok(
      heard.some((line) => line.includes(answer)),
      "the answer reaches the worker as it was typed",
    );
    assert.ok((await stage.supervisor.stop(taskId, `because of ${note}`)).ok);
    const events: StoredEvent[] = [];
    const history = await stage.supervisor.history(taskId, (event) => events.push(event));
    const sessions = await stage.supervisor.sessions(true);
    await assertNoTrace(secrets, stage.lab.stateDir, [
      ...stage.shown,
      JSON.stringify([view, history, events, sessions, stage.supervisor.known()]),
    ]);
  });
});
