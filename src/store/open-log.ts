/** Making and opening an event log: what its end says decides whether it may be appended to. */
import { closeSync, constants, openSync } from "node:fs";
import type { Result } from "../core/result.ts";
import type { Ownership } from "../platform/account.ts";
import { fileFailure } from "../platform/errno.ts";
import { judgeDescriptor } from "../platform/no-follow.ts";
import { EventLog, type LogOptions } from "./event-log.ts";
import { type LogFs, nodeLogFs } from "./log-fs.ts";
import { damaged, readTail } from "./log-tail.ts";
import { setTailAside, type TornTail } from "./torn-tail.ts";

export interface OpenLogOptions extends LogOptions {
  ownership?: Ownership;
  /**
   * A record known to have been synced, from `task.json` (`seq`) or elsewhere. A log that ends before it is opened all
   * the same and says how many records are `missing`; one that ends at it with another `hash` counts as damaged.
   */
  anchor?: { seq: number; hash?: string };
}

export interface OpenedLog {
  log: EventLog;
  /** A torn end was set aside: append `log.recovered` before anything else. */
  recovered?: TornTail;
  /**
   * So many whole records up to the anchor are gone: no crash of ours does that, a person should be told. They may have
   * been intents, so that nothing may be repeated because the log does not name it.
   */
  missing?: number;
}

/** Makes an empty log (0600). The folder is not synced here. Reason `exists` when there is one. */
export function createEventLog(path: string): Result {
  try {
    const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
    closeSync(openSync(path, flags, 0o600));
    return { ok: true };
  } catch (error) {
    return fileFailure("create", path, error);
  }
}

/**
 * Opens a log for appending; reads its end only. A torn end is set aside and reported. Reasons: `log-damaged` (not one
 * byte is changed), what makes the file unacceptable (`symlink`, `wrong-owner`, `wrong-mode`, …), or a disk fault.
 */
export function openEventLog(path: string, options: OpenLogOptions): Result<OpenedLog> {
  const fs = options.fs ?? nodeLogFs;
  let fd: number;
  try {
    fd = fs.open(path, "append");
  } catch (error) {
    return fileFailure("open", path, error);
  }
  const opened = openDescriptor(fs, fd, path, options);
  if (!opened.ok) fs.close(fd);
  return opened;
}

function openDescriptor(fs: LogFs, fd: number, path: string, options: OpenLogOptions): Result<OpenedLog> {
  const judged = judgeDescriptor(fd, path, options.ownership ? { ownership: options.ownership } : {});
  if (!judged.ok) return judged;
  try {
    const read = readTail(fs, fd, fs.stat(fd).size, options.taskId);
    if (!read.ok) return read;
    const { tail } = read;
    const lastSeq = tail.last?.seq ?? 0;
    const { anchor } = options;
    if (anchor?.hash !== undefined && lastSeq === anchor.seq && tail.hash !== anchor.hash) {
      return damaged(`its last record ${lastSeq} is not the one that was written`, tail.end);
    }
    let recovered: TornTail | undefined;
    if (tail.torn.length > 0) {
      const aside = setTailAside(fs, fd, path, tail);
      if (!aside.ok) return aside;
      recovered = aside.torn;
    }
    const log = new EventLog(fs, fd, path, options, { seq: lastSeq, hash: tail.hash, size: tail.end });
    const missing = Math.max(0, (anchor?.seq ?? 0) - lastSeq);
    return { ok: true, log, ...(recovered ? { recovered } : {}), ...(missing > 0 ? { missing } : {}) };
  } catch (error) {
    return fileFailure("read the end of", path, error);
  }
}
