/** Hands worker events to whoever listens. A listener that throws is its own problem, never the worker's. */
import type { WorkerEvent } from "../core/contracts/worker.ts";

export type WorkerListener = (event: WorkerEvent) => void;

export class EventHub {
  readonly #listeners = new Set<WorkerListener>();

  subscribe(listener: WorkerListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /**
   * True when somebody listened and nobody threw. The others are told of a listener that threw (`listener-failed`), so
   * that a gate which crashed does not go unseen.
   */
  publish(event: WorkerEvent): boolean {
    const failed: { listener: WorkerListener; error: unknown }[] = [];
    for (const listener of this.#listeners) {
      try {
        listener(event);
      } catch (error) {
        failed.push({ listener, error });
      }
    }
    for (const { error } of failed) this.#tell(event.type, error);
    return failed.length === 0 && this.#listeners.size > 0;
  }

  /** A listener that throws here too has been told. */
  #tell(what: string, error: unknown): void {
    const reason = error instanceof Error ? error.message : String(error);
    const detail = `A listener failed on a "${what}" event: ${reason.slice(0, 200)}`;
    for (const listener of this.#listeners) {
      try {
        listener({ type: "protocol-error", code: "listener-failed", detail, fatal: false });
      } catch {
        this.failures++;
      }
    }
  }

  /** How often a listener threw even on the news of a failure. */
  failures = 0;
}
