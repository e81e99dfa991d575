/** Real time, of which a test can skip a piece: what is due by then happens at once, in its order. */
import { type Clock, systemClock } from "../../src/platform/clock.ts";

export interface SkippingClock extends Clock {
  /** Moves both times forward by so many milliseconds. */
  skip(ms: number): void;
}

export function skippingClock(): SkippingClock {
  let ahead = 0;
  const waiting = new Set<{ due: number; fire(): void }>();
  const clock: SkippingClock = {
    now: () => new Date(systemClock.now().getTime() + ahead),
    mono: () => systemClock.mono() + ahead,
    setTimer(ms, fn, options) {
      const fire = (): void => {
        cancel();
        fn();
      };
      const timer = { due: clock.mono() + ms, fire };
      const stop = systemClock.setTimer(ms, fire, options);
      const cancel = (): void => {
        stop();
        waiting.delete(timer);
      };
      waiting.add(timer);
      return cancel;
    },
    skip(ms) {
      ahead += ms;
      const due = [...waiting].filter((timer) => timer.due <= clock.mono()).sort((a, b) => a.due - b.due);
      for (const timer of due) if (waiting.has(timer)) timer.fire();
    },
  };
  return clock;
}
