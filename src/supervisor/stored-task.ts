/** Tasks as they stand on disk, for whoever does not own them. */
import type { StoredEvent } from "../core/events.ts";
import { foldOne } from "../core/fold.ts";
import { isTerminal, type StateName } from "../core/machine/project.ts";
import { initialState, type TaskState } from "../core/machine/state.ts";
import { failure, type Result } from "../core/result.ts";
import { isTaskId } from "../platform/ids.ts";
import { isAlive } from "../platform/process/index.ts";
import type { StateLayout } from "../store/layout.ts";
import { readEvents, tailOfLog } from "../store/log-reader.ts";
import type { Summary } from "../store/task-index.ts";
import { listTasks } from "../store/task-list.ts";
import { readTask } from "../store/task-store.ts";
import type { TaskRow, TaskView } from "./api.ts";
import { type Snapshotted, snapshotOf } from "./snapshot.ts";

/** The record of a task, judged; reasons `no-task`, `bad-id`, and those of the record. */
export function readSnapshot(layout: StateLayout, taskId: string): Result<{ record: Snapshotted }> {
  if (!isTaskId(taskId)) {
    return failure(
      "no-task",
      `"${taskId.slice(0, 40)}" is no task id. List the tasks with \`/supervise sessions --all\`.`,
    );
  }
  const read = readTask(layout, taskId);
  if (!read.ok) return read.reason === "missing" ? noTask(taskId) : read;
  const record: object = read.record;
  if (!isSnapshot(record))
    return failure("record-malformed", `The record of task ${taskId} is not one of ours; replay it from its log.`);
  return { ok: true, record };
}

/** Largest log that is folded only to know more than its record says (bytes); about a second's work. */
const MOST_FOLDED_BYTES = 64 * 1024 * 1024;

/**
 * The record as its log has it. `task.json` is up to a second late: after a crash, where its owner is gone and the log
 * goes further, or where it can't be read at all, it is made from the log instead. Nothing is written. Reasons: those of
 * `readSnapshot`, when the log does not help either.
 */
export async function presentSnapshot(layout: StateLayout, taskId: string): Promise<Result<{ record: Snapshotted }>> {
  const read = readSnapshot(layout, taskId);
  if (!isTaskId(taskId) || (read.ok && ownerAlive(read.record))) return read;
  const { log } = layout.task(taskId);
  const found = tailOfLog(log, taskId);
  if (!found.ok || found.tail.last === undefined) return read;
  const { last, end } = found.tail;
  if (read.ok && (last.seq <= read.record.seq || end > MOST_FOLDED_BYTES)) return read;
  const folded = await foldLog(log, taskId);
  return folded.ok && folded.state.spec !== null ? { ok: true, record: snapshotOf(folded.state, log) } : read;
}

export function noTask(taskId: string) {
  return failure("no-task", `There is no task ${taskId}. List the tasks with \`/supervise sessions --all\`.`);
}

/** The view of a stored task, with what only the process table can say about its owner. */
export function viewOfStored(record: Snapshotted): TaskView {
  const { view } = record;
  const alive = ownerAlive(record);
  const owner = view.owner ? { ...view.owner, alive, mine: false } : null;
  const recoverable = !alive && !isTerminal(view.state) && view.state !== "taken_over";
  /* What was asked of a dead owner is gone with its worker, unless it was made durable. */
  const requests = alive ? view.requests : view.requests.filter((request) => request.deferred);
  return { ...view, owner, recoverable, requests };
}

export function ownerAlive(record: Snapshotted): boolean {
  const { owner } = record;
  return isIdentity(owner) && isAlive(owner);
}

/** What the list keeps of each record, so that ten thousand tasks need not be read again. */
const ROW: Summary = {
  name: "supervisor-row-1",
  of(record) {
    const whole: object = record;
    if (!isSnapshot(whole)) return { readable: false };
    const { view, owner } = whole;
    const who = isIdentity(owner) ? { pid: owner.pid, startTicks: owner.startTicks, bootId: owner.bootId } : {};
    const { goal, cwd, createdAt, costUsd } = view;
    return { readable: true, goal, cwd, createdAt, costUsd, requests: view.requests.length, ...who };
  },
};

