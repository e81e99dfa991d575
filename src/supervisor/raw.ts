/**
 * Payloads that must not reach the log as they are, kept in memory by id: the goal and messages before redaction, the
 * inputs of calls that wait. They are gone with this process; what was redacted is then never sent again.
 */
const MAX_ENTRIES = 200;

/** The id under which the worker's last words are kept, redacted and bounded, for whoever judges the end of its turn. */
export const LAST_WORDS = "last-words";

export class RawPayloads {
  readonly #texts = new Map<string, string>();
  readonly #inputs = new Map<string, unknown>();
  readonly #answers = new Map<string, Readonly<Record<string, string>>>();

  keepText(id: string, text: string): void {
    this.#texts.set(id, text);
    trim(this.#texts);
  }

  text(id: string): string | undefined {
    return this.#texts.get(id);
  }

  dropText(id: string): void {
    this.#texts.delete(id);
  }

  keepInput(callId: string, input: unknown): void {
    this.#inputs.set(callId, input);
    trim(this.#inputs);
  }

  input(callId: string): unknown {
    return this.#inputs.get(callId);
  }

  /** Answers of a person as typed; the log holds them redacted. */
  keepAnswers(requestId: string, answers: Readonly<Record<string, string>>): void {
    this.#answers.set(requestId, answers);
    trim(this.#answers);
  }

  answers(requestId: string): Readonly<Record<string, string>> | undefined {
    return this.#answers.get(requestId);
  }

  dropInput(callId: string): void {
    this.#inputs.delete(callId);
  }
}

function trim(map: Map<string, unknown>): void {
  const oldest = map.size > MAX_ENTRIES ? map.keys().next().value : undefined;
  if (oldest !== undefined) map.delete(oldest);
}
