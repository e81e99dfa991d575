/** The last bytes of the worker's stdout, in one fixed piece of memory. */

/** What `readOutput` can give at most. */
export const OUTPUT_RING_BYTES = 256 * 1024;

export class OutputRing {
  readonly #ring = Buffer.alloc(OUTPUT_RING_BYTES);
  #written = 0;

  push(chunk: Buffer): void {
    const piece = chunk.length > this.#ring.length ? chunk.subarray(chunk.length - this.#ring.length) : chunk;
    const at = this.#written % this.#ring.length;
    const first = piece.copy(this.#ring, at);
    if (first < piece.length) piece.copy(this.#ring, 0, first);
    this.#written += piece.length;
  }

  /** The end of the output, at most `maxBytes`, cut to whole characters at its beginning. */
  tail(maxBytes: number): string {
    const length = Math.max(0, Math.min(maxBytes, this.#written, this.#ring.length));
    const end = this.#written % this.#ring.length;
    const start = end - length;
    const bytes =
      start >= 0
        ? this.#ring.subarray(start, end)
        : Buffer.concat([this.#ring.subarray(this.#ring.length + start), this.#ring.subarray(0, end)]);
    let from = 0;
    while (from < bytes.length && from < 4 && ((bytes[from] ?? 0) & 0xc0) === 0x80) from++;
    return bytes.toString("utf8", from);
  }
}
