/**
 * The event log of one task, for the one process that owns the task (it holds the task's lock). Append-only JSON lines
 * with a gapless seq and a hash chain.
 *
 * Two strengths: `append` returns when the records are *written* (in the kernel: they survive our death); `sync`
 * resolves when they are *synced* (they survive power loss). Nothing here throws for what a disk does. A disk that
 * refuses a write costs nothing that was claimed: the batch is taken back whole, and records marked `keep` wait in
 * memory and are written in order when there is space again.
 */
import { closeSync, constants, openSync } from "node:fs";
import { type Failure, failure, type Result } from "../core/result.ts";
import type { Ownership } from "../platform/account.ts";
import { type Cancel, type Clock, systemClock } from "../platform/clock.ts";
import { fileFailure } from "../platform/errno.ts";
import { judgeDescriptor } from "../platform/no-follow.ts";
import { type EventInput, encodeLine, MOST_LINE_BYTES, type StoredEvent, sha256 } from "./event-line.ts";
import { type GroupCommit, groupCommit } from "./group-commit.ts";
import { type LogFs, nodeLogFs } from "./log-fs.ts";
import { damaged, readTail } from "./log-tail.ts";
import { setTailAside, type TornTail } from "./torn-tail.ts";

export type LogState =
  | { mode: "open" }
  /** The disk refuses; `pending` kept records wait in memory, and are tried again every second. */
  | { mode: "waiting"; pending: number; fault: Failure }
  /** Nothing can be appended any more by this process. */
  | { mode: "read-only"; fault: Failure }
  | { mode: "closed" };

export type AppendOutcome =
  | { ok: true; events: StoredEvent[] }
  /** `kept`: these wait in memory with their final seq; the others of the call are dropped. */
  | (Failure & { kept: StoredEvent[] });

export interface AppendOptions {
  /** Keep the records in memory when the disk refuses them (lifecycle: stops, exits, verdicts of the verifier). */
  keep?: boolean;
}

export interface EventLogOptions {
  taskId: string;
  clock?: Clock;
  fs?: LogFs;
  ownership?: Ownership;
  /** Path in messages, when the folder is still to be renamed. Default: the path. */
  knownAs?: string;
  /** Told after every change of `state`. */
  onChange?: (state: LogState) => void;
  /**
   * A record known to be in the log, from `task.json` (`seq`) or elsewhere: a log that ends before it has lost whole
   * records and counts as damaged. `hash` is that line's SHA-256 and is compared when it is the last one.
   */
  anchor?: { seq: number; hash?: string };
}

export interface OpenedLog {
  log: EventLog;
  /** A torn end was set aside: append `log.recovered` before anything else. */
  recovered?: TornTail;
}

