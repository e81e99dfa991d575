/** Which row of a list is chosen, and the filter that is typed over it. */
import type { Key } from "./screen-port.ts";

const MAX_FILTER = 100;

export class Picker {
  filter = "";
  /** Keys go into the filter. */
  typing = false;
  #selected = 0;

  clear(): void {
    this.filter = "";
    this.typing = false;
    this.#selected = 0;
  }

  /** A key while the filter is typed: Enter keeps it, Escape clears it. */
  type(key: Key): void {
    if (key === "enter") this.typing = false;
    else if (key === "escape") this.clear();
    else if (key === "backspace") this.filter = this.filter.slice(0, -1);
    else if (typeof key === "object") this.filter = (this.filter + key.char).slice(0, MAX_FILTER);
    this.#selected = 0;
  }

  move(by: number, length: number): void {
    this.#selected = Math.min(Math.max(0, this.index(length) + by), Math.max(0, length - 1));
  }

  /** The chosen row of a list of that length, which may have shrunk meanwhile. */
  index(length: number): number {
    return Math.min(this.#selected, Math.max(0, length - 1));
  }

  matches(text: string): boolean {
    return text.toLowerCase().includes(this.filter.toLowerCase());
  }
}
