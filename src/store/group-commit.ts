/**
 * Group commit: callers that need durability join one `fdatasync` instead of queueing behind one each. A call that
 * comes while a flush runs joins the next one, because that flush may have started before the caller's bytes.
 */
import type { Failure, Result } from "../core/result.ts";

export interface GroupCommitPort {
  /** How much is written now: a number that only grows. */
  written(): number;
  datasync(): Promise<void>;
  /** Turns an error of `datasync` into the failure that every caller gets. */
  failed(error: unknown): Failure;
}

export interface GroupCommit {
  /** Resolves when everything written before this call is on the disk. */
  sync(): Promise<Result>;
  /** The last `written()` that is known to be on the disk. */
  synced(): number;
  /** Resolves when no flush runs; the descriptor must stay open until then. */
  idle(): Promise<void>;
}

export function groupCommit(port: GroupCommitPort, alreadySynced = 0): GroupCommit {
  let synced = alreadySynced;
  let running: Promise<Result> | undefined;
  /** What the running flush covers; `undefined` while it still waits for the end of this tick. */
  let covers: number | undefined;
  let next: Promise<Result> | undefined;

  const flush = async (): Promise<Result> => {
    // One microtask later, so that callers of the same tick share the flush.
    await Promise.resolve();
    const upTo = port.written();
    covers = upTo;
    try {
      await port.datasync();
      synced = Math.max(synced, upTo);
      return { ok: true };
    } catch (error) {
      return port.failed(error);
    }
  };
  const start = (): Promise<Result> => {
    covers = undefined;
    const flushed = flush().finally(() => {
      if (running === flushed) running = undefined;
    });
    running = flushed;
    return flushed;
  };

  return {
    sync() {
      if (synced >= port.written()) return Promise.resolve({ ok: true });
      if (running === undefined) return start();
      if (covers === undefined || covers >= port.written()) return running;
      next ??= running.then(() => {
        next = undefined;
        return start();
      });
      return next;
    },
    synced: () => synced,
    async idle() {
      while (running !== undefined || next !== undefined) await (next ?? running);
    },
  };
}
