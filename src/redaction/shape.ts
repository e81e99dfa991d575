/** What a value looks like by itself: random, made of words, a reference, a placeholder. All linear in a bounded length. */
import { isRarePair } from "./bigrams.ts";
import { charTable, DIGIT, KIND, LOWER, UPPER } from "./chars.ts";
import { markerEnd } from "./marker.ts";

/** Characters of a value that decide; the rest of a longer one is not looked at. */
const LOOKED_AT = 64;

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
const INTEGRITY = /^(?:(?:sha(?:1|224|256|384|512)|md5)[-:=]|SHA256:|h1:)/;
const VERSION = /^[v^~<>=]{0,2}\d{1,5}(?:\.\d{1,5}){1,3}(?:[-+][\w.-]{0,40})?$/;
const TIME = /^\d{4}-\d\d-\d\d(?:[T ][\d:.]{1,20}(?:Z|[+-]\d\d:?\d\d)?)?$/;
const NUMBER = /^[+-]?\d{1,20}(?:[._]\d{1,20})*(?:ms|s|m|h|d|k|kb|mb|gb|%)?$/i;

export function isUuid(value: string): boolean {
  return value.length === 36 && UUID.test(value);
}

export function isNumber(value: string): boolean {
  return value.length <= 24 && NUMBER.test(value);
}

/** No words and no known harmless form: what a generator of keys or passwords writes. */
export function looksRandom(value: string): boolean {
  return isUnlikeWords(value, 0.65);
}

/** As `looksRandom`, where the name and the place speak for a secret already: half words are not enough to keep it. */
export function looksRatherRandom(value: string): boolean {
  return isUnlikeWords(value, 0.8) || hasThreeKinds(value);
}

function isUnlikeWords(value: string, limit: number): boolean {
  if (value.length < 6) return false;
  const head = value.length > LOOKED_AT ? value.slice(0, LOOKED_AT) : value;
  const { share, pieces, letters } = words(head);
  const isChopped = pieces >= 5 && letters < pieces * 3.2;
  if (share >= limit && !isChopped) return false;
  return !(isNumber(head) || isUuid(head) || INTEGRITY.test(head) || VERSION.test(head) || TIME.test(head));
}

/** Capitals, small letters and digits in one: hardly a name, when a value is expected. */
function hasThreeKinds(value: string): boolean {
  return value.length >= 8 && /[a-z]/.test(value) && /[A-Z]/.test(value) && /\d/.test(value) && !VERSION.test(value);
}

/** Share of the characters that belong to words; separators and a few digits count on neither side. */
export function wordShare(value: string): number {
  return words(value).share;
}

interface Words {
  share: number;
  /** Runs of letters of one case, with a capital before them. */
  pieces: number;
  letters: number;
}

/**
 * `getToken`, `HTTPServer` and `snake_case` fall into their words; a word is three letters or more with hardly a rare
 * pair, or one or two letters that stand alone.
 */
function words(value: string): Words {
  let inWords = 0;
  let total = 0;
  let letters = 0;
  let pieces = 0;
  let digitRuns = 0;
  let i = 0;
  const { length } = value;
  while (i < length) {
    const start = i;
    let kind = KIND[value.charCodeAt(i)] ?? 0;
    if (kind & LETTER) {
      let previous = value.charCodeAt(i++);
      let rare = 0;
      let isLastRare = false;
      let uppers = kind & UPPER ? 1 : 0;
      while (i < length) {
        const code = value.charCodeAt(i);
        const next = KIND[code] ?? 0;
        if ((next & LETTER) === 0 || (next & UPPER && kind & LOWER)) break;
        if (next & LOWER && kind & UPPER && uppers > 2) {
          i--;
          if (isLastRare) rare--;
          break;
        }
        isLastRare = isRarePair(previous, code);
        if (isLastRare) rare++;
        if (next & UPPER) uppers++;
        previous = code;
        kind = next;
        i++;
      }
      const size = i - start;
      total += size;
      letters += size;
      pieces++;
      const isWord = size >= 3 ? rare <= Math.floor(size / 6) : !isBeside(value, start - 1) && !isBeside(value, i);
      if (isWord) inWords += size;
    } else if (kind & DIGIT) {
      while (i < length && (KIND[value.charCodeAt(i)] ?? 0) & DIGIT) i++;
      digitRuns++;
      if (digitRuns > 2 || i - start > 4) total += i - start;
    } else {
      if (SEPARATOR[value.charCodeAt(i)] !== 1) total++;
      i++;
    }
  }
  return { share: total === 0 ? 1 : inWords / total, pieces, letters };
}

