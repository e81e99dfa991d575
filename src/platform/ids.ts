/** The one place where ids are made. Every id is safe as a file name (also where case folds) and as a bare shell word. */
import { randomBytes, randomUUID } from "node:crypto";
import { type Clock, systemClock } from "./clock.ts";

/** Crockford's alphabet: digits and letters without i, l, o, u, so that a person can read an id aloud. */
const ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz";
const TIME_DIGITS = 9;
const TASK_ID = /^t-[0-9a-hjkmnp-tv-z]{13}$/;

export interface IdSource {
  /** `t-` + 9 digits of Unix milliseconds + 4 random ones: sorts by time of creation, also within one millisecond. */
  taskId(): string;
  /** `r-` + 8 random digits (40 bits): short enough to type. */
  requestId(): string;
  /** `w-` + 8 random digits. */
  workerId(): string;
  /** RFC 9562 version 4, for everything that Claude or another program sees. */
  uuid(): string;
}

export interface IdOptions {
  clock?: Pick<Clock, "now">;
  /** `n` random bytes. */
  random?: (n: number) => Uint8Array;
}

export function createIds(options: IdOptions = {}): IdSource {
  const { clock = systemClock, random = randomBytes } = options;
  let last = 0;

  const randomDigits = (count: number): string =>
    Array.from(random(count), (byte) => ALPHABET.charAt(byte & 31)).join("");

  return {
    taskId() {
      last = Math.max(clock.now().getTime(), last + 1);
      return `t-${timeDigits(last)}${randomDigits(4)}`;
    },
    requestId: () => `r-${randomDigits(8)}`,
    workerId: () => `w-${randomDigits(8)}`,
    uuid: () => randomUUID(),
  };
}

/** Whether this is the form of our task ids. Anything else is never joined to a path. */
export function isTaskId(text: string): boolean {
  return TASK_ID.test(text);
}

/** The moment in a task id, Unix milliseconds. */
export function timeOfTaskId(id: string): number | undefined {
  if (!isTaskId(id)) return undefined;
  let ms = 0;
  for (const digit of id.slice(2, 2 + TIME_DIGITS)) ms = ms * 32 + ALPHABET.indexOf(digit);
  return ms;
}

function timeDigits(ms: number): string {
  let rest = Math.floor(ms);
  let text = "";
  for (let i = 0; i < TIME_DIGITS; i += 1) {
    text = ALPHABET.charAt(rest % 32) + text;
    rest = Math.floor(rest / 32);
  }
  return text;
}
