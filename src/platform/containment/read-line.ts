import type { Readable } from "node:stream";

/**
 * The first line that a helper of ours prints, without its LF; `undefined` when the stream ends, fails, prints more than
 * 200 bytes without one, or stays silent for `timeoutMs` milliseconds. What follows the line is dropped.
 */
export function readLine(stream: Readable, timeoutMs: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    let text = "";
    const settle = (line: string | undefined): void => {
      clearTimeout(timer);
      stream.off("data", onData);
      stream.off("end", onEnd);
      stream.off("close", onEnd);
      // Keeps flowing, so that its end is noticed; late errors of a helper's pipe say nothing that its exit does not.
      stream.resume();
      resolve(line);
    };
    const onData = (chunk: Buffer | string): void => {
      text += chunk.toString("latin1");
      const end = text.indexOf("\n");
      if (end >= 0) settle(text.slice(0, end));
      else if (text.length > 200) settle(undefined);
    };
    const onEnd = (): void => settle(undefined);
    const timer = setTimeout(onEnd, timeoutMs);
    stream.on("data", onData);
    stream.on("end", onEnd);
    stream.on("close", onEnd);
    stream.on("error", onEnd);
  });
}
