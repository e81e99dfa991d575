/** What one scripted task of `npm run tasks` works with: a lab, a model, a repository, a real Pi, and what it may cost. */

import { type ModelServer, startModelServer } from "../../test/support/model-server.ts";
import { type Json, type Pi, startPi } from "../../test/support/pi.ts";
import type { PiLine } from "../../test/support/pi-setup.ts";
import { readEvents, type TaskEvent, waitForState } from "../../test/support/task.ts";
import { until } from "../../test/support/until.ts";
import { createLab, type Lab } from "../../test/support/workspace.ts";

/** Milliseconds for one step of a task; on a quiet machine each takes seconds. */
export const STEP_MS = 120_000;

/** A repository whose test fails until `-` becomes `+`. */
export const FAILING: Readonly<Record<string, string>> = {
  "sum.mjs": "export const sum = (a, b) => a - b;\n",
  "sum.test.mjs": [
    'import assert from "node:assert/strict";',
    'import { test } from "node:test";',
    'import { sum } from "./sum.mjs";',
    'test("sum", () => assert.equal(sum(2, 3), 5));',
    "",
  ].join("\n"),
  "gen.mjs": 'import { writeFileSync } from "node:fs";\nwriteFileSync(process.argv[2], "made");\n',
};

export const MEND = "echo 'export const sum = (a, b) => a + b;' > sum.mjs";

export class Scene {
  readonly lab: Lab;
  readonly model: ModelServer;
  readonly cwd: string;
  readonly line: PiLine;
  pi: Pi;

  private constructor(lab: Lab, model: ModelServer, cwd: string, line: PiLine, pi: Pi) {
    this.lab = lab;
    this.model = model;
    this.cwd = cwd;
    this.line = line;
    this.pi = pi;
  }

  static async open(line: PiLine): Promise<Scene> {
    const lab = await createLab();
    const model = await startModelServer();
    lab.defer(() => model.close());
    const cwd = await lab.repo(FAILING);
    return new Scene(lab, model, cwd, line, await startPi({ lab, modelServer: model, line, cwd }));
  }

  /** Another Pi in place of the one that is gone. */
  async reopen(): Promise<void> {
    this.pi = await startPi({ lab: this.lab, modelServer: this.model, line: this.line, cwd: this.cwd });
  }

  /** A command; its answer, whatever it is. */
  run(words: string): Promise<Json> {
    return this.pi.run(`/supervise ${words} --json`, { deadlineMs: STEP_MS });
  }

  /** A command that has to succeed. */
  async must(words: string): Promise<Json> {
    const answer = await this.run(words);
    if (answer.ok !== true) throw new Error(`${words}: ${JSON.stringify(answer)}`);
    return answer;
  }

  async start(words: string): Promise<string> {
    return String((await this.must(`start ${words}`)).taskId);
  }

  async reaches(taskId: string, ...states: string[]): Promise<Json> {
    return waitForState(this.pi, taskId, states, STEP_MS);
  }

  waitsFor(taskId: string, what: string): Promise<Json> {
    return until(
      async () => {
        const status = await this.run(`status ${taskId}`);
        return status.waitsFor === what ? status : undefined;
      },
      STEP_MS,
      `${taskId} to wait for ${what}`,
      200,
    );
  }

  /** Id of the one request that waits, and is not `answered` already. */
  async request(answered?: string): Promise<string> {
    const answer = await until(
      async () => {
        const { requests } = (await this.run("approvals")) as { requests?: { requestId: string }[] };
        return requests?.find(({ requestId }) => requestId !== answered)?.requestId;
      },
      STEP_MS,
      "a request",
      200,
    );
    return answer;
  }

  events(taskId: string): Promise<TaskEvent[]> {
    return readEvents(this.lab.stateDir, taskId);
  }

  /** Main requests to the model so far: what a task costs, whatever a token costs. */
  asked(): number {
    return this.model.of("main").length;
  }

  async close(): Promise<void> {
    await this.pi.quit(60_000).catch((error: unknown) => {
      if (!String(error).includes("exit")) throw error;
    });
    await this.lab.cleanup();
  }
}

export function expect(holds: boolean, otherwise: string): asserts holds {
  if (!holds) throw new Error(otherwise);
}
