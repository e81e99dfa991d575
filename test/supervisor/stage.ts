/** A supervisor in this process with the scripted `claude`: real containment, log and files, a clock of choice. */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { StoredEvent } from "../../src/core/events.ts";
import type { StartInput, TaskView } from "../../src/supervisor/api.ts";
import type { SupervisorDeps } from "../../src/supervisor/deps.ts";
import { supervisorDeps } from "../../src/supervisor/index.ts";
import { LocalSupervisor } from "../../src/supervisor/local-supervisor.ts";
import { FAKE_CLAUDE, FAKE_CLAUDE_VARIABLES, type Fake, fakeClaude } from "../support/fake-claude/index.ts";
import { MARK_NAME } from "../support/processes.ts";
import { until } from "../support/until.ts";
import { type AfterHook, createLab, type Lab } from "../support/workspace.ts";

export type Step = Readonly<Record<string, unknown>>;

export interface Stage {
  lab: Lab;
  cwd: string;
  supervisor: LocalSupervisor;
  deps: SupervisorDeps;
  fake: Fake;
  start(input?: Partial<StartInput>): Promise<string>;
  view(taskId: string): Promise<TaskView>;
  events(taskId: string): Promise<StoredEvent[]>;
  /** The view once it passes. */
  when(taskId: string, test: (view: TaskView) => boolean, what: string, ms?: number): Promise<TaskView>;
}

export interface StageOptions {
  /** Steps of the fake (see fake-claude/steps.mjs); they begin with the handshake and the first prompt. */
  steps?: readonly Step[];
  scenario?: string;
  options?: object;
  env?: Readonly<Record<string, string>>;
  seams?: (deps: SupervisorDeps) => Partial<SupervisorDeps>;
  files?: Readonly<Record<string, string>>;
  /** A lab shared with another stage. */
  lab?: Lab;
  cwd?: string;
}

/** Handshake, first prompt, init: how nearly every script begins. */
export const OPENING: readonly Step[] = [{ handshake: {} }, { prompt: true }, { init: {} }];

const OVER = new Set(["completed", "failed", "stopped", "failed_to_stop"]);

export async function openStage(t: AfterHook, options: StageOptions = {}): Promise<Stage> {
  const lab = options.lab ?? (await createLab(t));
  const cwd = options.cwd ?? (await lab.repo(options.files ?? { "a.txt": "x\n" }));
  const fake = fakeClaude(lab.tmp, options.scenario ?? "obedient", options.options ?? {});
  const stepsFile = join(lab.tmp, `steps-${randomUUID()}.json`);
  if (options.steps) await writeFile(stepsFile, JSON.stringify(options.steps));
  const steps = options.steps === undefined ? {} : { FAKE_CLAUDE_STEPS: stepsFile };
  const env = {
    ...lab.env,
    ...fake.env,
    ...steps,
    PI_CLAUDE_SUPERVISOR_STATE_DIR: lab.stateDir,
    PI_CLAUDE_SUPERVISOR_CLAUDE: FAKE_CLAUDE,
    PI_CLAUDE_SUPERVISOR_WORKER_ENV: [...FAKE_CLAUDE_VARIABLES, MARK_NAME].join(","),
    ...options.env,
  };
  const made = supervisorDeps(env);
  assert.ok(made.ok, JSON.stringify(made));
  const supervisor = new LocalSupervisor({ ...made.deps, ...options.seams?.(made.deps) });
  lab.defer(() => supervisor.shutdown(1_000));
  const view = async (taskId: string): Promise<TaskView> => {
    const answer = await supervisor.status(taskId);
    assert.ok(answer.ok, JSON.stringify(answer));
    return answer.task;
  };
  return {
    lab,
    cwd,
    supervisor,
    deps: made.deps,
    fake,
    view,
    async start(input = {}) {
      const started = await supervisor.start({ goal: "Do it", from: cwd, mode: "manual", verify: ["true"], ...input });
      assert.ok(started.ok, JSON.stringify(started));
      return started.taskId;
    },
    async events(taskId) {
      const log = await supervisor.log(taskId, { since: 1, limit: 1000 });
      assert.ok(log.ok, JSON.stringify(log));
      return log.events;
    },
    when(taskId, test, what, ms = 15_000) {
      let last: TaskView | undefined;
      return until(
        async () => {
          last = await view(taskId);
          if (test(last)) return last;
          if (OVER.has(last.state))
            throw new Error(`The task is ${last.state} (${last.reason}: ${last.why}) before ${what}.`);
          return undefined;
        },
        ms,
        () => `${what}; last: ${JSON.stringify(last)}`,
      );
    },
  };
}
