/** Tasks as they stand on disk, for whoever does not own them. */
import type { StoredEvent } from "../core/events.ts";
import { foldOne } from "../core/fold.ts";
import { isTerminal, type StateName } from "../core/machine/project.ts";
import { initialState, type TaskState } from "../core/machine/state.ts";
import { failure, type Result } from "../core/result.ts";
import { isTaskId } from "../platform/ids.ts";
import { isAlive } from "../platform/process/index.ts";
import type { StateLayout } from "../store/layout.ts";
import { readEvents } from "../store/log-reader.ts";
import type { Summary } from "../store/task-index.ts";
import { listTasks } from "../store/task-list.ts";
import { readTask } from "../store/task-store.ts";
import type { TaskRow, TaskView } from "./api.ts";
import type { Snapshotted } from "./snapshot.ts";

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
  return [...rows, ...faulty].sort((a, b) => (a.taskId < b.taskId ? 1 : -1));
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
export async function foldLog(path: string, taskId: string, to?: number): Promise<Result<{ state: TaskState }>> {
  let state = initialState(taskId);
  for await (const item of readEvents(path, taskId, to === undefined ? {} : { to })) {
    if (!item.ok) return item;
    state = foldOne(state, item.event as StoredEvent);
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
