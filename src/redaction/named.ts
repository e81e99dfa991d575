/** Secrets that a word before them announces: names with values, headers, options, hook addresses. */
import { authorizationAt, basicAt, bearerAt, userOptionAt } from "./headers.ts";
import { isSecretValue } from "./accept.ts";
import { BASE64URL } from "./chars.ts";
import type { Hit } from "./hit.ts";
import { secretName } from "./names.ts";
import { type Place, placeAfter } from "./place.ts";
import { isNumber, isProse, looksRandom } from "./shape.ts";
import type { Source } from "./source.ts";
import { hookAt } from "./urls.ts";
import { MAX_VALUE, type Value, valueAt } from "./values.ts";

/** What is read of a value before it may be turned down. */
const HEAD = 256;
const NAME = /[A-Za-z0-9_.-]*$/;

/** A secret that the word `[start, end)` announces; `cookie` when a cookie header begins. */
export function namedAt(source: Source, start: number, end: number): Hit | "cookie" | undefined {
  const word = source.text.slice(Math.max(start, end - 80), end);
  switch (word.toLowerCase()) {
    case "bearer":
      return bearerAt(source, end);
    case "basic":
      return basicAt(source, end);
    case "services":
    case "workflows":
    case "triggers":
    case "webhooks":
    case "webhookb2":
    case "webhook":
    case "catch":
      return hookAt(source, start, end);
    case "u":
    case "user":
      return /(?:^|[\s"'])-{1,2}(?:proxy-)?$/.test(source.before(start, 12)) ? userOptionAt(source, end) : undefined;
    case "identified":
      return identifiedAt(source, end);
    case "d":
      return jwkAt(source, start, end);
  }
  if (end - start < 3) return undefined;
  const name = NAME.exec(source.before(end, 80))?.[0] ?? word;
  if (/authorization$/i.test(name)) return authorizationAt(source, start, end);
  if (/cookie$/i.test(word)) return placeAfter(source, start, end) ? "cookie" : undefined;
  const secret = secretName(name);
  if (!secret) return undefined;
  const place = placeAfter(source, end - name.length, end);
  if (!place) return undefined;
  return valueHit(source, name, secret, place);
}

function valueHit(source: Source, name: string, secret: { strength: "strong" | "weak" | "query"; kind: string }, place: Place): Hit | undefined {
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
  const place: Place = { by: "=", at: end + by[0].length, isTight: false, nameQuote: "", isQuery: false, isFlag: false };
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
