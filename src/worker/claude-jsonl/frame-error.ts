/** Frame errors as sentences. They never quote the line: it may hold anything. */
import { type FrameError, MAX_LINE_BYTES } from "../framing/frame-reader.ts";

export function describeFrameError(error: FrameError): string {
  const size = `${error.bytes} bytes`;
  switch (error.code) {
    case "bad-utf8":
      return `A line of ${size} is not valid UTF-8.`;
    case "bad-json":
      return `A line of ${size} begins like a message but is not JSON.`;
    case "no-type":
      return `A line of ${size} is JSON without a message type.`;
    case "truncated":
      return `The output ended inside a line, after ${size} of it.`;
    case "too-long":
      return `A line had ${size} without an end, more than the ${MAX_LINE_BYTES / 1024 / 1024} MiB that are allowed; the worker was ended.`;
  }
}
