/**
 * How text that somebody else wrote stands in a prompt: between marks with a random tag that no such text holds, every
 * line of it with a bar before it, hidden characters visible, within a bound. So no line of data can be taken for one
 * of ours, whatever it says and however it was cut.
 */
import { visible, wholeAt } from "../core/text.ts";

/** Characters of one block, and of all blocks of a question together (about 10,000 tokens). */
const MAX_BLOCK = 24_000;
const MAX_TOTAL = 40_000;
/** Every block may have this much, even when the others have used up the total. */
const MIN_BLOCK = 500;
/** Of a text that is too long the beginning gets this share, the end the rest. */
const HEAD_SHARE = 0.7;

export interface DataBlocks {
  /** A named block. The name is ours, the text somebody else's. */
  add(name: string, text: string): string;
  /** Something did not fit. */
  readonly cut: boolean;
}

/** `tag` must not be guessable and must be in none of the texts: see `freshTag`. */
export function dataBlocks(tag: string): DataBlocks {
  let left = MAX_TOTAL;
  let cut = false;
  return {
    get cut() {
      return cut;
    },
    add(name, text) {
      const max = Math.max(MIN_BLOCK, Math.min(MAX_BLOCK, left));
      // Bounded before the costly part; making characters visible only lengthens a text.
      const first = shorten(text, max);
      const second = shorten(visible(first.text), max);
      cut ||= first.cut || second.cut;
      left -= second.text.length;
      const lines = second.text.split("\n").map((line) => `| ${line}`);
      return [`${name}:`, `<data-${tag}>`, ...lines, `</data-${tag}>`].join("\n");
    },
  };
}

/** A random tag that none of the texts holds. */
export function freshTag(random: () => string, texts: readonly string[]): string {
  for (;;) {
    const tag = random();
    if (!texts.some((text) => text.includes(tag))) return tag;
  }
}

function shorten(text: string, max: number): { text: string; cut: boolean } {
  if (text.length <= max) return { text, cut: false };
  const room = max - 60;
  const head = wholeAt(text, Math.floor(room * HEAD_SHARE));
  const tail = wholeAt(text, text.length - (room - head));
  return { text: `${text.slice(0, head)}\n[… ${tail - head} characters left out …]\n${text.slice(tail)}`, cut: true };
}
