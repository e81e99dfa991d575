/** Character classes as lookup tables over UTF-16 code units, so that the hot loop is one load and one test a character. */

export const LOWER = 1;
export const UPPER = 2;
export const DIGIT = 4;
export const UNDERSCORE = 8;
/** Letter, digit or underscore. */
export const WORD = LOWER | UPPER | DIGIT | UNDERSCORE;
/** `\`, `%` and ESC: what follows may be part of an escape and not of a word. */
export const ESCAPE = 16;
/** What may stand between the prefix of a token and its body, or between the parts of a token. */
export const JOINT = 32;
/** What may follow the name of a secret when its value comes next. */
export const AFTER_NAME = 64;
/** Quotes and line ends: they close a cookie header. */
export const CLOSING = 128;

/** `=`, `:` and quotes: what follows a name in an assignment. */
export const SIGN = 256;

export type CharTable = Uint8Array;

const SIZE = 65_536;

/** One table for the hot loop: the bits above for every code unit. */
export const KIND: Uint16Array = kinds();

/** Table with 1 for every character of a class written like a regular expression's (`a-z0-9_`). */
export function charTable(spec: string): CharTable {
  const table = new Uint8Array(SIZE);
  for (let i = 0; i < spec.length; i++) {
    const from = spec.charCodeAt(i);
    const isRange = spec[i + 1] === "-" && i + 2 < spec.length;
    const to = isRange ? spec.charCodeAt(i + 2) : from;
    table.fill(1, from, to + 1);
    if (isRange) i += 2;
  }
  return table;
}

function kinds(): Uint16Array {
  const table = new Uint16Array(SIZE);
  table.fill(LOWER, 97, 123);
  table.fill(UPPER, 65, 91);
  table.fill(DIGIT, 48, 58);
  table[95] = UNDERSCORE;
  const add = (characters: string, bit: number) => {
    for (const character of characters) {
      const code = character.charCodeAt(0);
      table[code] = (table[code] ?? 0) | bit;
    }
  };
  add("\\%\u001b", ESCAPE);
  add("-.:~%\\+/=", JOINT);
  add("=:\"'`\\ \t\r\n,>]%</", AFTER_NAME);
  add("\"'`\r\n", CLOSING);
  add("=:\"'`\\", SIGN);
  return table;
}

export const HEX = charTable("0-9a-fA-F");
export const BASE62 = charTable("0-9A-Za-z");
export const BASE64URL = charTable("0-9A-Za-z_-");
export const BASE64 = charTable("0-9A-Za-z+/");

export function isHex(code: number): boolean {
  return code >= 0 && HEX[code] === 1;
}

export function isBlank(code: number): boolean {
  return code === 32 || code === 9;
}

export function isSpace(code: number): boolean {
  return code === 32 || (code >= 9 && code <= 13) || code === 0xa0;
}

export function isQuote(code: number): boolean {
  return code === 34 || code === 39 || code === 96;
}
