/**
 * Bytes of a worker's stdout to protocol messages: one JSON object a line, split on LF bytes only. Written for Claude
 * Code's stream-json output (2.1.268 prints U+2028 and emoji raw inside a line, so nothing but byte 0x0A ends one).
 *
 * Each byte is looked at once: a read is scanned for LF where it arrives, never again when its line is completed.
 */
import { isUtf8 } from "node:buffer";
import { LineBuffer } from "./line-buffer.ts";

/** Bytes that a line may have without its line feed. */
export const MAX_LINE_BYTES = 16 * 1024 * 1024;
/** What is kept of a line that was given up. */
const TOO_LONG_HEAD_BYTES = 64 * 1024;

/** A UTF-8 byte order mark. */
const MARK_BYTES = 3;
const LF = 0x0a;
const CR = 0x0d;
const BLANK = 0x20;
const TAB = 0x09;
const BRACE = 0x7b;

export interface WireMessage {
  readonly type: string;
  readonly [key: string]: unknown;
}

/**
 * `bad-utf8`, `bad-json`, `no-type`: one broken line, reading goes on. `too-long`: the reader has given up for good.
 * `truncated`: the stream ended inside a line.
 */
export type FrameErrorCode = "bad-utf8" | "bad-json" | "no-type" | "too-long" | "truncated";

export interface FrameError {
  code: FrameErrorCode;
  /** Length of the line in bytes, as far as it was read. */
  bytes: number;
  /** A copy of the line without its line end; with `too-long` its first 64 KiB. */
  line: Buffer;
}

export interface FrameSink {
  message(message: WireMessage): void;
  error(error: FrameError): void;
}

export class FrameReader {
  /** Whole lines that were neither blank nor noise. */
  messages = 0;
  /** Lines that do not begin with a brace: counted, never parsed. */
  noise = 0;
  /** True after `too-long` or `stop()`: whatever comes is ignored. */
  stopped = false;
  readonly #sink: FrameSink;
  readonly #maxLineBytes: number;
  readonly #held: LineBuffer;
  #atStart = true;

  /** Holds at most 1.5 times `maxLineBytes` (24 MiB by default) between two reads, and 16 KiB to 1 MiB usually. */
  constructor(sink: FrameSink, options: { maxLineBytes?: number } = {}) {
    this.#sink = sink;
    this.#maxLineBytes = options.maxLineBytes ?? MAX_LINE_BYTES;
    this.#held = new LineBuffer(this.#maxLineBytes + MARK_BYTES);
  }

  /** The most bytes that were ever held for an unfinished line. */
  get peakHeldBytes(): number {
    return this.#held.peakBytes;
  }

  push(chunk: Buffer): void {
    let from = 0;
    while (!this.stopped) {
      const end = chunk.indexOf(LF, from);
      if (end < 0) break;
      if (this.#held.length === 0) this.#whole(chunk, from, end);
      else this.#completed(chunk, from, end);
      from = end + 1;
    }
    if (!this.stopped && from < chunk.length) this.#hold(chunk, from, chunk.length);
  }

  /** The stream has ended: an unfinished line is read like any other if it is whole, else it is `truncated`. */
  end(): void {
    if (this.stopped) return;
    if (this.#held.length > 0) this.#line(this.#held.view(), 0, this.#held.length, true);
    this.#held.clear();
    this.stopped = true;
  }

  stop(): void {
    this.stopped = true;
    this.#held.clear();
  }

  #whole(chunk: Buffer, from: number, end: number): void {
    if (end - from > this.#maxLineBytes && this.#tooLong(chunk.subarray(from, end))) return;
    this.#line(chunk, from, end, false);
  }

  #completed(chunk: Buffer, from: number, end: number): void {
    if (!this.#hold(chunk, from, end)) return;
    this.#line(this.#held.view(), 0, this.#held.length, false);
    this.#held.clear();
  }

  /** False when the line has become too long. */
  #hold(chunk: Buffer, from: number, to: number): boolean {
    const needed = this.#held.length + to - from;
    if (needed > this.#maxLineBytes) {
      const head = Buffer.concat([this.#held.view(), chunk.subarray(from, to)].map(headOf));
      if (this.#tooLong(head, needed)) return false;
    }
    this.#held.append(chunk, from, to);
    return true;
  }

  /** A byte order mark does not count. Gives up at once: the rest of the stream cannot be trusted to be framed. */
  #tooLong(line: Buffer, bytes = line.length): boolean {
    if (this.#atStart && hasMark(line, 0, line.length) && bytes - MARK_BYTES <= this.#maxLineBytes) return false;
    this.stop();
    this.#sink.error({ code: "too-long", bytes, line: Buffer.from(headOf(line)) });
    return true;
  }

  #line(bytes: Buffer, start: number, lineEnd: number, unfinished: boolean): void {
    let from = start;
    let end = lineEnd;
    if (this.#atStart) {
      this.#atStart = false;
      if (hasMark(bytes, from, end)) from += MARK_BYTES;
    }
    if (end > from && bytes[end - 1] === CR) end--;
    const first = from;
    while (from < end && (bytes[from] === BLANK || bytes[from] === TAB)) from++;
    if (from === end) return;
    if (bytes[from] !== BRACE) {
      this.noise++;
      return;
    }
    const text = bytes.toString("utf8", from, end);
    // The decoder puts U+FFFD where bytes are no UTF-8; only then is a second look needed.
    if (text.includes("\ufffd") && !isUtf8(bytes.subarray(from, end))) {
      this.#broken(unfinished ? "truncated" : "bad-utf8", bytes, first, end);
      return;
    }
    let message: { type?: unknown };
    try {
      message = JSON.parse(text);
    } catch {
      this.#broken(unfinished ? "truncated" : "bad-json", bytes, first, end);
      return;
    }
    if (typeof message.type !== "string" || message.type === "") {
      this.#broken("no-type", bytes, first, end);
      return;
    }
    this.messages++;
    this.#sink.message(message as WireMessage);
  }

  #broken(code: FrameErrorCode, bytes: Buffer, from: number, end: number): void {
    this.#sink.error({ code, bytes: end - from, line: Buffer.from(bytes.subarray(from, end)) });
  }
}

function hasMark(bytes: Buffer, from: number, end: number): boolean {
  return end - from >= MARK_BYTES && bytes[from] === 0xef && bytes[from + 1] === 0xbb && bytes[from + 2] === 0xbf;
}

function headOf(bytes: Buffer): Buffer {
  return bytes.length > TOO_LONG_HEAD_BYTES ? bytes.subarray(0, TOO_LONG_HEAD_BYTES) : bytes;
}
