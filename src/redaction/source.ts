/**
 * The text under the scanner, of which in a stream only the front is known. A reader that looks past the known part
 * makes the source `starved`, and its finding is thrown away and made again with more text: that is why the joined
 * output does not depend on where the stream was cut.
 */
export class Source {
  text = "";
  /** First index that may not be read yet. */
  end = 0;
  /** Nothing comes after `end`. */
  final = true;
  starved = false;

  load(text: string, end: number, final: boolean): void {
    this.text = text;
    this.end = end;
    this.final = final;
    this.starved = false;
  }

  /** Code unit at `index`, or -1 past the end. */
  at(index: number): number {
    if (index < this.end) return this.text.charCodeAt(index);
    if (!this.final) this.starved = true;
    return -1;
  }

  /** First index from `from` on that is not in the table, at most `max` further on. */
  skip(table: Uint8Array, from: number, max: number): number {
    const { text } = this;
    const limit = Math.min(this.end, from + max);
    let index = from;
    while (index < limit && table[text.charCodeAt(index)] === 1) index++;
    if (index === this.end && index < from + max && !this.final) this.starved = true;
    return index;
  }

  startsWith(word: string, index: number): boolean {
    if (index + word.length <= this.end) return this.text.startsWith(word, index);
    if (!this.final && word.startsWith(this.text.slice(index, this.end))) this.starved = true;
    return false;
  }

  /** Up to `length` characters from `index` on. */
  slice(index: number, length: number): string {
    if (index + length > this.end && !this.final) this.starved = true;
    return this.text.slice(index, Math.min(this.end, index + length));
  }

  /** Up to `length` characters before `index`; a stream keeps `LOOK_BEHIND` of them. */
  before(index: number, length: number): string {
    return this.text.slice(Math.max(0, index - length), index);
  }
}

/** Raw characters before the scanner's place that stay readable, in a stream too. */
export const LOOK_BEHIND = 160;
