/**
 * `task.json`: the snapshot that lists and `status` read without the log. Always younger files win whole: it is
 * replaced by rename, and the log stands above it.
 */
import { failure, type Result } from "../core/result.ts";
import type { Ownership } from "../platform/account.ts";
import { type Durability, type DurableFs, durableWrite, durableWriteAsync } from "../platform/durable-write.ts";
import { readNoFollow } from "../platform/no-follow.ts";

/** What every record has; the supervisor adds the rest. */
export interface TaskHead {
  v: 1;
  taskId: string;
  state: string;
  /** The last event that the record reflects. */
  seq: number;
}

/** A record as it was read: everything beside the head is still to be judged by its reader. */
export type TaskRecord = TaskHead & { readonly [key: string]: unknown };

/** Largest `task.json` that is read or written, bytes. */
export const MOST_RECORD_BYTES = 1024 * 1024;

/**
 * Replaces the record and fsyncs it (about 0.4 ms, blocking). Write it after the log up to `seq` is synced, so that
 * power loss never leaves a record ahead of its log. Reasons: `record-invalid`, `record-too-large`, or a disk fault.
 */
export function writeTaskRecord(
  path: string,
  record: TaskHead,
  options: { fs?: DurableFs } = {},
): Result<{ durability: Durability }> {
  const encoded = encodeTaskRecord(record);
  return encoded.ok ? durableWrite(path, encoded.text, options) : encoded;
}

/** `writeTaskRecord` off the main thread: the record is taken as it is now. One at a time for one task. */
export async function writeTaskRecordAsync(
  path: string,
  record: TaskHead,
): Promise<Result<{ durability: Durability }>> {
  const encoded = encodeTaskRecord(record);
  return encoded.ok ? durableWriteAsync(path, encoded.text) : encoded;
}

function encodeTaskRecord(record: TaskHead): Result<{ text: string }> {
  let text: string;
  try {
    text = `${JSON.stringify(record)}\n`;
  } catch (error) {
    return failure(
      "record-invalid",
      `The task record is not JSON (${String(error)}). This is a bug; please report it.`,
    );
  }
  if (Buffer.byteLength(text) <= MOST_RECORD_BYTES) return { ok: true, text };
  return failure(
    "record-too-large",
    `The task record would pass ${MOST_RECORD_BYTES} bytes. Keep large text in artifacts.`,
  );
}

/**
 * Reads a record strictly. Whatever is wrong is `{ ok: false }` with a reason to list beside the id: `missing`,
 * `record-malformed`, `wrong-owner`, `wrong-mode`, `symlink`, `too-large`, … It never throws.
 */
export function readTaskRecord(
  path: string,
  taskId: string,
  options: { ownership?: Ownership } = {},
): Result<{ record: TaskRecord }> {
  const read = readNoFollow(path, {
    maxBytes: MOST_RECORD_BYTES,
    ...(options.ownership ? { ownership: options.ownership } : {}),
  });
  if (!read.ok) return read;
  const record = parseTaskRecord(read.bytes, taskId);
  if (typeof record !== "string") return { ok: true, record };
  return failure(
    "record-malformed",
    `${path} is not a task record: ${record}. Its log is untouched; replay the task, or discard it.`,
  );
}

/** The record, or what is wrong with it. */
function parseTaskRecord(bytes: Buffer, taskId: string): TaskRecord | string {
  if (bytes.length === 0) return "the file is empty";
  let value: unknown;
  try {
    value = JSON.parse(bytes.toString("utf8"));
  } catch {
    return "it is not JSON";
  }
  if (!isObject(value)) return "it is not an object";
  const { v, state, seq } = value;
  if (v !== 1) return typeof v === "number" ? `it has version ${v}, this program knows 1` : "it has no version";
  if (value.taskId !== taskId) return "it names another task";
  if (typeof state !== "string" || state === "") return "it has no state";
  if (typeof seq !== "number" || !Number.isSafeInteger(seq) || seq < 0) return "its seq is not a number";
  return { ...value, v, taskId, state, seq };
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
