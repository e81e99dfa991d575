/**
 * The outcome of something that is expected to fail now and then. `reason` is a stable kebab-case code that programs
 * compare; `message` is one sentence for people: what happened, why, what to do next.
 */
export type Result<T extends object = object> = ({ ok: true } & T) | Failure;

export interface Failure {
  ok: false;
  reason: string;
  message: string;
}

export function failure(reason: string, message: string): Failure {
  return { ok: false, reason, message };
}

/** Closes an exhaustive `switch`: the compiler refuses a forgotten case, and a value from outside fails loudly. */
export function assertNever(value: never, what = "value"): never {
  throw new Error(`Unexpected ${what}: ${JSON.stringify(value)}`);
}
