/**
 * What the end of an event log says: the last record, where whole lines end, and what was torn off. Reads the tail
 * only, so that its time does not grow with the log. Memory: at most two longest lines.
 */
import { type Failure, failure, type Result } from "../core/result.ts";
import { decodeLine, FIRST_PREV, type LinePlace, MOST_LINE_BYTES, type StoredEvent, sha256 } from "./event-line.ts";
import type { LogFs } from "./log-fs.ts";

export interface LogTail {
  /** Absent in an empty log. */
  last?: StoredEvent;
  /** SHA-256 of the last line: `prev` of the next record. */
  hash: string;
  /** Where whole lines end, bytes. */
  end: number;
  /** What stands behind it: a record that was cut off while it was written. */
  torn: Buffer;
}

const CHUNK = 64 * 1024;
const LF = 10;

/** Reasons: `log-damaged` when the last whole lines are no records of this task; disk faults are thrown. */
export function readTail(fs: LogFs, fd: number, size: number, taskId: string): Result<{ tail: LogTail }> {
  const window = new TailWindow(fs, fd, size);
  const endFeed = window.feedBefore(size);
  if (endFeed === undefined) return damaged("there is no line end within the largest line", size);
  const end = endFeed + 1;
  const torn = Buffer.from(window.slice(end, size));
  if (end === 0) return { ok: true, tail: { hash: FIRST_PREV, end: 0, torn } };

  const lastFeed = window.feedBefore(endFeed);
  if (lastFeed === undefined) return damaged("its last line is longer than the largest line", end);
  const line = window.slice(lastFeed + 1, endFeed);
  let place: LinePlace = { taskId, seq: 1, prev: FIRST_PREV };
  if (lastFeed >= 0) {
    const beforeFeed = window.feedBefore(lastFeed);
    if (beforeFeed === undefined) return damaged("the line before its last is longer than the largest line", end);
    const bytes = window.slice(beforeFeed + 1, lastFeed);
    const before = decodeLine(bytes, { taskId });
    if (typeof before === "string") return damaged(`in the line before its last: ${before}`, beforeFeed + 1);
    place = { taskId, seq: before.seq + 1, prev: sha256(bytes) };
  }
  const last = decodeLine(line, place);
  if (typeof last === "string") return damaged(`in its last line: ${last}`, lastFeed + 1);
  return { ok: true, tail: { last, hash: sha256(line), end, torn } };
}

export function damaged(what: string, offset: number): Failure {
  return failure(
    "log-damaged",
    `The event log is damaged (${what}; byte ${offset}). Nothing was changed; look at it with log --verify and restore it, or discard the task.`,
  );
}

/** The end of a file, grown backwards chunk by chunk. */
class TailWindow {
  readonly #fs: LogFs;
  readonly #fd: number;
  #bytes: Buffer = Buffer.alloc(0);
  #start: number;

  constructor(fs: LogFs, fd: number, size: number) {
    this.#fs = fs;
    this.#fd = fd;
    this.#start = size;
  }

  /** Offset of the last line feed before `offset`; -1 = there is none; `undefined` = none within the longest line. */
  feedBefore(offset: number): number | undefined {
    let searched = offset;
    for (;;) {
      const found = searched > this.#start ? this.#bytes.lastIndexOf(LF, searched - 1 - this.#start) : -1;
      if (found >= 0) return this.#start + found;
      if (this.#start === 0) return -1;
      if (offset - this.#start > MOST_LINE_BYTES) return undefined;
      searched = Math.min(searched, this.#start);
      this.#grow();
    }
  }

  slice(from: number, to: number): Buffer {
    return this.#bytes.subarray(from - this.#start, to - this.#start);
  }

  #grow(): void {
    // Doubling keeps the copying linear.
    const count = Math.min(this.#start, Math.max(CHUNK, this.#bytes.length));
    const position = this.#start - count;
    const grown = Buffer.allocUnsafe(count + this.#bytes.length);
    let done = 0;
    while (done < count) {
      const read = this.#fs.read(this.#fd, grown, done, count - done, position + done);
      if (read === 0) throw new Error("The event log shrank while its end was read.");
      done += read;
    }
    this.#bytes.copy(grown, count);
    this.#bytes = grown;
    this.#start = position;
  }
}
