/** Secrets that a word before them announces: names with values, headers, options, hook addresses. */

import { isSecretValue } from "./accept.ts";
import { BASE64URL, DIGIT, isQuote, isSpace, KIND, UNDERSCORE, WORD } from "./chars.ts";
import { authorizationAt, basicAt, bearerAt, userOptionAt } from "./headers.ts";
import type { Hit } from "./hit.ts";
import { endKey, NAME_ENDS, type SecretName, secretName } from "./names.ts";
import { type Place, placeAfter, placeAt } from "./place.ts";
import { isNumber, isPlaceholder, isProse, looksRandom } from "./shape.ts";
import type { Source } from "./source.ts";
import { HOOK_WORDS, hookAt } from "./urls.ts";
import { bareAt, MAX_VALUE, type Value, valueAt } from "./values.ts";

/** What is read of a value before it may be turned down. */
const HEAD = 96;
const MAX_NAME = 80;

/** A secret that the word `[start, end)` announces; `cookie` when a cookie header begins. */
export function namedAt(source: Source, start: number, end: number, flags: number): Hit | "cookie" | undefined {
  const length = end - start;
  if (length >= 3 && NAME_ENDS[endKey(source.text, end)] === 1) {
    const special = SPECIAL.get(source.text.slice(start, Math.min(end, start + 16)).toLowerCase());
    const hit = special?.(source, start, end);
    if (hit) return hit;
  }
  if (start > 0 && source.text.charCodeAt(start - 1) === 45) {
    const option = shortOptionAt(source, start, end);
    if (option) return option;
  }
  if (length === 1) return (source.text.charCodeAt(start) | 32) === 100 ? jwkAt(source, start, end) : undefined;
  if (NAME_ENDS[endKey(source.text, end)] !== 1 && (flags & (UNDERSCORE | DIGIT)) === 0) return undefined;
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
  ["user", (source, start, end) => (source.before(start, 1) === "-" ? userAt(source, start, end) : undefined)],
  ...HOOK_WORDS.map((word): [string, Special] => [word, hookAt]),
]);

/** `--user`, `--proxy-user`. */
function userAt(source: Source, start: number, end: number): Hit | undefined {
  return USER_OPTION.test(source.before(start, 12)) ? userOptionAt(source, end) : undefined;
}

const USER_OPTION = /(?:^|[\s"'`[,(])-{1,2}(?:proxy-)?$/;
const PASSWORD_OPTION =
  /(?<![\w\]])(?:sshpass|login|mysql\w*|mariadb\w*|mongosh?|mongodump|ldap\w+|redis-cli|sqlcmd|7z)\b[^\n|;&]*[\s"']-$/;

/** `-u name:password` (also `-sSLu`), and `-p password` or `-ppassword` of the programs that take one there. */
function shortOptionAt(source: Source, start: number, end: number): Hit | undefined {
  const { text } = source;
  if ((text.charCodeAt(end - 1) | 32) === 117 && end - start <= 6) return userAt(source, start, end);
  if (text.charCodeAt(start) !== 112 || !PASSWORD_OPTION.test(source.before(start, 120))) return undefined;
  const isGlued = end - start > 1;
  if (!isGlued && source.at(end) !== 32) return undefined;
  const value = valueAt(source, placeAt(isGlued ? start + 1 : end + 1), HEAD);
  const secret = text.slice(value.start, value.end);
  if (value.isOpen || secret.length < 4 || secret.startsWith("-") || isPlaceholder(secret) || isNumber(secret))
    return undefined;
  return { start: value.start, end: value.end, kind: "password", secret };
}

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
  const value = valueAt(source, place, HEAD);
  if (!value.isOpen) return judged(source, name, secret, place, value);
  const head = source.text.slice(value.start, value.end);
  if (looksRandom(head) && !(value.isQuoted && isProse(head))) {
    return judged(source, name, secret, place, valueAt(source, place, MAX_VALUE));
  }
  if (!value.isQuoted) return undefined;
  const word = bareAt(source, value.start, place, HEAD);
  return looksRandom(source.text.slice(word.start, word.end)) ? judged(source, name, secret, place, word) : undefined;
}

function judged(source: Source, name: string, secret: SecretName, place: Place, value: Value): Hit | undefined {
  const text = source.text.slice(value.start, value.end);
  if (place.by === "," && isName(source, value)) return undefined;
  if (!isSecretValue({ name, secret, place, value, text })) return undefined;
  const hit: Hit = { start: value.start, end: value.end, kind: secret.kind, secret: text };
  if (value.isOpen) hit.rest = BASE64URL;
  if (place.nameQuote !== "" && place.by === ":" && !value.isQuoted && isNumber(text)) hit.quote = place.nameQuote;
  return hit;
}

/** `"password", "name": ...`: the second string is a name of its own. */
function isName(source: Source, value: Value): boolean {
  let at = value.end;
  while (at - value.end < 16 && (isQuote(source.at(at)) || isSpace(source.at(at)) || source.at(at) === 92)) at++;
  return source.at(at) === 58;
}

/** SQL: `IDENTIFIED BY '...'`. */
function identifiedAt(source: Source, end: number): Hit | undefined {
  const by = /^ (?:by|BY) (?:password |PASSWORD )?(?=')/.exec(source.slice(end, 24));
  if (!by) return undefined;
  const place = placeAt(end + by[0].length);
  const value: Value = valueAt(source, place, HEAD);
  if (value.isOpen || !value.isQuoted || isPlaceholder(source.text.slice(value.start, value.end))) return undefined;
  return { start: value.start, end: value.end, kind: "password", secret: source.text.slice(value.start, value.end) };
}

/** The private part of a JSON Web Key: `"d":"..."`. */
function jwkAt(source: Source, start: number, end: number): Hit | undefined {
  if (!/["']$/.test(source.before(start, 1))) return undefined;
  const place = placeAfter(source, start, end);
  if (place?.by !== ":" || place.nameQuote === "") return undefined;
  const value = valueAt(source, place, HEAD);
  const text = source.text.slice(value.start, value.end);
  if (!value.isQuoted || text.length < 43 || /[^\w-]/.test(text) || !looksRandom(text)) return undefined;
  const whole = value.isOpen ? valueAt(source, place, MAX_VALUE) : value;
  return { start: whole.start, end: whole.end, kind: "private-key", secret: source.text.slice(whole.start, whole.end) };
}
