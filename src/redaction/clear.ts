/**
 * A second look at text that should hold no secret any more, by other means than the scanner's: a plain search for the
 * prefixes that are unmistakable, for known values, and for the body of a private key. It finds less than the scanner, and
 * nothing that the scanner would leave on purpose: what it names was not redacted.
 */
import type { Redactor } from "../core/contracts/redaction.ts";
import { GLUED_FAMILIES } from "./families.ts";

/** A shorter known value is a word of ordinary texts. */
const MIN_KNOWN = 12;
const LONGEST_TOKEN = 400;
const KEY_BODY = /-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----(?:\\[nr]|\s){1,8}[A-Za-z0-9+/=]{40}/;

/** The kind of the first secret that stands in a text in clear, or null. Linear in the text; about 40 searches of it. */
export function clearSecretFinder(
  redactor: Pick<Redactor, "hasSecret">,
  known: readonly string[],
): (text: string) => string | null {
  const values = known.filter((value) => value.length >= MIN_KNOWN && redactor.hasSecret(value));
  return (text) => {
    if (values.some((value) => text.includes(value))) return "known-value";
    for (const { kind, prefix, body, min } of GLUED_FAMILIES) {
      for (let at = text.indexOf(prefix); at >= 0; at = text.indexOf(prefix, at + prefix.length)) {
        const from = at + prefix.length;
        let end = from;
        while (end < text.length && end - from < LONGEST_TOKEN && body[text.charCodeAt(end)] === 1) end++;
        if (end - from >= min && redactor.hasSecret(text.slice(at, end))) return kind;
      }
    }
    return KEY_BODY.test(text) ? "private-key" : null;
  };
}
