/** `start --from`: what the file says reaches the worker and the frozen task; flags stand above it. */
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import type { EventMap } from "../../src/core/events.ts";
import { until } from "../support/until.ts";
import { OPENING, openStage, type Stage } from "./stage.ts";

const FILE = {
  goal: "Mend the sum",
  scope: ["only sum.mjs"],
  constraints: ["keep the signature"],
  forbidden: ["new dependencies"],
  verifications: [{ command: "sh quick.sh", timeout: "5s" }, { command: "sh slow.sh" }],
  profile: "strict",
  budgets: { maxRounds: 2, timeout: "2h" },
};

async function started(stage: Stage, taskId: string): Promise<EventMap["task.created"]> {
  const created = (await stage.events(taskId)).find((event) => event.type === "task.created");
  assert.ok(created);
  return created.data as EventMap["task.created"];
}

async function firstMessage(stage: Stage, taskId: string): Promise<string> {
  return until(
    async () => {
      const intent = (await stage.events(taskId)).find((event) => event.type === "prompt.intent");
      return intent && (intent.data as EventMap["prompt.intent"]).text;
    },
    60_000,
    "the first message",
  );
}

test("a task file gives goal, brief, verifications with their limits, profile and budgets; what is said beside it wins", async (t) => {
  const files = { "task.json": JSON.stringify(FILE), "quick.sh": "exit 0\n", "slow.sh": "exit 0\n" };
  const stage = await openStage(t, { files, steps: OPENING });
  const taskId = await stage.start({ goal: "", verify: [], taskFile: "task.json" });
  const spec = await started(stage, taskId);
  assert.deepEqual(
    spec.verify.commands.map(({ text, timeoutMs }) => [text, timeoutMs]),
    [
      ["sh quick.sh", 5_000],
      ["sh slow.sh", 1_800_000],
    ],
  );
  assert.deepEqual(
    [spec.goal, spec.profile, spec.limits.maxRounds, spec.limits.wallMs],
    ["Mend the sum", "strict", 2, 7_200_000],
  );
  const said = await firstMessage(stage, taskId);
  assert.equal(said.split("Mend the sum").length, 2, "the goal stands in it once");
  assert.match(said, /Scope:\n- only sum\.mjs\n\nConstraints:\n- keep the signature\n\nForbidden:\n- new dependencies/);
  const told = (): boolean => stage.fake.factsOf("stdin").some(({ line }) => line.includes("new dependencies"));
  await until(told, 60_000, "Claude itself is told");
  assert.ok((await stage.supervisor.kill(taskId)).ok);

  const other = await stage.start({
    goal: "Another goal",
    verify: ["true"],
    taskFile: "task.json",
    profile: "open",
    maxRounds: 5,
  });
  const flagged = await started(stage, other);
  assert.deepEqual(
    [flagged.goal, flagged.profile, flagged.limits.maxRounds, flagged.limits.wallMs, flagged.verify.commands.length],
    ["Another goal", "open", 5, 7_200_000, 1],
  );
  assert.deepEqual(flagged.brief, { scope: FILE.scope, constraints: FILE.constraints, forbidden: FILE.forbidden });
});

test("a secret in a brief is stored redacted and told whole; one in a verification is refused", async (t) => {
  const secret = `ghp_${"a1B2".repeat(9)}`;
  const files = { "task.json": JSON.stringify({ goal: "Look", constraints: [`use ${secret}`] }) };
  const stage = await openStage(t, { files, steps: OPENING });
  const taskId = await stage.start({ goal: "", taskFile: "task.json" });
  const spec = await started(stage, taskId);
  assert.equal(spec.goalRedacted, true);
  assert.ok(!JSON.stringify(await stage.events(taskId)).includes(secret));
  await firstMessage(stage, taskId);
  await until(
    () => stage.fake.factsOf("stdin").some(({ line }) => line.includes(secret)),
    60_000,
    "Claude to be told what the person wrote",
  );
  await writeFile(
    join(stage.cwd, "task.json"),
    JSON.stringify({ goal: "x", verifications: [{ command: `echo ${secret}` }] }),
  );
  assert.ok((await stage.supervisor.kill(taskId)).ok);
  const refused = await stage.supervisor.start({ goal: "", verify: [], from: stage.cwd, taskFile: "task.json" });
  assert.equal(!refused.ok && refused.reason, "verify-secret");
});

test("a file that can't be used starts nothing, and its complaint names file and place", async (t) => {
  const stage = await openStage(t, { files: { "task.json": '{ "budgets": { "maxRounds": 0 } }' } });
  const refused = await stage.supervisor.start({ goal: "x", verify: ["true"], from: stage.cwd, taskFile: "task.json" });
  assert.equal(!refused.ok && refused.reason, "task-file-value");
  assert.match(refused.ok ? "" : refused.message, /task\.json: budgets\.maxRounds must be/);
  assert.deepEqual((await stage.supervisor.sessions(true)).ok && (await stage.supervisor.sessions(true)), {
    ok: true,
    tasks: [],
  });
});
