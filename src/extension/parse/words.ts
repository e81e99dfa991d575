/**
 * Splits what a person typed after the command's name into words. `"..."` groups words, `\"` inside is a quote; a quote
 * counts only where a word or the value of `--flag=` begins, so that `5" screen` and `don't` are plain words.
 */
import { failure, type Result } from "../../core/result.ts";

export interface Word {
  text: string;
  /** It began with a quote: never read as a flag. */
  quoted: boolean;
  /** Where it stands in the input, quotes included. */
  start: number;
  end: number;
}

export function splitWords(input: string): Result<{ words: Word[] }> {
  const words: Word[] = [];
  let at = 0;
  for (;;) {
    while (at < input.length && isSpace(input[at])) at++;
    if (at >= input.length) return { ok: true, words };
    const start = at;
    const quoted = input[at] === '"';
    let text = "";
    while (at < input.length && !isSpace(input[at])) {
      if (input[at] === '"' && (at === start || isFlagWithValue(text))) {
        const part = readQuoted(input, at);
        if (part === undefined) {
          const seen = input.slice(at, at + 20);
          return failure("unclosed-quote", `The quote that begins at ${seen} is not closed. Close it with ".`);
        }
        text += part.text;
        at = part.end;
      } else if (input.startsWith('\\"', at)) {
        text += '"';
        at += 2;
      } else {
        text += input[at];
        at++;
      }
    }
    words.push({ text, quoted, start, end: at });
  }
}

/**
 * The text of these words as the person meant it: a single word without its quotes, several as they were typed, with
 * their own blanks, line breaks and quotes.
 */
export function textOf(input: string, words: readonly Word[]): string {
  const [first] = words;
  const last = words.at(-1);
  if (first === undefined || last === undefined) return "";
  if (first === last) return first.text;
  return input.slice(first.start, last.end).replaceAll('\\"', '"');
}

function readQuoted(input: string, open: number): { text: string; end: number } | undefined {
  let text = "";
  for (let at = open + 1; at < input.length; at++) {
    if (input[at] === '"') return { text, end: at + 1 };
    if (input.startsWith('\\"', at)) at++;
    text += input[at];
  }
  return undefined;
}

function isFlagWithValue(text: string): boolean {
  return /^--[a-z-]+=$/.test(text);
}

function isSpace(char: string | undefined): boolean {
  return char === " " || char === "\t" || char === "\n" || char === "\r";
}
