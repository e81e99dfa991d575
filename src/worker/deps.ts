/** What a worker adapter needs from outside: a contained process, a clock, and a redactor for what it keeps on disk. */
import type { Redactor } from "../core/contracts/redaction.ts";
import type { ContainmentRecord } from "../core/contracts/worker.ts";
import { type Clock, systemClock } from "../platform/clock.ts";
import { type ContainedProcess, type LeaderExit, spawnContained } from "../platform/containment/index.ts";

export type { ContainedProcess, LeaderExit };

export interface WorkerDeps {
  spawn: typeof spawnContained;
  clock: Clock;
  /** The host's variables, of which some are passed on. */
  hostEnv: Readonly<Record<string, string | undefined>>;
  /** Goes over everything that is kept in `artifactDir`. */
  redactor: Pick<Redactor, "stream">;
  /**
   * Resolves when the record is written down. The program does not run before; a rejection ends the start. It follows the
   * `spawned` event, whose listeners cannot be waited for.
   */
  recorded?(containment: ContainmentRecord): Promise<void>;
}

export function systemDeps(deps: Pick<WorkerDeps, "redactor"> & Partial<WorkerDeps>): WorkerDeps {
  return { spawn: spawnContained, clock: systemClock, hostEnv: process.env, ...deps };
}
