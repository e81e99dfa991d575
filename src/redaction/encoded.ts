/** Texts inside the text: base64 of something readable, percent-encoded and JSON-escaped stretches. */
import { BASE64, BASE64URL, charTable, HEX, isHex } from "./chars.ts";
import type { Hit } from "./hit.ts";
import type { Source } from "./source.ts";

/** Longest stretch that is decoded at once; a longer one is decoded piece by piece. */
export const MAX_ENCODED = 16_384;
const READABLE = /^[\t\n\r\x20-\x7e]*$/;
const STRETCH = charTable("0-9A-Za-z_.~:/?#@!$&*+,;=-");

/** Finds secrets in a decoded text; the scanner gives itself. */
export type FindInside = (text: string) => Hit[];

/** Position within a group of four that the first character of base64 of ASCII may have, by code unit. */
const FIRST = charTable("A-Za-f");
const SECOND = charTable("A-HQ-Xg-nw-z0-3");

/**
 * Base64 from `start` on that decodes to readable text with a secret in it. `checked` is the index up to which the
 * stretch needs no second look.
 */
export function base64At(source: Source, start: number, find: FindInside): { hit?: Hit; checked: number } {
  for (let offset = 0; offset < 4; offset++) {
    if (!fitsText(source.text, start + offset)) continue;
    const standard = source.skip(BASE64, start, MAX_ENCODED);
    const urlSafe = source.skip(BASE64URL, start, MAX_ENCODED);
    const end = Math.max(standard, urlSafe);
    const plain = decode(source.text.slice(start + offset, end));
    if (!READABLE.test(plain.slice(0, 12))) continue;
    const inside = find(plain)[0];
    if (!inside) continue;
    let to = end;
    while (to - end < 2 && source.at(to) === 61) to++;
    const hit: Hit = { start, end: to, kind: `${inside.kind}`, secret: inside.secret };
    if (end - start >= MAX_ENCODED) hit.rest = standard >= urlSafe ? BASE64 : BASE64URL;
    return { hit, checked: to };
  }
  return { checked: start + 1 };
}

function fitsText(text: string, at: number): boolean {
  for (let group = 0; group < 12; group += 4) {
    if (FIRST[text.charCodeAt(at + group)] !== 1 || SECOND[text.charCodeAt(at + group + 1)] !== 1) return false;
  }
  return true;
}

function decode(text: string): string {
  const standard = text.replace(/-/g, "+").replace(/_/g, "/");
  return atob(standard.slice(0, standard.length - (standard.length % 4 === 1 ? 1 : 0)));
}

/** A stretch with `%XX` or `\u00XX` in it, decoded once, and where in the text each character came from. */
export interface Decoded {
  plain: string;
  /** `from[i]` is where character i begins; one entry more for the end. */
  from: number[];
  end: number;
}

export function decodeStretch(source: Source, start: number): Decoded | undefined {
  const from: number[] = [];
  let plain = "";
  let at = start;
  let escapes = 0;
  while (at - start < 4_096) {
    const code = source.at(at);
    if (code < 0) break;
    const length = escapeAt(source, at, code);
    if (length > 0) {
      const value = Number.parseInt(source.text.slice(at + (length === 3 ? 1 : 2), at + length), 16);
      if (value > 126 || (value < 32 && value !== 9 && value !== 10 && value !== 13)) break;
      plain += String.fromCharCode(value);
      escapes++;
    } else if (STRETCH[code] === 1) plain += String.fromCharCode(code);
    else break;
    from.push(at);
    at += length > 0 ? length : 1;
  }
  from.push(at);
  return escapes > 0 ? { plain, from, end: at } : undefined;
}

/** Length of the escape at `at`: 3 for `%2D`, 4 for `\x2d`, 6 for `\u002d`, 0 for none. */
export function escapeAt(source: Source, at: number, code: number): number {
  if (code === 37) return isHex(source.at(at + 1)) && isHex(source.at(at + 2)) ? 3 : 0;
  if (code !== 92) return 0;
  const kind = source.at(at + 1);
  if (kind === 120) return isHex(source.at(at + 2)) && isHex(source.at(at + 3)) ? 4 : 0;
  if (kind !== 117 || source.at(at + 2) !== 48 || source.at(at + 3) !== 48) return 0;
  return HEX[source.at(at + 4)] === 1 && HEX[source.at(at + 5)] === 1 ? 6 : 0;
}