const LETTER = LOWER | UPPER;
const SEPARATOR = charTable("_./: ,-");

function isBeside(value: string, index: number): boolean {
  return index >= 0 && index < value.length && ((KIND[value.charCodeAt(index)] ?? 0) & (LETTER | DIGIT)) !== 0;
}

const WORDS_FOR_NOTHING = new Set(
  (
    "null undefined none nil true false yes no on off string str number boolean bool int any unknown object buffer bytes " +
    "required optional changeme change_me password passwd pass pwd passphrase secret token key apikey api_key example redacted " +
    "hidden masked removed test dummy placeholder todo tbd n/a na unset empty default bearer basic value text input user " +
    "username missing invalid expired provided set not-set env auth authorization cookie session credential credentials " +
    "prompt stdin plaintext plain encrypted hashed inherit always never auto"
  ).split(" "),
);
const REFERENCE =
  /^(?:\$(?:\{|\(|\w+$|env:|[@#?*!$]$)|\{\{|\{%|<%|#\{|%\(|%\w+%$|<[^<>]{0,200}>$|\{[\w.$-]{1,100}\}$|\[[\w ._-]{1,100}\]$|@[\w.]+@$|__\w+__$|![A-Za-z][\w./-]{0,40}$|&[\w.]+;$)/;
const PATH =
  /^(?:\.{0,2}\/|~\/|[A-Za-z]:[\\/]|file:|(?:vault|op|ssm|arn|secretsmanager|keyring|env|aws-sm|gcp-sm|azure-kv|awssm|sops):)/;
const TEMPLATE_WORDS =
  /^(?:your|my|an?|the|some|enter|insert|replace|change|put|add|fake|dummy|example|sample|test|mock)[-_ ][A-Za-z_ -]{1,60}$/i;
const METAVARIABLE = /^[A-Z][A-Z_]{1,40}$/;
const NO_CONTENT = /^([*xX.•_\-#?=+/\\ ])\1{0,200}$/;
const DOTTED = /^[A-Za-z_$][\w$]{0,60}(?:(?:\.|\?\.|->|::)[A-Za-z_$][\w$]{0,60}){1,12}(?:[[(].{0,200})?$/;

/** References to variables, types, paths and words that stand for "a value goes here": nothing to hide. */
export function isPlaceholder(value: string, mayBeCode = true): boolean {
  if (value === "" || NO_CONTENT.test(value)) return true;
  const first = value.charCodeAt(0);
  if (first === 91 && markerEnd(value, 0) === value.length) return true;
  if (value.length > 256) return false;
  if (value.length < 20 && WORDS_FOR_NOTHING.has(value.toLowerCase())) return true;
  if (REFERENCE_START[first] === 1 && REFERENCE.test(value)) return true;
  if (INTEGRITY.test(value) || (TEMPLATE_WORDS.test(value) && wordShare(value) > 0.8)) return true;
  if (PATH.test(value)) return !looksRandom(value);
  return mayBeCode && DOTTED.test(value) && !isUnlikeWords(value, 0.8);
}

const REFERENCE_START = charTable("${%<#[@_&!");

/** `TOKEN`, `PASSWORD_HERE`: the name of a value in a usage text. */
export function isMetavariable(value: string): boolean {
  return METAVARIABLE.test(value) && wordShare(value) > 0.6;
}

/** Words with blanks between them: a sentence, not a value. */
export function isProse(value: string): boolean {
  const blank = value.search(/\s/);
  return blank > 0 && wordShare(value.slice(0, LOOKED_AT)) >= 0.6;
}
