/**
 * A record that was cut off while it was written is moved, byte for byte, to `events.jsonl.torn-<n>`: first the copy
 * is durable, then the log is cut. Whole records are never touched.
 */
import { existsSync } from "node:fs";
import { failure, type Result } from "../core/result.ts";
import { durableWrite } from "../platform/durable-write.ts";
import { fileFailure } from "../platform/errno.ts";
import { readNoFollow } from "../platform/no-follow.ts";
import { MOST_LINE_BYTES } from "./event-line.ts";
import type { LogFs } from "./log-fs.ts";

export interface TornTail {
  /** The file that holds the bytes now. */
  file: string;
  bytes: number;
}

const MOST_TORN_FILES = 10_000;

export function setTailAside(
  fs: LogFs,
  fd: number,
  logPath: string,
  tail: { end: number; torn: Buffer },
): Result<{ torn: TornTail }> {
  const place = placeFor(logPath, tail.torn);
  if (!place.ok) return place;
  if (!place.present) {
    const written = durableWrite(place.file, tail.torn);
    if (!written.ok) return written;
  }
  try {
    fs.truncate(fd, tail.end);
  } catch (error) {
    return fileFailure("cut the torn end of", logPath, error);
  }
  return { ok: true, torn: { file: place.file, bytes: tail.torn.length } };
}

/** The first free name; or the last one taken, when a crash came between copying these bytes and cutting them. */
function placeFor(logPath: string, torn: Buffer): Result<{ file: string; present: boolean }> {
  for (let n = 1; n <= MOST_TORN_FILES; n += 1) {
    const file = `${logPath}.torn-${n}`;
    if (existsSync(file)) continue;
    const before = `${logPath}.torn-${n - 1}`;
    const last = n > 1 ? readNoFollow(before, { maxBytes: MOST_LINE_BYTES * 2 }) : undefined;
    if (last?.ok && last.bytes.equals(torn)) return { ok: true, file: before, present: true };
    return { ok: true, file, present: false };
  }
  return failure(
    "too-many-torn",
    `${logPath} was torn ${MOST_TORN_FILES} times. Check the disk, then move the torn-* files away.`,
  );
}
