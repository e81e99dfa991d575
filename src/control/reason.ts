/** The reason of a stop, and text of ours that reaches a terminal. */
import { failure, type Result } from "../core/result.ts";

export const MOST_REASON_BYTES = 512;

/**
 * Trimmed, not empty, at most 512 bytes, no control, bidirectional or invisible format characters. Redaction comes
 * after this. Reason `bad-reason`.
 */
export function checkReason(text: string | undefined): Result<{ text: string }> {
  const trimmed = text?.trim() ?? "";
  if (trimmed === "") return failure("bad-reason", `The reason is empty. Say why: --reason "…".`);
  const size = Buffer.byteLength(trimmed);
  if (size > MOST_REASON_BYTES) {
    return failure("bad-reason", `The reason has ${size} bytes. Use at most ${MOST_REASON_BYTES}.`);
  }
  if (/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/u.test(trimmed)) {
    return failure("bad-reason", "The reason holds control or invisible characters. Use plain text on one line.");
  }
  return { ok: true, text: trimmed };
}

/** Text from a file, safe to print: control and format characters are made visible. */
export function inert(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu, (char) => {
    return `\\u${(char.codePointAt(0) ?? 0).toString(16).padStart(4, "0")}`;
  });
}
