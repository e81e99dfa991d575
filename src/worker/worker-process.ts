/**
 * The life of one contained worker process, whatever it speaks: spawn, pipes, exit, and the one way to end it
 * (interrupt, end of input, TERM, grace, kill, proof). Both transports stand on it.
 */
import { setImmediate } from "node:timers/promises";
import type { ContainmentRecord, StopOptions, StopOutcome, WorkerStatus } from "../core/contracts/worker.ts";
import { type Failure, failure, type Result } from "../core/result.ts";
import type { SpawnContainedInput } from "../platform/containment/index.ts";
import type { ContainedProcess, LeaderExit, WorkerDeps } from "./deps.ts";
import { LineWriter } from "./line-writer.ts";
import { StderrTail } from "./stderr-tail.ts";
import { within } from "./within.ts";

/** How long an interrupt may take before a stop goes on without its answer (2.1.268 answers within 20 ms). */
const INTERRUPT_MS = 1000;
/** How long a stop waits after the end of input: an idle Claude 2.1.268 is gone in about 30 ms. */
const EXIT_AFTER_EOF_MS = 500;
/** A grandchild can hold the pipes open after the leader is gone; nothing is read from it any longer than this. */
const DRAIN_MS = 1000;
/** Grace of a pause whose end of input was not enough. */
const PAUSE_GRACE_MS = 5000;

export interface ProcessListener {
  /** The process is contained and waits; nothing of the program has run. */
  spawned(containment: ContainmentRecord): void;
  stdout(chunk: Buffer): void;
  stdoutEnd(): void;
  stderr(text: string): void;
  /** The leader is gone and both pipes are read to their end. */
  gone(exit: LeaderExit): void;
  /** Asks the worker to leave its turn; resolves when it has answered or `timeoutMs` have passed. */
  interrupt?(timeoutMs: number): Promise<unknown>;
}

interface Patience {
  interrupt: boolean;
  /** Milliseconds between the end of input and TERM. */
  exitMs: number;
}

export class WorkerProcess {
  phase: WorkerStatus["phase"] = "starting";
  readonly stderr: StderrTail;
  readonly #deps: WorkerDeps;
  readonly #listener: ProcessListener;
  #spawning: Promise<Result> | undefined;
  #process: ContainedProcess | undefined;
  #writer: LineWriter | undefined;
  #gone: Promise<void> = Promise.resolve();
  #exit: LeaderExit | undefined;
  #ending: Promise<StopOutcome> | undefined;
  /** Ends the wait for the worker to leave by itself: a pause that becomes a stop. */
  readonly #impatience = new AbortController();
  /** Ends the grace after TERM too: a graceful stop that becomes an immediate one. */
  readonly #hurry = new AbortController();

  constructor(deps: WorkerDeps, listener: ProcessListener) {
    this.#deps = deps;
    this.#listener = listener;
    this.stderr = new StderrTail(deps.redactor);
  }

  get containment(): ContainmentRecord | undefined {
    return this.#process?.record;
  }

  get writer(): LineWriter | undefined {
    return this.#writer;
  }

  /** Settled when the process is gone and its pipes are read; before a spawn at once. */
  get gone(): Promise<void> {
    return this.#gone;
  }

  get exit(): LeaderExit | undefined {
    return this.#exit;
  }

  get isEnding(): boolean {
    return this.#ending !== undefined;
  }

