/**
 * Dropping tasks: first what it would do, then, when asked to apply, the folder is renamed out of sight and removed.
 * Only the holder of a task's lock removes it, so that a live task never loses its files.
 */
import { randomBytes } from "node:crypto";
import { lstatSync, readdirSync, renameSync, rmSync, unlinkSync } from "node:fs";
import { join } from "node:path";
import { failure, type Result } from "../core/result.ts";
import { type Clock, systemClock } from "../platform/clock.ts";
import { syncFolder } from "../platform/durable-write.ts";
import { errnoOf, fileFailure } from "../platform/errno.ts";
import { takeFileLock } from "../platform/file-lock.ts";
import type { HolderInfo } from "./cwd-lock.ts";
import type { StateLayout } from "./layout.ts";
import { listTasks } from "./task-list.ts";
import { type TaskBusy, takeTaskLock } from "./task-lock.ts";

export interface Removal {
  taskId: string;
  folder: string;
  files: number;
  bytes: number;
  /** False in a dry run. */
  removed: boolean;
}

const HOUR_MS = 3_600_000;

/** Drops one task, broken ones too; the workspace is never touched. Reasons: `live`, `no-task`, or a disk fault. */
export function discardTask(
  layout: StateLayout,
  taskId: string,
  options: { apply: boolean; holder: HolderInfo },
): Result<{ removal: Removal }> | TaskBusy {
  const { folder, lock } = layout.task(taskId);
  const size = sizeOf(folder);
  if (!size.ok) {
    return size.reason === "missing"
      ? failure("no-task", `There is no task ${taskId}. List them with /supervise sessions --all.`)
      : size;
  }
  const owned = takeTaskLock({ lock }, options.holder);
  if (!owned.ok) return owned;
  const removal: Removal = { taskId, folder, files: size.files, bytes: size.bytes, removed: false };
  try {
    if (!options.apply) return { ok: true, removal };
    const hidden = join(layout.tasks, `.trash-${taskId}-${randomBytes(4).toString("hex")}`);
    renameSync(folder, hidden);
    const synced = syncFolder(layout.tasks);
    rmSync(hidden, { recursive: true, force: true });
    return synced.ok ? { ok: true, removal: { ...removal, removed: true } } : synced;
  } catch (error) {
    return fileFailure("remove", folder, error);
  } finally {
    owned.lock.release();
  }
}

export interface PruneOptions {
  /** Records last changed longer ago than this, ms. */
  olderThanMs: number;
  /** Only tasks in these states go. */
  isEnded: (state: string) => boolean;
  apply: boolean;
  holder: (taskId: string) => HolderInfo;
  clock?: Clock;
}

/** Drops ended tasks by age; with `apply` also what crashes left behind. `kept` names those that could not go. */
export async function pruneTasks(
  layout: StateLayout,
  options: PruneOptions,
): Promise<Result<{ removals: Removal[]; kept: { taskId: string; message: string }[] }>> {
  const listed = await listTasks(layout);
  if (!listed.ok) return listed;
  const now = (options.clock ?? systemClock).now().getTime();
  const removals: Removal[] = [];
  const kept: { taskId: string; message: string }[] = [];
  for (const task of listed.tasks) {
    if (!options.isEnded(task.state) || now - task.changedAt <= options.olderThanMs) continue;
    const outcome = discardTask(layout, task.taskId, { apply: options.apply, holder: options.holder(task.taskId) });
    if (outcome.ok) removals.push(outcome.removal);
    else kept.push({ taskId: task.taskId, message: outcome.message });
  }
  if (options.apply) {
    sweepHidden(layout, now);
    sweepCwdLocks(layout, now, Math.max(options.olderThanMs, HOUR_MS));
  }
  return { ok: true, removals, kept };
}

/** Half-made and half-removed tasks of processes that died; an hour is far beyond either. */
function sweepHidden(layout: StateLayout, now: number): void {
  for (const name of readdirSync(layout.tasks)) {
    if (!name.startsWith(".new-") && !name.startsWith(".trash-")) continue;
    const path = join(layout.tasks, name);
    if (isOlder(path, now, HOUR_MS)) rmSync(path, { recursive: true, force: true });
  }
}

/** A lock file is removed only by its holder: who takes it meanwhile sees that its name is gone and starts over. */
function sweepCwdLocks(layout: StateLayout, now: number, olderThanMs: number): void {
  for (const name of readdirSync(layout.locks)) {
    const path = join(layout.locks, name);
    if (!isOlder(path, now, olderThanMs)) continue;
    const outcome = takeFileLock(path, { info: { pid: process.pid } });
    if (!outcome.ok) continue;
    unlinkSync(path);
    outcome.lock.release();
  }
}

function isOlder(path: string, now: number, ms: number): boolean {
  try {
    return now - lstatSync(path).mtimeMs > ms;
  } catch (error) {
    if (errnoOf(error) === "ENOENT") return false;
    throw error;
  }
}

function sizeOf(folder: string): Result<{ files: number; bytes: number }> {
  let files = 0;
  let bytes = 0;
  try {
    for (const entry of readdirSync(folder, { withFileTypes: true })) {
      const path = join(folder, entry.name);
      if (entry.isDirectory()) {
        const inner = sizeOf(path);
        if (!inner.ok) return inner;
        files += inner.files;
        bytes += inner.bytes;
      } else {
        files += 1;
        bytes += lstatSync(path).size;
      }
    }
  } catch (error) {
    return fileFailure("look into", folder, error);
  }
  return { ok: true, files, bytes };
}
