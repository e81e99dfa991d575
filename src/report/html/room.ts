/**
 * How much a page may hold. Parts ask for room in the order of their weight; what gets none is told as a number, so that
 * a page is bounded whatever is in the log and nothing goes missing in silence.
 */
import type { Html } from "./html.ts";

/** With less than this nothing is tried any more. */
const LEAST = 2_000;

export class Room {
  #left: number;

  /** `max`: characters of HTML. */
  constructor(max: number) {
    this.#left = max;
  }

  /** The part, made only when there may be room for it; null when there is none. */
  take(make: () => Html): Html | null {
    if (this.#left < LEAST) return null;
    const part = make();
    if (part.text.length > this.#left) return null;
    this.#left -= part.text.length;
    return part;
  }

  /** As many of the parts as there is room for, in their order, and the number of the rest. */
  fill<T>(items: readonly T[], make: (item: T) => Html): { shown: Html[]; left: number } {
    const shown = items.flatMap((item) => this.take(() => make(item)) ?? []);
    return { shown, left: items.length - shown.length };
  }
}
