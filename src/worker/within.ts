/** Waiting with a bound, on the house's clock. */
import type { Clock } from "../platform/clock.ts";

/** Resolves when `what` settles or `ms` have passed, whichever is first; a rejection of `what` counts as settled. */
export async function within(clock: Pick<Clock, "setTimer">, ms: number, what: Promise<unknown>): Promise<void> {
  let cancel = (): void => undefined;
  const timeout = new Promise<void>((resolve) => {
    cancel = clock.setTimer(ms, resolve);
  });
  await Promise.race([what.catch(() => undefined), timeout]);
  cancel();
}
