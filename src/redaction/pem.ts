/**
 * Private keys: after a begin line everything that looks like the body is dropped, whatever stands between its lines
 * (escaped line ends, quotes, line numbers, diff signs). The first thing that does not look like a body ends it, so a
 * lone begin line swallows nothing; an end line is not needed.
 */
import { BASE64, isSpace } from "./chars.ts";
import { type Fingerprint, fingerprint, MARKER_MAX, markerEnd } from "./marker.ts";
import { looksRandom, wordShare } from "./shape.ts";
import type { Source } from "./source.ts";

const BEGIN_BEFORE = /-{4,5} ?$/;
const BEGIN_AFTER =
  /^(?: |%20|\+)(?:[A-Z0-9]{1,12}(?: |%20|\+)){0,4}PRIVATE(?: |%20|\+)KEY(?:(?: |%20|\+)BLOCK)?(?: ?-{4,5}|%2D)/;
const END_LINE = /^-{4,5} ?END(?: |%20|\+)((?:[A-Z0-9]{1,12}(?: |%20|\+)?){1,6}?) ?-{4,5}/;
const BEGIN_LINE = /^-{4,5} ?BEGIN (?:[A-Z0-9]{1,12} ?){1,6}?-{4,5}/;
const HEADER_LINE =
  /^(?:Proc-Type|DEK-Info|Version|Comment|Charset|Hash|MessageID|Subject|Key-Attributes|Bag Attributes|localKeyID|friendlyName):/i;
const BARE_BODY =
  /^(?:MII[A-Za-z0-9+/]{1,3}(?:IBADANBgkqhki|IBAAKC)|MIG[HT]AgEAM|MC4CAQAwBQYDK2V|MHcCAQEEI|MHQCAQEEI|b3BlbnNzaC1rZXktdjE)/;
const LINE_LIMIT = 96;
const MAX_NOISE = 256;
const MAX_PART = 1_024;
/** No private key is longer; what follows is ordinary text again. */
const MAX_BODY = 65_536;

/** Where the body may begin when the word `[start, end)` opens a private key, or -1. */
export function keyStart(source: Source, start: number, end: number): number {
  const word = source.text.slice(start, end);
  const sign = source.at(end);
  if (sign !== 32 && sign !== 58 && sign !== 37 && sign !== 43) return -1;
  if (
    word === "BEGIN" &&
    BASE64[source.at(end + (sign === 37 ? 3 : 1))] === 1 &&
    BEGIN_BEFORE.test(source.before(start, 6))
  ) {
    const match = BEGIN_AFTER.exec(source.slice(end, LINE_LIMIT));
    return match ? end + match[0].length : -1;
  }
  if (word === "Lines" && source.before(start, 8) === "Private-") {
    const match = /^: ?\d{1,4}/.exec(source.slice(end, 8));
    return match ? end + match[0].length : -1;
  }
  return -1;
}

/** A body without its begin line: the DER head of a private key in base64. */
export function isBareBody(source: Source, start: number): boolean {
  const first = source.text.charCodeAt(start);
  return (first === 77 || first === 98) && BARE_BODY.test(source.slice(start, 24));
}

/** What to do next: drop `[from, to)`, go on scanning as usual up to `to`, or leave the key at `to`. */
export interface PemStep {
  action: "drop" | "plain" | "leave";
  from: number;
  to: number;
}

export class PemReader {
  /** Characters of the body so far. */
  taken = 0;
  private width = 0;
  private isInPart = false;
  private isEnded = false;
  private sum: Fingerprint | undefined;
  private readonly salt: string;

  constructor(salt: string) {
    this.salt = salt;
  }

  /** The marker of the body read so far, if there was one; the next body starts afresh. */
  takeMarker(): string | undefined {
    const text = this.sum?.marker("private-key");
    this.sum = undefined;
    this.taken = 0;
    this.width = 0;
    return text;
  }

  /** One step from `at`; nothing is changed when it leaves the source starved. */
  step(source: Source, at: number): PemStep {
    if (this.taken > MAX_BODY) return { action: "leave", from: at, to: at };
    const start = this.isInPart ? at : noiseEnd(source, at);
    if (start - at >= MAX_NOISE) return { action: "leave", from: at, to: at };
    const edge = this.isInPart ? undefined : this.edge(source, at, start);
    if (edge) return edge;
    const end = partEnd(source, start, start + MAX_PART);
    const isBody = end > start && (this.isInPart || this.isBodyPart(source, start, end));
    if (source.starved || !isBody) {
      return { action: "leave", from: at, to: at };
    }
    this.isInPart = end - start >= MAX_PART;
    if (!this.isInPart) this.width = Math.max(this.width, end - start);
    this.taken += end - start;
    this.isEnded = false;
    this.sum ??= fingerprint(this.salt);
    this.sum.add(source.text.slice(start, end));
    return { action: "drop", from: start, to: end };
  }

