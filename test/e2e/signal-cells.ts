/**
 * The signal matrix: whatever ends Claude or Pi while Claude's Bash tool runs a tree of its own, nothing of it is left
 * within 5 s and the task says what happened. Each cell has a real Pi, a real Claude Code and a lab of its own.
 */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { randomInt } from "node:crypto";
import { existsSync } from "node:fs";
import { readdir } from "node:fs/promises";
import type { TestContext } from "node:test";
import { claudeBinary } from "../support/claude.ts";
import { bash, text } from "../support/model-reply.ts";
import { type Json, type Pi, startPi } from "../support/pi.ts";
import type { PiLine } from "../support/pi-setup.ts";
import { type ProcessInfo, processesWithMark, processInfo } from "../support/processes.ts";
import { logProblems, readEvents, waitForState } from "../support/task.ts";
import { until } from "../support/until.ts";
import type { Lab } from "../support/workspace.ts";
import { openScene } from "./scene.ts";

/** Milliseconds in which everything of a task has to be gone. */
const GONE_MS = 5_000;
/** Milliseconds between two looks: each costs a run of ps, or an answer of Pi. */
const POLL_MS = 100;

export type Cgroup = "auto" | "off";

export interface Cell {
  line: PiLine;
  cgroup: Cgroup;
}

/** What a cell's ending works with. `claude` is the pid of the one real Claude. */
export interface Running {
  pi: Pi;
  claude: number;
  taskId: string;
}

export interface Ending {
  name: string;
  /** Begins it. Resolves with the product's answer where there is one. */
  act(running: Running): Promise<Json | undefined>;
  /** Whether Pi is expected to be gone afterwards. */
  endsPi: boolean;
  /** The state, and the `reason` that `status` gives for it. */
  state: string;
  reason?: string;
}

const signalClaude =
  (signal: NodeJS.Signals) =>
  async ({ claude }: Running): Promise<undefined> => {
    process.kill(claude, signal);
  };

const command =
  (word: "stop" | "kill") =>
  ({ pi, taskId }: Running): Promise<Json> =>
    pi.run(`/supervise ${word} ${taskId} --json`);

/** Recorded on 2.1.268: SIGTERM gives exit code 143; SIGINT gives the error result of an interrupt first, then code 0. */
export const ENDINGS: readonly Ending[] = [
  {
    name: "SIGTERM of Claude",
    act: signalClaude("SIGTERM"),
    endsPi: false,
    state: "failed",
    reason: "worker-exit 143",
  },
  { name: "SIGINT of Claude", act: signalClaude("SIGINT"), endsPi: false, state: "failed", reason: "interrupted" },
  {
    name: "SIGKILL of Claude",
    act: signalClaude("SIGKILL"),
    endsPi: false,
    state: "failed",
    reason: "worker-exit SIGKILL",
  },
  { name: "/supervise stop", act: command("stop"), endsPi: false, state: "stopped", reason: "stop" },
  { name: "/supervise kill", act: command("kill"), endsPi: false, state: "stopped", reason: "stop" },
  {
    name: "SIGKILL of Pi",
    act: async ({ pi }) => void process.kill(pi.pid, "SIGKILL"),
    endsPi: true,
    state: "recoverable",
  },
  {
    name: "SIGTERM of Pi",
    act: async ({ pi }) => void process.kill(pi.pid, "SIGTERM"),
    endsPi: true,
    state: "recoverable",
  },
];

/**
 * Sleeps whose lengths nobody else on this machine sleeps. The fourth drops its environment and its parent; outside Linux
 * that is beyond what containment can find (docs/containment.md).
 */
class Tree {
  readonly #base = randomInt(1_000_000, 900_000_000);
  readonly size = process.platform === "linux" ? 4 : 3;
  readonly script = { "escape.sh": this.size === 4 ? `env -i setsid sleep ${this.#base + 3} &\n` : "" };
  readonly command = `sh escape.sh; sleep ${this.#base} & setsid sleep ${this.#base + 1} & sleep ${this.#base + 2}`;

  /** By command alone: who dropped the mark is found too. */
  processes(): ProcessInfo[] {
    return sleeps().filter(({ command }) => [0, 1, 2, 3].some((nth) => command === `sleep ${this.#base + nth}`));
  }
}

function sleeps(): ProcessInfo[] {
  const listed = execFileSync("ps", ["-A", "-o", "pid=,stat=,args="], { encoding: "utf8" });
  return listed.split("\n").flatMap((row) => {
    const [, pid, state, command] = /^\s*(\d+)\s+(\S)\S*\s+(sleep \d+)$/.exec(row) ?? [];
    const info = pid === undefined || state === "Z" ? undefined : processInfo(Number(pid));
    return info && command ? [{ ...info, command }] : [];
  });
}