/** Longest time between a lazily synced record and its `fdatasync`, ms. */
const LAZY_SYNC_MS = 50;
const RETRY_MS = 1_000;
/** Bounds of what waits in memory while the disk refuses. */
const MOST_KEPT = 1_000;
const MOST_KEPT_BYTES = 4 * 1024 * 1024;

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
export function openEventLog(path: string, options: EventLogOptions): Result<OpenedLog> {
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

function openDescriptor(fs: LogFs, fd: number, path: string, options: EventLogOptions): Result<OpenedLog> {
  const judged = judgeDescriptor(fd, path, options.ownership ? { ownership: options.ownership } : {});
  if (!judged.ok) return judged;
  try {
    const read = readTail(fs, fd, fs.stat(fd).size, options.taskId);
    if (!read.ok) return read;
    const { tail } = read;
    const lastSeq = tail.last?.seq ?? 0;
    const { anchor } = options;
    if (anchor !== undefined && lastSeq < anchor.seq) {
      return damaged(`it ends at record ${lastSeq}, but record ${anchor.seq} was written`, tail.end);
    }
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
    return { ok: true, log, ...(recovered ? { recovered } : {}) };
  } catch (error) {
    return fileFailure("read the end of", path, error);
  }
}

interface Line {
  event: StoredEvent;
  text: string;
}

/** Use `openEventLog`. */
export class EventLog {
  readonly path: string;
  readonly #fs: LogFs;
  readonly #fd: number;
  readonly #taskId: string;
  readonly #clock: Clock;
  readonly #onChange: (state: LogState) => void;
  readonly #commit: GroupCommit;
  /** Last record in the kernel, and where it ends. */
  #seq: number;
  #size: number;
  /** Hash of the last line, kept ones included: the next line's `prev`. */
  #hash: string;
  #kept: Line[] = [];
  #keptBytes = 0;
  #state: LogState = { mode: "open" };
  #cancelLazySync: Cancel | undefined;
  #cancelRetry: Cancel | undefined;

  constructor(
    fs: LogFs,
    fd: number,
    path: string,
    options: EventLogOptions,
    end: { seq: number; hash: string; size: number },
  ) {
    this.#fs = fs;
    this.#fd = fd;
    this.path = options.knownAs ?? path;
    this.#taskId = options.taskId;
    this.#clock = options.clock ?? systemClock;
    this.#onChange = options.onChange ?? (() => undefined);
    this.#seq = end.seq;
    this.#hash = end.hash;
    this.#size = end.size;
    this.#commit = groupCommit({
      written: () => this.#size,
      datasync: () => fs.datasync(fd),
      failed: (error) => this.#syncFailed(error),
    });
  }

  /** Seq of the last record that is in the file; 0 = none. */
  get seq(): number {
    return this.#seq;
  }

  /** SHA-256 of the last line in the file or kept: with `seq` an anchor that `task.json` can carry. */
  get hash(): string {
    return this.#hash;
  }

  /** Size of the log, bytes. */
  get size(): number {
    return this.#size;
  }

  get state(): LogState {
    return this.#state;
  }

  /**
   * Writes records into the kernel, all of the call or none, in one system call; never throws. Reasons: `disk-full`,
   * `io-error`, …, `record-invalid`, `record-too-large`, `log-foreign-write`, `log-closed`, or why it is read-only.
   */
  append(inputs: readonly EventInput[], options: AppendOptions = {}): AppendOutcome {
    const refusal = this.#refusal();
    if (refusal !== undefined) return { ...refusal, kept: [] };
    const flushed = this.#flushKept();
    const encoded = this.#encode(inputs);
    if (!encoded.ok) return { ...encoded, kept: [] };
    const { lines } = encoded;
    const events = lines.map((line) => line.event);
    const written = flushed.ok ? this.#write(lines) : flushed;
    if (written.ok) {
      this.#hash = encoded.hash;
      return { ok: true, events };
    }
    if (this.#state.mode === "read-only" || options.keep !== true || !this.#keep(lines)) {
      return { ...written, kept: [] };
    }
    this.#hash = encoded.hash;
    this.#wait(written);
    return { ...written, kept: events };
  }

  /** `append`, and the records are synced with the next group, at most 50 ms later. */
  appendSoon(inputs: readonly EventInput[], options: AppendOptions = {}): AppendOutcome {
    const outcome = this.append(inputs, options);
    if (outcome.ok) {
      this.#cancelLazySync ??= this.#clock.setTimer(LAZY_SYNC_MS, () => {
        void this.sync();
      });
    }
    return outcome;
  }

  /**
   * Resolves when every record appended before this call is on the disk; callers share one `fdatasync`. A failed
   * `fdatasync` makes the log read-only: the kernel may have dropped the pages, so that trying again would lie.
   */
  async sync(): Promise<Result> {
    this.#cancelLazySync?.();
    this.#cancelLazySync = undefined;
    const refusal = this.#refusal();
    if (refusal !== undefined) return refusal;
    const flushed = this.#flushKept();
    return flushed.ok ? this.#commit.sync() : flushed;
  }

  /** Tries to write what waits in memory; also done by itself every second and before each append. */
  retry(): Result {
    return this.#refusal() ?? this.#flushKept();
  }

  /** Syncs and closes. What still waits in memory is lost, and then the result says so. */
  async close(): Promise<Result> {
    if (this.#state.mode === "closed") return { ok: true };
    const synced = await this.sync();
    this.closeNow();
    await this.#commit.idle();
    return synced;
  }

  /** Closes without syncing: for the last tick of a process. Written records survive. */
  closeNow(): void {
    if (this.#state.mode === "closed") return;
    this.#cancelLazySync?.();
    this.#cancelRetry?.();
    this.#change({ mode: "closed" });
    // A descriptor closed under a running fdatasync could be somebody else's by then.
    void this.#commit.idle().then(() => this.#fs.close(this.#fd));
  }

  #refusal(): Failure | undefined {
    if (this.#state.mode === "read-only") return this.#state.fault;
    if (this.#state.mode === "closed")
      return failure("log-closed", `${this.path} is closed. This is a bug; please report it.`);
    return undefined;
  }

  #encode(inputs: readonly EventInput[]): Result<{ lines: Line[]; hash: string }> {
    const at = this.#clock.now().toISOString();
    const mono = Math.round(this.#clock.mono() * 1000) / 1000;
    let seq = this.#seq + this.#kept.length;
    let hash = this.#hash;
    const lines: Line[] = [];
    for (const input of inputs) {
      seq += 1;
      const event: StoredEvent = {
        v: 1,
        seq,
        taskId: this.#taskId,
        workerId: input.workerId ?? null,
        at,
        mono,
        type: input.type,
        data: input.data,
        ...(input.idempotencyKey === undefined ? {} : { idempotencyKey: input.idempotencyKey }),
        ...(input.artifact === undefined ? {} : { artifact: input.artifact }),
        prev: hash,
      };
      let text: string;
      try {
        text = encodeLine(event);
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

  #write(lines: readonly Line[]): Result {
    if (lines.length === 0) return { ok: true };
    const bytes = Buffer.from(`${lines.map((line) => line.text).join("\n")}\n`, "utf8");
    let done = 0;
    try {
      const { size, nlink } = this.#fs.stat(this.#fd);
      if (size !== this.#size || nlink === 0) return this.#foreign(size, nlink);
      while (done < bytes.length) {
        const count = this.#fs.write(this.#fd, bytes, done, bytes.length - done);
        if (count === 0) throw Object.assign(new Error("a write took nothing"), { code: "EIO" });
        done += count;
      }
    } catch (error) {
      const fault = fileFailure("append to", this.path, error);
      return done > 0 ? this.#takeBack(fault) : fault;
    }
    this.#size += bytes.length;
    this.#seq += lines.length;
    return { ok: true };
  }

  /** Part of a batch got in: cut it off again, so that the log ends with a whole record. */
  #takeBack(fault: Failure): Failure {
    try {
      this.#fs.truncate(this.#fd, this.#size);
      return fault;
    } catch (error) {
      const detail = fileFailure("take back a partial record of", this.path, error).message;
      return this.#endWith(failure("log-torn", `${fault.message} ${detail} The next start sets it aside.`));
    }
  }

  #foreign(size: number, nlink: number): Failure {
    const what = nlink === 0 ? "was removed" : `was changed by someone else (${size} bytes instead of ${this.#size})`;
    return this.#endWith(
      failure(
        "log-foreign-write",
        `${this.path} ${what} while this process owned it. Nothing more is written; check the task with log --verify.`,
      ),
    );
  }

  #keep(lines: readonly Line[]): boolean {
    const bytes = lines.reduce((sum, line) => sum + line.text.length, 0);
    if (this.#kept.length + lines.length > MOST_KEPT || this.#keptBytes + bytes > MOST_KEPT_BYTES) return false;
    this.#kept.push(...lines);
    this.#keptBytes += bytes;
    return true;
  }

  #flushKept(): Result {
    if (this.#kept.length === 0) return { ok: true };
    const written = this.#write(this.#kept);
    if (!written.ok) {
      if (this.#state.mode !== "read-only") this.#wait(written);
      return written;
    }
    this.#kept = [];
    this.#keptBytes = 0;
    this.#cancelRetry?.();
    this.#cancelRetry = undefined;
    this.#change({ mode: "open" });
    return { ok: true };
  }

  #wait(fault: Failure): void {
    this.#cancelRetry?.();
    this.#cancelRetry = this.#clock.setTimer(RETRY_MS, () => void this.retry(), { background: true });
    this.#change({ mode: "waiting", pending: this.#kept.length, fault });
  }

  #syncFailed(error: unknown): Failure {
    const detail = fileFailure("sync", this.path, error).message;
    return this.#endWith(
      failure("log-sync-failed", `${detail} What was written since the last sync may be lost by a power cut.`),
    );
  }

  #endWith(fault: Failure): Failure {
    this.#cancelRetry?.();
    this.#cancelLazySync?.();
    this.#change({ mode: "read-only", fault });
    return fault;
  }

  #change(state: LogState): void {
    if (this.#state.mode === "closed") return;
    this.#state = state;
    this.#onChange(state);
  }
}
