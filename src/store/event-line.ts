/** One line of `events.jsonl`: how a record is spelled, and what a line must be to count as a record. */
import { isUtf8 } from "node:buffer";
import * as crypto from "node:crypto";
import { failure, type Result } from "../core/result.ts";

/** What a caller hands in; the log fills the rest. `data` must be plain JSON, already redacted. */
export interface EventInput {
  type: string;
  data: object;
  workerId?: string;
  idempotencyKey?: string;
  /** Name of an artifact of this task. */
  artifact?: string;
}

export interface StoredEvent {
  v: 1;
  /** Gapless from 1. */
  seq: number;
  taskId: string;
  workerId: string | null;
  /** ISO UTC. */
  at: string;
  /** Milliseconds since the writing process started, to a microsecond. */
  mono: number;
  type: string;
  data: object;
  idempotencyKey?: string;
  artifact?: string;
  /** Lower-case hex SHA-256 of the previous line's bytes without its line feed. */
  prev: string;
}

/** `prev` of the first record. */
export const FIRST_PREV = "0".repeat(64);

/** Longest line, bytes. Larger payloads belong into artifacts; the bound is what lets an open read the tail alone. */
export const MOST_LINE_BYTES = 4 * 1024 * 1024;

/** Hex SHA-256; the one-shot call of Node 20.12+ is twice as fast on short lines. */
export const sha256: (bytes: Uint8Array | string) => string =
  typeof crypto.hash === "function"
    ? (bytes) => crypto.hash("sha256", bytes, "hex")
    : (bytes) => crypto.createHash("sha256").update(bytes).digest("hex");

/** A record and its line without the line feed. */
export interface Line {
  event: StoredEvent;
  text: string;
}

export interface EncodePlace {
  taskId: string;
  at: string;
  mono: number;
  /** Seq and hash of the line before. */
  seq: number;
  prev: string;
}

/** Lines that follow each other from `place` on. Reasons: `record-invalid` (a cycle, a BigInt), `record-too-large`. */
export function encodeLines(
  inputs: readonly EventInput[],
  place: EncodePlace,
): Result<{ lines: Line[]; hash: string }> {
  let hash = place.prev;
  const lines: Line[] = [];
  for (const input of inputs) {
    const event = {
      v: 1,
      seq: place.seq + lines.length + 1,
      taskId: place.taskId,
      workerId: input.workerId ?? null,
      at: place.at,
      mono: place.mono,
      type: input.type,
      data: input.data,
    } as StoredEvent;
    if (input.idempotencyKey !== undefined) event.idempotencyKey = input.idempotencyKey;
    if (input.artifact !== undefined) event.artifact = input.artifact;
    event.prev = hash;
    let text: string;
    try {
      text = JSON.stringify(event);
    } catch (error) {
      return failure(
        "record-invalid",
        `A ${input.type} record is not JSON (${String(error)}). This is a bug; please report it.`,
      );
    }
    // A UTF-16 unit is at most three bytes, so that most lines need no count.
    if (text.length * 3 > MOST_LINE_BYTES && Buffer.byteLength(text) > MOST_LINE_BYTES) {
      return failure(
        "record-too-large",
        `A ${input.type} record would pass ${MOST_LINE_BYTES} bytes. Put the payload into an artifact.`,
      );
    }
    hash = sha256(text);
    lines.push({ event, text });
  }
  return { ok: true, lines, hash };
}

export interface LinePlace {
  taskId: string;
  /** What this line's seq and prev must be; absent = not checked. */
  seq?: number;
  prev?: string;
}

/** The record of one line (without its line feed), or one clause on what is wrong with it. */
export function decodeLine(line: Buffer, place: LinePlace): StoredEvent | string {
  return isUtf8(line) ? decodeText(line.toString("utf8"), place) : "it is not UTF-8";
}

/** The same of a line that is text already. */
export function decodeText(text: string, place: LinePlace): StoredEvent | string {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return "it is not JSON";
  }
  if (!isObject(value)) return "it is not an object";
  if (value.v !== 1) return `its version is ${JSON.stringify(value.v)}, this program knows 1`;
  const { seq, type, data, prev, taskId } = value;
  if (typeof seq !== "number" || !Number.isSafeInteger(seq) || seq < 1) return "it has no seq";
  if (place.seq !== undefined && seq !== place.seq) return `its seq is ${seq} instead of ${place.seq}`;
  if (taskId !== place.taskId) return "it belongs to another task";
  if (typeof type !== "string" || typeof value.at !== "string") return "it has no type or time";
  if (!isObject(data)) return "its data is not an object";
  if (typeof prev !== "string") return "it has no link to the line before";
  if (place.prev !== undefined && prev !== place.prev) return "it does not follow from the line before (hash)";
  return value as unknown as StoredEvent;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
