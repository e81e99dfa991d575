/**
 * Splits a byte stream into JSON lines on LF bytes only (U+2028 may stand raw inside a line; `readline` would cut there).
 * Lines that are no JSON object are kept in `noise`.
 */
export class JsonLines {
  readonly noise: string[] = [];
  #rest: Buffer[] = [];

  /** The complete objects that `chunk` finished, in order. */
  push(chunk: Buffer): Record<string, unknown>[] {
    const found: Record<string, unknown>[] = [];
    let from = 0;
    for (let at = chunk.indexOf(10); at >= 0; at = chunk.indexOf(10, from)) {
      this.#rest.push(chunk.subarray(from, at));
      const line = Buffer.concat(this.#rest).toString("utf8").replace(/\r$/, "");
      this.#rest = [];
      from = at + 1;
      if (line.trim() === "") continue;
      const value = parseObject(line);
      if (value) found.push(value);
      else this.noise.push(line);
    }
    if (from < chunk.length) this.#rest.push(chunk.subarray(from));
    return found;
  }
}

/** The JSON object that `text` is, or undefined for anything else. */
export function parseObject(text: string): Record<string, unknown> | undefined {
  if (!text.trimStart().startsWith("{")) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : undefined;
  } catch {
    return undefined;
  }
}
