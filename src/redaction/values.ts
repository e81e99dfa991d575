/** Reads the value at a place: where it begins and ends, quoted or bare. */
import { charTable, isQuote, isSpace } from "./chars.ts";
import { MARKER_MAX, markerEnd } from "./marker.ts";
import type { Place } from "./place.ts";
import type { Source } from "./source.ts";

export interface Value {
  /** Without quotes. */
  start: number;
  end: number;
  isQuoted: boolean;
  /** The end was not found within the bound. */
  isOpen: boolean;
  /** Code unit after the value, -1 at the end of the text. */
  next: number;
}

/** Longest value that is read as one; the rest of a longer secret is hidden as well. */
export const MAX_VALUE = 16_384;

/** Letters before a string in source code: bytes, raw, format. */
const PREFIX = charTable("brufBRUF$");

export function valueAt(source: Source, place: Place, max: number): Value {
  let at = place.at;
  const prefix = source.at(at);
  if (place.by !== "tag" && PREFIX[prefix] === 1 && isQuote(source.at(at + 1))) at++;
  let slashes = 0;
  while (slashes < 8 && source.at(at + slashes) === 92) slashes++;
  if (isQuote(source.at(at + slashes)) && place.by !== "tag") {
    const value = quoted(source, at + slashes + 1, source.at(at + slashes), slashes, max);
    if (value) return value;
    at += slashes + 1;
  }
  return bareAt(source, at, place, max);
}

/** Up to the quote with as many backslashes as the opening one has; a line end or the bound leaves it open. */
function quoted(source: Source, start: number, quote: number, slashes: number, max: number): Value | undefined {
  let run = 0;
  for (let at = start; at < start + max; at++) {
    const code = source.at(at);
    if (code === 92) {
      run++;
      continue;
    }
    if (code === quote && (run <= slashes || run % (2 * (slashes + 1)) === slashes)) {
      return { start, end: at - Math.min(run, slashes), isQuoted: true, isOpen: false, next: quote };
    }
    if (code === -1 || code === 10 || code === 13) return undefined;
    run = 0;
  }
  return { start, end: start + max, isQuoted: true, isOpen: true, next: 0 };
}

/** Characters of a bare value that need no second thought. */
const PLAIN = charTable("0-9A-Za-z_.~!@$%^*?+/:=-");

/** A value without quotes, from `start` on. */
export function bareAt(source: Source, start: number, place: Place, max: number): Value {
  const { text } = source;
  let at = start;
  let isBesideMarker = false;
  while (at < start + max) {
    at = source.skip(PLAIN, at, start + max - at);
    if (at >= start + max) break;
    const code = source.at(at);
    if (code === -1 || isSpace(code) || isQuote(code)) break;
    if (isEnd(source, at, code, place)) break;
    if (code === 91) {
      isBesideMarker = markerEnd(source.slice(at, MARKER_MAX), 0) > 0;
      break;
    }
    if (code === 92) {
      const length = escapeLength(source, at);
      if (length === 0) break;
      at += length;
    } else at++;
  }
  const isOpen = at >= start + max;
  let end = at;
  while (!isOpen && end > start && isTrailing(text.charCodeAt(end - 1))) end--;
  if (isBesideMarker) end = start; // it has been judged before, with what the marker stands for
  return { start, end, isQuoted: false, isOpen, next: isOpen ? 0 : source.at(end) };
}

/** A full stop, colon or comma at the end of a word belongs to the sentence. */
function isTrailing(code: number): boolean {
  return code === 46 || code === 58 || code === 44;
}

function isEnd(source: Source, at: number, code: number, place: Place): boolean {
  switch (code) {
    case 59: // ;
    case 60: // <
    case 62: // >
    case 124: // |
    case 40: // (
    case 41: // )
    case 123: // {
    case 125: // }
    case 93: // ]
      return true;
    case 35: // #
      return place.isQuery;
    case 38: // &
      return place.isQuery || isPairAfter(source, at + 1);
    case 44: // ,
      return (
        isSpace(source.at(at + 1)) ||
        source.at(at + 1) === -1 ||
        isQuote(source.at(at + 1)) ||
        isPairAfter(source, at + 1)
      );
    default:
      return false;
  }
}

/** After `&` or `,`: another `name=`, an HTML entity, a second `&`, the end. */
function isPairAfter(source: Source, at: number): boolean {
  const first = source.at(at);
  if (first === -1 || first === 38 || isSpace(first)) return true;
  for (let i = at; i < at + 40; i++) {
    const code = source.at(i);
    if (code === 61 || code === 59 || code === 58) return i > at;
    const isName = (code >= 48 && code <= 57) || (code >= 65 && code <= 90) || (code >= 97 && code <= 122);
    if (!isName && code !== 95 && code !== 45 && code !== 46) return false;
  }
  return false;
}

/** `\/` and `\u002d` are characters of the value; any other backslash ends a bare value, so that no escape is torn. */
function escapeLength(source: Source, at: number): number {
  const next = source.at(at + 1);
  if (next === 47) return 2;
  if (next !== 117) return 0;
  const digits = source.slice(at + 2, 4);
  if (!/^[0-9a-fA-F]{4}$/.test(digits)) return 0;
  const code = Number.parseInt(digits, 16);
  return code > 32 && code !== 34 && code !== 39 && code !== 38 && code !== 60 && code !== 62 ? 6 : 0;
}
