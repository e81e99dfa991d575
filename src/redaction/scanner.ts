/**
 * The one pass over a text: word by word, at most words a closer look. What it knows of the text behind is
 * `LOOK_BEHIND` characters, of the text ahead what a bounded look gives, so it can stop anywhere and go on later.
 */
import { AFTER_NAME, CLOSING, DIGIT, ESCAPE, JOINT, KIND, LOWER, SIGN, UNDERSCORE, UPPER, WORD } from "./chars.ts";
import { base64At, decodeStretch, escapeAt, fitsText, sourceIndex } from "./encoded.ts";
import { FAMILY_START } from "./families.ts";
import { cookiePairAt } from "./headers.ts";
import type { Hit, Replaced } from "./hit.ts";
import type { KnownFinder, Occurrence } from "./known.ts";
import { marker, markerEnd } from "./marker.ts";
import { namedAt } from "./named.ts";
import { endKey, NAME_ENDS } from "./names.ts";
import { isBareBody, keyStart, PemReader } from "./pem.ts";
import { Source } from "./source.ts";
import { gluedDashTokenAt, gluedTokenAt, mailchimpAt, tokenAt } from "./tokens.ts";
import { addressAt } from "./urls.ts";

/** Takes the output in order: stretches of the text as they are, and markers for `[start, end)`. */
export interface Sink {
  plain(text: string, from: number, to: number): void;
  replace(start: number, end: number, marker: string): void;
}

/** A longer run of letters and digits is looked at in pieces of this length. */
const MAX_WORD = 16_384;
const LONG_WORD = 16;
/** Encodings within encodings that are followed. */
const MAX_DEPTH = 2;

export class Scanner {
  private readonly source = new Source();
  private readonly salt: string;
  private readonly known: KnownFinder | undefined;
  private readonly depth: number;
  private sink: Sink = { plain: () => {}, replace: () => {} };
  /** Everything before it has gone to the sink. */
  private copied = 0;
  private occurrences: Occurrence[] = [];
  private nextOccurrence = 0;
  private pem: PemReader | undefined;
  private pemFrom = 0;
  /** Lines within a key that are scanned as usual end here. */
  private plainUntil = 0;
  /** Rest of a secret that was too long to be read whole: characters of this class are dropped. */
  private rest: Uint8Array | undefined;
  private isInCookie = false;
  private base64Checked = 0;
  private stretchChecked = 0;
  private readonly word: Stop = { end: 0, flags: 0 };

  constructor(salt: string, known: KnownFinder | undefined, depth = 0) {
    this.salt = salt;
    this.known = known;
    this.depth = depth;
  }

  /** The text is the old one without its first `count` characters, and with more at its end. */
  shift(count: number): void {
    this.copied -= count;
    this.pemFrom -= count;
    this.plainUntil -= count;
    this.base64Checked -= count;
    this.stretchChecked -= count;
  }

  /** Scans `text[from, end)`; returns the index up to which everything is decided and in the sink. */
  run(text: string, from: number, end: number, isFinal: boolean, sink: Sink): number {
    const { source } = this;
    this.sink = sink;
    this.copied = from;
    this.occurrences = this.known?.find(text, from, end) ?? [];
    source.load(text, isFinal ? end : this.knownLimit(text, from, end), isFinal);
    this.nextOccurrence = 0;
    const at = this.scan(from);
    sink.plain(text, this.copied, at);
    if (isFinal) this.flushKey(at);
    return at;
  }

  /** Up to where no literal value can begin that ends in text yet to come. */
  private knownLimit(text: string, from: number, end: number): number {
    const limit = this.known?.openTail(text, from, end) ?? end;
    const cut = this.occurrences.find((each) => each.start < limit && each.end > limit);
    return cut?.start ?? limit;
  }

