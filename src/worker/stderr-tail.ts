/** What the worker prints on stderr: text as it comes, and the redacted end of it for messages. */
import { StringDecoder } from "node:string_decoder";
import type { RedactionStream, Redactor } from "../core/contracts/redaction.ts";

/** Characters that are kept. */
export const STDERR_TAIL_CHARS = 8192;
const LAST_WORDS_CHARS = 500;

/** Redacted before it is cut: half of a secret is not recognised any more. */
export class StderrTail {
  readonly #decoder = new StringDecoder("utf8");
  readonly #redactor: Pick<Redactor, "stream">;
  #stream: RedactionStream;
  #tail = "";

  constructor(redactor: Pick<Redactor, "stream">) {
    this.#redactor = redactor;
    this.#stream = redactor.stream();
  }

  /** Returns the chunk as text, redaction not applied; a character that is cut by the read comes with the next one. */
  push(chunk: Buffer): string {
    const text = this.#decoder.write(chunk);
    this.#keep(this.#stream.push(text));
    return text;
  }

  /** The last `STDERR_TAIL_CHARS` characters, redacted. */
  get text(): string {
    this.#keep(this.#stream.end());
    this.#stream = this.#redactor.stream();
    return this.#tail;
  }

  /** The last lines, redacted, for a sentence: at most 500 characters. */
  get lastWords(): string {
    return this.text.trim().slice(-LAST_WORDS_CHARS);
  }

  #keep(redacted: string): void {
    if (redacted !== "") this.#tail = (this.#tail + redacted).slice(-STDERR_TAIL_CHARS);
  }
}
