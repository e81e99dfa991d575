/** One owner for each real working folder: two workers in one tree would undo each other's work. */
import { createHash } from "node:crypto";
import { join } from "node:path";
import type { Failure, Result } from "../core/result.ts";
import { type FileLock, isLockHeld, type LockInfo, type LockOptions, takeFileLock } from "../platform/file-lock.ts";
import { realPath } from "../platform/paths.ts";
import type { StateLayout } from "./layout.ts";

/** What a holder says about itself. The supervisor adds start ticks, boot id and host. */
export type HolderInfo = LockInfo & { taskId: string; pid: number; since: string };

export interface CwdBusy extends Failure {
  reason: "cwd-busy";
  holder?: LockInfo;
}

export interface CwdLock {
  /** The real path that is locked. */
  cwd: string;
  lock: FileLock;
}

/** Takes the lock of `cwd` by its real path. Reasons: `cwd-busy` with the holder, `cwd` when there is no such folder. */
export function takeCwdLock(
  layout: Pick<StateLayout, "locks">,
  cwd: string,
  info: HolderInfo,
  options: Omit<LockOptions, "info" | "what"> = {},
): Result<CwdLock> | CwdBusy {
  const real = realPath(cwd);
  if (!real.ok) return real;
  const outcome = takeFileLock(cwdLockPath(layout, real.path), {
    ...options,
    info: { ...info, cwd: real.path },
    what: `folder ${real.path}`,
  });
  if (outcome.ok) return { ok: true, cwd: real.path, lock: outcome.lock };
  if (!isLockHeld(outcome)) return outcome;
  const { holder } = outcome;
  const task = typeof holder?.taskId === "string" ? `task ${holder.taskId}` : "another task";
  const pid = typeof holder?.pid === "number" ? ` (process ${holder.pid})` : "";
  const since = typeof holder?.since === "string" ? ` since ${holder.since}` : "";
  return {
    ok: false,
    reason: "cwd-busy",
    message: `${real.path} is in use by ${task}${pid}${since}. Stop that task, or start this one with --worktree.`,
    ...(holder ? { holder } : {}),
  };
}

/** The lock file of a real path. */
export function cwdLockPath(layout: Pick<StateLayout, "locks">, realCwd: string): string {
  return join(layout.locks, `${createHash("sha256").update(realCwd).digest("hex")}.lock`);
}