  /** Begin, end and header lines. */
  private edge(source: Source, at: number, start: number): PemStep | undefined {
    const code = source.at(start);
    if (code === 45) {
      const line = source.slice(start, LINE_LIMIT);
      const end = END_LINE.exec(line);
      if (end && source.starved === false) {
        const isOurs = /PRIVATE/.test(end[1] ?? "");
        if (!isOurs && this.taken === 0) return { action: "leave", from: at, to: at };
        if (isOurs) this.isEnded = true;
        return { action: isOurs ? "plain" : "drop", from: start, to: start + end[0].length };
      }
      const begin = BEGIN_LINE.exec(line);
      if (begin && this.taken > 0 && !this.isEnded && !/PRIVATE/.test(begin[0])) {
        return { action: "drop", from: start, to: start + begin[0].length };
      }
      return { action: "leave", from: at, to: at };
    }
    if (this.taken === 0 && HEADER_LINE.test(source.slice(start, 20)))
      return { action: "plain", from: start, to: lineEnd(source, start) };
    return undefined;
  }

  private isBodyPart(source: Source, start: number, end: number): boolean {
    if (source.at(end) === 91 && markerEnd(source.slice(end, MARKER_MAX), 0) > 0) return false;
    const text = source.text.slice(start, end);
    if (this.isEnded && this.taken === 0) return text.length >= 40 && looksRandom(text) && !/^[0-9a-f]+$/i.test(text);
    if (this.isEnded) return false;
    if (text.length >= 16) {
      return this.width >= 48 ? text.length === this.width || wordShare(text) < 0.9 : looksRandom(text);
    }
    if (this.taken === 0) return false;
    if (/=$/.test(text) || looksRandom(text)) return true;
    if (source.slice(noiseEnd(source, end), 8).startsWith("-----END")) return true;
    return this.width >= 48 && !/^(?:[A-Za-z]?[a-z]*|[A-Z]+|\d+)$/.test(text);
  }
}

/** What may stand between the lines of a key: blanks, line ends as such or as escapes, quotes, line numbers. */
function noiseEnd(source: Source, from: number): number {
  let at = from;
  while (at - from < MAX_NOISE) {
    const code = source.at(at);
    if (isSpace(code) || NOISE.has(code)) at++;
    else if (code === 92) {
      const length = escapedNoise(source, at);
      if (length === 0) return at;
      at += length;
    } else if (code === 43 && isSpace(source.at(at + 1))) at++;
    else if (code === 37 && /^%0[AaDd9]/.test(source.slice(at, 3))) at += 3;
    else if (code === 45 && source.at(at + 1) !== 45) at++;
    else {
      const number = code >= 48 && code <= 57 ? lineNumberEnd(source, at) : -1;
      if (number < 0) return at;
      at = number;
    }
  }
  return at;
}

/** `"` `'` backtick `,` `>` `|` `#` `*` `;` arrow, and the plus of string sums when a blank follows (see partEnd). */
const NOISE = new Set([34, 39, 96, 44, 62, 124, 35, 42, 59, 0x2192, 0x2502]);

/** Length of an escaped line end, tab or quote, or of a doubled backslash. */
function escapedNoise(source: Source, at: number): number {
  const kind = source.at(at + 1);
  if (kind === 117) return /^00(?:0[9aAdD]|2[027])/.test(source.slice(at + 2, 4)) ? 6 : 0;
  return kind === 92 || kind === 110 || kind === 114 || kind === 116 || kind === 34 || kind === 39 ? 2 : 0;
}

/** `12:`, `   12→`, `12|`, `12` and a tab. */
function lineNumberEnd(source: Source, at: number): number {
  let end = at;
  while (end - at < 7) {
    const code = source.at(end);
    if (code < 48 || code > 57) break;
    end++;
  }
  const sign = source.at(end);
  return sign === 58 || sign === 0x2192 || sign === 124 || sign === 9 || sign === 32 || sign === 0x2502 ? end + 1 : -1;
}

/** End of a stretch of base64, `\/` and percent-encoded signs included. */
function partEnd(source: Source, start: number, limit: number): number {
  let at = start;
  while (at < limit) {
    const code = source.at(at);
    if (BASE64[code] === 1 || code === 61) at++;
    else if (code === 92 && source.at(at + 1) === 47) at += 2;
    else if (code === 37 && /^%(?:2[BbFf]|3[Dd])/.test(source.slice(at, 3))) at += 3;
    else break;
  }
  return at;
}

function lineEnd(source: Source, start: number): number {
  let at = start;
  while (at - start < MAX_NOISE) {
    const code = source.at(at);
    if (code === -1 || code === 10) break;
    if (code === 92 && source.at(at + 1) === 110) break;
    at++;
  }
  return at;
}
