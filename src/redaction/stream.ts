import type { RedactionStream } from "../core/contracts/redaction.ts";
import type { KnownFinder } from "./known.ts";
import { Scanner, type Sink } from "./scanner.ts";
import { LOOK_BEHIND } from "./source.ts";

/**
 * Most characters that a stream holds back: a value or token of 16 Ki that is still open with what may stand before
 * it, plus an eighth before it looks again. Of ordinary text it is the last word.
 */
export const MAX_HELD = 24_576;

/**
 * A stream that may be cut anywhere. It keeps the text from the first word that is not decided yet, and `LOOK_BEHIND`
 * characters before it. While much is held, it looks again only when an eighth more has come: the work stays linear
 * also where every chunk is one character.
 */
export function redactionStream(salt: string, known: KnownFinder | undefined): RedactionStream {
  const scanner = new Scanner(salt, known);
  let text = "";
  let at = 0;
  let lookAgainAt = 0;
  let isEnded = false;

  const advance = (isFinal: boolean): string => {
    const parts: string[] = [];
    const sink: Sink = {
      plain: (source, from, to) => void (to > from && parts.push(source.slice(from, to))),
      replace: (_start, _end, marker) => void parts.push(marker),
    };
    at = scanner.run(text, at, text.length, isFinal, sink);
    const gone = at - LOOK_BEHIND;
    if (gone > 0) {
      text = text.slice(gone);
      at -= gone;
      scanner.shift(gone);
    }
    const held = text.length - at;
    lookAgainAt = text.length + (held < 64 ? 0 : held >> 3);
    return parts.join("");
  };

  return {
    push: (chunk) => {
      if (isEnded) throw new Error("The redaction stream has ended; make a new one for more text.");
      text += chunk;
      return text.length > lookAgainAt ? advance(false) : "";
    },
    end: () => {
      if (isEnded) return "";
      isEnded = true;
      return advance(true);
    },
  };
}
