/** Steps that several spikes take: starting a worker, a tool that runs a tree of processes, nothing left. */
import { randomInt } from "node:crypto";
import type { WorkerStartInput } from "../../src/core/contracts/worker.ts";
import { processesWithMark } from "../../test/support/processes.ts";
import { until } from "../../test/support/until.ts";
import type { Driven } from "../../test/worker/driver.ts";
import { PROMPT } from "./room.ts";
import type { Seen, Spike } from "./run.ts";

/** Milliseconds for one turn of a model. */
export const TURN_MS = 120_000;
/** Milliseconds in which everything of a worker has to be gone. */
export const GONE_MS = 5_000;

/** Starts it; the reason of a failure is put among what was seen. */
export async function started(worker: Driven, seen: Seen): Promise<boolean> {
  const result = await worker.worker.start();
  seen.put(result.ok ? { permissionMode: result.permissionMode } : { startReason: result.reason });
  return result.ok;
}

export interface RunningTool {
  worker: Driven;
  cwd: string;
}

/** A worker whose Bash tool runs a process in the background, one in a session of its own, and one in the foreground. */
export async function toolRuns(spike: Spike, seen: Seen, input: Partial<WorkerStartInput> = {}): Promise<RunningTool> {
  const base = randomInt(1_000_000, 900_000_000);
  const cwd = await spike.room.workspace(`sleep ${base} & setsid sleep ${base + 1} & sleep ${base + 2}\n`);
  const worker = await spike.worker(cwd, { input, decide: () => "allow" });
  if (!(await started(worker, seen))) throw new Error("The worker did not start.");
  await worker.prompt(PROMPT);
  const names = [base, base + 1, base + 2].map((seconds) => `sleep ${seconds}`);
  const running = (): string[] => processesWithMark(spike.room.lab.mark).map(({ command }) => command);
  await until(() => names.every((name) => running().includes(name)), TURN_MS, "the tool's three processes", 50);
  const { sessionId } = worker.input;
  await until(() => spike.room.sessionTold(cwd, sessionId), TURN_MS, "the session's record", 50);
  return { worker, cwd };
}

/** Nothing that any worker of this spike started is left; the number of what is, and how long it took, are put among what was seen. */
export async function noneLeft(spike: Spike, seen: Seen): Promise<boolean> {
  const began = performance.now();
  const left = (): number => processesWithMark(spike.room.lab.mark).length;
  const gone = await until(() => left() === 0, GONE_MS, "no process left").catch(() => false);
  seen.put({ left: left(), goneMs: Math.round(performance.now() - began) });
  return gone;
}
