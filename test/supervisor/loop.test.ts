/** The whole loop without Pi: the real Claude Code, the real policy, verifier, log; a scripted model. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { getSupervisor } from "../../src/supervisor/index.ts";
import { claudeBinary, claudeEnv, workerEnvNames } from "../support/claude.ts";
import { bash, text } from "../support/model-reply.ts";
import { startModelServer } from "../support/model-server.ts";
import { until } from "../support/until.ts";
import { createLab } from "../support/workspace.ts";

const FAILING = {
  "sum.mjs": "export const sum = (a, b) => a - b;\n",
  "sum.test.mjs":
    'import { test } from "node:test";\nimport assert from "node:assert/strict";\nimport { sum } from "./sum.mjs";\ntest("sum", () => assert.equal(sum(2, 3), 5));\n',
};

async function setUp(t: { after(fn: () => Promise<void>): void }) {
  const lab = await createLab(t);
  const modelServer = await startModelServer();
  lab.defer(() => modelServer.close());
  const cwd = await lab.repo(FAILING);
  const env = {
    ...lab.env,
    ...claudeEnv(lab, modelServer.url),
    PI_CLAUDE_SUPERVISOR_STATE_DIR: lab.stateDir,
    PI_CLAUDE_SUPERVISOR_CLAUDE: claudeBinary(),
    PI_CLAUDE_SUPERVISOR_WORKER_ENV: workerEnvNames(),
  };
  const opened = await getSupervisor(env);
  assert.ok(opened.ok, JSON.stringify(opened));
  const { supervisor } = opened;
  lab.defer(() => supervisor.shutdown(2_000));
  return { lab, modelServer, cwd, supervisor };
}

test("an automatic task whose first try fails gets the evidence and ends completed", async (t) => {
  const { modelServer, cwd, supervisor } = await setUp(t);
  modelServer.script("main", [
    bash("ls"),
    text("All done, tests are green!"),
    bash("echo 'export const sum = (a, b) => a + b;' > sum.mjs"),
    text("Now it is right."),
  ]);
  const started = await supervisor.start({ goal: "Mend sum", from: cwd, mode: "auto", verify: ["node --test"] });
  assert.ok(started.ok, JSON.stringify(started));
  const { taskId } = started;
  const view = await supervisor.settled(taskId);
  const log = await supervisor.log(taskId, { limit: 1000, since: 1 });
  assert.ok(log.ok);
  assert.equal(view.state, "completed", JSON.stringify([view, log.events.map((e) => [e.type, e.data])], null, 1));
  assert.equal(view.rounds.failed, 1);
  await until(() => supervisor.live().length === 0, 10_000, "the task to be let go of");
  const replayed = await supervisor.replay(taskId);
  assert.ok(replayed.ok && replayed.matches, JSON.stringify(replayed));
  assert.equal(replayed.state, "completed");
});

test("D13: a worker that turns the test script into `true` gets a pass, and no completion without a person's sign-off", async (t) => {
  const { lab, modelServer, supervisor } = await setUp(t);
  const cwd = await lab.repo(
    { ...FAILING, "package.json": '{ "name": "x", "scripts": { "test": "node --test" } }\n' },
    "cheat",
  );
  modelServer.script("main", [
    bash(`echo '{ "name": "x", "scripts": { "test": "true" } }' > package.json`),
    text("VERIFIED. Every test passes."),
  ]);
  const started = await supervisor.start({ goal: "Mend sum", from: cwd, mode: "auto", verify: ["npm test"] });
  assert.ok(started.ok, JSON.stringify(started));
  const view = await supervisor.settled(started.taskId);
  assert.deepEqual(
    [view.state, view.reason, view.waitsFor],
    ["human_required", "sign-off", "approval"],
    view.why ?? "",
  );
  assert.match(view.why ?? "", /package\.json/);
  const stopped = await supervisor.stop(started.taskId, undefined);
  assert.ok(stopped.ok && stopped.state === "stopped");
});
