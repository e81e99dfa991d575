/**
 * A small file that is looked at again and again: one `lstat`, and a guarded read only when it changed. The file is
 * never trusted further than its judgement on the open descriptor goes.
 */
import { lstatSync, type Stats } from "node:fs";
import type { Failure, Result } from "../core/result.ts";
import type { Ownership } from "../platform/account.ts";
import { fileFailure } from "../platform/errno.ts";
import { readNoFollow } from "../platform/no-follow.ts";
import { MOST_BYTES } from "./strict-json.ts";

export type Reading<T> = { state: "absent" } | { state: "read"; value: T } | { state: "unclear"; fault: Failure };

/** A file that changed so recently could change again without a new time stamp: its reading isn't kept. Milliseconds. */
const SETTLED_MS = 100;

export class CachedFile<T> {
  readonly path: string;
  readonly #parse: (bytes: Uint8Array) => Result<{ value: T }>;
  readonly #ownership: Ownership;
  /** What the file was when its reading was kept. */
  #seen: Stats | undefined;
  #kept: Reading<T> = { state: "absent" };

  constructor(path: string, ownership: Ownership, parse: (bytes: Uint8Array) => Result<{ value: T }>) {
    this.path = path;
    this.#ownership = ownership;
    this.#parse = parse;
  }

  /** Never throws; about 2 microseconds when nothing changed. */
  read(): Reading<T> {
    let stats: Stats | undefined;
    try {
      stats = lstatSync(this.path, { throwIfNoEntry: false });
    } catch (error) {
      return { state: "unclear", fault: fileFailure("look at", this.path, error) };
    }
    if (stats === undefined) return { state: "absent" };
    if (this.#seen !== undefined && isSame(stats, this.#seen)) return this.#kept;
    const reading = readGuarded(this.path, this.#ownership, this.#parse);
    const isSettled = Math.abs(Date.now() - stats.ctimeMs) > SETTLED_MS;
    this.#seen = isSettled && reading.state === "read" ? stats : undefined;
    this.#kept = reading;
    return reading;
  }
}

function isSame(a: Stats, b: Stats): boolean {
  return (
    a.ino === b.ino &&
    a.ctimeMs === b.ctimeMs &&
    a.mtimeMs === b.mtimeMs &&
    a.size === b.size &&
    a.dev === b.dev &&
    a.mode === b.mode &&
    a.uid === b.uid &&
    a.nlink === b.nlink
  );
}

/** One guarded read without memory. */
export function readGuarded<T>(
  path: string,
  ownership: Ownership,
  parse: (bytes: Uint8Array) => Result<{ value: T }>,
): Reading<T> {
  const read = readNoFollow(path, { maxBytes: MOST_BYTES, ownership });
  if (!read.ok) return read.reason === "missing" ? { state: "absent" } : { state: "unclear", fault: read };
  const parsed = parse(read.bytes);
  return parsed.ok ? { state: "read", value: parsed.value } : { state: "unclear", fault: parsed };
}
