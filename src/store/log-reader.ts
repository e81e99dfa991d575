/**
 * Reading an event log without owning it: streaming, one chunk in memory, never changing a byte. A torn end is not an
 * error here: the owner may be in the middle of a write.
 */

import { constants } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import type { Failure, Result } from "../core/result.ts";
import { fileFailure } from "../platform/errno.ts";
import { decodeLine, FIRST_PREV, MOST_LINE_BYTES, type StoredEvent, sha256 } from "./event-line.ts";
import { damaged } from "./log-tail.ts";

export type ReadItem = { ok: true; event: StoredEvent } | Failure;

export interface ReadRange {
  /** First seq wanted. Default 1. */
  from?: number;
  /** Last seq wanted. Default: the end. */
  to?: number;
}

export interface VerifiedLog {
  records: number;
  /** Bytes of whole lines. */
  bytes: number;
  /** SHA-256 of the last line; the `prev` of the next record. */
  hash: string;
  /** Bytes of a torn end, 0 = none. */
  torn: number;
}

/** Bytes read at a time. */
const CHUNK = 1024 * 1024;
const LF = 10;

/**
 * The records of a log in order. Damage ends the iteration with one failure item (`log-damaged`, or a disk fault);
 * seq and hash chain are checked from the first record on, also of those before `from`.
 */
export async function* readEvents(path: string, taskId: string, range: ReadRange = {}): AsyncGenerator<ReadItem, void> {
  const { from = 1, to = Number.MAX_SAFE_INTEGER } = range;
  const chain = chainReader(taskId);
  for await (const lines of readLines(path)) {
    if ("ok" in lines) {
      yield lines;
      return;
    }
    for (const line of lines.lines) {
      const item = chain.next(line);
      if (!item.ok) {
        yield item;
        return;
      }
      if (item.event.seq > to) return;
      if (item.event.seq >= from) yield item;
      if (item.event.seq === to) return;
    }
  }
}

/** Checks every line: JSON, task, gapless seq, hash chain. Reason `log-damaged` names the record and the byte. */
export async function verifyLog(
  path: string,
  taskId: string,
  options: { anchor?: { seq: number; hash?: string } } = {},
): Promise<Result<VerifiedLog>> {
  const chain = chainReader(taskId);
  const { anchor } = options;
  let torn = 0;
  for await (const lines of readLines(path)) {
    if ("ok" in lines) return lines;
    for (const line of lines.lines) {
      const item = chain.next(line);
      if (!item.ok) return item;
      if (item.event.seq === anchor?.seq && anchor.hash !== undefined && chain.hash() !== anchor.hash) {
        return damaged(`record ${anchor.seq} is not the one that was written`, chain.end());
      }
    }
    torn = lines.rest;
  }
  if (anchor !== undefined && chain.seq() < anchor.seq) {
    return damaged(`it ends at record ${chain.seq()}, but record ${anchor.seq} was written`, chain.end());
  }
  return { ok: true, records: chain.seq(), bytes: chain.end(), hash: chain.hash(), torn };
}

function chainReader(taskId: string) {
  let seq = 0;
  let hash = FIRST_PREV;
  let end = 0;
  return {
    next(line: Buffer): ReadItem {
      const event = decodeLine(line, { taskId, seq: seq + 1, prev: hash });
      if (typeof event === "string") return damaged(`in record ${seq + 1}: ${event}`, end);
      seq += 1;
      hash = sha256(line);
      end += line.length + 1;
      return { ok: true, event };
    },
    seq: () => seq,
    hash: () => hash,
    end: () => end,
  };
}

/** Whole lines, chunk by chunk; `rest` is how many bytes behind them have no line end yet. */
async function* readLines(path: string): AsyncGenerator<{ lines: Buffer[]; rest: number } | Failure, void> {
  let handle: FileHandle;
  try {
    handle = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (error) {
    yield fileFailure("read", path, error);
    return;
  }
  try {
    let buffer = Buffer.allocUnsafe(CHUNK);
    let held = 0;
    let position = 0;
    for (;;) {
      if (held === buffer.length) {
        if (held > MOST_LINE_BYTES) {
          yield damaged("a line is longer than the largest line", position - held);
          return;
        }
        buffer = Buffer.concat([buffer], buffer.length * 2);
      }
      const { bytesRead } = await handle.read(buffer, held, buffer.length - held, position);
      if (bytesRead === 0) return;
      position += bytesRead;
      const filled = held + bytesRead;
      const { lines, used } = splitLines(buffer, filled, held);
      held = filled - used;
      yield { lines, rest: held };
      buffer.copyWithin(0, used, filled);
    }
  } catch (error) {
    yield fileFailure("read", path, error);
  } finally {
    await handle.close();
  }
}

/** Views into `buffer`, valid until it is filled again; the first `searched` bytes are known to have no line feed. */
function splitLines(buffer: Buffer, filled: number, searched: number): { lines: Buffer[]; used: number } {
  const lines: Buffer[] = [];
  let used = 0;
  let at = searched;
  for (;;) {
    const feed = buffer.indexOf(LF, at);
    if (feed < 0 || feed >= filled) return { lines, used };
    lines.push(buffer.subarray(used, feed));
    used = feed + 1;
    at = used;
  }
}
