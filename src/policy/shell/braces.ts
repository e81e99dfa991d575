/** Brace expansion of a piece such as `{a,b{c,d}}` or `{1..9}`; `undefined` when it is not plain text. Bounded: 64 results. */
import { NUMBER } from "./marks.ts";

const MAX_RESULTS = 64;

export function expandBraces(text: string): string[] | undefined {
  if (/["'\\$`\uE000-\uE005]/.test(text)) return undefined;
  const results = alternatives(text, 0);
  return results === undefined || results.length > MAX_RESULTS ? undefined : results;
}

function alternatives(text: string, depth: number): string[] | undefined {
  if (depth > 8) return undefined;
  const open = text.indexOf("{");
  if (open < 0) return [text];
  const close = matching(text, open);
  if (close < 0) return [text];
  const inner = text.slice(open + 1, close);
  const tails = alternatives(text.slice(close + 1), depth + 1);
  if (tails === undefined) return undefined;
  const middles = innerAlternatives(inner, depth);
  if (middles === undefined || middles.length * tails.length > MAX_RESULTS) return undefined;
  const head = text.slice(0, open);
  return middles.flatMap((middle) => tails.map((tail) => head + middle + tail));
}

function innerAlternatives(inner: string, depth: number): string[] | undefined {
  const pieces = splitTop(inner);
  if (pieces.length === 1) {
    if (/^-?\d+\.\.-?\d+(?:\.\.-?\d+)?$/.test(inner)) return [NUMBER];
    const letters = /^([A-Za-z])\.\.([A-Za-z])$/.exec(inner);
    if (letters === null) return [`{${inner}}`];
    return letterRange(letters[1] ?? "a", letters[2] ?? "a");
  }
  const out: string[] = [];
  for (const piece of pieces) {
    const expanded = alternatives(piece, depth + 1);
    if (expanded === undefined || out.length + expanded.length > MAX_RESULTS) return undefined;
    out.push(...expanded);
  }
  return out;
}

function letterRange(from: string, to: string): string[] {
  const start = Math.min(from.charCodeAt(0), to.charCodeAt(0));
  const end = Math.max(from.charCodeAt(0), to.charCodeAt(0));
  const out: string[] = [];
  for (let code = start; code <= end; code += 1) out.push(String.fromCharCode(code));
  return out;
}

function matching(text: string, open: number): number {
  let depth = 0;
  for (let index = open; index < text.length; index += 1) {
    const char = text.charCodeAt(index);
    if (char === 123) depth += 1;
    else if (char === 125) {
      depth -= 1;
      if (depth === 0) return index;
    }
  }
  return -1;
}

function splitTop(inner: string): string[] {
  const pieces: string[] = [];
  let depth = 0;
  let start = 0;
  for (let index = 0; index < inner.length; index += 1) {
    const char = inner.charCodeAt(index);
    if (char === 123) depth += 1;
    else if (char === 125) depth -= 1;
    else if (char === 44 && depth === 0) {
      pieces.push(inner.slice(start, index));
      start = index + 1;
    }
  }
  pieces.push(inner.slice(start));
  return pieces;
}
