/** Bounded collections: what does not fit is counted, never lost in silence. */

/** Names of the outside that are counted one by one; the rest is `other`. */
export const MAX_NAMES = 200;

/** The newest of a list, and how many came before them. */
export class Tail<T> {
  readonly items: T[] = [];
  more = 0;
  readonly #max: number;

  constructor(max: number) {
    this.#max = max;
  }

  add(item: T): void {
    this.items.push(item);
    if (this.items.length <= this.#max) return;
    this.items.shift();
    this.more += 1;
  }
}

/** Counts a name of the outside; `__proto__` is a name like any other. */
export function tally(table: Record<string, number>, name: string, by = 1): void {
  const key = Object.hasOwn(table, name) || Object.keys(table).length < MAX_NAMES ? name : "other";
  const value = (Object.hasOwn(table, key) ? (table[key] ?? 0) : 0) + by;
  Object.defineProperty(table, key, { value, enumerable: true, writable: true, configurable: true });
}

/** Keeps the newest thousand. */
export function remember<V>(map: Map<string, V>, key: string, value: V): void {
  map.set(key, value);
  if (map.size <= 1_000) return;
  const [oldest] = map.keys();
  if (oldest !== undefined) map.delete(oldest);
}
