/** Finds tokens that carry their own kind: by prefix (families.ts), by form (JWT, Discord, Telegram, Azure). */
import { BASE64URL, DIGIT, HEX, KIND, UPPER, WORD } from "./chars.ts";
import { FAMILY_START, type Family, familiesAt, GLUED_FAMILIES, startKey } from "./families.ts";
import type { Hit } from "./hit.ts";
import { looksRandom } from "./shape.ts";
import type { Source } from "./source.ts";

/** Longest token that gets a fingerprint of its whole; the rest of a longer one is hidden too. */
export const MAX_TOKEN = 16_384;
/** What is read before a candidate may be turned down: keeps the work linear where candidates overlap. */
const HEAD = 80;

/** A token that begins at the word `[start, end)`. */
export function tokenAt(source: Source, start: number, end: number): Hit | undefined {
  const { text } = source;
  const first = text.charCodeAt(start);
  const second = start + 1 < source.end ? source.at(start + 1) : 0;
  const key = startKey(first, second);
  if (FAMILY_START[key] === 1 && first < 128 && second < 128) {
    const hit = familyAt(source, start, familiesAt(key)) ?? jwtAt(source, start);
    if (hit) return hit;
  }
  return formAt(source, start, end);
}

function familyAt(source: Source, start: number, families: readonly Family[]): Hit | undefined {
  const third = source.at(start + 2);
  for (const family of families) {
    const isPossible = family.prefix.length < 3 || third === family.prefix.charCodeAt(2);
    if (!isPossible || !source.startsWith(family.prefix, start)) continue;
    const hit = bodyAt(source, start, family);
    if (hit) return hit;
  }
  return undefined;
}

function bodyAt(source: Source, start: number, family: Family): Hit | undefined {
  const from = start + family.prefix.length;
  if (source.skip(family.body, from, family.min) - from < family.min) return undefined;
  if (family.random === true && !hasDigitOrCapital(source.text, from, from + family.min)) return undefined;
  const head = source.skip(family.body, from, Math.max(HEAD, (family.max ?? 0) + 1));
  if (family.max !== undefined && (head - from > family.max || isWordAt(source, head))) return undefined;
  if (family.random === true && !looksRandom(source.text.slice(from, head))) return undefined;
  const to = source.skip(family.body, from, MAX_TOKEN);
  const end = trimmed(source, from + family.min, to);
  const hit = hitOf(source, start, end, family.kind, to - from >= MAX_TOKEN ? family.body : undefined);
  hit.isSure = family.max === undefined && family.random !== true;
  return hit;
}

/** Random text without one is next to impossible; words without one are common, and turned down fast. */
function hasDigitOrCapital(text: string, from: number, to: number): boolean {
  for (let at = from; at < to; at++) if ((KIND[text.charCodeAt(at)] ?? 0) & (DIGIT | UPPER)) return true;
  return false;
}

/** A token never ends with the full stop or the dash of the sentence around it. */
function trimmed(source: Source, min: number, to: number): number {
  let end = to;
  while (end > min && source.text.charCodeAt(end - 1) === 46) end--;
  return end;
}

const UNDASHED = GLUED_FAMILIES.filter((family) => !family.prefix.includes("-"));

/** A prefix that is special enough inside the word `[start, end)`: text glued to a token. */
export function gluedTokenAt(source: Source, start: number, end: number): Hit | undefined {
  const word = source.text.slice(start, end);
  let found: Hit | undefined;
  for (const family of UNDASHED) {
    for (let offset = word.indexOf(family.prefix, 1); offset > 0; offset = word.indexOf(family.prefix, offset + 1)) {
      if (found && found.start <= start + offset) break;
      const hit = bodyAt(source, start + offset, family);
      if (hit) found = hit;
    }
  }
  return found;
}

/** Glued prefixes with a dash, and how long their front before it is. */
const DASHED = GLUED_FAMILIES.filter((family) => family.prefix.includes("-")).map((family) => ({
  family,
  front: family.prefix.indexOf("-"),
  last: family.prefix.charCodeAt(family.prefix.indexOf("-") - 1),
}));

/** A prefix with a dash whose front is the end of the word `[start, end)`: `keysk-ant-...`. */
export function gluedDashTokenAt(source: Source, start: number, end: number): Hit | undefined {
  const last = source.text.charCodeAt(end - 1);
  for (const each of DASHED) {
    if (each.last !== last || end - start <= each.front) continue;
    const { family, front } = each;
    const hit = source.startsWith(family.prefix, end - front) ? bodyAt(source, end - front, family) : undefined;
    if (hit) return hit;
  }
  return undefined;
}

