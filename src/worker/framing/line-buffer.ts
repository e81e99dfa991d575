/**
 * The unfinished line between two reads. It grows by doubling, so that a line costs at most two copies of its bytes
 * however small the reads are, and gives its memory back after a long line.
 */

const FIRST_CAPACITY = 16 * 1024;
/** A longer line's buffer is dropped after use instead of being kept for the next one. */
const KEEP_CAPACITY = 1024 * 1024;

export class LineBuffer {
  length = 0;
  /** The most bytes that were ever held at once, both copies while growing included. */
  peakBytes = 0;
  readonly #maxBytes: number;
  #bytes: Buffer | undefined;

  /** Holds at most 1.5 times `maxBytes`, and that only while it grows. */
  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  append(chunk: Buffer, from: number, to: number): void {
    const needed = this.length + to - from;
    const bytes = this.#roomFor(needed);
    chunk.copy(bytes, this.length, from, to);
    this.length = needed;
  }

  /** The held bytes; valid until the next `append` or `clear`. */
  view(): Buffer {
    return (this.#bytes ?? Buffer.alloc(0)).subarray(0, this.length);
  }

  clear(): void {
    this.length = 0;
    if (this.#bytes !== undefined && this.#bytes.length > KEEP_CAPACITY) this.#bytes = undefined;
  }

  #roomFor(needed: number): Buffer {
    const present = this.#bytes?.length ?? 0;
    if (this.#bytes !== undefined && present >= needed) return this.#bytes;
    let capacity = Math.max(present, FIRST_CAPACITY);
    while (capacity < needed) capacity *= 2;
    const grown = Buffer.allocUnsafeSlow(Math.max(needed, Math.min(capacity, this.#maxBytes)));
    this.#bytes?.copy(grown, 0, 0, this.length);
    this.#bytes = grown;
    this.peakBytes = Math.max(this.peakBytes, present + grown.length);
    return grown;
  }
}
