/** One owner for each task: who holds this lock may append to the task's log; everybody else reads. */
import type { Failure, Result } from "../core/result.ts";
import {
  type FileLock,
  isLockHeld,
  type LockInfo,
  type LockOptions,
  readLockInfo,
  takeFileLock,
} from "../platform/file-lock.ts";
import type { HolderInfo } from "./cwd-lock.ts";
import type { TaskPaths } from "./layout.ts";

export interface TaskBusy extends Failure {
  reason: "live";
  holder?: LockInfo;
}

/** Takes the lock of a task. Reason `live` with the holder when another process (or this one) has it. */
export function takeTaskLock(
  paths: Pick<TaskPaths, "lock">,
  info: HolderInfo,
  options: Omit<LockOptions, "info" | "what"> = {},
): Result<{ lock: FileLock }> | TaskBusy {
  const outcome = takeFileLock(paths.lock, { ...options, info, what: `task ${info.taskId}` });
  if (!isLockHeld(outcome)) return outcome;
  const { holder } = outcome;
  const pid = typeof holder?.pid === "number" ? `process ${holder.pid}` : "another process";
  const since = typeof holder?.since === "string" ? ` since ${holder.since}` : "";
  return {
    ok: false,
    reason: "live",
    message: `Task ${info.taskId} is driven by ${pid}${since}. Use it there, or stop it first.`,
    ...(holder ? { holder } : {}),
  };
}

/** What the last owner wrote about itself; whether it still lives is for the process table to say. */
export function readTaskOwner(paths: Pick<TaskPaths, "lock">): LockInfo | undefined {
  return readLockInfo(paths.lock);
}
