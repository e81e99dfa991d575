/** All tasks, one at a time, for numbers over them: 10,000 records take about two seconds. */
import { setImmediate as nextTurn } from "node:timers/promises";
import type { TaskView } from "./api.ts";
import type { Scope } from "./scope.ts";
import { type ListedRow, readSnapshot, viewOfStored } from "./stored-task.ts";

/** Records that are read before other work of the process gets its turn. */
const SLICE = 50;
/** Newest rows that are held against their logs, as the list of sessions does. */
const MOST_CHECKED = 50;

export async function surveyTasks(
  scope: Scope,
  rows: readonly ListedRow[],
  onTask: (task: TaskView) => void,
  withinMs: number,
): Promise<{ ok: true; unreadable: number; notLooked: number }> {
  const { clock, layout } = scope.deps;
  const end = clock.mono() + withinMs;
  let unreadable = 0;
  let looked = 0;
  let checked = 0;
  for (const row of rows) {
    if (clock.mono() >= end) break;
    looked += 1;
    if (looked % SLICE === 0) await nextTurn();
    if (row.problem !== null) {
      unreadable += 1;
      continue;
    }
    const live = scope.liveView(row.taskId);
    if (live) {
      onTask(live);
      continue;
    }
    // Only a task without an owner can have a log that goes on where its record ends.
    const late = row.recoverable && checked < MOST_CHECKED;
    if (late) checked += 1;
    const read = late ? await scope.look(row.taskId) : readSnapshot(layout, row.taskId);
    if (!read.ok) unreadable += 1;
    else onTask("task" in read ? read.task : viewOfStored(read.record));
  }
  return { ok: true, unreadable, notLooked: rows.length - looked };
}
