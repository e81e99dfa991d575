/**
 * Starts a program as the leader of a contained tree. The order leaves no gap:
 *
 * 1. The guardian exists before anything that it must clean up.
 * 2. The launcher puts itself into cgroup and mark, and waits. From here on the tree is known and can be recorded.
 * 3. `release()` lets the launcher become the program. Until then nothing of the program has run.
 */
import { accessSync, constants } from "node:fs";
import { isAbsolute } from "node:path";
import type { Duplex, Readable, Writable } from "node:stream";
import type { ContainmentRecord, StopOutcome } from "../../core/contracts/worker.ts";
import { failure, type Result } from "../../core/result.ts";
import { identify } from "../process/identity.ts";
import { isLimitInherited, newMark } from "../process/mark.ts";
import { cgroupFolder, makeCgroup, ownCgroup, removeCgroup } from "./cgroup.ts";
import { type Guardian, startGuardian } from "./guardian.ts";
import { readLine } from "./read-line.ts";
import { LAUNCHER, SHELL } from "./scripts.ts";
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
  /** Removed by the guardian when the tree is gone. Must be the tree's own folder. */
  tmpDir?: string;
  /** Default `pipe`. */
  stdin?: "pipe" | "ignore";
  /** Milliseconds that the guardian leaves between TERM and kill when we are gone. Default 2000. */
  guardianGraceMs?: number;
  /** Milliseconds for guardian and launcher to come up. Default 10000. */
  setupTimeoutMs?: number;
}

export interface LeaderExit {
  code: number | null;
  signal: NodeJS.Signals | null;
}

