/**
 * Every task of the store. One broken record never hides the others: it is listed with what is wrong with it. Ten
 * thousand tasks take well under a second, with the index or without.
 */
import { type Dirent, lstatSync, readdirSync } from "node:fs";
import { setImmediate as nextTurn } from "node:timers/promises";
import { type Failure, failure, type Result } from "../core/result.ts";
import { type Ownership, systemOwnership } from "../platform/account.ts";
import { fileFailure } from "../platform/errno.ts";
import { isTaskId } from "../platform/ids.ts";
import { type StateLayout, taskPaths } from "./layout.ts";
import {
  type IndexEntry,
  type ListedTask,
  readIndex,
  type Summary,
  stampOf,
  summarize,
  TOP_LEVEL,
  writeIndex,
} from "./task-index.ts";
import { readTaskRecord } from "./task-record.ts";

export type { ListedTask, Scalar, Summary } from "./task-index.ts";

export interface FaultyTask {
  /** Name of the folder; not always a task id. */
  taskId: string;
  fault: Failure;
}

export interface TaskList {
  /** Sorted by id, which is by time of creation. */
  tasks: ListedTask[];
  faulty: FaultyTask[];
  /** How many records had to be read because the index did not have them. */
  read: number;
}

export interface ListOptions {
  /** Default: the top-level scalars of each record. */
  summary?: Summary;
  ownership?: Ownership;
}

/** Tasks handled before other work of the process gets its turn. */
const SLICE = 250;

/** Reasons: only a disk fault of the `tasks` folder itself. */
export async function listTasks(layout: StateLayout, options: ListOptions = {}): Promise<Result<TaskList>> {
  const { summary = TOP_LEVEL, ownership = systemOwnership } = options;
  let names: Dirent[];
  try {
    names = readdirSync(layout.tasks, { withFileTypes: true });
  } catch (error) {
    return fileFailure("list", layout.tasks, error);
  }
  const index = readIndex(layout.index, summary);
  const entries: IndexEntry[] = [];
  const faulty: FaultyTask[] = [];
  let read = 0;
  let sinceTurn = 0;
  for (const name of names) {
    // Hidden names are tasks in the making or on their way out.
    if (name.name.startsWith(".")) continue;
    const seen = lookAtTask(layout, name, index.get(name.name), { summary, ownership });
    if ("fault" in seen) faulty.push(seen);
    else entries.push(seen.entry);
    if (!("fault" in seen) && seen.read) read += 1;
    sinceTurn += 1;
    if (sinceTurn === SLICE) {
      sinceTurn = 0;
      await nextTurn();
    }
  }
  // Rewriting the whole index for one live task would cost more than reading its record each time.
  if (Math.max(read, index.size - entries.length) > 16 + entries.length / 100) {
    await writeIndex(layout.index, summary, entries);
  }
  return {
    ok: true,
    tasks: entries.map((entry) => entry.task).sort(byId),
    faulty: faulty.sort(byId),
    read,
  };
}

function lookAtTask(
  layout: StateLayout,
  name: Dirent,
  known: IndexEntry | undefined,
  { summary, ownership }: Required<ListOptions>,
): { entry: IndexEntry; read: boolean } | FaultyTask {
  const taskId = name.name;
  const fault = (reason: string, message: string): FaultyTask => ({ taskId, fault: failure(reason, message) });
  if (!name.isDirectory()) return fault("not-a-task", `${layout.tasks}/${taskId} is not a folder. Move it away.`);
  if (!isTaskId(taskId)) return fault("not-a-task", `${layout.tasks}/${taskId} is not a task's folder. Move it away.`);
  const paths = taskPaths(`${layout.tasks}/${taskId}`);
  try {
    const stats = lstatSync(paths.record);
    const stamp = stampOf(stats);
    const sound = ownership.ownerOf(paths.record, stats) === ownership.uid && (stats.mode & 0o077) === 0;
    if (sound && known?.stamp === stamp) return { entry: known, read: false };
    const found = readTaskRecord(paths.record, taskId, { ownership });
    if (!found.ok) return { taskId, fault: found };
    return { entry: { stamp, task: summarize(found.record, stats, summary) }, read: true };
  } catch (error) {
    return { taskId, fault: fileFailure("read", paths.record, error) };
  }
}

function byId(a: { taskId: string }, b: { taskId: string }): number {
  return a.taskId < b.taskId ? -1 : a.taskId > b.taskId ? 1 : 0;
}
