/**
 * A small file that is looked at again and again: one `lstat`, and a guarded read only when it changed. The file is
 * never trusted further than its judgement on the open descriptor goes.
 */
import { lstatSync } from "node:fs";
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
  #key: string | undefined;
  #kept: Reading<T> = { state: "absent" };

  constructor(path: string, ownership: Ownership, parse: (bytes: Uint8Array) => Result<{ value: T }>) {
    this.path = path;
    this.#ownership = ownership;
    this.#parse = parse;
  }

  /** Never throws; about 2 microseconds when nothing changed. */
  read(): Reading<T> {
    let key: string;
    let changedMs: number;
    try {
      const stats = lstatSync(this.path, { throwIfNoEntry: false });
      if (stats === undefined) return { state: "absent" };
      key = `${stats.dev} ${stats.ino} ${stats.size} ${stats.mtimeMs} ${stats.ctimeMs} ${stats.mode} ${stats.uid} ${stats.nlink}`;
      changedMs = stats.ctimeMs;
    } catch (error) {
      return { state: "unclear", fault: fileFailure("look at", this.path, error) };
    }
    if (key === this.#key) return this.#kept;
    const reading = readGuarded(this.path, this.#ownership, this.#parse);
    const isSettled = Math.abs(Date.now() - changedMs) > SETTLED_MS;
    this.#key = isSettled && reading.state === "read" ? key : undefined;
    this.#kept = reading;
    return reading;
  }
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