  private scan(from: number): number {
    const { source, word } = this;
    const { end } = source;
    let at = from;
    while (at < end) {
      const known = this.occurrenceStart();
      if (this.rest !== undefined) at = this.dropRest(at);
      else if (this.pem !== undefined && at >= this.plainUntil) {
        const next = this.stepKey(at);
        if (source.starved) return at;
        at = next;
      } else if (at >= known) at = this.takeOccurrence(at);
      else {
        const stop = Math.min(end, known, this.pem === undefined ? end : this.plainUntil);
        at = Math.min(skim(source, at, stop, this.isInCookie, word), stop);
        if (at === stop) continue;
        const next = word.end === at ? this.stepOver(at, word.flags) : this.stepWord(at, word.end, word.flags);
        if (next < 0) return at;
        at = next;
      }
    }
    return at;
  }

  /** An escape or the end of a cookie header; -1 when more text is needed. */
  private stepOver(at: number, flags: number): number {
    if (flags & CLOSING) this.isInCookie = false;
    if ((flags & ESCAPE) === 0) return at + 1;
    const known = this.occurrenceStart();
    const next = this.afterEscape(at);
    if (this.source.starved) return -1;
    return known > at ? Math.min(next, Math.max(known, this.copied)) : next;
  }

  /** A word worth a look; -1 when more text is needed. */
  private stepWord(at: number, to: number, flags: number): number {
    const { source } = this;
    if (to === source.end && !source.final && to - at < MAX_WORD) return -1;
    const next = this.look(at, to, flags);
    if (source.starved) return -1;
    return next === to ? Math.min(to, Math.max(at, this.occurrenceStart())) : Math.abs(next);
  }

  /** Looks closer at the word; applies what it finds and returns where to go on (negative: even before `to`), else `to`. */
  private look(at: number, to: number, flags: number): number {
    const { source } = this;
    const length = to - at;
    if (length === 8 && source.before(at, 1) === "[" && source.text.startsWith("redacted", at)) {
      const tail = source.slice(at - 1, 64);
      const end = markerEnd(tail, 0);
      if (end > 0) return at - 1 + end;
    }
    const bodyStart = length === 5 ? keyStart(source, at, to) : -1;
    if (bodyStart >= 0 && !source.starved) return this.openKey(bodyStart);
    if (length >= LONG_WORD && isBareBody(source, at) && !source.starved) return -this.openKey(at);
    const hit = this.hitAt(at, to, flags);
    if (source.starved) return to;
    return hit ? this.apply(hit) : to;
  }

  private hitAt(at: number, to: number, flags: number): Hit | undefined {
    const { source } = this;
    const length = to - at;
    const token = tokenAt(source, at, to);
    if (token) return token;
    const next = to < source.end ? source.text.charCodeAt(to) : -1;
    if (next === 58) {
      const address = addressAt(source, to);
      if (address) return address;
    }
    if (next === 45) {
      const glued = gluedDashTokenAt(source, at, to) ?? (length === 32 ? mailchimpAt(source, at, to) : undefined);
      if (glued) return glued;
    }
    if (this.isInCookie && next === 61) {
      const pair = cookiePairAt(source, at, to);
      if (pair) return pair;
    }
    if (length >= LONG_WORD) {
      if (length >= 34 && (flags & UNDERSCORE || length >= 40)) {
        const glued = gluedTokenAt(source, at, to);
        if (glued) return glued;
      }
      const encoded = fitsText(source, at) ? this.base64(at) : undefined;
      if (encoded) return encoded;
    }
    if ((next === 37 || next === 92) && escapeAt(source, to, next) > 0) {
      const inside = this.stretch(at);
      if (inside) return inside;
    }
    const named =
      source.at(to) < 0 || (KIND[source.at(to)] ?? 0) & AFTER_NAME ? namedAt(source, at, to, flags) : undefined;
    if (named === "cookie") {
      this.isInCookie = true;
      return undefined;
    }
    return named;
  }

  private base64(at: number): Hit | undefined {
    if (at < this.base64Checked || this.depth >= MAX_DEPTH) return undefined;
    const { hit, checked } = base64At(this.source, at, (text) => this.inside(text));
    if (!this.source.starved) this.base64Checked = Math.max(this.base64Checked, checked);
    return hit;
  }

