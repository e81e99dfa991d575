/** The ids seen last, each with a note, so that what arrives twice is acted on once. */

export class RecentIds<Note> {
  readonly #capacity: number;
  #young = new Map<string, Note>();
  #old = new Map<string, Note>();

  /** Remembers the last `capacity` ids at least, twice as many at most. */
  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  has(id: string): boolean {
    return this.#young.has(id) || this.#old.has(id);
  }

  get(id: string): Note | undefined {
    return this.#young.get(id) ?? this.#old.get(id);
  }

  /** False, and nothing changes, when the id was there before. */
  add(id: string, note: Note): boolean {
    if (this.has(id)) return false;
    if (this.#young.size >= this.#capacity) {
      this.#old = this.#young;
      this.#young = new Map();
    }
    this.#young.set(id, note);
    return true;
  }

  forget(id: string): void {
    this.#young.delete(id);
    this.#old.delete(id);
  }
}
