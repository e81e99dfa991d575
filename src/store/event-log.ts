/**
 * The event log of one task, for the one process that owns the task (it holds the task's lock). Append-only JSON lines
 * with a gapless seq and a hash chain.
 *
 * Two strengths: `append` returns when the records are *written* (in the kernel: they survive our death); `sync`
 * resolves when they are *synced* (they survive power loss). Nothing here throws for what a disk does. A disk that
 * refuses a write costs nothing that was claimed: the batch is taken back whole, and records marked `keep` wait in
 * memory and are written in order when there is space again.
 */
import { type Failure, failure, type Result } from "../core/result.ts";
import { type Cancel, type Clock, systemClock } from "../platform/clock.ts";
import { fileFailure } from "../platform/errno.ts";
import { type EventInput, encodeLines, type Line, type StoredEvent } from "./event-line.ts";
import { type GroupCommit, groupCommit } from "./group-commit.ts";
import { type KeptLines, keptLines } from "./kept-lines.ts";
import type { LogFs } from "./log-fs.ts";

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

export interface LogOptions {
  taskId: string;
  clock?: Clock;
  fs?: LogFs;
  /** Path in messages, when the folder is still to be renamed. Default: the path. */
  knownAs?: string;
  /** Told after every change of `state`. */
  onChange?: (state: LogState) => void;
}

/** Longest time between a lazily synced record and its `fdatasync`, ms. */
const LAZY_SYNC_MS = 50;
const RETRY_MS = 1_000;

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
  readonly #kept: KeptLines = keptLines();
  #state: LogState = { mode: "open" };
  #cancelLazySync: Cancel | undefined;
  #cancelRetry: Cancel | undefined;

  constructor(
    fs: LogFs,
    fd: number,
    path: string,
    options: LogOptions,
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
    if (this.#state.mode === "read-only" || options.keep !== true || !this.#kept.add(lines)) {
      return { ...written, kept: [] };
    }
    this.#hash = encoded.hash;
    this.#wait(written);
    return { ...written, kept: events };
  }

  /** `append`, and the records are synced with the next group, at most 50 ms later. */
  appendSoon(inputs: readonly EventInput[], options: AppendOptions = {}): AppendOutcome {
    const outcome = this.append(inputs, options);
    if (outcome.ok) this.#syncSoon();
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
    return encodeLines(inputs, { taskId: this.#taskId, at, mono, seq: this.#seq + this.#kept.count, prev: this.#hash });
  }

  #write(lines: readonly Line[]): Result {
    const [only] = lines;
    if (only === undefined) return { ok: true };
    const text = lines.length === 1 ? only.text : lines.map((line) => line.text).join("\n");
    const bytes = Buffer.from(`${text}\n`, "utf8");
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

  #flushKept(): Result {
    if (this.#kept.count === 0) return { ok: true };
    const written = this.#kept.drain((piece) => this.#write(piece));
    if (!written.ok) {
      if (this.#state.mode !== "read-only") this.#wait(written);
      return written;
    }
    this.#cancelRetry?.();
    this.#cancelRetry = undefined;
    this.#change({ mode: "open" });
    this.#syncSoon();
    return written;
  }

  #syncSoon(): void {
    this.#cancelLazySync ??= this.#clock.setTimer(LAZY_SYNC_MS, () => {
      this.#cancelLazySync = undefined;
      void this.sync();
    });
  }

  /** The retry timer; each append tries as well. */
  #wait(fault: Failure): void {
    this.#cancelRetry?.();
    this.#cancelRetry = this.#clock.setTimer(RETRY_MS, () => void this.retry(), { background: true });
    this.#change({ mode: "waiting", pending: this.#kept.count, fault });
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
    const before = this.#state;
    if (before.mode === "closed") return;
    this.#state = state;
    const isNews = state.mode !== "waiting" || before.mode !== "waiting" || before.pending !== state.pending;
    if (isNews) this.#onChange(state);
  }
}
