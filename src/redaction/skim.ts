/** The hot loop of the scanner: passes over ordinary text, stops at what may be or announce a secret. */
import { AFTER_NAME, CLOSING, DIGIT, ESCAPE, JOINT, KIND, LOWER, SIGN, UNDERSCORE, UPPER, WORD } from "./chars.ts";
import { FAMILY_START } from "./families.ts";
import { endKey, NAME_ENDS } from "./names.ts";
import type { Source } from "./source.ts";

/** A longer run of letters and digits is looked at in pieces of this length. */
export const MAX_WORD = 16_384;
/** Words of this length are always looked at. */
export const LONG_WORD = 16;
const GLUED_DASH = /(?:pypi|gl[a-z]{2,5}|xox[a-z])$/;

/** What `skim` stopped at: a word `[at, end)`, or one character (`end` is where it stands). */
export interface Stop {
  end: number;
  flags: number;
}

/**
 * The hot loop: index of the next word, or of the next escape, that is worth a closer look; `stop` or more when there
 * is none before it. A word that reaches the end of what is known is worth a look.
 */
export function skim(source: Source, from: number, stop: number, isInCookie: boolean, found: Stop): number {
  const { text, end } = source;
  const attention = isInCookie ? ESCAPE | CLOSING : ESCAPE;
  let at = from;
  while (at < stop) {
    let kind = KIND[text.charCodeAt(at)] ?? 0;
    if ((kind & WORD) === 0) {
      if (kind & attention) {
        found.end = at;
        found.flags = kind;
        return at;
      }
      at++;
      continue;
    }
    const limit = Math.min(end, at + MAX_WORD);
    let flags = kind;
    let to = at + 1;
    while (to < limit) {
      kind = KIND[text.charCodeAt(to)] ?? 0;
      if ((kind & WORD) === 0) break;
      flags |= kind;
      to++;
    }
    if (to === limit || isWorthALook(source, at, to, flags, kind, isInCookie)) {
      found.end = to;
      found.flags = flags;
      return at;
    }
    at = to;
  }
  return at;
}

/** Whether the word `[at, to)` may be or announce a secret; `next` is the kind of the character after it. */
function isWorthALook(
  source: Source,
  at: number,
  to: number,
  flags: number,
  next: number,
  isInCookie: boolean,
): boolean {
  const { text } = source;
  const length = to - at;
  if (length >= LONG_WORD) return true;
  if (next & AFTER_NAME) {
    if (length >= 3 ? NAME_ENDS[endKey(text, to)] === 1 : length === 1 && (text.charCodeAt(at) | 32) === 100)
      return true;
    if (at > 0 && text.charCodeAt(at - 1) === 45 && isOption(text, at, to)) return true;
    if (next & SIGN && (isInCookie || (length > 4 && flags & (UNDERSCORE | DIGIT) && flags & (LOWER | UPPER))))
      return true;
  }
  if ((next & JOINT) === 0) return false;
  if (FAMILY_START[((text.charCodeAt(at) & 127) << 7) | (text.charCodeAt(at + 1) & 127)] === 1) return true;
  const code = text.charCodeAt(to);
  if (code === 58) {
    const second = to + 1 < source.end ? text.charCodeAt(to + 1) : 47;
    return second === 47 || second === 92 || (length >= 8 && (flags & DIGIT) !== 0);
  }
  if (code === 45) return isGluedDash(text, at, to);
  return code === 126 || (next & ESCAPE) !== 0;
}

/** The word ends like the front of a token that goes on with a dash: `sk`, `glpat`, `xoxb`, `pypi`. */
function isGluedDash(text: string, at: number, to: number): boolean {
  const last = text.charCodeAt(to - 1);
  if (last === 107) return text.charCodeAt(to - 2) === 115;
  return to - at >= 4 && GLUED_DASH.test(text.slice(Math.max(at, to - 8), to));
}

/** `-u`, `-sSLu`, `-p`, `-psecret`. */
function isOption(text: string, at: number, to: number): boolean {
  return text.charCodeAt(at) === 112 || (to - at <= 6 && (text.charCodeAt(to - 1) | 32) === 117);
}
