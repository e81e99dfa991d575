/**
 * The supervisor-owned directory and the names in it. Only this file knows where things lie:
 *
 *     <state dir>/tasks/<taskId>/{task.json,events.jsonl,events.jsonl.torn-<n>,owner.lock,artifacts/}
 *     <state dir>/locks/<sha256 of a real cwd>.lock
 *     <state dir>/index.json
 */
import { join } from "node:path";
import { failure, type Result } from "../core/result.ts";
import type { AccountLookup, Ownership } from "../platform/account.ts";
import { isTaskId } from "../platform/ids.ts";
import { type Overlap, overlapOf } from "../platform/paths.ts";
import { openPrivateDir } from "../platform/private-dir.ts";
import { STATE_DIR_VARIABLE, stateDirPath } from "../platform/state-dir.ts";

export { STATE_DIR_VARIABLE, stateDirPath };

export interface StateLayout {
  /** The state folder, trusted links resolved. */
  readonly root: string;
  readonly tasks: string;
  readonly locks: string;
  /** Cache of the task list; may be missing or stale. */
  readonly index: string;
  /** Made on first use by the emergency stop, the decision sessions, … : `<root>/<name>`, 0700. */
  folder(name: string): Result<{ path: string }>;
  /** Files of one task. Throws for anything but one of our ids: callers check words from people with `isTaskId`. */
  task(taskId: string): TaskPaths;
}

export interface TaskPaths {
  readonly folder: string;
  readonly record: string;
  readonly log: string;
  readonly lock: string;
  readonly artifacts: string;
}

export interface StateDirOptions {
  /** Default: `process.env`. */
  env?: Readonly<Record<string, string | undefined>>;
  account?: AccountLookup;
  ownership?: Ownership;
}

/**
 * Makes or judges the state folder and returns its names. With `create: false` (status, control CLI) a missing folder
 * is `missing` and nothing is written. Reasons: those of `openPrivateDir`, `no-account`, `state-dir`.
 */
export function openStateDir(options: StateDirOptions & { create?: boolean } = {}): Result<{ layout: StateLayout }> {
  const wanted = stateDirPath(options);
  if (!wanted.ok) return wanted;
  const { create = true } = options;
  const ownership = options.ownership ? { ownership: options.ownership } : {};
  const root = openPrivateDir(wanted.path, { create, what: "state folder", ...ownership });
  if (!root.ok) return root;
  for (const name of create ? ["tasks", "locks"] : []) {
    const child = openPrivateDir(join(root.dir.path, name), { what: "state folder", ...ownership });
    if (!child.ok) return child;
  }
  return { ok: true, layout: layoutOf(root.dir.path, options.ownership) };
}

/**
 * Refuses a workspace that holds the state folder or lies in it: a worker must never reach the supervisor's files, and
 * a clean-up of the workspace must never remove them. Reason `state-dir-in-workspace`.
 */
export function refuseOverlap(layout: Pick<StateLayout, "root">, workspace: string): Result {
  const found = overlapOf(layout.root, workspace);
  if (!found.ok) return found;
  if (found.overlap === "apart") return { ok: true };
  const how: Record<Exclude<Overlap, "apart">, string> = {
    equal: "is the workspace itself",
    "first-inside-second": "lies inside the workspace",
    "second-inside-first": "contains the workspace",
  };
  return failure(
    "state-dir-in-workspace",
    `The state folder ${layout.root} ${how[found.overlap]} ${workspace}. Set ${STATE_DIR_VARIABLE} to a folder outside of it, or start elsewhere.`,
  );
}

function layoutOf(root: string, ownership: Ownership | undefined): StateLayout {
  const tasks = join(root, "tasks");
  return {
    root,
    tasks,
    locks: join(root, "locks"),
    index: join(root, "index.json"),
    folder(name) {
      const opened = openPrivateDir(join(root, name), { what: `${name} folder`, ...(ownership ? { ownership } : {}) });
      return opened.ok ? { ok: true, path: opened.dir.path } : opened;
    },
    task(taskId) {
      if (!isTaskId(taskId)) throw new Error(`Not a task id: ${JSON.stringify(taskId.slice(0, 80))}`);
      return taskPaths(join(tasks, taskId));
    },
  };
}

/** The names inside one task's folder. */
export function taskPaths(folder: string): TaskPaths {
  return {
    folder,
    record: join(folder, "task.json"),
    log: join(folder, "events.jsonl"),
    lock: join(folder, "owner.lock"),
    artifacts: join(folder, "artifacts"),
  };
}
