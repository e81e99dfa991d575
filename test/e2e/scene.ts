/** What every end-to-end test begins with: a lab, a scripted model, a repository, a real Pi with our extension. */
import { describe, type TestContext, test } from "node:test";
import { type ModelServer, startModelServer } from "../support/model-server.ts";
import { type Json, type Pi, type PiLine, type StartPiOptions, startPi } from "../support/pi.ts";
import { LINES_OF_RUN, skipReason } from "../support/pi-setup.ts";
import { until } from "../support/until.ts";
import { createLab, type Lab } from "../support/workspace.ts";

/** A repository whose one test fails until `-` becomes `+`. */
export const FAILING: Readonly<Record<string, string>> = {
  "sum.mjs": "export const sum = (a, b) => a - b;\n",
  "sum.test.mjs": [
    'import assert from "node:assert/strict";',
    'import { test } from "node:test";',
    'import { sum } from "./sum.mjs";',
    'test("sum", () => assert.equal(sum(2, 3), 5));',
    "",
  ].join("\n"),
};

/** The command by which the scripted worker mends `FAILING`. */
export const MEND = "echo 'export const sum = (a, b) => a + b;' > sum.mjs";

export interface Scene {
  lab: Lab;
  modelServer: ModelServer;
  cwd: string;
  pi: Pi;
  /** `/supervise start … --json`, which must succeed; resolves to the task's id. */
  start(words: string): Promise<string>;
  run(words: string): Promise<Json>;
  /** The answer of `status` once it says `waitsFor` that; another end of the task fails. */
  waitsFor(taskId: string, what: "approval" | "result" | "person"): Promise<Json>;
  approvals(): Promise<Asked[]>;
}

/** One entry of `approvals`. */
export interface Asked {
  requestId: string;
  taskId: string;
  kind: string;
  toolName: string;
  toolUseId: string;
  input: Readonly<Record<string, unknown>>;
  deferred: boolean;
}

const ENDED = new Set(["completed", "failed", "stopped", "failed_to_stop"]);

export interface SceneOptions extends Pick<StartPiOptions, "onDialog"> {
  files?: Readonly<Record<string, string>>;
  env?: Readonly<Record<string, string>>;
  before?: (lab: Lab, cwd: string) => Promise<void>;
}

export async function openScene(t: TestContext, line: PiLine, options: SceneOptions = {}): Promise<Scene> {
  const lab = await createLab(t);
  const modelServer = await startModelServer();
  lab.defer(() => modelServer.close());
  const cwd = await lab.repo(options.files ?? FAILING);
  await options.before?.(lab, cwd);
  const pi = await startPi({
    lab,
    modelServer,
    line,
    cwd,
    ...(options.onDialog ? { onDialog: options.onDialog } : {}),
    ...(options.env ? { env: options.env } : {}),
  });
  lab.defer(() => pi.quit());
  const run = (words: string): Promise<Json> => pi.run(`/supervise ${words} --json`);
  return {
    lab,
    modelServer,
    cwd,
    pi,
    run,
    waitsFor: (taskId, what) =>
      until(
        async () => {
          const status = await run(`status ${taskId}`);
          if (ENDED.has(String(status["state"]))) throw new Error(`The task ended: ${JSON.stringify(status)}`);
          return status["waitsFor"] === what ? status : undefined;
        },
        60_000,
        `task ${taskId} to wait for: ${what}`,
      ),
    approvals: async () => (await run("approvals"))["requests"] as Asked[],
    async start(words) {
      const started = await run(`start ${words}`);
      if (started["ok"] !== true) throw new Error(`start failed: ${JSON.stringify(started)}`);
      return String(started["taskId"]);
    },
  };
}

/** Defines the tests once for each line of Pi that this run is about; a line that can't run here says why. */
export async function onBothLines(name: string, define: (line: PiLine) => void): Promise<void> {
  for (const line of LINES_OF_RUN) {
    const skip = (await skipReason(line)) ?? false;
    describe(`${name} on Pi ${line}`, { skip }, () => define(line));
  }
}

export { test };
