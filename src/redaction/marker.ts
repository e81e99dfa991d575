import { createHash, hash } from "node:crypto";

/** What a secret is replaced by: `[redacted:<kind>:<six hex digits>]`; equal secrets give equal digits under one salt. */
export const MARKER = /\[redacted:[a-z0-9-]{2,32}:[0-9a-f]{6}\]/y;

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
