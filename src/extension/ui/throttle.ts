/** Runs something at once, and then at most once in `ms` while it is asked for more often; the last ask is not lost. */
export interface Throttle {
  soon(): void;
  cancel(): void;
}

export function throttle(ms: number, run: () => void, now: () => number = () => performance.now()): Throttle {
  let last = Number.NEGATIVE_INFINITY;
  let timer: NodeJS.Timeout | undefined;
  const fire = () => {
    timer = undefined;
    last = now();
    run();
  };
  return {
    soon() {
      if (timer !== undefined) return;
      const wait = last + ms - now();
      if (wait <= 0) return fire();
      timer = setTimeout(fire, wait);
      timer.unref(); // a pending repaint keeps no process alive
    },
    cancel() {
      clearTimeout(timer);
      timer = undefined;
    },
  };
}
