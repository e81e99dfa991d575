/** Characters that make a command look other than it is. One pass over the text; plain ASCII costs one regular test. */
import type { Report } from "../report.ts";

const ORDINARY = /^[\x20-\x7e\n]*$/;
const MAX_BLANKS = 100;
/** Invisible characters, direction marks, fillers, look-alike spaces, private use, tags, variation selectors. */
const INVISIBLE_RANGES: readonly (readonly [number, number])[] = [
  [0x00a0, 0x00a0],
  [0x00ad, 0x00ad],
  [0x034f, 0x034f],
  [0x061c, 0x061c],
  [0x115f, 0x1160],
  [0x1680, 0x1680],
  [0x17b4, 0x17b5],
  [0x180b, 0x180f],
  [0x2000, 0x200f],
  [0x2028, 0x202f],
  [0x205f, 0x206f],
  [0x2800, 0x2800],
  [0x3000, 0x3000],
  [0x3164, 0x3164],
  [0xd800, 0xdfff], // half of a pair
  [0xe000, 0xf8ff], // private use
  [0xfe00, 0xfe0f],
  [0xfeff, 0xfeff],
  [0xffa0, 0xffa0],
  [0xfff0, 0xffff],
  [0x1bca0, 0x1bca3],
  [0x1d173, 0x1d17a],
  [0xe0000, 0x10ffff], // tags, variation selectors, private use
];
const CONTROL = /[\x00-\x08\x0b-\x1f\x7f\u0080-\u009f]/;
/** Hyphens, dashes and minus signs that are not `-`. */
const LOOK_ALIKE_DASH = /^[\u2010-\u2015\u2212\u2043\ufe58\ufe63\uff0d\u02d7\u06d4\u2796\u00af]\S*$/;

/** Adds findings for the text of a command. Returns the text to parse: our own marks are taken out. */
export function judgeCharacters(command: string, report: Report): string {
  if (hasLongBlank(command))
    report.review("characters.blanks", `More than ${MAX_BLANKS} blanks in a row can hide what follows.`, "blanks");
  if (endsInContinuation(command))
    report.review("characters.continuation", "A backslash at the end joins the next line.", "\\");
  if (ORDINARY.test(command)) return command;
  if (CONTROL.test(command))
    report.review(
      "characters.control",
      "Control characters are read differently by shells and people.",
      "control character",
    );
  if (hasInvisible(command)) {
    report.review("characters.invisible", "Invisible or look-alike blank characters.", "invisible character");
  }
  return command.replace(/[\ue000-\uf8ff]/g, "\ufffd").replace(/\0/g, "\ufffd");
}

/** Whether a name or path holds characters that people cannot see. */
export function hasHiddenCharacters(text: string): boolean {
  return !ORDINARY.test(text) && hasInvisible(text);
}

export function hasControlCharacters(text: string): boolean {
  return /[\x00-\x1f\x7f\u0080-\u009f]/.test(text);
}

/** A word that looks like an option and is none. */
export function beginsWithLookAlikeDash(word: string): boolean {
  return word.charCodeAt(0) > 127 && LOOK_ALIKE_DASH.test(word);
}

function hasLongBlank(text: string): boolean {
  let run = 0;
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    if (code === 32 || code === 9) {
      run += 1;
      if (run > MAX_BLANKS) return true;
    } else run = 0;
  }
  return false;
}

function endsInContinuation(text: string): boolean {
  let end = text.length;
  if (end > 0 && text.charCodeAt(end - 1) === 10) end -= 1;
  else if (text.charCodeAt(end - 1) !== 92) return false;
  let slashes = 0;
  while (end > 0 && text.charCodeAt(end - 1) === 92) {
    slashes += 1;
    end -= 1;
  }
  return slashes % 2 === 1;
}

function hasInvisible(text: string): boolean {
  let before = 0;
  for (const char of text) {
    const code = char.codePointAt(0) ?? 0;
    if (
      code >= 0xa0 &&
      INVISIBLE_RANGES.some(([from, to]) => code >= from && code <= to) &&
      !isPictureJoint(code, before)
    )
      return true;
    before = code;
  }
  return false;
}

/** U+FE0F and U+200D belong to a picture when they follow one, as in commit messages with emoji. */
function isPictureJoint(code: number, before: number): boolean {
  if (code === 0xfe0f) return before >= 0x203c && (before <= 0x3299 || before >= 0x1f000) && before !== 0x2800;
  return code === 0x200d && (before >= 0x1f000 || before === 0xfe0f);
}
