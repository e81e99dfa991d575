/** Large event logs to measure on, and the least that reading one whole can cost. Shared with test/store/log-scale.soak.ts. */
import { closeSync, openSync, readSync, writeSync } from "node:fs";
import { type EventInput, encodeLines, FIRST_PREV, sha256 } from "../../src/store/event-line.ts";

export const MIB = 1024 * 1024;

/** A record as a task's log has most of: a preview of `chars` characters. */
export function textRecord(index: number, chars: number): EventInput {
  return { type: "worker.text", data: { preview: `${index} ${"w".repeat(chars)}`, chars: chars + 5 } };
}

/** Writes a sound log of about `size` bytes, `chars` characters of text in each record; returns its number of records. */
export function generateLog(path: string, taskId: string, size: number, chars: number): number {
  const fd = openSync(path, "wx", 0o600);
  const inputs = Array.from({ length: 1_000 }, (_, index) => textRecord(index, chars));
  let seq = 0;
  let prev = FIRST_PREV;
  for (let written = 0; written < size; ) {
    const encoded = encodeLines(inputs, { taskId, at: "2026-01-02T03:04:05.000Z", mono: seq, seq, prev });
    if (!encoded.ok) throw new Error(encoded.message);
    written += writeSync(fd, Buffer.from(`${encoded.lines.map((line) => line.text).join("\n")}\n`));
    seq += encoded.lines.length;
    prev = encoded.hash;
  }
  closeSync(fd);
  return seq;
}

/** The least that a check can do: read, find the lines, hash and parse. Returns the number of lines. */
export function readBare(path: string): number {
  const fd = openSync(path, "r");
  const buffer = Buffer.allocUnsafe(MIB);
  let held = 0;
  let lines = 0;
  for (;;) {
    const count = readSync(fd, buffer, held, buffer.length - held, null);
    if (count === 0) break;
    const filled = held + count;
    let used = 0;
    for (let feed = buffer.indexOf(10); feed >= 0 && feed < filled; feed = buffer.indexOf(10, used)) {
      const line = buffer.subarray(used, feed);
      sha256(line);
      JSON.parse(line.toString("utf8"));
      lines += 1;
      used = feed + 1;
    }
    buffer.copyWithin(0, used, filled);
    held = filled - used;
  }
  closeSync(fd);
  return lines;
}

/** Milliseconds. */
export function timeOf(work: () => void): number {
  const began = performance.now();
  work();
  return performance.now() - began;
}