/** `eyJ...` with dots: two parts of an unsigned token, three of a signed, five of an encrypted one. */
function jwtAt(source: Source, start: number): Hit | undefined {
  if (!source.startsWith("eyJ", start)) return undefined;
  let end = source.skip(BASE64URL, start, MAX_TOKEN);
  if (end - start < 10 || source.at(end) !== 46) return undefined;
  const isPayloadPlain = source.startsWith("eyJ", end + 1);
  let parts = 1;
  while (parts < 5 && source.at(end) === 46 && end - start < MAX_TOKEN) {
    const next = source.skip(BASE64URL, end + 1, MAX_TOKEN);
    if (next === end + 1 && source.at(next) !== 46) break;
    end = next;
    parts++;
  }
  if (end - start < 30 || parts < 2 || (parts < 3 && !isPayloadPlain)) return undefined;
  return hitOf(source, start, end, "jwt", end - start >= MAX_TOKEN ? BASE64URL : undefined);
}

function formAt(source: Source, start: number, end: number): Hit | undefined {
  const next = source.at(end);
  const length = end - start;
  if (next === 58 && length >= 8) return telegramAt(source, start, end);
  if (length >= 18 && (next === 46 || next === 45 || next === 95)) return discordAt(source, start, end);
  if (next === 126 && length >= 5) return azureSecretAt(source, start, end);
  return undefined;
}

/** Bot tokens: 8 to 10 digits, a colon, 35 characters; in addresses `bot` stands before them. */
function telegramAt(source: Source, start: number, end: number): Hit | undefined {
  let from = end;
  while (from > start && (KIND[source.text.charCodeAt(from - 1)] ?? 0) & DIGIT) from--;
  const digits = end - from;
  const isGlued = from > start && source.text.slice(start, from).toLowerCase() !== "bot";
  if (digits < 8 || digits > 10 || isGlued) return undefined;
  const to = source.skip(BASE64URL, end + 1, 36);
  if (to - end - 1 !== 35 || !looksRandom(source.text.slice(end + 1, to))) return undefined;
  return hitOf(source, from, to, "telegram-token", undefined);
}

/** Bot tokens: id in base64, a dot, 6 or 7 characters, a dot, 27 or more. */
function discordAt(source: Source, start: number, end: number): Hit | undefined {
  if (!/[MNO]/.test(source.text.charAt(start))) return undefined;
  const first = source.skip(BASE64URL, end, 40);
  if (first - start < 18 || first - start > 30 || source.at(first) !== 46) return undefined;
  const second = source.skip(BASE64URL, first + 1, 9);
  if (second - first - 1 < 5 || second - first - 1 > 7 || source.at(second) !== 46) return undefined;
  const third = source.skip(BASE64URL, second + 1, 80);
  if (third - second - 1 < 27 || !looksRandom(source.text.slice(second + 1, third))) return undefined;
  return hitOf(source, start, third, "discord-token", undefined);
}

/** Client secrets of Entra applications: `abc8Q~` and 31 to 34 more. */
function azureSecretAt(source: Source, start: number, end: number): Hit | undefined {
  if (!/^[\w.-]{3}\dQ$/.test(source.text.slice(end - 5, end)) || end - start > 6) return undefined;
  let to = end + 1;
  while (to - end < 40 && (BASE64URL[source.at(to)] === 1 || source.at(to) === 126 || source.at(to) === 46)) to++;
  return to - end > 30 ? hitOf(source, start, to, "azure-secret", undefined) : undefined;
}

function isWordAt(source: Source, index: number): boolean {
  const code = source.at(index);
  return code >= 0 && ((KIND[code] ?? 0) & WORD) !== 0;
}

export function hitOf(source: Source, start: number, end: number, kind: string, rest: Uint8Array | undefined): Hit {
  const hit: Hit = { start, end, kind, secret: source.text.slice(start, end) };
  if (rest) hit.rest = rest;
  return hit;
}

/** 32 hexadecimal digits and a data centre: `-us12`. */
export function mailchimpAt(source: Source, start: number, end: number): Hit | undefined {
  if (end - start !== 32 || source.skip(HEX, start, 33) !== end || !source.startsWith("-us", end)) return undefined;
  let to = end + 3;
  while (to < end + 5 && (KIND[source.at(to)] ?? 0) & DIGIT) to++;
  return to > end + 3 ? hitOf(source, start, to, "mailchimp-key", undefined) : undefined;
}
