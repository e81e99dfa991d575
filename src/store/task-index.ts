/**
 * `index.json`: a cache of what the list shows of each task, valid per entry while the task's record file is the same
 * (size, times, inode). Missing, old or broken it only costs time.
 */
import type { Stats } from "node:fs";
import { durableWrite } from "../platform/durable-write.ts";
import { readNoFollow } from "../platform/no-follow.ts";
import type { TaskRecord } from "./task-record.ts";

export type Scalar = string | number | boolean | null;

/** What a list shows of one task. */
export interface ListedTask {
  taskId: string;
  state: string;
  seq: number;
  /** The record's other top-level strings (cut at 500 characters), numbers, booleans and nulls. */
  fields: Readonly<Record<string, Scalar>>;
  /** When the record was last replaced, Unix ms. */
  changedAt: number;
}

export interface IndexEntry {
  /** What the record file looked like. */
  stamp: string;
  task: ListedTask;
}

const VERSION = 1;
const MOST_INDEX_BYTES = 64 * 1024 * 1024;
const MOST_FIELD = 500;

export function stampOf(stats: Stats): string {
  return `${stats.size}:${stats.mtimeMs}:${stats.ctimeMs}:${stats.ino}`;
}

export function summarize(record: TaskRecord, stats: Stats): ListedTask {
  const fields: Record<string, Scalar> = {};
  for (const [key, value] of Object.entries(record)) {
    if (key === "v" || key === "taskId" || key === "state" || key === "seq") continue;
    if (typeof value === "string") fields[key] = value.slice(0, MOST_FIELD);
    else if (typeof value === "number" || typeof value === "boolean" || value === null) fields[key] = value;
  }
  return { taskId: record.taskId, state: record.state, seq: record.seq, fields, changedAt: stats.mtimeMs };
}

/** Entries by task id; empty when there is no usable index. */
export function readIndex(path: string): Map<string, IndexEntry> {
  const read = readNoFollow(path, { maxBytes: MOST_INDEX_BYTES });
  if (!read.ok) return new Map();
  try {
    const value: unknown = JSON.parse(read.bytes.toString("utf8"));
    if (typeof value !== "object" || value === null || !("v" in value) || value.v !== VERSION) return new Map();
    if (!("entries" in value) || !Array.isArray(value.entries)) return new Map();
    return new Map(value.entries.filter(isEntry).map((entry) => [entry.task.taskId, entry]));
  } catch {
    return new Map();
  }
}

/** A cache: a failure to write it is no failure of the list. */
export function writeIndex(path: string, entries: Iterable<IndexEntry>): boolean {
  return durableWrite(path, JSON.stringify({ v: VERSION, entries: [...entries] })).ok;
}

function isEntry(value: unknown): value is IndexEntry {
  if (typeof value !== "object" || value === null || !("stamp" in value) || !("task" in value)) return false;
  const { stamp, task } = value;
  if (typeof stamp !== "string" || typeof task !== "object" || task === null) return false;
  const { taskId, state, seq, fields, changedAt } = task as Partial<ListedTask>;
  return (
    typeof taskId === "string" &&
    typeof state === "string" &&
    typeof seq === "number" &&
    typeof changedAt === "number" &&
    typeof fields === "object" &&
    fields !== null
  );
}