  /** An encoded stretch is decoded and scanned; the first secret in it is the hit, the rest has its turn later. */
  private stretch(at: number): Hit | undefined {
    if (at < this.stretchChecked || this.depth >= MAX_DEPTH) return undefined;
    const decoded = decodeStretch(this.source, at);
    if (this.source.starved || !decoded) return undefined;
    const first = this.inside(decoded.plain)[0];
    if (!first) {
      this.stretchChecked = decoded.end;
      return undefined;
    }
    return { ...first, start: sourceIndex(this.source, at, first.start), end: sourceIndex(this.source, at, first.end) };
  }

  private inside(text: string): Hit[] {
    return replacedIn(new Scanner(this.salt, this.known, this.depth + 1), text).map((each) => ({
      ...each,
      kind: "",
      secret: "",
    }));
  }

  /** Escapes are no part of the word after them: `\nghp_` is a line end and a token. */
  private afterEscape(at: number): number {
    const { source } = this;
    const code = source.text.charCodeAt(at);
    const next = source.at(at + 1);
    if (code === 27) return next === 91 ? controlEnd(source, at + 2) : at + 1;
    const length = escapeAt(source, at, code);
    if (length > 0) {
      const hit = this.stretch(at);
      if (source.starved) return at;
      return hit ? this.apply(hit) : at + length;
    }
    if (code === 92 && ESCAPED.has(next)) return at + 2;
    return at + 1;
  }

  private apply(hit: Hit): number {
    let start = hit.start;
    let end = hit.end;
    while (this.occurrenceStart() < end) {
      const each = this.occurrences[this.nextOccurrence++];
      if (!each) break;
      if (each.end <= start) this.replace(each.start, each.end, marker(this.salt, "known", each.value));
      else {
        start = Math.max(this.copied, Math.min(start, each.start));
        end = Math.max(end, each.end);
      }
    }
    const text = hit.marker ?? marker(this.salt, hit.kind, hit.secret);
    this.replace(start, end, hit.quote === undefined ? text : `${hit.quote}${text}${hit.quote}`);
    this.rest = hit.rest;
    return end;
  }

  private replace(start: number, end: number, text: string): void {
    this.sink.plain(this.source.text, this.copied, start);
    this.sink.replace(start, end, text);
    this.copied = end;
  }

  private dropRest(at: number): number {
    const { text, end } = this.source;
    let to = at;
    while (to < end && this.rest?.[text.charCodeAt(to)] === 1) to++;
    if (to < end) this.rest = undefined;
    this.copied = to;
    this.skipOccurrences(to);
    return to;
  }

  private occurrenceStart(): number {
    return this.occurrences[this.nextOccurrence]?.start ?? Number.POSITIVE_INFINITY;
  }

  private takeOccurrence(at: number): number {
    const each = this.occurrences[this.nextOccurrence++];
    if (!each) return at;
    const start = Math.max(each.start, this.copied);
    if (each.end > start) this.replace(start, each.end, marker(this.salt, "known", each.value));
    return Math.max(at, each.end);
  }

  private skipOccurrences(until: number): void {
    while (this.occurrenceStart() < until) {
      const each = this.occurrences[this.nextOccurrence];
      if (each && each.end > until) {
        each.start = until;
        return;
      }
      this.nextOccurrence++;
    }
  }

  private openKey(at: number): number {
    this.pem = new PemReader(this.salt);
    this.plainUntil = at;
    return at;
  }

  private stepKey(at: number): number {
    const { source, pem } = this;
    if (!pem) return at;
    const wasEmpty = pem.taken === 0;
    const step = pem.step(source, at);
    if (source.starved) return at;
    if (step.action === "drop") {
      if (wasEmpty) {
        this.sink.plain(source.text, this.copied, step.from);
        this.pemFrom = step.from;
      }
      this.copied = step.to;
      this.skipOccurrences(step.to);
      return step.to;
    }
    this.flushKey(this.copied);
    if (step.action === "leave") this.pem = undefined;
    else this.plainUntil = step.to;
    return at;
  }

  private flushKey(end: number): void {
    const text = this.pem?.takeMarker();
    if (text !== undefined) this.sink.replace(this.pemFrom, end, text);
  }
}

const GLUED_DASH = /(?:pypi|gl[a-z]{2,5}|xox[a-z])$/;
/** What may stand after a backslash in an escape of one letter. */
const ESCAPED = new Set([..."nrtbfv0\"'`\\/"].map((character) => character.charCodeAt(0)));