  /** Reasons: `stopped` (a stop came first), `already-started`, `not-recorded`, and those of the containment. */
  spawn(input: SpawnContainedInput): Promise<Result> {
    if (this.#spawning !== undefined) {
      return Promise.resolve(failure("already-started", "This worker was started before; make a new one."));
    }
    if (this.#ending !== undefined) return Promise.resolve(stopped());
    this.#spawning = this.#spawn(input);
    return this.#spawning;
  }

  endInput(): void {
    this.#writer?.end();
  }

  /** Joins an ending in progress and cuts its waits short. After an ending it proves again. */
  stop(options: StopOptions): Promise<StopOutcome> {
    if (options.kind === "now") this.#hurry.abort();
    if (this.#ending !== undefined && this.phase !== "gone") {
      this.#impatience.abort();
      return this.#ending;
    }
    return this.#end(options, { interrupt: true, exitMs: EXIT_AFTER_EOF_MS });
  }

  /** Ends the input and waits `exitMs` for the worker to leave by itself before it is stopped. */
  pause(patience: Patience): Promise<StopOutcome> {
    return this.#ending ?? this.#end({ kind: "graceful", graceMs: PAUSE_GRACE_MS }, patience);
  }

  async #spawn(input: SpawnContainedInput): Promise<Result> {
    const spawned = await this.#deps.spawn(input).catch((error: unknown) => {
      const why = error instanceof Error ? error.message : String(error);
      return failure("spawn-failed", `The worker could not be started: ${why}`);
    });
    if (!spawned.ok) {
      this.phase = "gone";
      return spawned;
    }
    const { process } = spawned;
    if (process.stdin === null) throw new Error("A worker is spawned with a pipe as its input.");
    this.#process = process;
    this.#writer = new LineWriter(process.stdin, this.#deps.clock);
    const drained = [this.#read(process, "stdout"), this.#read(process, "stderr")];
    this.#gone = this.#watch(process, drained);
    this.#listener.spawned(process.record);
    const recorded = await this.#record(process.record);
    if (!recorded.ok) return recorded;
    if (this.#ending !== undefined) return stopped();
    return process.release();
  }

  async #record(containment: ContainmentRecord): Promise<Result> {
    try {
      await this.#deps.recorded?.(containment);
      return { ok: true };
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      return failure("not-recorded", `The worker was not let run, because its start could not be written down: ${why}`);
    }
  }

  /** Settles when the pipe is at its end, broken or destroyed. */
  #read(process: ContainedProcess, name: "stdout" | "stderr"): Promise<void> {
    const stream = process[name];
    return new Promise((resolve) => {
      const done = (): void => resolve();
      stream.on("error", done);
      stream.once("end", done);
      stream.once("close", done);
      stream.on("data", (chunk: Buffer) => {
        if (name === "stdout") this.#listener.stdout(chunk);
        else this.#listener.stderr(this.stderr.push(chunk));
      });
    });
  }

  async #watch(process: ContainedProcess, drained: Promise<void>[]): Promise<void> {
    const exit = await process.exited;
    await within(this.#deps.clock, DRAIN_MS, Promise.all(drained));
    // After a busy spell timers fire before pipes are read: one more look at what is in them.
    await setImmediate();
    process.stdout.destroy();
    process.stderr.destroy();
    this.#writer?.end();
    this.#listener.stdoutEnd();
    this.#exit = exit;
    this.phase = "gone";
    this.#listener.gone(exit);
  }

  #end(options: StopOptions, patience: Patience): Promise<StopOutcome> {
    const wasReady = this.phase === "ready";
    if (this.phase !== "gone") this.phase = "ending";
    this.#ending = this.#run(options, { ...patience, interrupt: patience.interrupt && wasReady });
    return this.#ending;
  }

  async #run(options: StopOptions, patience: Patience): Promise<StopOutcome> {
    const started = this.#deps.clock.mono();
    if (this.#process === undefined) await this.#spawning;
    const process = this.#process;
    if (process === undefined) return { proven: true, method: "census", killed: 0, durationMs: 0 };
    if (this.#exit === undefined && !this.#hurry.signal.aborted) {
      const early = Promise.race([process.exited, aborted(this.#impatience.signal), aborted(this.#hurry.signal)]);
      if (patience.interrupt) {
        await within(this.#deps.clock, INTERRUPT_MS, Promise.race([this.#listener.interrupt?.(INTERRUPT_MS), early]));
      }
      this.endInput();
      await within(this.#deps.clock, patience.exitMs, early);
    }
    const { signal } = this.#hurry;
    const outcome = await process.stop({
      kind: signal.aborted ? "now" : options.kind,
      graceMs: options.graceMs,
      hurry: signal,
    });
    if (outcome.proven) await within(this.#deps.clock, 2 * DRAIN_MS, this.#gone);
    return { ...outcome, durationMs: Math.round(this.#deps.clock.mono() - started) };
  }
}

function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
}

export function stopped(): Failure {
  return failure("stopped", "The worker was stopped before it was ready.");
}
