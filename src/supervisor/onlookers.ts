import type { StoredEvent } from "../core/events.ts";
import type { TaskState } from "../core/machine/state.ts";

/** Who waits for a state of a task, or listens to its events. */
export class Onlookers {
  readonly #state: () => TaskState;
  readonly #watchers = new Set<() => void>();
  readonly #listeners = new Set<(event: StoredEvent) => void>();

  constructor(state: () => TaskState) {
    this.#state = state;
  }

  /** Tells of each event after it was stepped. Returns how to stop listening. */
  listen(listener: (event: StoredEvent) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Resolves when `test` holds (true) or the signal fires (false). Never rejects; the caller brings its own deadline. */
  until(test: (state: TaskState) => boolean, signal: AbortSignal): Promise<boolean> {
    if (test(this.#state())) return Promise.resolve(true);
    return new Promise((resolve) => {
      const done = (result: boolean): void => {
        this.#watchers.delete(look);
        signal.removeEventListener("abort", give);
        resolve(result);
      };
      const look = (): void => {
        if (test(this.#state())) done(true);
      };
      const give = (): void => done(false);
      this.#watchers.add(look);
      signal.addEventListener("abort", give, { once: true });
      if (signal.aborted) give();
    });
  }

  /** An event was stepped. */
  tell(event: StoredEvent): void {
    for (const look of [...this.#watchers]) look();
    for (const listener of [...this.#listeners]) listener(event);
  }
}
