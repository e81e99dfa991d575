/**
 * Takes terminal control sequences (ECMA-48 CSI, OSC and two-character escapes) and other control characters out of a
 * text that arrives in pieces. It runs before redaction: a colour code inside a token would hide the token.
 */

const SEQUENCE =
  /\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[PX^_][^\x1b]*\x1b\\|[ -/]+[0-~]|[0-OQ-WYZ\\`-~])/g;
const CONTROL = /[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]/g;
/** An unfinished sequence longer than this is no sequence: it is let through without its escape character. */
const LONGEST_SEQUENCE = 4096;

export interface PlainText {
  push(chunk: string): string;
  end(): string;
}

export function createPlainText(): PlainText {
  let held = "";
  const clean = (text: string): string => text.replace(SEQUENCE, "").replace(CONTROL, "");
  return {
    push(chunk) {
      const text = held + chunk;
      held = "";
      if (!text.includes("\x1b")) return clean(text);
      const rest = text.replace(SEQUENCE, "");
      const open = rest.indexOf("\x1b");
      if (open >= 0 && rest.length - open <= LONGEST_SEQUENCE) {
        held = rest.slice(open);
        return clean(rest.slice(0, open));
      }
      return clean(rest);
    },
    end() {
      const rest = clean(held);
      held = "";
      return rest;
    },
  };
}
