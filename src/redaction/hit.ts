import type { CharTable } from "./chars.ts";

/** A secret in the text: `[start, end)` is replaced by a marker of `kind` with the fingerprint of `secret`. */
export interface Hit {
  start: number;
  end: number;
  kind: string;
  secret: string;
  /** Used instead of kind and secret: the secret stood in an encoded text and has its marker already. */
  marker?: string;
  /** The secret is longer than what was read: characters of this class that follow are hidden too. */
  rest?: CharTable;
  /** Its form alone gives it away, whatever stands around it. */
  isSure?: boolean;
  /** Put around the marker: a bare number became text, and JSON has to stay JSON. */
  quote?: string;
}

/** A replaced stretch of a text that was scanned whole. */
export interface Replaced {
  start: number;
  end: number;
  marker: string;
}
