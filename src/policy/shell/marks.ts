/**
 * A word whose value is not fully known carries marks in place of the unknown pieces. They are private-use characters;
 * a command that brings such characters itself is reviewed and has them replaced before it is parsed.
 */

/** Output of a substitution, or text that cannot be worked out. */
export const UNKNOWN = "\uE000";
/** Some number, such as `$?`. */
export const NUMBER = "\uE001";
/** A variable of the environment that this call did not assign: its value may be a secret. */
export const ENVIRONMENT = "\uE002";
/** Text that came from the network. */
export const NETWORK = "\uE003";
/** A commit id or the name of a revision. */
export const REVISION = "\uE004";
/** The shell's parent process, `$PPID`. */
export const PARENT_PROCESS = "\uE005";

const ANY = /[\uE000-\uE005]/;
const RISKY = /[\uE000\uE002\uE003\uE005]/;

export function hasMark(text: string): boolean {
  return ANY.test(text);
}

/** Whether a piece is missing that could be anything, including an option or a path. */
export function isOpen(text: string): boolean {
  return RISKY.test(text);
}

/** For people: marks become `…`. */
export function readable(text: string): string {
  return ANY.test(text) ? text.replace(/[\uE000-\uE005]+/g, "…") : text;
}
