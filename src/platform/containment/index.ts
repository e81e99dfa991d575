/**
 * Containment: every process that a worker starts can be found and ended, whatever became of the worker or of us.
 *
 *     const spawned = await spawnContained({ file, args, cwd, env, mode: "auto", tmpDir });
 *     if (!spawned.ok) return spawned;
 *     // write spawned.process.record down, then:
 *     await spawned.process.release();
 *     ...
 *     const outcome = await spawned.process.stop({ kind: "graceful", graceMs: 5000 });
 *
 * Another process does the last step with the record alone: `stopTree(record, { kind: "now", graceMs: 0 })`.
 * `docs/containment.md` says what is guaranteed where.
 */

export { type ContainmentFacts, describeContainment } from "./describe.ts";
export { countProcesses, type Leftover, leftovers, listRemaining } from "./inspect.ts";
export type { LeaderExit } from "./launcher.ts";
export {
  type CgroupMode,
  type ContainedProcess,
  type SpawnContainedInput,
  spawnContained,
} from "./spawn.ts";
export { killNow, type StopTreeOptions, stopTree } from "./stop.ts";
