/** Where the value of a named secret stands: after `=`, `:`, in the next argument, the next attribute, the next field. */
import { HEX, isBlank, isQuote, isSpace, KIND, WORD } from "./chars.ts";
import { MARKER_BEFORE, MARKER_MAX } from "./marker.ts";
import type { Source } from "./source.ts";

export interface Place {
  /** `=` and `:` as written, `,` between quoted strings, `tag` in XML, `flag` and `blank` by a blank, `field` in a neighbour. */
  by: "=" | ":" | "==" | "," | "tag" | "flag" | "blank" | "field";
  /** Where the value begins (its opening quote, if it has one). */
  at: number;
  nameStart: number;
  /** No blank before or after the `=`. */
  isTight: boolean;
  /** The name's own closing quote with its backslashes, as in `"name":` and `\"name\":`. */
  nameQuote: string;
  /** The name follows `?`, `&` or `#`: query or fragment of an address, or a form. */
  isQuery: boolean;
  /** By a blank after `login <name>`, as in .netrc. */
  isLogin: boolean;
  /** The name follows `--`. */
  isFlag: boolean;
}

const MAX_GAP = 64;
const LOGIN = /(?<![\w\]])login\s+\S{1,48}\s+$/;
const FIELD_START = /[VDSCvdsc]/;
const FIELD = /^(?:[Vv]alue|VALUE|val|[Dd]efault|[Dd]efaultValue|[Ss]tringValue|[Ss]ecretString|[Cc]ontent)$/;

export function placeAfter(source: Source, nameStart: number, nameEnd: number): Place | undefined {
  const { text } = source;
  if (
    nameStart > 0 &&
    text.charCodeAt(nameStart - 1) === 93 &&
    MARKER_BEFORE.test(source.before(nameStart, MARKER_MAX))
  ) {
    return undefined; // it has been judged with what the marker stands for
  }
  const isFlag = text.charCodeAt(nameStart) === 45 && text.charCodeAt(nameStart + 1) === 45;
  const isQuery = isQueryBefore(source, nameStart);
  const place: Place = {
    by: "=",
    at: nameEnd,
    nameStart,
    isTight: false,
    nameQuote: "",
    isQuery,
    isLogin: false,
    isFlag,
  };
  let at = nameEnd;
  const quoteEnd = closingQuote(source, at);
  if (quoteEnd > at) {
    place.nameQuote = source.text.slice(at, quoteEnd);
    at = quoteEnd;
    if (source.at(at) === 93) at++; // ["name"] = value
  }
  const isNextSpace = isSpace(source.at(at));
  const sign = skipSpace(source, at, place.nameQuote !== "");
  const code = source.at(sign);
  if (code === 61) return afterEquals(source, place, sign, isNextSpace);
  if (code === 58) return afterColon(source, place, sign);
  if (code === 62 && source.before(nameStart, 1) === "<" && !isNextSpace) return at_(place, "tag", sign + 1);
  if (code === 44 && place.nameQuote !== "") {
    const next = skipSpace(source, sign + 1, true);
    if (isQuote(source.at(next)) || source.at(next) === 92)
      return fieldAfter(source, place, next) ?? at_(place, ",", next);
    return undefined;
  }
  const field = fieldAfter(source, place, at);
  if (field) return field;
  if (!isNextSpace || place.nameQuote !== "") return undefined;
  if (source.startsWith("<<<", sign)) return at_(place, "flag", skipSpace(source, sign + 3, false));
  if (source.at(at) === 10 || source.at(at) === 13) return undefined;
  place.isLogin = LOGIN.test(source.before(nameStart, 72));
  return at_(place, place.isFlag ? "flag" : "blank", sign);
}

/** `?`, `&`, `#`, `&amp;` and `&` as a JSON escape. */
function isQueryBefore(source: Source, at: number): boolean {
  const code = at > 0 ? source.text.charCodeAt(at - 1) : 0;
  if (code === 63 || code === 38 || code === 35) return true;
  return (code === 59 && source.before(at, 5) === "&amp;") || (code === 54 && source.before(at, 6) === "\\u0026");
}

