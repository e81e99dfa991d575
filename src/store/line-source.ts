/** Whole lines of a growing file, chunk by chunk. Memory: 1 MiB, or twice the longest line. */
import type { FileHandle } from "node:fs/promises";
import type { Failure } from "../core/result.ts";
import { MOST_LINE_BYTES } from "./event-line.ts";
import { damaged } from "./log-tail.ts";

const CHUNK = 1024 * 1024;
const LF = 10;

export interface LineSource {
  /**
   * The next lines without their line feeds: views that are valid until the next call. `end` = the file has no more
   * now. Disk faults are thrown.
   */
  more(): Promise<Buffer[] | Failure | "end">;
  /** Forgets what was read and goes on from `offset`, where a line starts. */
  seek(offset: number): void;
}

export function lineSource(handle: FileHandle, start = 0): LineSource {
  let buffer = Buffer.allocUnsafe(CHUNK);
  let position = start;
  let filled = 0;
  let used = 0;

  const makeRoom = (): Failure | undefined => {
    buffer.copyWithin(0, used, filled);
    filled -= used;
    used = 0;
    if (filled < buffer.length) return undefined;
    if (filled > MOST_LINE_BYTES) return damaged("a line is longer than the largest line", position - filled);
    buffer = Buffer.concat([buffer], buffer.length * 2);
    return undefined;
  };

  return {
    async more() {
      const tooLong = makeRoom();
      if (tooLong !== undefined) return tooLong;
      const { bytesRead } = await handle.read(buffer, filled, buffer.length - filled, position);
      if (bytesRead === 0) return "end";
      const searched = filled;
      position += bytesRead;
      filled += bytesRead;
      const lines: Buffer[] = [];
      for (let at = searched; ; at = used) {
        const feed = buffer.subarray(0, filled).indexOf(LF, at);
        if (feed < 0) return lines;
        lines.push(buffer.subarray(used, feed));
        used = feed + 1;
      }
    },
    seek(offset) {
      position = offset;
      filled = 0;
      used = 0;
    },
  };
}
