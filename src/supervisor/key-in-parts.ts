/**
 * A private key that several tool results print one after the other: only the first holds the begin line by which its
 * body is known, so the line is lent to those that follow until the key has ended.
 */
import type { Redactor } from "../core/contracts/redaction.ts";

/** The redacted text ends with a begin line, or with the marker of the body behind it. */
const OPEN = /(-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----)\s*(?:\[redacted:[^\]\n]{1,60}\]\s*)?$/;
const LOOK_BACK = 400;
/** Results that are looked at after the one with the begin line. */
const MAX_RESULTS = 50;

/** Redacts tool results in the order in which they come. */
export function keyInParts(redactor: Pick<Redactor, "text">): (text: string) => string {
  let begin = "";
  let left = 0;
  return (text) => {
    if (left === 0) return look(redactor.text(text));
    left -= 1;
    const redacted = redactor.text(`${begin}\n${text}`);
    const own = redacted.startsWith(`${begin}\n`) ? redacted.slice(begin.length + 1) : redacted;
    if (own.includes("-----END ")) left = 0;
    return look(own);
  };

  function look(redacted: string): string {
    const open = OPEN.exec(redacted.slice(-LOOK_BACK))?.[1];
    if (open !== undefined) {
      begin = open;
      left = MAX_RESULTS;
    }
    return redacted;
  }
}