/** What `skim` stopped at: a word `[at, end)`, or one character (`end` is where it stands). */
interface Stop {
  end: number;
  flags: number;
}

/**
 * The hot loop: index of the next word, or of the next escape, that is worth a closer look; `stop` or more when there
 * is none before it. A word that reaches the end of what is known is worth a look.
 */
function skim(source: Source, from: number, stop: number, isInCookie: boolean, found: Stop): number {
  const { text, end } = source;
  const attention = isInCookie ? ESCAPE | CLOSING : ESCAPE;
  let at = from;
  while (at < stop) {
    let kind = KIND[text.charCodeAt(at)] ?? 0;
    if ((kind & WORD) === 0) {
      if (kind & attention) {
        found.end = at;
        found.flags = kind;
        return at;
      }
      at++;
      continue;
    }
    const limit = Math.min(end, at + MAX_WORD);
    let flags = kind;
    let to = at + 1;
    while (to < limit) {
      kind = KIND[text.charCodeAt(to)] ?? 0;
      if ((kind & WORD) === 0) break;
      flags |= kind;
      to++;
    }
    if (to === limit || isWorthALook(source, at, to, flags, kind, isInCookie)) {
      found.end = to;
      found.flags = flags;
      return at;
    }
    at = to;
  }
  return at;
}

/** Whether the word `[at, to)` may be or announce a secret; `next` is the kind of the character after it. */
function isWorthALook(
  source: Source,
  at: number,
  to: number,
  flags: number,
  next: number,
  isInCookie: boolean,
): boolean {
  const { text } = source;
  const length = to - at;
  if (length >= LONG_WORD) return true;
  if (next & AFTER_NAME) {
    if (length >= 3 ? NAME_ENDS[endKey(text, to)] === 1 : length === 1 && (text.charCodeAt(at) | 32) === 100)
      return true;
    if (at > 0 && text.charCodeAt(at - 1) === 45 && isOption(text, at, to)) return true;
    if (next & SIGN && (isInCookie || (length > 4 && flags & (UNDERSCORE | DIGIT) && flags & (LOWER | UPPER))))
      return true;
  }
  if ((next & JOINT) === 0) return false;
  if (FAMILY_START[((text.charCodeAt(at) & 127) << 7) | (text.charCodeAt(at + 1) & 127)] === 1) return true;
  const code = text.charCodeAt(to);
  if (code === 58) {
    const second = to + 1 < source.end ? text.charCodeAt(to + 1) : 47;
    return second === 47 || second === 92 || (length >= 8 && (flags & DIGIT) !== 0);
  }
  if (code === 45) return isGluedDash(text, at, to);
  return code === 126 || (next & ESCAPE) !== 0;
}

/** The word ends like the front of a token that goes on with a dash: `sk`, `glpat`, `xoxb`, `pypi`. */
function isGluedDash(text: string, at: number, to: number): boolean {
  const last = text.charCodeAt(to - 1);
  if (last === 107) return text.charCodeAt(to - 2) === 115;
  return to - at >= 4 && GLUED_DASH.test(text.slice(Math.max(at, to - 8), to));
}

/** `-u`, `-sSLu`, `-p`, `-psecret`. */
function isOption(text: string, at: number, to: number): boolean {
  return text.charCodeAt(at) === 112 || (to - at <= 6 && (text.charCodeAt(to - 1) | 32) === 117);
}

/** End of the control sequence (colours, cursor) whose parameters begin at `at`. */
function controlEnd(source: Source, at: number): number {
  let to = at;
  while (to - at < 32) {
    const code = source.at(to);
    if (code >= 64 && code <= 126) return to + 1;
    if (code < 32 || code > 63) return at;
    to++;
  }
  return at;
}

/** What would be replaced in a text that is there as a whole. */
export function replacedIn(scanner: Scanner, text: string): Replaced[] {
  const found: Replaced[] = [];
  scanner.run(text, 0, text.length, true, {
    plain: () => {},
    replace: (start, end, marker) => void found.push({ start, end, marker }),
  });
  return found;
}
