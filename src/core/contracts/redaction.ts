/** What the rest of the house knows of redaction. Secrets never pass a sink (log, artifact, UI, webhook, report, error text, prompt). */

export interface Redactor {
  /** Whole text in, text without secrets out. Idempotent; linear in the length. */
  text(value: string): string;
  /** Deep copy of JSON-like data: strings redacted, values under secret-looking keys replaced. Keys stay. */
  data<T>(value: T): T;
  /** Whether `text(value)` would differ, without building it. */
  hasSecret(value: string): boolean;
  /** A stream that may be cut anywhere; the joined output is the same for every way of cutting. */
  stream(): RedactionStream;
}

export interface RedactionStream {
  /** Returns what is already safe to show; may hold back a bounded tail (at most `maxHeld` characters). */
  push(chunk: string): string;
  /** Returns the rest. The stream is finished. */
  end(): string;
}

export interface RedactorOptions {
  /** Salt of the fingerprints in replacement markers: equal secrets give equal markers under one salt. */
  salt: string;
  /** Literal values to hide wherever they appear (environment values given to the worker, webhook address). */
  known?: readonly string[];
}
