/**
 * All tasks of one state folder. A task appears whole or not at all: its folder is built under a hidden name and
 * renamed when its first records, its record file and its lock are in place and durable.
 */
import { randomBytes } from "node:crypto";
import { mkdirSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { failure, type Result } from "../core/result.ts";
import type { Ownership } from "../platform/account.ts";
import type { Clock } from "../platform/clock.ts";
import { syncFolder } from "../platform/durable-write.ts";
import { errnoOf, fileFailure } from "../platform/errno.ts";
import type { FileLock } from "../platform/file-lock.ts";
import type { HolderInfo } from "./cwd-lock.ts";
import type { EventInput, StoredEvent } from "./event-line.ts";
import type { EventLog } from "./event-log.ts";
import { type StateLayout, type TaskPaths, taskPaths } from "./layout.ts";
import type { LogFs } from "./log-fs.ts";
import { verifyLog } from "./log-reader.ts";
import { createEventLog, type OpenLogOptions, openEventLog } from "./open-log.ts";
import { type TaskBusy, takeTaskLock } from "./task-lock.ts";
import { readTaskRecord, type TaskHead, type TaskRecord, writeTaskRecord } from "./task-record.ts";
import type { TornTail } from "./torn-tail.ts";

/** A task that this process owns. */
export interface OwnedTask {
  taskId: string;
  paths: TaskPaths;
  lock: FileLock;
  log: EventLog;
}

export interface StoreOptions {
  clock?: Clock;
  ownership?: Ownership;
  /** The logs' system calls; tests play full and broken disks with it. */
  logFs?: LogFs;
}

export interface CreateTask {
  taskId: string;
  holder: HolderInfo;
  /** The first records, e.g. the one that creates the task: they are on disk before the task can be seen. */
  events: readonly EventInput[];
  /** Made from the stored first records. */
  record: (events: readonly StoredEvent[]) => TaskHead;
  onChange?: OpenLogOptions["onChange"];
}

/**
 * Makes a task durably (about 2 ms and the lock's 2 ms) and owns it. Reasons: `task-exists`, or a disk fault; then
 * nothing of it is left.
 */
export async function createTask(
  layout: StateLayout,
  create: CreateTask,
  options: StoreOptions = {},
): Promise<Result<{ task: OwnedTask; events: StoredEvent[] }>> {
  const paths = layout.task(create.taskId);
  const staging = taskPaths(join(layout.tasks, `.new-${create.taskId}-${randomBytes(4).toString("hex")}`));
  try {
    mkdirSync(staging.folder, { mode: 0o700 });
  } catch (error) {
    return fileFailure("make the task folder in", layout.tasks, error);
  }
  const built = await buildTask(staging, paths, create, options);
  const published = built.ok ? publish(layout, staging, paths) : built;
  if (published.ok && built.ok) {
    const { log, events } = built;
    return { ok: true, task: { taskId: create.taskId, paths, lock: { ...built.lock, path: paths.lock }, log }, events };
  }
  if (built.ok) {
    built.log.closeNow();
    built.lock.release();
  }
  rmSync(staging.folder, { recursive: true, force: true });
  return published.ok ? failure("io-error", `Cannot make task ${create.taskId}.`) : published;
}

async function buildTask(
  staging: TaskPaths,
  paths: TaskPaths,
  create: CreateTask,
  options: StoreOptions,
): Promise<Result<{ lock: FileLock; log: EventLog; events: StoredEvent[] }>> {
  const owned = takeTaskLock(staging, create.holder, options.ownership ? { ownership: options.ownership } : {});
  if (!owned.ok) return owned;
  const made = createEventLog(staging.log);
  const opened = made.ok ? openEventLog(staging.log, { ...logOptions(create, options), knownAs: paths.log }) : made;
  if (!opened.ok) {
    owned.lock.release();
    return opened;
  }
  const { log } = opened;
  const abandon = <T>(fault: T): T => {
    log.closeNow();
    owned.lock.release();
    return fault;
  };
  const appended = log.append(create.events);
  if (!appended.ok) return abandon(appended);
  const synced = await log.sync();
  if (!synced.ok) return abandon(synced);
  const recorded = writeTaskRecord(staging.record, create.record(appended.events));
  if (!recorded.ok) return abandon(recorded);
  return { ok: true, lock: owned.lock, log, events: appended.events };
}

function publish(layout: StateLayout, staging: TaskPaths, paths: TaskPaths): Result {
  try {
    // rename(2) replaces an empty folder only; a task folder never is one.
    renameSync(staging.folder, paths.folder);
  } catch (error) {
    const code = errnoOf(error);
    if (code === "ENOTEMPTY" || code === "EEXIST") {
      return failure("task-exists", `There is a task in ${paths.folder} already. Start again to get another id.`);
    }
    return fileFailure("make the task folder", paths.folder, error);
  }
  const synced = syncFolder(layout.tasks);
  if (synced.ok) return { ok: true };
  rmSync(paths.folder, { recursive: true, force: true });
  return synced;
}

export interface OpenTask {
  taskId: string;
  holder: HolderInfo;
  anchor?: OpenLogOptions["anchor"];
  onChange?: OpenLogOptions["onChange"];
}

export interface OpenedTask {
  task: OwnedTask;
  /** A torn end was set aside: append `log.recovered` before anything else. */
  recovered?: TornTail;
  /** Whole records up to the anchor that are gone; see `OpenedLog`. */
  missing?: number;
}

/**
 * Becomes the owner of an existing task: its lock first, then its log. Reasons: `live` with the holder, `no-task`,
 * `log-damaged`, or a disk fault. Reads the log's end only.
 */
export function openTask(
  layout: StateLayout,
  open: OpenTask,
  options: StoreOptions = {},
): Result<OpenedTask> | TaskBusy {
  const owned = takeOwnership(layout, open, options);
  return owned.ok ? openOwned(layout.task(open.taskId), owned.lock, open, options) : owned;
}

/**
 * `openTask` for who goes on from the whole history: under the lock, but before anything is changed, every record is
 * checked. With damage anywhere not one byte changes, a torn end included.
 */
export async function openTaskVerified(
  layout: StateLayout,
  open: OpenTask,
  options: StoreOptions = {},
): Promise<Result<OpenedTask> | TaskBusy> {
  const owned = takeOwnership(layout, open, options);
  if (!owned.ok) return owned;
  const paths = layout.task(open.taskId);
  const verified = await verifyLog(paths.log, open.taskId);
  if (!verified.ok) {
    owned.lock.release();
    return verified;
  }
  return openOwned(paths, owned.lock, open, options);
}

function takeOwnership(
  layout: StateLayout,
  open: OpenTask,
  options: StoreOptions,
): Result<{ lock: FileLock }> | TaskBusy {
  const { ownership } = options;
  const owned = takeTaskLock(layout.task(open.taskId), open.holder, ownership ? { ownership } : {});
  return !owned.ok && owned.reason === "missing" ? noTask(open.taskId) : owned;
}

function openOwned(paths: TaskPaths, lock: FileLock, open: OpenTask, options: StoreOptions): Result<OpenedTask> {
  const opened = openEventLog(paths.log, logOptions(open, options));
  if (!opened.ok) {
    lock.release();
    return opened;
  }
  const { log, ...found } = opened;
  return { ...found, ok: true, task: { taskId: open.taskId, paths, lock, log } };
}

/** The stored record of one task; `no-task` when there is none. */
export function readTask(
  layout: StateLayout,
  taskId: string,
  options: StoreOptions = {},
): Result<{ record: TaskRecord }> {
  return readTaskRecord(layout.task(taskId).record, taskId, options.ownership ? { ownership: options.ownership } : {});
}

function noTask(taskId: string) {
  return failure("no-task", `There is no task ${taskId}. List them with /supervise sessions --all.`);
}

function logOptions(task: OpenTask | CreateTask, options: StoreOptions): OpenLogOptions {
  const { onChange } = task;
  const anchor = "anchor" in task ? task.anchor : undefined;
  return {
    taskId: task.taskId,
    ...(options.clock ? { clock: options.clock } : {}),
    ...(options.ownership ? { ownership: options.ownership } : {}),
    ...(options.logFs ? { fs: options.logFs } : {}),
    ...(onChange ? { onChange } : {}),
    ...(anchor ? { anchor } : {}),
  };
}
