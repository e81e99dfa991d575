/** Secrets that a word before them announces: names with values, headers, options, hook addresses. */

import { isSecretValue } from "./accept.ts";
import { BASE64URL, DIGIT, KIND, UNDERSCORE, WORD } from "./chars.ts";
import { authorizationAt, basicAt, bearerAt, userOptionAt } from "./headers.ts";
import type { Hit } from "./hit.ts";
import { endKey, NAME_ENDS, type SecretName, secretName } from "./names.ts";
import { type Place, placeAfter } from "./place.ts";
import { isNumber, isProse, looksRandom } from "./shape.ts";
import type { Source } from "./source.ts";
import { HOOK_WORDS, hookAt } from "./urls.ts";
import { MAX_VALUE, type Value, valueAt } from "./values.ts";

/** What is read of a value before it may be turned down. */
const HEAD = 96;
const MAX_NAME = 80;

/** A secret that the word `[start, end)` announces; `cookie` when a cookie header begins. */
export function namedAt(source: Source, start: number, end: number, flags: number): Hit | "cookie" | undefined {
  const length = end - start;
  if (length >= 3 && NAME_ENDS[endKey(source.text, end)] === 1) {
    const special = SPECIAL.get(source.text.slice(start, Math.min(end, start + 16)).toLowerCase());
    if (special) return special(source, start, end);
  } else if (length === 1) return letterAt(source, start, end);
  else if ((flags & (UNDERSCORE | DIGIT)) === 0) return undefined;
  const nameStart = startOfName(source.text, Math.min(start, end - 1), Math.max(0, end - MAX_NAME));
  const name = source.text.slice(nameStart, end);
  const secret = secretName(name);
  if (!secret) return undefined;
  if (secret === "authorization") return authorizationAt(source, start, end);
  const place = placeAfter(source, nameStart, end);
  if (!place) return undefined;
  return secret === "cookie" ? "cookie" : valueHit(source, name, secret, place);
}

type Special = (source: Source, start: number, end: number) => Hit | undefined;

/** Words that announce a secret in a way of their own. */
const SPECIAL = new Map<string, Special>([
  ["bearer", (source, _start, end) => bearerAt(source, end)],
  ["basic", (source, _start, end) => basicAt(source, end)],
  ["identified", (source, _start, end) => identifiedAt(source, end)],
  ["user", userAt],
  ...HOOK_WORDS.map((word): [string, Special] => [word, hookAt]),
]);

function letterAt(source: Source, start: number, end: number): Hit | undefined {
  const letter = source.text.charCodeAt(start) | 32;
  if (letter === 117) return userAt(source, start, end);
  return letter === 100 ? jwkAt(source, start, end) : undefined;
}

/** `-u`, `--user`, `--proxy-user`. */
function userAt(source: Source, start: number, end: number): Hit | undefined {
  if (start === 0 || source.text.charCodeAt(start - 1) !== 45) return undefined;
  return USER_OPTION.test(source.before(start, 12)) ? userOptionAt(source, end) : undefined;
}

const USER_OPTION = /(?:^|[\s"'`[,(])-{1,2}(?:proxy-)?$/;

/** Names go over dots and dashes: `X-Api-Key`, `spring.datasource.password`. */
function startOfName(text: string, from: number, limit: number): number {
  let at = from;
  while (at > limit) {
    const code = text.charCodeAt(at - 1);
    if (((KIND[code] ?? 0) & WORD) === 0 && code !== 45 && code !== 46) break;
    at--;
  }
  return at;
}

function valueHit(source: Source, name: string, secret: SecretName, place: Place): Hit | undefined {
  let value = valueAt(source, place, HEAD);
  let text = source.text.slice(value.start, value.end);
  if (value.isOpen) {
    if (!looksRandom(text) || (value.isQuoted && isProse(text))) return undefined;
    value = valueAt(source, place, MAX_VALUE);
    text = source.text.slice(value.start, value.end);
  }
  if (!isSecretValue({ name, secret, place, value, text })) return undefined;
  const hit: Hit = { start: value.start, end: value.end, kind: secret.kind, secret: text };
  if (value.isOpen) hit.rest = BASE64URL;
  if (place.nameQuote !== "" && place.by === ":" && !value.isQuoted && isNumber(text)) hit.quote = place.nameQuote;
  return hit;
}

/** SQL: `IDENTIFIED BY '...'`. */
function identifiedAt(source: Source, end: number): Hit | undefined {
  const by = /^ (?:by|BY) (?:password |PASSWORD )?(?=')/.exec(source.slice(end, 24));
  if (!by) return undefined;
  const place: Place = {
    by: "=",
    at: end + by[0].length,
    isTight: false,
    nameQuote: "",
    isQuery: false,
    isFlag: false,
  };
  const value: Value = valueAt(source, place, HEAD);
  if (value.isOpen || value.end - value.start < 3) return undefined;
  return { start: value.start, end: value.end, kind: "password", secret: source.text.slice(value.start, value.end) };
}

/** The private part of a JSON Web Key: `"d":"..."`. */
function jwkAt(source: Source, start: number, end: number): Hit | undefined {
  if (!/["']$/.test(source.before(start, 1))) return undefined;
  const place = placeAfter(source, start, end);
  if (!place || place.by !== ":" || place.nameQuote === "") return undefined;
  const value = valueAt(source, place, HEAD);
  const text = source.text.slice(value.start, value.end);
  if (!value.isQuoted || text.length < 43 || /[^\w-]/.test(text) || !looksRandom(text)) return undefined;
  const whole = value.isOpen ? valueAt(source, place, MAX_VALUE) : value;
  return { start: whole.start, end: whole.end, kind: "private-key", secret: source.text.slice(whole.start, whole.end) };
}