export interface ListedRow extends TaskRow {
  /** Open requests when the record was written. */
  requests: number;
}

/** Every task of the store, newest first; a record that can't be read is a row with its problem, never a failure. */
export async function listRows(layout: StateLayout): Promise<ListedRow[]> {
  const list = await listTasks(layout, { summary: ROW });
  if (!list.ok) return [];
  const rows = list.tasks.map(({ taskId, state, fields }): ListedRow => {
    if (fields["readable"] !== true)
      return unreadable(taskId, "Its record is not one of ours; replay it from its log.");
    const owner = { pid: fields["pid"], startTicks: fields["startTicks"], bootId: fields["bootId"] };
    const alive = isIdentity(owner) && isAlive(owner);
    const name = state as StateName;
    return {
      taskId,
      state: name,
      recoverable: !alive && !isTerminal(name) && name !== "taken_over",
      goal: String(fields["goal"] ?? ""),
      cwd: String(fields["cwd"] ?? ""),
      createdAt: String(fields["createdAt"] ?? ""),
      costUsd: typeof fields["costUsd"] === "number" ? fields["costUsd"] : null,
      problem: null,
      requests: Number(fields["requests"] ?? 0),
    };
  });
  const faulty = list.faulty.map(({ taskId, fault }) => unreadable(taskId, fault.message));
  const sorted = [...rows, ...faulty].sort((a, b) => (a.taskId < b.taskId ? 1 : -1));
  return withPresent(layout, sorted);
}

/** Rows that are held against their logs, the newest first: each costs a look at a file, a crashed one its whole log. */
const MOST_CHECKED = 50;

/** What its last owner could not write into the record any more: the newest rows without an owner say what the log says. */
async function withPresent(layout: StateLayout, rows: ListedRow[]): Promise<ListedRow[]> {
  const present = new Map<string, ListedRow>();
  for (const row of rows.filter(({ recoverable }) => recoverable).slice(0, MOST_CHECKED)) {
    const read = await presentSnapshot(layout, row.taskId);
    if (!read.ok) continue;
    const view = viewOfStored(read.record);
    /* All of them: what was lost with its worker is refused by that name. */
    present.set(row.taskId, { ...rowOf(view), requests: read.record.view.requests.length });
  }
  return rows.map((row) => present.get(row.taskId) ?? row);
}

export function rowOf(view: TaskView): TaskRow {
  const { taskId, state, recoverable, goal, cwd, createdAt, costUsd } = view;
  return { taskId, state, recoverable, goal, cwd, createdAt, costUsd, problem: null };
}

function unreadable(taskId: string, problem: string): ListedRow {
  return {
    taskId,
    state: "unreadable",
    recoverable: false,
    goal: "",
    cwd: "",
    createdAt: "",
    costUsd: null,
    problem,
    requests: 0,
  };
}

/** Folds a log from disk, up to `to` (default: its end). */
export async function foldLog(
  path: string,
  taskId: string,
  to?: number,
  seen: (event: StoredEvent) => void = () => undefined,
): Promise<Result<{ state: TaskState }>> {
  let state = initialState(taskId);
  for await (const item of readEvents(path, taskId, to === undefined ? {} : { to })) {
    if (!item.ok) return item;
    const event = item.event as StoredEvent;
    state = foldOne(state, event);
    seen(event);
  }
  return { ok: true, state };
}

function isSnapshot(record: object): record is Snapshotted {
  return (
    "view" in record &&
    typeof record.view === "object" &&
    record.view !== null &&
    "stateSha256" in record &&
    "owner" in record
  );
}

function isIdentity(value: unknown): value is { pid: number; startTicks: string; bootId: string } {
  return (
    typeof value === "object" &&
    value !== null &&
    "pid" in value &&
    typeof value.pid === "number" &&
    "startTicks" in value &&
    "bootId" in value
  );
}
