/**
 * How much a page may hold. Parts ask for room in the order of their weight; what gets none is told as a number, so that
 * a page is bounded whatever is in the log and nothing goes missing in silence.
 */
import type { Html } from "./html.ts";

export class Room {
  #left: number;

  /** `max`: characters of HTML. */
  constructor(max: number) {
    this.#left = max;
  }

  /** The part itself, or null when there is no room for it any more. */
  take(part: Html): Html | null {
    if (part.text.length > this.#left) return null;
    this.#left -= part.text.length;
    return part;
  }
}
