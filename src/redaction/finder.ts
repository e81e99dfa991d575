/** Looks closely at one word: is it a secret, does it announce one, does it hide one in an encoding? */
import { AFTER_NAME, KIND, UNDERSCORE } from "./chars.ts";
import { base64At, decodeStretch, escapeAt, fitsText, sourceIndex } from "./encoded.ts";
import { cookiePairAt } from "./headers.ts";
import type { Hit, Replaced } from "./hit.ts";
import { MARKER_BEFORE, MARKER_MAX, touchesMarker } from "./marker.ts";
import { namedAt } from "./named.ts";
import { LONG_WORD } from "./skim.ts";
import type { Source } from "./source.ts";
import { gluedDashTokenAt, gluedTokenAt, mailchimpAt, tokenAt } from "./tokens.ts";
import { addressAt } from "./urls.ts";

export class Finder {
  private readonly source: Source;
  /** Scans a decoded text; absent where encodings are not followed any deeper. */
  private readonly inside: ((text: string) => Replaced[]) | undefined;
  private base64Checked = 0;
  private stretchChecked = 0;

  constructor(source: Source, inside: ((text: string) => Replaced[]) | undefined) {
    this.source = source;
    this.inside = inside;
  }

  shift(count: number): void {
    this.base64Checked -= count;
    this.stretchChecked -= count;
  }

  /** A secret that the word `[at, to)` is or announces; `cookie` when a cookie header begins. */
  hitAt(at: number, to: number, flags: number, isInCookie: boolean): Hit | "cookie" | undefined {
    const hit = this.find(at, to, flags, isInCookie);
    if (hit === undefined || hit === "cookie" || hit.isSure === true) return hit;
    if (hidesKeyStart(this.source.text.slice(hit.start, hit.end))) return undefined;
    return this.isJudgedBefore(hit.start, hit.end) ? undefined : hit;
  }

  private find(at: number, to: number, flags: number, isInCookie: boolean): Hit | "cookie" | undefined {
    const { source } = this;
    const length = to - at;
    const next = source.at(to);
    const token = tokenAt(source, at, to) ?? (next === 58 ? addressAt(source, to) : undefined);
    if (token) return token;
    if (length >= 24 && (flags & UNDERSCORE || length >= 40)) {
      const glued = gluedTokenAt(source, at, to);
      if (glued) return glued;
    }
    if (next === 45) {
      const glued = gluedDashTokenAt(source, at, to) ?? (length === 32 ? mailchimpAt(source, at, to) : undefined);
      if (glued) return glued;
    }
    if (length >= LONG_WORD && fitsText(source, at)) {
      const encoded = this.base64(at);
      if (encoded) return encoded;
    }
    if (isInCookie && next === 61) {
      const pair = cookiePairAt(source, at, to);
      if (pair) return pair;
    }
    return next < 0 || (KIND[next] ?? 0) & AFTER_NAME ? namedAt(source, at, to, flags) : undefined;
  }

  private base64(at: number): Hit | undefined {
    const { inside } = this;
    if (at < this.base64Checked || !inside) return undefined;
    const { hit, checked } = base64At(this.source, at, inside);
    if (!hit && !this.source.starved) this.base64Checked = Math.max(this.base64Checked, checked);
    return hit;
  }

  /** What is to be replaced in the encoded stretch that begins at `at`, if an escape stands at `sign`. */
  stretchAt(at: number, sign: number): Replaced[] {
    const { source, inside } = this;
    const code = source.at(sign);
    if ((code !== 37 && code !== 92) || at < this.stretchChecked || !inside) return [];
    if (escapeAt(source, sign, code) === 0 || MARKER_BEFORE.test(source.before(at, MARKER_MAX))) return [];
    const decoded = decodeStretch(source, at);
    if (source.starved || !decoded) return [];
    const found = inside(decoded.plain).map((each) => ({
      ...each,
      start: sourceIndex(source, at, each.start),
      end: sourceIndex(source, at, each.end),
    }));
    const fresh = found.filter((each) => !this.isJudgedBefore(each.start, each.end));
    if (source.starved) return [];
    this.stretchChecked = decoded.end;
    return fresh;
  }

  private isJudgedBefore(start: number, end: number): boolean {
    return touchesMarker(this.source.slice(start, end - start + MARKER_MAX + 2), end - start);
  }
}

/** The begin line of a key without its end: the key itself has to be found, not its first word. */
function hidesKeyStart(text: string): boolean {
  return text.includes("-----BEGIN") && !text.includes("-----END");
}
