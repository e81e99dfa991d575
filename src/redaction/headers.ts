/** Credentials whose place tells them: Authorization headers, bearer and basic words, user options, cookies. */
import { BASE64, charTable, isBlank, isQuote, isSpace } from "./chars.ts";
import type { Hit } from "./hit.ts";
import { MARKER_MAX, markerEnd } from "./marker.ts";
import { placeAfter, placeAt } from "./place.ts";
import { isMetavariable, isNumber, isPlaceholder, isUuid, looksRandom } from "./shape.ts";
import type { Source } from "./source.ts";
import { valueAt } from "./values.ts";

/** Longest credential of a header that is read as one. */
const MAX_CREDENTIAL = 16_384;
const MAX_PASSWORD = 1_024;
const MAX_LISTED = 2_048;
const CREDENTIAL = charTable("0-9A-Za-z!#$%&*+./:=?@^_~|-");
/** Schemes whose credential is a list of parameters up to the end of the header. */
const LISTED = /^(?:digest|oauth|hawk|mac|aws4-hmac-sha256)$/i;

/** `Authorization: Bearer ...`, also quoted, as a tuple, in a config; any scheme word. */
export function authorizationAt(source: Source, nameStart: number, nameEnd: number): Hit | undefined {
  const place = placeAfter(source, nameStart, nameEnd);
  if (!place || place.by === "blank" || place.by === "==") return undefined;
  let at = place.at;
  while (at - place.at < 8 && source.at(at) === 92) at++;
  if (isQuote(source.at(at))) at++;
  else if (at > place.at) return undefined;
  const schemeEnd = wordEnd(source, at);
  const scheme = source.text.slice(at, schemeEnd);
  if (schemeEnd > at && schemeEnd - at <= 30 && isGap(source, schemeEnd)) {
    const from = gapEnd(source, schemeEnd);
    if (LISTED.test(scheme)) return listed(source, from);
    return credentialAt(source, from, 8, "authorization", !/^(?:bearer|basic|token)$/i.test(scheme));
  }
  return credentialAt(source, at, 8, "authorization", true);
}

/** A word `Bearer` anywhere, with something random after it. */
export function bearerAt(source: Source, end: number): Hit | undefined {
  return isGap(source, end) ? credentialAt(source, gapEnd(source, end), 8, "authorization", true) : undefined;
}

/** A word `Basic` anywhere, with the base64 of `name:password` after it. */
export function basicAt(source: Source, end: number): Hit | undefined {
  if (!isGap(source, end)) return undefined;
  const from = gapEnd(source, end);
  const head = source.skip(BASE64, from, 96);
  if (head - from < 8) return undefined;
  const plain = atob(source.text.slice(from, head - ((head - from) % 4)));
  return /^[\x20-\x7e]*:[\x20-\x7e]*$/.test(plain) ? credentialAt(source, from, 8, "authorization", false) : undefined;
}

/** `-u name:password`, `--user name:password`: hides the password, and a name that is a key. */
export function userOptionAt(source: Source, end: number): Hit | undefined {
  let at = end;
  if (source.at(at) === 61) at++;
  else {
    if (!isBlank(source.at(at))) return undefined;
    at = gapEnd(source, at);
  }
  const quote = source.at(at);
  const isInQuotes = isQuote(quote);
  if (isInQuotes) at++;
  const afterMarker = markerEnd(source.slice(at, MARKER_MAX), 0);
  const colon = afterMarker > 0 ? at + afterMarker : source.skip(USER_NAME, at, 256);
  if (source.at(colon) !== 58 || colon === at) return undefined;
  const to = passwordEnd(source, colon + 1, isInQuotes ? quote : 0);
  const name = source.text.slice(at, colon);
  const password = source.text.slice(colon + 1, to);
  const isNameSecret = name.length >= 16 && afterMarker < 0 && looksRandom(name);
  const isCurl = /(?<![\w\]])(?:curl|wget|http|https|xh|aria2c)\b[^\n]*$/.test(source.before(at, 150));
  const isSecret =
    !isPlaceholder(password, false) &&
    !isMetavariable(password) &&
    !isNumber(password) &&
    (isCurl ? password.length >= 3 : password.length >= 6 && looksRandom(password));
  if (isSecret) {
    const start = isNameSecret ? at : colon + 1;
    return { start, end: to, kind: "password", secret: source.text.slice(start, to) };
  }
  return isNameSecret ? { start: at, end: colon, kind: "api-key", secret: name } : undefined;
}

const USER_NAME = charTable("0-9A-Za-z_.@+%/=~$\\-");

