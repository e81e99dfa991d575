/**
 * Finds literal values wherever they stand, also percent-encoded, JSON-escaped, shell-quoted or in base64.
 * A window slides over the text and skips as far as the last two characters under it allow (Wu and Manber, 1994).
 */
import { isNumber } from "./shape.ts";

/** A literal occurrence; `value` is what it stands for, `marker` texts of equal values are equal. */
export interface Occurrence {
  start: number;
  end: number;
  value: string;
}

export interface KnownFinder {
  /** Occurrences that begin in `[from, end)` and lie before `end`, merged where they overlap, in order. */
  find(text: string, from: number, end: number): Occurrence[];
  /** Where the text ends with the beginning of an occurrence: its first index, else `end`. */
  openTail(text: string, from: number, end: number): number;
}

/** Shorter values are not looked for: they would tear ordinary words. */
const MIN_LENGTH = 4;
/** A longer value is found by its first characters of this number (a stream holds back no more than that). */
export const MAX_KNOWN = 8_192;
const BLOCK = 2;
const BUCKETS = 8_192;
const LONE_SURROGATE = /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;

interface Pattern {
  text: string;
  value: string;
}

/** Finder for the values, or undefined when there is nothing to look for. */
export function knownFinder(values: readonly string[]): KnownFinder | undefined {
  const patterns = patternsOf(values);
  if (patterns.length === 0) return undefined;
  const window = patterns.reduce((least, each) => Math.min(least, each.text.length), MAX_KNOWN);
  const longest = patterns.reduce((most, each) => Math.max(most, each.text.length), 0);
  const shifts = new Uint16Array(BUCKETS).fill(window - BLOCK + 1);
  const candidates = new Map<number, Pattern[]>();
  const firsts = new Uint8Array(65_536);
  for (const pattern of patterns) {
    firsts[pattern.text.charCodeAt(0)] = 1;
    for (let i = 0; i + BLOCK <= window; i++) {
      const bucket = bucketAt(pattern.text, i);
      const shift = window - BLOCK - i;
      shifts[bucket] = Math.min(shifts[bucket] ?? 0, shift);
      if (shift === 0) candidates.set(bucket, [...(candidates.get(bucket) ?? []), pattern]);
    }
  }

  const find = (text: string, from: number, end: number): Occurrence[] => {
    const found: Occurrence[] = [];
    let at = from + window - BLOCK;
    while (at + BLOCK <= end) {
      const bucket = bucketAt(text, at);
      const shift = shifts[bucket] ?? 0;
      if (shift > 0) {
        at += shift;
        continue;
      }
      const start = at - (window - BLOCK);
      const match = longestMatch(candidates.get(bucket) ?? [], text, start, end);
      if (match)
        merge(found, { start: escapedStart(text, start, from), end: start + match.text.length, value: match.value });
      at++;
    }
    return found;
  };

  const openTail = (text: string, from: number, end: number): number => {
    for (let start = Math.max(from, end - longest + 1); start < end; start++) {
      if (firsts[text.charCodeAt(start)] !== 1) continue;
      const tail = text.slice(start, end);
      if (patterns.some((pattern) => pattern.text.length > tail.length && pattern.text.startsWith(tail))) {
        return escapedStart(text, start, from);
      }
    }
    return end;
  };

  return { find, openTail };
}

function bucketAt(text: string, at: number): number {
  return (text.charCodeAt(at) * 67 + text.charCodeAt(at + 1)) & (BUCKETS - 1);
}

function longestMatch(candidates: readonly Pattern[], text: string, start: number, end: number): Pattern | undefined {
  let best: Pattern | undefined;
  for (const pattern of candidates) {
    if (start + pattern.text.length > end || !text.startsWith(pattern.text, start)) continue;
    if (!best || pattern.text.length > best.text.length) best = pattern;
  }
  return best;
}

/** Overlapping occurrences become one, up to a length that bounds what a stream holds back. */
function merge(found: Occurrence[], next: Occurrence): void {
  const last = found[found.length - 1];
  if (!last || next.start >= last.end) found.push(next);
  else if (next.end - last.start <= 2 * MAX_KNOWN) last.end = Math.max(last.end, next.end);
}

/** An occurrence that begins within an escape (`\n`, `\u000a`) takes the whole escape: JSON stays JSON. */
function escapedStart(text: string, start: number, from: number): number {
  for (let back = 1; back <= 5 && start - back >= from; back++) {
    const at = start - back;
    if (text.charCodeAt(at) !== 92) continue;
    let slashes = 1;
    while (at - slashes >= from && slashes < 64 && text.charCodeAt(at - slashes) === 92) slashes++;
    return slashes % 2 === 1 && (back === 1 || text.charCodeAt(at + 1) === 117) ? at : start;
  }
  return start;
}

