/** Decides whether the value at a place is a secret, from the name's strength, the place and the value's own look. */
import { type SecretName, secretName } from "./names.ts";
import type { Place } from "./place.ts";
import {
  isMetavariable,
  isNumber,
  isPlaceholder,
  isProse,
  isUuid,
  looksRandom,
  looksRatherRandom,
  wordShare,
} from "./shape.ts";
import type { Value } from "./values.ts";

const ALGORITHM =
  /^(?:sha|md|aes|rsa|hs|rs|es|ps|utf|base|oauth|bcrypt|argon|ed|ecdsa|x|v|http|tls|k)[-_]?\d{1,4}\w{0,4}$/i;
const SCHEME = /^(?:Bearer|Basic|Token)\s+/i;
const ENVIRONMENT_NAME = /^[A-Z][A-Z0-9_]*$/;

export interface Candidate {
  name: string;
  secret: SecretName;
  place: Place;
  value: Value;
  text: string;
}

export function isSecretValue(candidate: Candidate): boolean {
  const { secret, place, value, text } = candidate;
  if (text.length < 4 || (!value.isQuoted && value.next === 40)) return false; // a call
  const mayBeCode = !place.isQuery;
  if (isPlaceholder(text, mayBeCode)) return false;
  if (value.isQuoted && (isProse(text) || (SCHEME.test(text) && isPlaceholder(text.replace(SCHEME, ""), mayBeCode))))
    return false;
  if (/[a-z][A-Z]|_/.test(text) && /^[A-Za-z_]+$/.test(text) && isNameOfSecret(text)) return false;
  switch (secret.strength) {
    case "strong":
      return isStrongValue(candidate);
    case "weak":
      return isWeakValue(candidate);
    case "query":
      return place.isQuery && text.length >= 12 && isRandomOrId(text);
  }
}

/** `clientSecret: "client_secret"`: a name stands for a name. */
function isNameOfSecret(text: string): boolean {
  return text.length <= 40 && secretName(text) !== undefined && wordShare(text) > 0.8;
}

function isStrongValue({ name, place, value, text }: Candidate): boolean {
  switch (place.by) {
    case "blank":
      return place.isLogin || (text.length >= 8 && hasMixedCharacters(text) && looksRandom(text));
    case "flag":
      return isRandomOrId(text) || (value.isQuoted && !isMetavariable(text));
    case "==":
      return value.isQuoted && isRandomOrId(text);
    case ",":
      return isRandomOrId(text) || isPasswordLike(text);
  }
  if (value.isQuoted || place.by === "tag") return !isMetavariable(text);
  if (isMetavariable(text) && !ENVIRONMENT_NAME.test(name)) return false;
  if (place.by === "=" && place.isTight) {
    const isAssignment = ENVIRONMENT_NAME.test(name) || place.isQuery || place.isFlag || value.next === 59;
    return isAssignment || isRandomOrId(text) || isPasswordLike(text);
  }
  if (isNumber(text)) return text.length >= 6 || place.nameQuote !== "";
  if (isUuid(text) || isPasswordLike(text)) return true;
  return AFTER_TYPE.has(value.next) ? looksRandom(text) : looksRatherRandom(text);
}

/** `;` `|` `)` `[` `=` `?` after a bare word: a type or a parameter of a program, not a value of a configuration. */
const AFTER_TYPE = new Set([59, 124, 41, 91, 61, 63]);

function isWeakValue({ place, text, value }: Candidate): boolean {
  if (text.length < 8 || isUuid(text) || isNumber(text)) return false;
  if (/\s/.test(text)) return false;
  if (place.by === "blank") return text.length >= 16 && hasMixedCharacters(text) && looksRandom(text);
  if (place.by === "==" && !value.isQuoted) return false;
  const isCode = place.by === "=" && !place.isTight && !value.isQuoted;
  if (isCode && (!/\d/.test(text) || AFTER_TYPE.has(value.next))) return false; // name = otherName
  return looksRandom(text) || (text.length >= 16 && !isCode && !AFTER_TYPE.has(value.next) && looksRatherRandom(text));
}

/** One word of letters and digits, or with the marks that people put into passwords: `hunter2`, `Summer2024!`. */
function isPasswordLike(text: string): boolean {
  if (text.length < 6 || ALGORITHM.test(text) || /[/\\]/.test(text)) return false;
  const hasLetter = /[A-Za-z]/.test(text);
  const hasMark = /[!#$%&*+=?@^~]/.test(text);
  const hasDigit = /\d/.test(text);
  return (
    hasLetter &&
    (hasDigit || hasMark) &&
    !/^[a-z0-9]+(?:[-_.][a-z0-9]+)+$/.test(text) &&
    !/^[\w.-]+@[\w.-]+$/.test(text)
  );
}

function isRandomOrId(text: string): boolean {
  return looksRandom(text) || isUuid(text);
}

function hasMixedCharacters(text: string): boolean {
  const kinds = [/[a-z]/, /[A-Z]/, /\d/, /[^A-Za-z0-9]/].filter((kind) => kind.test(text)).length;
  return kinds >= 2;
}