function at_(place: Place, by: Place["by"], at: number): Place {
  place.by = by;
  place.at = at;
  return place;
}

function afterEquals(source: Source, place: Place, sign: number, isSpaced: boolean): Place | undefined {
  let at = sign + 1;
  if (source.at(at) === 62) return at_(place, ":", skipSpace(source, at + 1, true)); // =>
  if (source.at(at) === 61 || source.at(at) === 126) {
    while (source.at(at) === 61 || source.at(at) === 126) at++;
    return at_(place, "==", skipSpace(source, at, false));
  }
  const value = skipSpace(source, at, false);
  if (!isSpaced && value > at) return undefined; // NAME= and a blank: an empty value
  place.isTight = value === at;
  return at_(place, "=", value);
}

function afterColon(source: Source, place: Place, sign: number): Place | undefined {
  const next = source.at(sign + 1);
  if (source.before(place.nameStart, 2) === "${") {
    return next === 45 || next === 43 || next === 61 ? at_(place, "blank", sign + 2) : undefined; // ${NAME:-default}
  }
  if (next === 58 || next === 47) return undefined; // :: and ://
  if (next === 61) return at_(place, "=", skipSpace(source, sign + 2, false));
  let at = skipSpace(source, sign + 1, place.nameQuote !== "");
  const code = source.at(at);
  if (code !== 124 && code !== 62) return at_(place, ":", at);
  // YAML block scalar: the value is on the next line
  at++;
  while (source.at(at) === 43 || source.at(at) === 45) at++;
  if (source.at(at) === 13) at++;
  return source.at(at) === 10 ? at_(place, ":", skipSpace(source, at, true)) : undefined;
}

/** `"name": "API_SECRET", "value": "..."`, `key="ApiSecret" value="..."`, `- name: X` and `value: ...` on the next line. */
function fieldAfter(source: Source, place: Place, from: number): Place | undefined {
  let at = from;
  while (at - from < MAX_GAP && isFiller(source.at(at))) at++;
  if (at === from || !FIELD_START.test(String.fromCharCode(source.at(at) & 127))) return undefined;
  let end = at;
  while (end - at < 16 && ((KIND[source.at(end)] ?? 0) & WORD) !== 0) end++;
  if (!FIELD.test(source.text.slice(at, end))) return undefined;
  const quoteEnd = closingQuote(source, end);
  place.nameQuote = source.text.slice(end, quoteEnd);
  const sign = skipSpace(source, quoteEnd, false);
  const code = source.at(sign);
  if (code !== 58 && code !== 61) return undefined;
  return at_(place, "field", skipSpace(source, sign + 1, false));
}

function isFiller(code: number): boolean {
  return isSpace(code) || code === 44 || code === 92 || isQuote(code);
}

/** Index after a quote with the backslashes before it, or `at` when there is none. */
function closingQuote(source: Source, at: number): number {
  let end = at;
  while (end - at < 8 && source.at(end) === 92) end++;
  return isQuote(source.at(end)) ? end + 1 : at;
}

function skipSpace(source: Source, from: number, overLines: boolean): number {
  let at = from;
  while (at - from < MAX_GAP) {
    const code = source.at(at);
    if (overLines ? isSpace(code) : isBlank(code)) at++;
    else if (overLines && code === 92 && (source.at(at + 1) === 110 || source.at(at + 1) === 114)) at += 2;
    else break;
  }
  return at;
}

/** `%3D`, `%3A`: index after the percent-encoded character, or -1. */
export function percentEnd(source: Source, at: number): number {
  if (source.at(at) !== 37) return -1;
  return HEX[source.at(at + 1)] === 1 && HEX[source.at(at + 2)] === 1 ? at + 3 : -1;
}

/** A place that is known without a name before it. */
export function placeAt(at: number): Place {
  return { by: "=", at, nameStart: at, isTight: true, nameQuote: "", isQuery: false, isLogin: false, isFlag: false };
}