function patternsOf(values: readonly string[]): Pattern[] {
  const patterns = new Map<string, string>();
  const add = (text: string, value: string) => {
    const head = text.slice(0, MAX_KNOWN);
    if (head.length >= MIN_LENGTH && !patterns.has(head)) patterns.set(head, value);
  };
  const whole = [...new Set(values)].filter((value) => value.trim().length >= MIN_LENGTH);
  for (const value of whole) add(value, value);
  for (const value of whole) for (const form of formsOf(value)) add(form, value);
  return [...patterns].map(([text, value]) => ({ text, value }));
}

/** The other ways in which a value is written. */
function formsOf(value: string): string[] {
  const json = JSON.stringify(value).slice(1, -1);
  const percent = percentEncoded(value);
  const forms = [
    value.trim(),
    json,
    JSON.stringify(json).slice(1, -1),
    json.replace(/\//g, "\\/"),
    ...percent,
    ...percent.map((form) => form.replace(/%[0-9A-F]{2}/g, (code) => code.toLowerCase())),
    percentAll(value),
    value.replace(/'/g, "'\\''"),
    value.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;").replace(/"/g, "&quot;"),
    ...base64Cores(value),
  ];
  const lines = value.includes("\n") ? value.split(/\r?\n/).filter((line) => line.trim().length >= 16) : [];
  return [...forms, ...lines.map((line) => line.trim()), ...addressParts(value)];
}

function percentEncoded(value: string): string[] {
  const wellFormed = value.replace(LONE_SURROGATE, "\ufffd");
  const component = encodeURIComponent(wellFormed);
  const strict = component.replace(/[!'()*~]/g, (mark) => `%${mark.charCodeAt(0).toString(16).toUpperCase()}`);
  return [component, strict, component.replace(/%20/g, "+"), strict.replace(/%20/g, "+"), encodeURI(wellFormed)];
}

function percentAll(value: string): string {
  return [...new TextEncoder().encode(value)]
    .map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, "0")}`)
    .join("");
}

/** The characters that base64 of any text around the value has in common, for each place in a group of three bytes. */
function base64Cores(value: string): string[] {
  const bytes = new TextEncoder().encode(value);
  const cores: string[] = [];
  for (let offset = 0; offset < 3; offset++) {
    const padded = new Uint8Array(offset + bytes.length);
    padded.set(bytes, offset);
    const encoded = btoa(String.fromCharCode(...padded));
    const first = offset === 0 ? 0 : offset + 1;
    const last = Math.floor(((offset + bytes.length) * 8) / 6);
    const core = encoded.slice(first, last);
    if (core.length >= 10) cores.push(core, core.replace(/\+/g, "-").replace(/\//g, "_"));
  }
  return cores;
}

/** Of an address: as the URL parser writes it, and the last part of its path when that alone is the secret. */
function addressParts(value: string): string[] {
  if (!/^[a-z][a-z0-9+.-]*:\/\//i.test(value) || !URL.canParse(value)) return [];
  const url = new URL(value);
  const tails = `${url.pathname}${url.search}`.split(/[/=&?]/).filter((part) => part.length >= 16);
  return [url.href, ...tails];
}

/**
 * The values of environment variables that are worth hiding: at least 8 characters, and no number, boolean, path or
 * address without credentials.
 */
export function knownValues(env: Record<string, string>): string[] {
  return [...new Set(Object.values(env))].filter((value) => isWorthHiding(value));
}

function isWorthHiding(value: string): boolean {
  const text = value.trim();
  if (text.length < 8 || isNumber(text) || !Number.isNaN(Number(text))) return false;
  if (/^(?:true|false|yes|no|on|off)$/i.test(text)) return false;
  if (/^(?:\.{0,2}\/|~(?:\/|$)|[A-Za-z]:[\\/]|\\\\)/.test(text) && !/\s/.test(text)) return false;
  return !isPlainAddress(text);
}

/** An address with no name or password, and with nothing in its query. */
function isPlainAddress(text: string): boolean {
  if (!/^[a-z][a-z0-9+.-]*:\/\//i.test(text) || !URL.canParse(text)) return false;
  const url = new URL(text);
  return url.username === "" && url.password === "" && url.search === "" && !/^#.*=/.test(url.hash);
}
