/**
 * Reading an event log without owning it: streaming, bounded memory, never changing a byte. A torn end is not an error
 * here: the owner may be in the middle of a write.
 */
import { constants } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import type { Failure, Result } from "../core/result.ts";
import { type Clock, systemClock } from "../platform/clock.ts";
import { fileFailure } from "../platform/errno.ts";
import { chainFrom, checkedBatches } from "./checked-lines.ts";
import type { StoredEvent } from "./event-line.ts";
import { nodeLogFs } from "./log-fs.ts";
import { offsetOfSeq } from "./log-seek.ts";
import { damaged, type LogTail, readTail } from "./log-tail.ts";

export type ReadItem = { ok: true; event: StoredEvent } | Failure;

export interface ReadRange {
  /** First seq wanted. Default 1. */
  from?: number;
  /** Last seq wanted. Default: the end. */
  to?: number;
  /**
   * Check the chain from the first record on (default), or jump to `from` and check from there: for people who look at
   * the end of a large log.
   */
  check?: "all" | "from";
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

/** The end of a log: its last record and what is torn. Reasons: `log-damaged`, or a disk fault. */
export function tailOfLog(path: string, taskId: string): Result<{ tail: LogTail }> {
  let fd: number | undefined;
  try {
    fd = nodeLogFs.open(path, "read");
    return readTail(nodeLogFs, fd, nodeLogFs.stat(fd).size, taskId);
  } catch (error) {
    return fileFailure("read", path, error);
  } finally {
    if (fd !== undefined) nodeLogFs.close(fd);
  }
}

/** The records of a log in order. Damage ends the iteration with one failure item (`log-damaged`, or a disk fault). */
export async function* readEvents(path: string, taskId: string, range: ReadRange = {}): AsyncGenerator<ReadItem, void> {
  const to = range.to ?? Number.MAX_SAFE_INTEGER;
  for await (const item of withLog(path, (handle) => eventsOf(handle, path, taskId, range))) {
    if (item.ok && item.event.seq > to) return;
    yield item;
    if (item.ok && item.event.seq === to) return;
  }
}

export interface FollowOptions extends ReadRange {
  signal: AbortSignal;
  clock?: Clock;
  /** How often the file is looked at, ms. Default 100. */
  everyMs?: number;
}

/** Like `readEvents`, and then goes on with what is appended, until `signal`, damage, or the removal of the log. */
export async function* followEvents(
  path: string,
  taskId: string,
  options: FollowOptions,
): AsyncGenerator<ReadItem, void> {
  const { signal, clock = systemClock, everyMs = 100 } = options;
  const wait = (handle: FileHandle) => async (): Promise<boolean> => {
    if (signal.aborted || (await handle.stat()).nlink === 0) return false;
    await pause(clock, everyMs, signal);
    return !signal.aborted;
  };
  yield* withLog(path, (handle) => eventsOf(handle, path, taskId, options, wait(handle)));
}

/** Checks every line: JSON, task, gapless seq, hash chain. Reason `log-damaged` names the record and the byte. */
export async function verifyLog(
  path: string,
  taskId: string,
  options: { anchor?: { seq: number; hash?: string } } = {},
): Promise<Result<VerifiedLog>> {
  const { anchor } = options;
  const chain = chainFrom(taskId, 0, anchor);
  let torn = 0;
  const check = async function* (handle: FileHandle): AsyncGenerator<Failure, void> {
    for await (const batch of checkedBatches(handle, chain, { forget: true })) if (!batch.ok) return yield batch;
    torn = Math.max(0, (await handle.stat()).size - chain.end());
  };
  for await (const fault of withLog(path, check)) return fault;
  if (anchor !== undefined && chain.seq() < anchor.seq) {
    return damaged(`it ends at record ${chain.seq()}, but record ${anchor.seq} was written`, chain.end());
  }
  return { ok: true, records: chain.seq(), bytes: chain.end(), hash: chain.hash(), torn };
}

async function* withLog<T>(
  path: string,
  body: (handle: FileHandle) => AsyncGenerator<T, void>,
): AsyncGenerator<T | Failure, void> {
  let handle: FileHandle | undefined;
  try {
    handle = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    yield* body(handle);
  } catch (error) {
    yield fileFailure("read", path, error);
  } finally {
    await handle?.close();
  }
}

async function* eventsOf(
  handle: FileHandle,
  path: string,
  taskId: string,
  range: ReadRange,
  again?: () => Promise<boolean>,
): AsyncGenerator<ReadItem, void> {
  const from = range.from ?? 1;
  const start = range.check === "from" && from > 1 ? startOf(path, taskId, from) : { ok: true as const, offset: 0 };
  if (!start.ok) return yield start;
  const chain = chainFrom(taskId, start.offset);
  for await (const batch of checkedBatches(handle, chain, again === undefined ? {} : { again })) {
    if (!batch.ok) return yield batch;
    for (const event of batch.events) if (event.seq >= from) yield { ok: true, event };
  }
}

function startOf(path: string, taskId: string, from: number): Result<{ offset: number }> {
  let fd: number | undefined;
  try {
    fd = nodeLogFs.open(path, "read");
    const read = readTail(nodeLogFs, fd, nodeLogFs.stat(fd).size, taskId);
    return read.ok ? offsetOfSeq(nodeLogFs, fd, read.tail.end, from) : read;
  } catch (error) {
    return fileFailure("read", path, error);
  } finally {
    if (fd !== undefined) nodeLogFs.close(fd);
  }
}

function pause(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((done) => {
    const finish = (): void => {
      cancel();
      signal.removeEventListener("abort", finish);
      done();
    };
    const cancel = clock.setTimer(ms, finish);
    signal.addEventListener("abort", finish, { once: true });
  });
}
