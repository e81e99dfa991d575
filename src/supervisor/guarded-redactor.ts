/**
 * A redactor whose own failure lets nothing through: the text is left out, and the task hears of it once (fault
 * `secret-risk`).
 */
import type { Redactor } from "../core/contracts/redaction.ts";

export const LEFT_OUT = "[left out: it could not be redacted]";

export function guardedRedactor(redactor: Redactor, onFailure: (detail: string) => void): Redactor {
  let said = false;
  const guarded = <T>(what: string, otherwise: T, run: () => T): T => {
    try {
      return run();
    } catch (error) {
      /* Its message may quote the text. */
      const kind = error instanceof Error ? error.name : "error";
      if (!said) {
        said = true;
        onFailure(`Redaction failed on ${what} (${kind}); the text was left out.`);
      }
      return otherwise;
    }
  };
  return {
    text: (value) => guarded("a text", LEFT_OUT, () => redactor.text(value)),
    data: <T>(value: T): T => guarded("a value", LEFT_OUT as T, () => redactor.data(value)),
    hasSecret: (value) => guarded("a text", true, () => redactor.hasSecret(value)),
    stream: () => {
      const stream = redactor.stream();
      return {
        push: (piece) => guarded("a piece", LEFT_OUT, () => stream.push(piece)),
        end: () => guarded("the last piece", LEFT_OUT, () => stream.end()),
      };
    },
  };
}
