/**
 * Where a record starts in a log, found by bisection: seq grows with the offset, so that `log --since` and a preview of
 * the last records of a large log cost a few reads. Memory: one chunk.
 */
import type { Result } from "../core/result.ts";
import type { LogFs } from "./log-fs.ts";
import { damaged } from "./log-tail.ts";

const LF = 10;
/** Our writer puts these two fields first. */
const HEAD = /^\{"v":\d+,"seq":(\d+),/;
const HEAD_BYTES = 64;
const CHUNK = 16 * 1024;

/**
 * Offset of the first line with a seq >= `seq`, or `end` (where whole lines end) when there is none. Reason
 * `log-damaged`; disk faults are thrown.
 */
export function offsetOfSeq(fs: LogFs, fd: number, end: number, seq: number): Result<{ offset: number }> {
  let result = end;
  let low = 0;
  let high = end;
  // Lines that start before `low` are too early; of those that start at `high` or later, `result` is the first.
  while (low < high) {
    const middle = low + Math.floor((high - low) / 2);
    const start = lineStart(fs, fd, middle, high);
    if (start === undefined) {
      high = middle;
      continue;
    }
    const found = seqAt(fs, fd, start);
    if (found === undefined) return damaged("a line does not begin like a record", start);
    if (found < seq) {
      low = start + 1;
    } else {
      result = start;
      high = middle;
    }
  }
  return { ok: true, offset: result };
}

/** The first line that starts in [from, limit). */
function lineStart(fs: LogFs, fd: number, from: number, limit: number): number | undefined {
  if (from === 0) return 0;
  const chunk = Buffer.allocUnsafe(CHUNK);
  for (let at = from - 1; at < limit - 1; at += CHUNK) {
    const count = fs.read(fd, chunk, 0, Math.min(CHUNK, limit - 1 - at), at);
    const feed = chunk.subarray(0, count).indexOf(LF);
    if (feed >= 0) return at + feed + 1;
  }
  return undefined;
}

function seqAt(fs: LogFs, fd: number, offset: number): number | undefined {
  const head = Buffer.alloc(HEAD_BYTES);
  fs.read(fd, head, 0, HEAD_BYTES, offset);
  const found = HEAD.exec(head.toString("latin1"));
  return found?.[1] === undefined ? undefined : Number(found[1]);
}