export interface ContainedProcess {
  pid: number;
  /** `null` with `stdin: "ignore"`. */
  stdin: Writable | null;
  /** Have readers on both before `release()`: the pipes flow, and what nobody listens to is dropped. */
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

/** Guardians that die while they are needed are replaced this often: something on the machine is killing them. */
const MAX_GUARDIANS = 20;

/**
 * Reasons of failure: `not-executable`, `no-cgroup` (mode `required`), `no-guardian`, `spawn-failed`. Nothing is left
 * running then.
 */
export async function spawnContained(input: SpawnContainedInput): Promise<Result<{ process: ContainedProcess }>> {
  const unusable = whyNotExecutable(input.file);
  if (unusable !== undefined) return failure("not-executable", unusable);
  const { execa } = await import("execa");
  const setupTimeoutMs = input.setupTimeoutMs ?? 10_000;
  const mark = newMark();
  const locks = isLimitInherited() ? undefined : mark.locks;
  const own = input.mode === "off" ? failure("no-cgroup", "Cgroups are switched off.") : ownCgroup();
  if (!own.ok && input.mode === "required") return requiredFailure(own.message);
  const guard = (cgroup: string | undefined): Guardian =>
    startGuardian(execa, {
      id: mark.id,
      locks,
      cgroup,
      tmpDir: input.tmpDir,
      graceMs: input.guardianGraceMs ?? 2000,
      setupTimeoutMs,
    });
  let guardian = guard(own.ok ? cgroupFolder(own.path, mark.id) : undefined);
  // From here on our death is noticed.
  const made = own.ok ? makeCgroup(mark.id) : own;
  const folder = made.ok ? made.path : undefined;
  if (!made.ok && own.ok) {
    guardian.dropCgroup();
    if (input.mode === "required") {
      guardian.dismiss();
      return requiredFailure(made.message);
    }
  }

  const child = execa(
    SHELL,
    [LAUNCHER, folder ?? "", locks === undefined ? "" : String(locks), input.file, ...input.args],
    {
      cwd: input.cwd,
      extendEnv: false,
      env: { ...input.env, [mark.name]: mark.value },
      // Its own session: a terminal's Ctrl-C and hang-up are ours to handle, and its group is its own.
      detached: true,
      cleanup: false,
      buffer: false,
      reject: false,
      stripFinalNewline: false,
      encoding: "buffer",
      stdio: [input.stdin ?? "pipe", "pipe", "pipe", "pipe"],
    },
  );
  const ended = child.then((end) => end);
  const exited = new Promise<LeaderExit>((resolve) => {
    child.once("exit", (code, signal) => resolve({ code, signal }));
    child.once("error", () => resolve({ code: null, signal: null }));
  });
  const gate = child.stdio[3] as unknown as Duplex | null | undefined;
  gate?.on("error", () => undefined);
  const abandon = async (reason: string, message: string): Promise<Result<{ process: ContainedProcess }>> => {
    // Still the launcher: it has no children, and end of file makes it leave by itself too.
    child.kill("SIGKILL");
    if (child.pid !== undefined) await exited;
    if (folder !== undefined) removeCgroup(folder);
    guardian.dismiss();
    return failure(reason, message);
  };

  const leader = child.pid === undefined ? undefined : identify(child.pid);
  if (leader === undefined || gate === null || gate === undefined) {
    const end = child.pid === undefined ? (await ended).originalMessage : "it ended at once";
    return abandon(
      "spawn-failed",
      `${SHELL} could not be started for the worker in ${input.cwd}: ${end ?? "no reason given"}.`,
    );
  }
  guardian.nameLeader(leader);
  const [report, watching] = await Promise.all([readLine(gate, setupTimeoutMs), guardian.ready]);
  if (!watching.ok) return abandon(watching.reason, watching.message);
  if (report === undefined) return abandon("spawn-failed", "The worker's launcher ended or did not answer.");
  const inside = report.startsWith("inside");
  if (folder !== undefined && !inside) {
    if (input.mode === "required") return abandon("no-cgroup", requiredMessage(`joining ${folder} was refused`));
    guardian.dropCgroup();
    removeCgroup(folder);
  }
  const record: ContainmentRecord =
    folder !== undefined && inside
      ? { kind: "cgroup", cgroup: folder, marker: mark.marker, leader, guardian: watching.identity }
      : { kind: "census", marker: mark.marker, leader, guardian: watching.identity };

  let proven = false;
  let guardians = 1;
  let settle = (): void => undefined;
  const settled = new Promise<void>((resolve) => {
    settle = resolve;
  });
  const replaceWhenLost = async (): Promise<void> => {
    await guardian.ended;
    if (proven || guardians >= MAX_GUARDIANS) return settle();
    guardians += 1;
    guardian = guard(record.cgroup);
    guardian.nameLeader(leader);
    const next = await guardian.ready;
    if (next.ok) record.guardian = next.identity;
    if (proven) guardian.dismiss();
    return replaceWhenLost();
  };
  void replaceWhenLost();

  const contained: ContainedProcess = {
    pid: leader.pid,
    stdin: child.stdin,
    stdout: child.stdout,
    stderr: child.stderr,
    record,
    ...(record.kind === "census"
      ? { withoutCgroup: made.ok ? `Joining ${made.path} was refused.` : made.message }
      : {}),
    release: () =>
      new Promise((resolve) => {
        if (!gate.writable)
          return resolve(failure("worker-gone", "The worker's launcher is gone; it was not started."));
        gate.end("go\n", () => resolve({ ok: true }));
        gate.once("error", (error) =>
          resolve(failure("worker-gone", `The worker's launcher is gone: ${error.message}.`)),
        );
      }),
    exited,
    stop: async (options) => {
      const outcome = await stopTree(record, options);
      if (outcome.proven) {
        proven = true;
        guardian.dismiss();
      }
      return outcome;
    },
    settled,
  };
  return { ok: true, process: contained };
}

function whyNotExecutable(file: string): string | undefined {
  if (!isAbsolute(file)) return `The worker's program must be an absolute path, not ${file}.`;
  try {
    accessSync(file, constants.X_OK);
    return undefined;
  } catch (error) {
    return `${file} can't be executed: ${error instanceof Error ? error.message : String(error)}.`;
  }
}

function requiredFailure(why: string): Result<{ process: ContainedProcess }> {
  return failure("no-cgroup", requiredMessage(why));
}

function requiredMessage(why: string): string {
  return `A cgroup is required (PI_CLAUDE_SUPERVISOR_CGROUP=required), but none can be used: ${why} Run Pi where cgroup v2 is delegated (for example \`systemd-run --user --scope -p Delegate=yes pi\`), or set it to auto.`;
}
