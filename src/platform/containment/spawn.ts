/**
 * Starts a program as the leader of a contained tree. The order leaves no gap:
 *
 * 1. The guardian exists before anything that it must clean up.
 * 2. The launcher puts itself into cgroup and mark, and waits. From here on the tree is known and can be recorded.
 * 3. `release()` lets the launcher become the program. Until then nothing of the program has run.
 */
import type { Readable, Writable } from "node:stream";
import type { ContainmentRecord, StopOutcome } from "../../core/contracts/worker.ts";
import { failure, type Result } from "../../core/result.ts";
import { isLimitInherited, newMark } from "../process/mark.ts";
import { cgroupFolder, makeCgroup, ownCgroup, removeCgroup } from "./cgroup.ts";
import { checkInput } from "./check-input.ts";
import { Guard } from "./guard.ts";
import { startGuardian } from "./guardian.ts";
import { type LeaderExit, startLauncher } from "./launcher.ts";
import { type StopTreeOptions, stopTree } from "./stop.ts";

export type CgroupMode = "auto" | "required" | "off";

export interface SpawnContainedInput {
  /** Absolute path of the program. */
  file: string;
  args: readonly string[];
  cwd: string;
  /**
   * The complete environment; the tree's marker is added. Names that are no shell names (`a.b`, `a-b`) do not reach the
   * program where /bin/sh is dash.
   */
  env: Readonly<Record<string, string>>;
  /** `required`: no usable cgroup is a failure. `off`: census only. */
  mode: CgroupMode;
  /** Removed by the guardian when the tree is gone. Must be the tree's own folder, and hold neither `cwd` nor a home. */
  tmpDir?: string;
  /** Default `pipe`. */
  stdin?: "pipe" | "ignore";
  /** Milliseconds that the guardian leaves between TERM and kill when we are gone. Default 2000, at most 3000. */
  guardianGraceMs?: number;
  /** Milliseconds for guardian and launcher to come up. Default 10000. */
  setupTimeoutMs?: number;
  /** Every guardian was killed, and replacing them was given up: nothing ends the tree if we die. */
  onUnguarded?: () => void;
}

export interface ContainedProcess {
  pid: number;
  /** `null` with `stdin: "ignore"`. */
  stdin: Writable | null;
  /** Listen to both before `release()`: Node drops what nobody listens to when the leader ends. */
  stdout: Readable;
  stderr: Readable;
  /** What to look for, complete from the start. A guardian that was replaced shows here. */
  readonly record: ContainmentRecord;
  /** With kind `census`: why there is no cgroup. */
  readonly withoutCgroup?: string;
  /** Lets the program run. Call it when the record is written down. Without it the launcher waits, and leaves with us. */
  release(): Promise<Result>;
  /** The leader has ended. Pipes may still hold output, and members of its tree may hold the pipes. */
  exited: Promise<LeaderExit>;
  /** `stopTree` on the record; with proof the guardian is dismissed too. Call it after `exited` as well. */
  stop(options: StopTreeOptions): Promise<StopOutcome>;
  /** Resolves when the last guardian has left, which it does soon after a proven stop. */
  settled: Promise<void>;
}

/**
 * Reasons of failure: `not-executable`, `bad-tmp-dir`, `no-cgroup` (mode `required`), `no-guardian`, `spawn-failed`.
 * Nothing is left running then. Takes about 6 ms longer than a plain spawn, and 18 ms with a cgroup, which the kernel
 * needs for moving a process (measured on Linux 6.18).
 */
export async function spawnContained(input: SpawnContainedInput): Promise<Result<{ process: ContainedProcess }>> {
  const usable = checkInput(input);
  if (!usable.ok) return usable;
  const { execa } = await import("execa");
  const setupTimeoutMs = input.setupTimeoutMs ?? 10_000;
  const graceMs = Math.min(input.guardianGraceMs ?? 2000, 3000);
  const mark = newMark();
  const locks = isLimitInherited() ? undefined : mark.locks;
  const own = input.mode === "off" ? failure("no-cgroup", "Cgroups are switched off.") : ownCgroup();
  if (!own.ok && input.mode === "required") return required(own.message);

  let cgroup = own.ok ? cgroupFolder(own.path, mark.id) : undefined;
  let record: ContainmentRecord | undefined;
  const guard = new Guard({
    start: () => startGuardian(execa, { id: mark.id, locks, cgroup, tmpDir: input.tmpDir, graceMs, setupTimeoutMs }),
    onReplaced: (identity) => {
      if (record !== undefined) record.guardian = identity;
    },
    onLost: () => input.onUnguarded?.(),
  });
  // From here on our death is noticed.
  const made = own.ok ? makeCgroup(mark.id) : own;
  const giveUp = async (why: Result<never>): Promise<Result<never>> => {
    if (made.ok) removeCgroup(made.path);
    guard.dismiss();
    await guard.ended;
    return why;
  };
  if (!made.ok && input.mode === "required") return giveUp(required(made.message));
  const launched = await startLauncher(execa, {
    file: input.file,
    args: input.args,
    cwd: input.cwd,
    env: input.env,
    stdin: input.stdin ?? "pipe",
    mark,
    locks,
    cgroup: made.ok ? made.path : undefined,
    setupTimeoutMs,
  });
  if (!launched.ok) return giveUp(launched);
  const { launcher } = launched;
  guard.nameLeader(launcher.leader);
  const [joined, guardian] = await Promise.all([launcher.joined, guard.ready]);
  const problem = whyNot(guardian, joined, made.ok && input.mode === "required");
  if (problem !== undefined) {
    await launcher.abort();
    return giveUp(problem);
  }
  const withoutCgroup = joined === true ? undefined : made.ok ? `Joining ${made.path} was refused.` : made.message;
  if (withoutCgroup !== undefined && cgroup !== undefined) {
    guard.dropCgroup();
    removeCgroup(cgroup);
    cgroup = undefined;
  }
  const { leader } = launcher;
  record = {
    ...(cgroup === undefined ? { kind: "census" } : { kind: "cgroup", cgroup }),
    marker: mark.marker,
    leader,
    ...(guardian.ok ? { guardian: guardian.identity } : {}),
  };
  return { ok: true, process: contained(record) };

  function contained(tree: ContainmentRecord): ContainedProcess {
    return {
      pid: leader.pid,
      stdin: launcher.stdin,
      stdout: launcher.stdout,
      stderr: launcher.stderr,
      record: tree,
      ...(withoutCgroup === undefined ? {} : { withoutCgroup }),
      release: launcher.go,
      exited: launcher.exited,
      stop: async (options) => {
        const outcome = await stopTree(tree, options);
        if (outcome.proven) guard.dismiss();
        return outcome;
      },
      settled: guard.ended,
    };
  }
}

function whyNot(guardian: Result, joined: boolean | undefined, mustJoin: boolean): Result<never> | undefined {
  if (!guardian.ok) return guardian;
  if (joined === undefined) return failure("spawn-failed", "The worker's launcher ended or did not answer.");
  return mustJoin && !joined ? required("joining it was refused.") : undefined;
}

function required(why: string): Result<never> {
  return failure(
    "no-cgroup",
    `A cgroup is required (PI_CLAUDE_SUPERVISOR_CGROUP=required), but none can be used: ${why} Run Pi where cgroup v2 is delegated (for example \`systemd-run --user --scope -p Delegate=yes pi\`), or set it to auto.`,
  );
}
