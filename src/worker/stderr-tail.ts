/** What the worker prints on stderr: text as it comes, and the end of it for messages. */
import { StringDecoder } from "node:string_decoder";

/** Characters that are kept. */
export const STDERR_TAIL_CHARS = 8192;

export class StderrTail {
  readonly #decoder = new StringDecoder("utf8");
  #tail = "";

  /** Returns the chunk as text; a character that is cut by the read comes with the next one. */
  push(chunk: Buffer): string {
    const text = this.#decoder.write(chunk);
    this.#tail = (this.#tail + text).slice(-STDERR_TAIL_CHARS);
    return text;
  }

  get text(): string {
    return this.#tail;
  }

  /** The last lines, for a sentence: at most 500 characters. */
  get lastWords(): string {
    return this.#tail.trim().slice(-500);
  }
}
