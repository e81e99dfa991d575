/** Redaction: text in, text without secrets out. Every sink (log, artifact, UI, webhook, report, error text, prompt) goes through it. */
import type { Redactor, RedactorOptions } from "../core/contracts/redaction.ts";
import { redactData } from "./data.ts";
import { knownFinder } from "./known.ts";
import { marker } from "./marker.ts";
import { Scanner } from "./scanner.ts";
import { redactionStream } from "./stream.ts";

export { clearSecretFinder } from "./clear.ts";
export { knownValues } from "./known.ts";
export { MAX_HELD } from "./stream.ts";

/** A redactor for one task. Making one costs in the order of the known values; using it is linear in the text. */
export function createRedactor(options: RedactorOptions): Redactor {
  const { salt } = options;
  const known = knownFinder(options.known ?? []);

  const text = (value: string): string => {
    const parts: string[] = [];
    let isChanged = false;
    new Scanner(salt, known).run(value, 0, value.length, true, {
      plain: (source, from, to) => void (to > from && parts.push(source.slice(from, to))),
      replace: (_start, _end, replacement) => {
        isChanged = true;
        parts.push(replacement);
      },
    });
    return isChanged ? parts.join("") : value;
  };

  const hasSecret = (value: string): boolean => {
    let isFound = false;
    new Scanner(salt, known).run(value, 0, value.length, true, {
      plain: () => undefined,
      replace: () => {
        isFound = true;
      },
    });
    return isFound;
  };

  return {
    text,
    hasSecret,
    data: <T>(value: T): T => redactData({ text, mark: (kind, secret) => marker(salt, kind, secret) }, value) as T,
    stream: () => redactionStream(salt, known),
  };
}
