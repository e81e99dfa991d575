/**
 * The one clock of the house. Code that waits or stamps takes a `Clock`, so that a test can play eight hours in a
 * millisecond and no test has to sleep.
 */

export type Cancel = () => void;

export interface TimerOptions {
  /** The timer alone does not keep the process alive. Default: it does. */
  background?: boolean;
}

export interface Clock {
  /** Wall time, for people and for `at`. May jump. */
  now(): Date;
  /** Milliseconds since some fixed moment of this process; never goes back, stands still while a Linux laptop sleeps. */
  mono(): number;
  /** Calls `fn` once after `ms` milliseconds (any finite length). The returned function cancels and may be called again. */
  setTimer(ms: number, fn: () => void, options?: TimerOptions): Cancel;
}

/** Node clamps a longer `setTimeout` to 1 ms (Node 20), so that long waits are made of pieces. */
const LONGEST_TIMEOUT_MS = 2 ** 31 - 1;

export const systemClock: Clock = {
  now: () => new Date(),
  mono: () => performance.now(),
  setTimer(ms, fn, options = {}) {
    let timer: NodeJS.Timeout | undefined;
    const due = performance.now() + Math.max(0, ms);
    const arm = (): void => {
      const left = due - performance.now();
      timer = left > LONGEST_TIMEOUT_MS ? setTimeout(arm, LONGEST_TIMEOUT_MS) : setTimeout(fn, Math.max(0, left));
      if (options.background) timer.unref();
    };
    arm();
    return () => clearTimeout(timer);
  },
};

export interface ManualClock extends Clock {
  /** Moves both times forward and fires what is due, in the order of due times; timers set meanwhile count too. */
  advance(ms: number): void;
  /** Moves the wall time alone, as NTP or a person does. */
  setWall(date: Date): void;
  /** How many timers wait. */
  readonly pending: number;
}

/** A clock that only moves when it is told to. */
export function manualClock(start: Date = new Date("2026-01-02T03:04:05.000Z")): ManualClock {
  let wall = start.getTime();
  let mono = 0;
  let order = 0;
  const timers = new Map<number, { due: number; fn: () => void }>();

  const nextDue = (limit: number): [number, { due: number; fn: () => void }] | undefined => {
    let best: [number, { due: number; fn: () => void }] | undefined;
    for (const entry of timers) {
      if (entry[1].due <= limit && (best === undefined || entry[1].due < best[1].due)) best = entry;
    }
    return best;
  };
  const moveTo = (due: number): void => {
    wall += due - mono;
    mono = due;
  };

  return {
    now: () => new Date(wall),
    mono: () => mono,
    setTimer(ms, fn) {
      const key = order++;
      timers.set(key, { due: mono + Math.max(0, ms), fn });
      return () => {
        timers.delete(key);
      };
    },
    advance(ms) {
      const end = mono + ms;
      for (let entry = nextDue(end); entry !== undefined; entry = nextDue(end)) {
        timers.delete(entry[0]);
        moveTo(Math.max(mono, entry[1].due));
        entry[1].fn();
      }
      moveTo(end);
    },
    setWall(date) {
      wall = date.getTime();
    },
    get pending() {
      return timers.size;
    },
  };
}
