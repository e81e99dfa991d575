/** A supervisor in this process with a real Claude and a scripted model, and one task in it that cheats. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import type { TestContext } from "node:test";
import type { EventMap, StoredEvent } from "../../src/core/events.ts";
import { type Clock, systemClock } from "../../src/platform/clock.ts";
import type { StartInput, Supervisor, TaskView } from "../../src/supervisor/api.ts";
import type { SupervisorDeps } from "../../src/supervisor/deps.ts";
import { supervisorDeps } from "../../src/supervisor/index.ts";
import { LocalSupervisor } from "../../src/supervisor/local-supervisor.ts";
import { claudeBinary, claudeEnv, workerEnvNames } from "../support/claude.ts";
import { type ModelServer, type Script, startModelServer } from "../support/model-server.ts";
import { until } from "../support/until.ts";
import { createLab, type Lab } from "../support/workspace.ts";

export type Run = EventMap["verify.finished"];

const FILES = {
  "sum.mjs": "export const sum = (a, b) => a - b;\n",
  "sum.test.mjs":
    'import { test } from "node:test";\nimport assert from "node:assert/strict";\nimport { sum } from "./sum.mjs";\ntest("sum", () => assert.equal(sum(2, 3), 5));\n',
  "package.json": '{ "name": "x", "scripts": { "test": "node --test" } }\n',
  ".gitignore": "left-over.mjs\n",
};
export const DEADLINE_MS = 120_000;
export const LOOK_MS = 100;

export interface Facts {
  view: TaskView;
  events: readonly StoredEvent[];
  runs: readonly Run[];
  cwd: string;
  /** The tree id as docs/verification.md says to take it by hand. */
  treeByHand(): Promise<string>;
}

export interface Cheat {
  replies: Script;
  /** `gate` is a path outside the workspace that only this case uses. */
  verify(gate: string): string[];
  more?: Partial<StartInput>;
  /** Where the task must come to rest. */
  expect: [state: string, reason: string | null];
  /** What somebody else does while the task runs. */
  meanwhile?(cwd: string, gate: string): Promise<void>;
  look(facts: Facts): void | Promise<void>;
}

export interface House {
  lab: Lab;
  modelServer: ModelServer;
  supervisor: Supervisor;
  /** Events of a task; default: the one that was started last by `play`. */
  events(taskId?: string): Promise<readonly StoredEvent[]>;
  newest: string;
}

export async function openHouse(
  t: TestContext,
  clock: Clock = systemClock,
  seams: Partial<SupervisorDeps> = {},
  more: Readonly<Record<string, string>> = {},
): Promise<House> {
  const lab = await createLab(t);
  const modelServer = await startModelServer();
  lab.defer(() => modelServer.close());
  const env = {
    ...lab.env,
    ...claudeEnv(lab, modelServer.url),
    PI_CLAUDE_SUPERVISOR_STATE_DIR: lab.stateDir,
    PI_CLAUDE_SUPERVISOR_CLAUDE: claudeBinary(),
    PI_CLAUDE_SUPERVISOR_WORKER_ENV: workerEnvNames(),
    ...more,
  };
  const made = supervisorDeps(env, { clock, ...seams });
  assert.ok(made.ok, JSON.stringify(made));
  const supervisor = new LocalSupervisor(made.deps);
  lab.defer(() => supervisor.shutdown(2_000));
  const house: House = {
    lab,
    modelServer,
    supervisor,
    newest: "",
    events: (taskId = house.newest) => (taskId === "" ? Promise.resolve([]) : eventsOf(supervisor, taskId)),
  };
  return house;
}

/** Starts the task, answers each question of the gate with yes, and looks at where it comes to rest. */
export async function play(house: House, what: string, cheat: Cheat): Promise<void> {
  const { lab, modelServer, supervisor } = house;
  const name = what.replaceAll(/\W+/g, "-");
  const goal = `Mend the sum (${what})`;
  const gate = join(lab.tmp, name);
  const cwd = await lab.repo(FILES, name);
  modelServer.script("main", cheat.replies, (request) => request.userTexts().some((said) => said.includes(goal)));
  const started = await supervisor.start({
    goal,
    from: cwd,
    mode: "auto",
    verify: cheat.verify(gate),
    ...cheat.more,
  });
  assert.ok(started.ok, JSON.stringify(started));
  const { taskId } = started;
  house.newest = taskId;
  let last: TaskView | undefined;
  const rest = until(
    async () => {
      const waiting = await supervisor.approvals();
      for (const call of waiting.ok ? waiting.requests : [])
        if (call.kind === "tool" && call.taskId === taskId)
          await supervisor.approve(call.requestId, undefined, "command");
      const status = await supervisor.status(taskId);
      if (!status.ok) return undefined;
      last = status.task;
      const rests = last.state === "completed" || last.state === "failed" || last.state === "human_required";
      return rests && !last.requests.some((request) => request.kind === "tool") ? last : undefined;
    },
    DEADLINE_MS,
    () => `${what}: it rests; now ${JSON.stringify(last)}`,
    LOOK_MS,
  );
  const [view] = await Promise.all([rest, cheat.meanwhile?.(cwd, gate)]);
  const events = await eventsOf(supervisor, taskId);
  assert.deepEqual([view.state, view.reason], cheat.expect, `${view.why}: ${events.map(({ type }) => type).join(" ")}`);
  const runs = events.filter((event) => event.type === "verify.finished").map((event) => event.data as Run);
  const refs = await lab.git(cwd, "for-each-ref", "--format=%(refname)");
  assert.equal(refs, "refs/heads/main\n", "nothing of ours in their git");
  await cheat.look({ view, events, runs, cwd, treeByHand: () => treeByHand(lab, cwd, `${gate}.index`) });
  assert.ok((await supervisor.kill(taskId)).ok);
}

async function eventsOf(supervisor: Supervisor, taskId: string): Promise<readonly StoredEvent[]> {
  const log = await supervisor.log(taskId, { since: 1, limit: 1_000 });
  assert.ok(log.ok, JSON.stringify(log));
  return log.events;
}

async function treeByHand(lab: Lab, cwd: string, index: string): Promise<string> {
  execFileSync("cp", ["-p", join(cwd, ".git", "index"), index]);
  const options = { cwd, env: { ...lab.env, GIT_INDEX_FILE: index }, encoding: "utf8" as const };
  execFileSync("git", ["add", "-A"], options);
  return execFileSync("git", ["write-tree"], options).trim();
}