/** Up to the closing quote, or to the next blank, quote or backslash. */
function passwordEnd(source: Source, start: number, quote: number): number {
  let bare = -1;
  let at = start;
  for (; at - start < MAX_PASSWORD; at++) {
    const code = source.at(at);
    if (code === quote) return at;
    const isPart = code > 32 && !isQuote(code) && code !== 92 && code !== 0xa0;
    if (!isPart && bare < 0) bare = at;
    if (!isPart && (quote === 0 || code < 32 || code === 92 || isQuote(code))) return bare;
  }
  return bare < 0 ? at : bare;
}

function credentialAt(source: Source, from: number, min: number, kind: string, random: boolean): Hit | undefined {
  const head = source.skip(CREDENTIAL, from, 96);
  const text = source.text.slice(from, head);
  if (text.length < min || isPlaceholder(text) || isMetavariable(text) || /^[a-z_]{2,20}=/.test(text)) return undefined;
  if (random || text.length < 16 ? !looksRandom(text) && !isUuid(text) : /^[a-z]+$/.test(text)) return undefined;
  let to = source.skip(CREDENTIAL, from, MAX_CREDENTIAL);
  while (to > from + min && /[.,:?!]/.test(source.text.charAt(to - 1))) to--;
  if (source.at(to) === 40) return undefined; // a call
  const hit: Hit = { start: from, end: to, kind, secret: source.text.slice(from, to) };
  if (to - from >= MAX_CREDENTIAL) hit.rest = CREDENTIAL;
  return hit;
}

/** The parameters of a scheme such as Digest, up to the end of the line or of the string around them. */
function listed(source: Source, from: number): Hit | undefined {
  let to = from;
  let level = -1; // backslashes before the quotes of the parameters
  let isInValue = false;
  while (to - from < MAX_LISTED) {
    let code = source.at(to);
    let slashes = 0;
    while (slashes < 8 && code === 92) code = source.at(to + ++slashes);
    if (code < 32 || code === 39 || code === 96 || (slashes > 0 && code !== 34)) break;
    if (code === 34) {
      const opens = !isInValue && source.text.charCodeAt(to - 1) === 61;
      if (slashes < level || (slashes <= Math.max(level, 0) && !isInValue && !opens) || (level < 0 && !opens)) break;
      if (level < 0) level = slashes;
      if (slashes === level) isInValue = !isInValue;
    }
    to += slashes + 1;
  }
  while (to > from && isSpace(source.text.charCodeAt(to - 1))) to--;
  const text = source.text.slice(from, to);
  if (text.length < 20 || !text.includes("=") || isPlaceholder(text)) return undefined;
  return { start: from, end: to, kind: "authorization", secret: text };
}

function wordEnd(source: Source, from: number): number {
  let at = from;
  while (at - from < 32) {
    const code = source.at(at);
    const isLetter = (code >= 97 && code <= 122) || (code >= 65 && code <= 90) || (code >= 48 && code <= 57);
    if (!isLetter && code !== 45) break;
    at++;
  }
  return at;
}

function isGap(source: Source, at: number): boolean {
  return isBlank(source.at(at)) || source.startsWith("%20", at) || (source.at(at) === 92 && source.at(at + 1) === 32);
}

function gapEnd(source: Source, from: number): number {
  let at = from;
  if (source.at(at) === 37) return at + 3;
  if (source.at(at) === 92) at++;
  while (at - from < 8 && isBlank(source.at(at))) at++;
  return at;
}

const COOKIE_ATTRIBUTE = /^(?:path|domain|expires|max-age|samesite|priority|version|comment)$/i;
const COOKIE_SECRET = /(?:sid|sess|auth|token|csrf|xsrf|jwt|login|remember|secret|key)/i;

/** A `name=value` pair of a cookie header; `nameEnd` is where its `=` stands. */
export function cookiePairAt(source: Source, nameStart: number, nameEnd: number): Hit | undefined {
  const name = source.text.slice(nameStart, nameEnd);
  if (COOKIE_ATTRIBUTE.test(name)) return undefined;
  const place = placeAt(nameEnd + 1);
  const value = valueAt(source, place, 4_096);
  const text = source.text.slice(value.start, value.end);
  if (isPlaceholder(text) || text.length < 4 || isNumber(text)) return undefined;
  if (!COOKIE_SECRET.test(name) && !(text.length >= 8 && (looksRandom(text) || isUuid(text)))) return undefined;
  return { start: value.start, end: value.end, kind: "cookie", secret: text };
}
