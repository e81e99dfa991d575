/** Waiting for conditions: tests never sleep for a guessed time, they wait for a fact and say what did not come true. */

/** Milliseconds between two looks at the condition, unless the caller's probe is costly and says more. */
const POLL_MS = 20;

/**
 * Resolves with the first value of `probe` that is neither `undefined`, `null` nor `false`. Rejects `deadlineMs` after
 * the call with `what` (a text, or a function that describes the present state for the failure message). What `probe`
 * throws ends the wait at once.
 */
export async function until<T>(
  probe: () => T | Promise<T>,
  deadlineMs: number,
  what: string | (() => string),
  pollMs = POLL_MS,
): Promise<Exclude<T, undefined | null | false>> {
  const end = performance.now() + deadlineMs;
  for (;;) {
    const value = await probe();
    if (value !== undefined && value !== null && value !== false) return value as Exclude<T, undefined | null | false>;
    if (performance.now() >= end) {
      throw new Error(`Not within ${deadlineMs} ms: ${typeof what === "string" ? what : what()}`);
    }
    await new Promise((resolve) => setTimeout(resolve, pollMs));
  }
}

/** Settles as `promise` does, or rejects after `deadlineMs` with `what`. The promise itself is not cancelled. */
export async function within<T>(promise: Promise<T>, deadlineMs: number, what: string | (() => string)): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () => reject(new Error(`Not within ${deadlineMs} ms: ${typeof what === "string" ? what : what()}`)),
      deadlineMs,
    );
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** A promise with its resolver: a gate that a test opens, e.g. for `held()` replies of the model server. */
export interface Gate {
  readonly opened: Promise<void>;
  open(): void;
}

export function gate(): Gate {
  let open: () => void = () => undefined;
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open };
}
