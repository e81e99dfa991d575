/** Texts inside the text: base64 of something readable, percent-encoded and JSON-escaped stretches. */
import { BASE64, BASE64URL, charTable, HEX, isHex } from "./chars.ts";
import type { Hit, Replaced } from "./hit.ts";
import type { Source } from "./source.ts";

/** Longest stretch that is decoded at once; a longer one is decoded piece by piece. */
export const MAX_ENCODED = 16_384;
const MAX_STRETCH = 4_096;
const READABLE = /^[\t\n\r\x20-\x7e]*$/;
const STRETCH = charTable("0-9A-Za-z_.~:/?#@!$&*+,;=-");

/** Finds secrets in a decoded text; the scanner gives itself. */
export type FindInside = (text: string) => Replaced[];

/** Position within a group of four that the first character of base64 of ASCII may have, by code unit. */
const FIRST = charTable("A-Za-f");
const SECOND = charTable("A-HQ-Xg-nw-z0-3");

/**
 * Base64 from `start` on that decodes to readable text with a secret in it. `checked` is the index up to which the
 * stretch needs no second look.
 */
export function base64At(source: Source, start: number, find: FindInside): { hit?: Hit; checked: number } {
  for (let offset = 0; offset < 4; offset++) {
    if (
      !isTextAt(source.text, start + offset) ||
      !READABLE.test(decode(source.text.slice(start + offset, start + offset + 12)))
    )
      continue;
    const standard = source.skip(BASE64, start, MAX_ENCODED);
    const urlSafe = source.skip(BASE64URL, start, MAX_ENCODED);
    const end = Math.max(standard, urlSafe);
    const inside = find(decode(source.text.slice(start + offset, end)))[0];
    if (!inside) return { checked: end };
    let to = end;
    while (to - end < 2 && source.at(to) === 61) to++;
    const hit: Hit = { kind: "", secret: "", marker: inside.marker, start, end: to };
    if (end - start >= MAX_ENCODED) hit.rest = standard >= urlSafe ? BASE64 : BASE64URL;
    return { hit, checked: to };
  }
  return { checked: start + 1 };
}

/** Whether the word of 16 letters and digits or more at `start` can be base64 of ASCII text, at any alignment. */
export function fitsText(source: Source, start: number): boolean {
  const { text } = source;
  return isTextAt(text, start) || isTextAt(text, start + 1) || isTextAt(text, start + 2) || isTextAt(text, start + 3);
}

function isTextAt(text: string, at: number): boolean {
  for (let group = 0; group < 12; group += 4) {
    if (FIRST[text.charCodeAt(at + group)] !== 1 || SECOND[text.charCodeAt(at + group + 1)] !== 1) return false;
  }
  return true;
}

function decode(text: string): string {
  const standard = text.replace(/-/g, "+").replace(/_/g, "/");
  return atob(standard.slice(0, standard.length - (standard.length % 4 === 1 ? 1 : 0)));
}

/** A stretch with `%XX` or `\u00XX` in it, decoded once. */
export interface Decoded {
  plain: string;
  end: number;
}

export function decodeStretch(source: Source, start: number): Decoded | undefined {
  const codes: number[] = [];
  let at = start;
  let escapes = 0;
  while (at - start < MAX_STRETCH) {
    const code = source.at(at);
    if (code < 0) break;
    const length = escapeAt(source, at, code);
    if (length > 0) {
      const value = Number.parseInt(source.text.slice(at + (length === 3 ? 1 : 2), at + length), 16);
      if (value > 126 || (value < 32 && value !== 9 && value !== 10 && value !== 13)) break;
      codes.push(value);
      escapes++;
    } else if (STRETCH[code] === 1) codes.push(code);
    else break;
    at += length > 0 ? length : 1;
  }
  return escapes > 0 ? { plain: String.fromCharCode(...codes), end: at } : undefined;
}

/** Where in the text character `index` of the stretch that begins at `start` came from. */
export function sourceIndex(source: Source, start: number, index: number): number {
  let at = start;
  for (let i = 0; i < index; i++) at += Math.max(1, escapeAt(source, at, source.at(at)));
  return at;
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
