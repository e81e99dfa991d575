/** The worker's stdin: whole lines in order, a bound on what waits, a bound on how long, and no unheard stream error. */
import type { Writable } from "node:stream";
import { failure, type Result } from "../core/result.ts";
import type { Cancel, Clock } from "../platform/clock.ts";

export const WRITE_TIMEOUT_MS = 30_000;
/** Bytes that may wait in memory for a worker that does not read. */
export const MAX_QUEUED_BYTES = 8 * 1024 * 1024;

export class LineWriter {
  readonly #stream: Writable;
  readonly #clock: Pick<Clock, "setTimer">;
  #broken: string | undefined;

  /** Listens for stream errors before anything is written: an EPIPE without a listener would end the whole process. */
  constructor(stream: Writable, clock: Pick<Clock, "setTimer">) {
    this.#stream = stream;
    this.#clock = clock;
    stream.on("error", (error: NodeJS.ErrnoException) => {
      this.#broken ??= error.code ?? error.message;
    });
  }

  /**
   * Resolves when the bytes are in the pipe. `write-timeout` is ambiguous: a worker that was only paused reads the line
   * later. `worker-gone` and `input-closed` are not: such a line was never read whole.
   */
  write(text: string): Promise<Result> {
    const bytes = Buffer.from(text, "utf8");
    if (this.#broken !== undefined) return Promise.resolve(this.#gone());
    if (this.#stream.writableEnded) {
      return Promise.resolve(failure("input-closed", "The worker's input is closed already: it is ending."));
    }
    if (this.#stream.writableLength + bytes.length > MAX_QUEUED_BYTES) {
      return Promise.resolve(
        failure("backpressure", `The worker does not read: ${this.#stream.writableLength} bytes wait for it already.`),
      );
    }
    return new Promise((resolve) => {
      let cancel: Cancel | undefined;
      this.#stream.write(bytes, (error) => {
        cancel?.();
        if (error) this.#broken ??= error.message;
        resolve(error ? this.#gone() : { ok: true });
      });
      /* Usually the pipe took all of it at once, and only the callback is still to come: no clock is needed for that. */
      if (this.#stream.writableLength === 0) return;
      cancel = this.#clock.setTimer(WRITE_TIMEOUT_MS, () =>
        resolve(failure("write-timeout", `The worker did not read its input for ${WRITE_TIMEOUT_MS / 1000} s.`)),
      );
    });
  }

  /** One JSON message a line, plain LF, no byte order mark. */
  writeMessage(message: object): Promise<Result> {
    return this.write(`${JSON.stringify(message)}\n`);
  }

  end(): void {
    if (!this.#stream.writableEnded && !this.#stream.destroyed) this.#stream.end();
  }

  #gone(): Result {
    return failure("worker-gone", `The worker no longer reads its input (${this.#broken ?? "closed"}).`);
  }
}
