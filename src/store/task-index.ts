/**
 * `index.json`: a cache of what the list shows of each task, valid per entry while the task's record file is the same
 * (size, times, inode). Missing, old or broken it only costs time.
 */
import type { Stats } from "node:fs";
import { readNoFollow } from "../platform/no-follow.ts";
import type { TaskRecord } from "./task-record.ts";

export type Scalar = string | number | boolean | null;

/** What a list shows of one task. */
export interface ListedTask {
  taskId: string;
  state: string;
  seq: number;
  /** What the summary took from the record; strings are cut at 500 characters. */
  fields: Readonly<Record<string, Scalar>>;
  /** When the record was last replaced, Unix ms. */
  changedAt: number;
}

/** What a list needs of each record beside its head. */
export interface Summary {
  /** Part of the index: another name (or a new version of it) makes the old index useless. */
  name: string;
  of(record: TaskRecord): Readonly<Record<string, Scalar | undefined>>;
}

/** The record's other top-level strings, numbers, booleans and nulls. */
export const TOP_LEVEL: Summary = {
  name: "top-level",
  of(record) {
    const { v: _v, taskId: _id, state: _state, seq: _seq, ...rest } = record;
    return Object.fromEntries(Object.entries(rest).filter((entry): entry is [string, Scalar] => isScalar(entry[1])));
  },
};

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

export function summarize(record: TaskRecord, stats: Stats, summary: Summary): ListedTask {
  const fields: Record<string, Scalar> = {};
  for (const [key, value] of Object.entries(summary.of(record))) {
    if (value !== undefined) fields[key] = typeof value === "string" ? value.slice(0, MOST_FIELD) : value;
  }
  return { taskId: record.taskId, state: record.state, seq: record.seq, fields, changedAt: stats.mtimeMs };
}

/** Entries by task id; empty when there is no usable index. */
export function readIndex(path: string, summary: Summary): Map<string, IndexEntry> {
  const read = readNoFollow(path, { maxBytes: MOST_INDEX_BYTES });
  if (!read.ok) return new Map();
  try {
    const value: unknown = JSON.parse(read.bytes.toString("utf8"));
    if (typeof value !== "object" || value === null || !("v" in value) || value.v !== VERSION) return new Map();
    if (!("summary" in value) || value.summary !== summary.name) return new Map();
    if (!("entries" in value) || !Array.isArray(value.entries)) return new Map();
    return new Map(value.entries.filter(isEntry).map((entry) => [entry.task.taskId, entry]));
  } catch {
    return new Map();
  }
}

/**
 * A cache: a failure to write it is no failure of the list. On a full disk write-file-atomic 7.0.1 can put a cut file in
 * place and report success (seen on tmpfs), which is why it serves what is judged on reading, and nothing else.
 */
export async function writeIndex(path: string, summary: Summary, entries: readonly IndexEntry[]): Promise<void> {
  const { default: writeFileAtomic } = await import("write-file-atomic");
  const text = JSON.stringify({ v: VERSION, summary: summary.name, entries });
  await writeFileAtomic(path, text, { mode: 0o600, fsync: false }).catch(() => undefined);
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

function isScalar(value: unknown): value is Scalar {
  return value === null || ["string", "number", "boolean"].includes(typeof value);
}
