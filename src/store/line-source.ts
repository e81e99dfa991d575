/**
 * Whole lines of a growing file, piece by piece; the next piece is read while the last one is looked at. Memory: two
 * pieces of 1 MiB, or of twice the longest line.
 */
import type { FileHandle } from "node:fs/promises";
import type { Failure } from "../core/result.ts";
import { MOST_LINE_BYTES } from "./event-line.ts";
import { damaged } from "./log-tail.ts";

const PIECE = 1024 * 1024;
const LF = 10;

export interface LineSource {
  /**
   * The next whole lines, each with its line feed: a view that is valid until the next call. `end` = the file has no
   * more now. Disk faults are thrown.
   */
  more(): Promise<Buffer | Failure | "end">;
  /** Forgets what was read and goes on from `offset`, where a line starts. */
  seek(offset: number): void;
}

interface Piece {
  buffer: Buffer;
  /** Bytes at its start that an earlier read brought. */
  held: number;
  read: Promise<{ bytesRead: number } | { error: unknown }>;
}

export function lineSource(handle: FileHandle, start = 0): LineSource {
  let position = start;
  /** The unfinished line: a view into `used`. */
  let rest: Buffer = Buffer.alloc(0);
  let used: Buffer | undefined;
  let spare: Buffer | undefined;
  let ahead: Piece | undefined;
  /** A read that nobody wants any more still writes into its buffer. */
  let unwanted: Promise<unknown> | undefined;

  const begin = (): Piece => {
    const held = rest.length;
    const buffer =
      spare !== undefined && spare.length >= 2 * held ? spare : Buffer.allocUnsafeSlow(Math.max(PIECE, 2 * held));
    spare = undefined;
    rest.copy(buffer);
    const read = handle.read(buffer, held, buffer.length - held, position).then(
      ({ bytesRead }) => ({ bytesRead }),
      (error: unknown) => ({ error }),
    );
    return { buffer, held, read };
  };

  /** A piece that was read becomes the one that `rest` points into. */
  const use = ({ buffer }: Piece, filled: number, lines: number): void => {
    spare = used;
    used = buffer;
    rest = buffer.subarray(lines, filled);
  };

  return {
    async more() {
      await unwanted;
      unwanted = undefined;
      for (;;) {
        if (rest.length > MOST_LINE_BYTES) {
          return damaged("a line is longer than the largest line", position - rest.length);
        }
        const piece = ahead ?? begin();
        ahead = undefined;
        const outcome = await piece.read;
        if ("error" in outcome) throw outcome.error;
        const { bytesRead } = outcome;
        const filled = piece.held + bytesRead;
        position += bytesRead;
        const lines = bytesRead === 0 ? 0 : piece.buffer.subarray(0, filled).lastIndexOf(LF) + 1;
        use(piece, filled, lines);
        if (bytesRead === 0) return "end";
        if (lines === 0) continue;
        if (filled === piece.buffer.length && rest.length <= MOST_LINE_BYTES) ahead = begin();
        return piece.buffer.subarray(0, lines);
      }
    },
    seek(offset) {
      unwanted = ahead?.read;
      if (ahead !== undefined) spare = ahead.buffer;
      ahead = undefined;
      position = offset;
      rest = Buffer.alloc(0);
    },
  };
}