/** Processes that carry the lab's mark or name its folder, as the guardian does, whose environment is empty. */
function ofLab(lab: Lab): ProcessInfo[] {
  const named = execFileSync("ps", ["-A", "-ww", "-o", "pid=,stat=,args="], { encoding: "utf8" })
    .split("\n")
    .filter((row) => row.includes(lab.root))
    .flatMap((row) => processInfo(Number(/^\s*(\d+)/.exec(row)?.[1])) ?? [])
    .filter(({ state }) => state !== "Z");
  const marked = processesWithMark(lab.mark);
  return [...marked, ...named.filter(({ pid }) => !marked.some((other) => other.pid === pid))];
}

function describeProcesses(list: readonly ProcessInfo[]): string {
  return list.map(({ pid, ppid, command }) => `  ${pid} (parent ${ppid}) ${command.slice(0, 200)}`).join("\n");
}

export async function runCell(t: TestContext, cell: Cell, ending: Ending): Promise<void> {
  const tree = new Tree();
  const env = { PI_CLAUDE_SUPERVISOR_CGROUP: cell.cgroup };
  const { lab, cwd, modelServer, start, pi, approvals, run } = await openScene(t, cell.line, {
    files: { "a.txt": "hello\n", ...tree.script },
    env,
  });
  modelServer.script("main", [bash(tree.command), text("Done.")]);
  const taskId = await start('Wait --mode manual --verify "true"');
  const asked = await until(async () => (await approvals())[0], 30_000, "the ask", POLL_MS);
  assert.equal((await run(`approve ${asked.requestId}`)).ok, true);
  await until(
    () => tree.processes().length === tree.size,
    30_000,
    () => `${tree.size} sleeps:\n${describeProcesses(tree.processes())}`,
    POLL_MS,
  );
  const claude = processesWithMark(lab.mark).filter(({ command }) => command.startsWith(claudeBinary()));
  assert.equal(claude.length, 1, describeProcesses(claude));

  const began = performance.now();
  const answer = await ending.act({ pi, claude: claude[0]?.pid ?? -1, taskId });
  if (answer !== undefined) {
    assert.deepEqual([answer.ok, answer.state], [true, ending.state], JSON.stringify(answer));
    // An answer that says "stopped" is a promise about now, not about soon.
    assert.deepEqual(tree.processes(), [], "left when the answer said stopped");
  }
  let left: ProcessInfo[] = [];
  await until(
    () => {
      const mine = ofLab(lab).filter(({ pid }) => ending.endsPi || pid !== pi.pid);
      left = [...mine, ...tree.processes()];
      return left.length === 0;
    },
    GONE_MS,
    () => `these processes are left:\n${describeProcesses(left)}`,
    POLL_MS,
  );
  const goneMs = Math.round(performance.now() - began);

  if (ending.endsPi) await recoverable(lab, cell, { cwd, modelServer, taskId, env });
  else {
    const status = await waitForState(pi, taskId, [ending.state], 5_000);
    assert.equal(status.reason ?? undefined, ending.reason, JSON.stringify(status));
    const replayed = await run(`replay ${taskId}`);
    assert.equal(replayed.matches, true, JSON.stringify(replayed));
  }
  assert.deepEqual(await logProblems(lab.stateDir, taskId), []);
  const { kind, cgroup: folder } = await containment(lab, taskId);
  if (cell.cgroup === "off") assert.equal(kind, "census");
  assert.equal(folder !== undefined && existsSync(folder), false, `${folder} is left`);
  const temporary = (await readdir(lab.tmp)).filter((name) => name.startsWith("pi-claude-worker-"));
  assert.deepEqual(temporary, [], "the worker's temporary folder is left");
  t.diagnostic(`gone after ${goneMs} ms (${kind})`);
}

/** What another Pi says of a task whose Pi is gone. */
async function recoverable(
  lab: Lab,
  cell: Cell,
  task: Pick<Parameters<typeof startPi>[0], "cwd" | "modelServer"> & { taskId: string; env: Record<string, string> },
): Promise<void> {
  const other = await startPi({ lab, modelServer: task.modelServer, line: cell.line, cwd: task.cwd, env: task.env });
  const { tasks } = (await other.run("/supervise sessions --json")) as { tasks?: Json[] };
  assert.deepEqual(
    tasks?.map((row) => [row.taskId, row.recoverable]),
    [[task.taskId, true]],
  );
  const replayed = await other.run(`/supervise replay ${task.taskId} --json`);
  assert.equal(replayed.matches, true, JSON.stringify(replayed));
  await other.quit();
}

/** What the task's log says it was contained by. */
async function containment(lab: Lab, taskId: string): Promise<{ kind?: string; cgroup?: string }> {
  const spawned = (await readEvents(lab.stateDir, taskId)).find(({ type }) => type === "worker.spawned");
  return (spawned?.data.containment ?? {}) as { kind?: string; cgroup?: string };
}
