/**
 * Bytes of a worker's stdout to protocol messages: one JSON object a line, split on LF bytes only. Written for Claude
 * Code's stream-json output (2.1.268 prints U+2028 and emoji raw inside a line, so nothing but byte 0x0A ends one).
 *
 * Each byte is looked at once: a read is scanned for LF where it arrives, never again when its line is completed.
 */
import { isAscii, isUtf8 } from "node:buffer";
import { LineBuffer } from "./line-buffer.ts";

/** Bytes that a line may have without its line feed. */
export const MAX_LINE_BYTES = 16 * 1024 * 1024;
/** What is kept of a line that was given up. */
const TOO_LONG_HEAD_BYTES = 64 * 1024;

/** A UTF-8 byte order mark. */
const MARK_BYTES = 3;
const LF = 0x0a;
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
    if (this.stopped) return;
    const first = chunk.indexOf(LF);
    if (first < 0) {
      this.#hold(chunk, 0, chunk.length);
      return;
    }
    /* A call comes as one whole line in one read, and waits for its answer: nothing more is looked for in it. */
    if (first === chunk.length - 1 && this.#held.length === 0 && first <= this.#maxLineBytes) {
      this.#bytes(chunk.subarray(0, first), false);
      return;
    }
    const from = this.#held.length === 0 ? 0 : first + 1;
    if (from > 0 && !this.#complete(chunk, first)) return;
    const last = chunk.lastIndexOf(LF);
    if (last >= from) this.#whole(chunk.subarray(from, last));
    if (!this.stopped) this.#hold(chunk, last + 1, chunk.length);
  }

  /** The stream has ended: an unfinished line is read like any other if it is whole, else it is `truncated`. */
  end(): void {
    if (this.stopped) return;
    if (this.#held.length > 0) this.#bytes(this.#held.view(), true);
    this.stop();
  }

  stop(): void {
    this.stopped = true;
    this.#held.clear();
  }

  /** The held line ends at `end` of this chunk. False when it was too long. */
  #complete(chunk: Buffer, end: number): boolean {
    if (!this.#hold(chunk, 0, end)) return false;
    this.#bytes(this.#held.view(), false);
    this.#held.clear();
    return true;
  }

  /** False when the line has become too long. */
  #hold(chunk: Buffer, from: number, to: number): boolean {
    const bytes = this.#held.length + to - from;
    if (bytes > this.#maxLineBytes) {
      const head = Buffer.concat([this.#held.view(), chunk.subarray(from, to)].map(headOf));
      if (this.#tooLong(head, bytes)) return false;
    }
    if (from < to) this.#held.append(chunk, from, to);
    return true;
  }

  /** A byte order mark does not count. Gives up at once: the rest of the stream cannot be trusted to be framed. */
  #tooLong(line: Buffer, bytes: number): boolean {
    if (this.#atStart && hasMark(line) && bytes - MARK_BYTES <= this.#maxLineBytes) return false;
    this.stop();
    this.#sink.error({ code: "too-long", bytes, line: Buffer.from(headOf(line)) });
    return true;
  }

  /** Whole lines, without the last line feed. Valid ones are decoded in one go, which is most of the speed. */
  #whole(block: Buffer): void {
    if (block.length > this.#maxLineBytes || !isUtf8(block)) {
      this.#oneByOne(block);
      return;
    }
    const text = block.toString(isAscii(block) ? "latin1" : "utf8");
    for (let at = 0; !this.stopped; ) {
      const end = text.indexOf("\n", at);
      this.#line(end < 0 ? text.slice(at) : text.slice(at, end), undefined, false);
      if (end < 0) return;
      at = end + 1;
    }
  }

  #oneByOne(block: Buffer): void {
    for (let from = 0; !this.stopped; ) {
      const end = block.indexOf(LF, from);
      const line = block.subarray(from, end < 0 ? block.length : end);
      if (line.length > this.#maxLineBytes && this.#tooLong(line, line.length)) return;
      this.#bytes(line, false);
      if (end < 0) return;
      from = end + 1;
    }
  }

  #bytes(line: Buffer, unfinished: boolean): void {
    if (isUtf8(line)) this.#line(line.toString("utf8"), undefined, unfinished);
    // As Latin-1, blanks, the carriage return, the mark and the brace stand where they stand in the bytes.
    else this.#line(line.toString("latin1"), line, unfinished);
  }

  /** `invalid`: the line's bytes, when they are no UTF-8 and `text` is their Latin-1. */
  #line(text: string, invalid: Buffer | undefined, unfinished: boolean): void {
    const start = this.#atStart ? this.#skipMark(text, invalid !== undefined) : 0;
    const end = text.endsWith("\r") ? text.length - 1 : text.length;
    let at = start;
    while (at < end && (text.charCodeAt(at) === BLANK || text.charCodeAt(at) === TAB)) at++;
    if (at >= end) return;
    if (text.charCodeAt(at) !== BRACE) {
      this.noise++;
      return;
    }
    const code =
      invalid === undefined
        ? this.#message(start === 0 && end === text.length ? text : text.slice(at, end))
        : "bad-utf8";
    if (code === undefined) return;
    const bytes = Buffer.from(text.slice(start, end), invalid === undefined ? "utf8" : "latin1");
    this.#sink.error({ code: unfinished && code !== "no-type" ? "truncated" : code, bytes: bytes.length, line: bytes });
  }

  /** What is wrong with the object, or nothing, and then the sink has it. */
  #message(text: string): FrameErrorCode | undefined {
    let message: { type?: unknown };
    try {
      message = JSON.parse(text);
    } catch {
      return "bad-json";
    }
    if (typeof message.type !== "string" || message.type === "") return "no-type";
    this.messages++;
    this.#sink.message(message as WireMessage);
    return undefined;
  }

  /** Dropped at the start of the stream, nowhere else. */
  #skipMark(text: string, isLatin1: boolean): number {
    this.#atStart = false;
    const mark = isLatin1 ? "\xef\xbb\xbf" : "\ufeff";
    return text.startsWith(mark) ? mark.length : 0;
  }
}

function hasMark(bytes: Buffer): boolean {
  return bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf;
}

function headOf(bytes: Buffer): Buffer {
  return bytes.length > TOO_LONG_HEAD_BYTES ? bytes.subarray(0, TOO_LONG_HEAD_BYTES) : bytes;
}
