/** The name under which one task can be stopped from outside. It becomes a file name, so its form is strict. */
import { failure, type Result } from "../core/result.ts";

export const CONTROL_ID_VARIABLE = "PI_CLAUDE_SUPERVISOR_CONTROL_ID";

const FORM = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;
/** Names of our own files in the control folder, and the word that means every identity. */
const RESERVED = /^(all|latch|epoch-floor|stop-all|last-drill|control)$/i;

/** 1 to 64 letters, digits, dots, underscores and dashes, the first a letter or digit. Reason `bad-identity`. */
export function checkIdentity(text: string): Result {
  if (!FORM.test(text) || text.includes("..") || text.endsWith(".")) {
    return failure(
      "bad-identity",
      `${JSON.stringify(text.slice(0, 80))} is no identity. Use 1 to 64 letters, digits, dots, underscores and dashes, starting with a letter or digit.`,
    );
  }
  if (RESERVED.test(text)) return failure("bad-identity", `${text} is a reserved word. Choose another identity.`);
  return { ok: true };
}

/** Another name in `present` that a case-folding disk would take for this one. */
export function caseTwin(identity: string, present: readonly string[]): string | undefined {
  const folded = identity.toLowerCase();
  return present.find((other) => other !== identity && other.toLowerCase() === folded);
}
