import { createHash, hash } from "node:crypto";

/** What a secret is replaced by: `[redacted:<kind>:<six hex digits>]`; equal secrets give equal digits under one salt. */
export const MARKER = /\[redacted:[a-z0-9-]{2,32}:[0-9a-f]{6}\]/y;

export const MARKER_BEFORE = /\[redacted:[a-z0-9-]{2,32}:[0-9a-f]{6}\]$/;

const DIGITS = 6;

/** Longest text that `MARKER` matches. */
export const MARKER_MAX = 51;

export interface Fingerprint {
  add(part: string): void;
  marker(kind: string): string;
}

export function marker(salt: string, kind: string, secret: string): string {
  return `[redacted:${kind}:${hash("sha256", `${salt}\0${secret}`).slice(0, DIGITS)}]`;
}

/** A fingerprint of a secret that comes in parts; the parts in a row give what `marker` gives for the whole. */
export function fingerprint(salt: string): Fingerprint {
  const sum = createHash("sha256").update(`${salt}\0`);
  return {
    add: (part) => void sum.update(part),
    marker: (kind) => `[redacted:${kind}:${sum.digest("hex").slice(0, DIGITS)}]`,
  };
}

/** Index after a marker that begins at `index` of `text`, or -1. */
export function markerEnd(text: string, index: number): number {
  MARKER.lastIndex = index;
  return MARKER.test(text) ? MARKER.lastIndex : -1;
}

/**
 * Whether a marker stands within the first `length` characters or right after them. What touches a marker has been judged before, with
 * the text that the marker stands for: judging the remains anew would make redaction depend on how often it is done.
 */
export function touchesMarker(text: string, length: number): boolean {
  let end = length;
  while (end < length + 2 && end < text.length && ".:,".includes(text.charAt(end))) end++;
  for (let at = text.indexOf("[redacted:"); at >= 0 && at <= end; at = text.indexOf("[redacted:", at + 1)) {
    if (markerEnd(text, at) > 0) return true;
  }
  return false;
}
