/**
 * The one pass over a text: word by word, at most words a closer look. What it knows of the text behind is
 * `LOOK_BEHIND` characters, of the text ahead what a bounded look gives, so it can stop anywhere and go on later.
 */
import { type CharTable, CLOSING, ESCAPE } from "./chars.ts";
import { escapeAt } from "./encoded.ts";
import { Finder } from "./finder.ts";
import type { Hit, Replaced } from "./hit.ts";
import type { KnownFinder } from "./known.ts";
import { marker, markerEnd } from "./marker.ts";
import { isBareBody, keyStart, PemReader } from "./pem.ts";
import { Planned } from "./planned.ts";
import { LONG_WORD, MAX_WORD, type Stop, skim } from "./skim.ts";
import { Source } from "./source.ts";

/** Takes the output in order: stretches of the text as they are, and markers for `[start, end)`. */
export interface Sink {
  plain(text: string, from: number, to: number): void;
  replace(start: number, end: number, marker: string): void;
}

/** Encodings within encodings that are followed. */
const MAX_DEPTH = 2;
const NOWHERE: Sink = { plain: () => undefined, replace: () => undefined };

export class Scanner {
  private readonly source = new Source();
  private readonly salt: string;
  private readonly known: KnownFinder | undefined;
  private readonly finder: Finder;
  private readonly planned: Planned;
  private readonly word: Stop = { end: 0, flags: 0 };
  private sink = NOWHERE;
  /** Everything before it has gone to the sink. */
  private copied = 0;
  private pem: PemReader | undefined;
  private pemFrom = 0;
  /** Lines within a key that are scanned as usual end here. */
  private plainUntil = 0;
  /** Rest of a secret that was too long to be read whole: characters of this class are dropped. */
  private rest: CharTable | undefined;
  private isInCookie = false;

  constructor(salt: string, known: KnownFinder | undefined, depth = 0) {
    this.salt = salt;
    this.known = known;
    this.planned = new Planned(salt);
    const inside = (text: string) => replacedIn(new Scanner(salt, known, depth + 1), text);
    this.finder = new Finder(this.source, depth < MAX_DEPTH ? inside : undefined);
  }

  /** The text is the old one without its first `count` characters, and with more at its end. */
  shift(count: number): void {
    this.copied -= count;
    this.pemFrom -= count;
    this.plainUntil -= count;
    this.finder.shift(count);
    this.planned.shift(count);
  }

  /** Scans `text[from, end)`; returns the index up to which everything is decided and in the sink. */
  run(text: string, from: number, end: number, isFinal: boolean, sink: Sink): number {
    const { known, planned, source } = this;
    this.sink = sink;
    this.copied = from;
    if (known) planned.reload(known.find(text, from, end));
    source.load(text, isFinal || !known ? end : planned.cut(known.openTail(text, from, end)), isFinal);
    const at = this.scan(from);
    sink.plain(text, this.copied, at);
    if (isFinal) this.flushKey(at);
    return at;
  }

  private scan(from: number): number {
    const { source, word, planned } = this;
    const { end } = source;
    let at = from;
    while (at < end) {
      let next: number;
      if (this.rest !== undefined) next = this.dropRest(at);
      else if (this.pem !== undefined && at >= this.plainUntil) next = this.stepKey(at);
      else if (at >= planned.start) next = this.takePlanned(at);
      else {
        const stop = Math.min(end, planned.start, this.pem === undefined ? end : this.plainUntil);
        at = Math.min(skim(source, at, stop, this.isInCookie, word), stop);
        if (at === stop) continue;
        next = word.end === at ? this.stepOver(at, word.flags) : this.stepWord(at, word.end, word.flags);
      }
      if (source.starved) return at;
      at = next;
    }
    return at;
  }

  /** An escape, or the end of a cookie header. */
  private stepOver(at: number, flags: number): number {
    if (flags & CLOSING) this.isInCookie = false;
    if ((flags & ESCAPE) === 0) return at + 1;
    this.plan(at, at);
    const next = this.afterEscape(at);
    return Math.min(next, Math.max(at, this.planned.start));
  }

  /** A word worth a look; what it finds is applied. */
  private stepWord(at: number, to: number, flags: number): number {
    const { source, planned } = this;
    if (to === source.end && !source.final && to - at < MAX_WORD) source.starved = true;
    if (source.starved) return at;
    const length = to - at;
    if (length === 8) {
      const end = source.before(at, 1) === "[" ? markerEnd(source.slice(at - 1, 64), 0) : -1;
      if (end > 0) return at - 1 + end;
    }
    const bodyStart = length === 5 ? keyStart(source, at, to) : -1;
    if (bodyStart >= 0) return this.openKey(bodyStart);
    if (length >= LONG_WORD && isBareBody(source, at)) return this.openKey(at);
    const hit = this.finder.hitAt(at, to, flags, this.isInCookie);
    if (source.starved) return at;
    if (hit !== undefined && hit !== "cookie") return this.apply(hit);
    this.plan(at, to);
    if (source.starved) return at;
    if (hit === "cookie") this.isInCookie = true;
    return Math.min(to, Math.max(at, planned.start));
  }

  private plan(at: number, sign: number): void {
    for (const each of this.finder.stretchAt(at, sign)) this.planned.add(each);
  }

  /** Escapes are no part of the word after them: `\nghp_` is a line end and a token. */
  private afterEscape(at: number): number {
    const { source } = this;
    const code = source.text.charCodeAt(at);
    const next = source.at(at + 1);
    if (code === 27) return next === 91 ? controlEnd(source, at + 2) : at + 1;
    const length = escapeAt(source, at, code);
    if (length > 0) return at + length;
    return code === 92 && ESCAPED.has(next) ? at + 2 : at + 1;
  }

  private apply(hit: Hit): number {
    const { planned } = this;
    let { start, end } = hit;
    while (planned.start < end) {
      const each = planned.take();
      if (!each) break;
      if (each.end <= start) this.replace(each.start, each.end, planned.markerOf(each));
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

  private takePlanned(at: number): number {
    const each = this.planned.take();
    if (!each) return at;
    const start = Math.max(each.start, this.copied);
    if (each.end > start) this.replace(start, each.end, this.planned.markerOf(each));
    return Math.max(at, each.end);
  }

  private dropRest(at: number): number {
    const { text, end } = this.source;
    let to = at;
    while (to < end && this.rest?.[text.charCodeAt(to)] === 1) to++;
    if (to < end) this.rest = undefined;
    this.copied = this.planned.pass(to);
    return this.copied;
  }

  private openKey(at: number): number {
    if (this.source.starved) return at;
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
      this.copied = this.planned.pass(step.to);
      return this.copied;
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

/** What may stand after a backslash in an escape of one letter. */
const ESCAPED = new Set([..."nrtbfv0\"'`\\/"].map((character) => character.charCodeAt(0)));

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
    plain: () => undefined,
    replace: (start, end, marker) => void found.push({ start, end, marker }),
  });
  return found;
}
