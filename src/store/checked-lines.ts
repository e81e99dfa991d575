/** The records of an open log, each checked against the one before. */
import { isAscii } from "node:buffer";
import type { FileHandle } from "node:fs/promises";
import type { Failure } from "../core/result.ts";
import { decodeLine, decodeText, FIRST_PREV, type LinePlace, type StoredEvent, sha256 } from "./event-line.ts";
import { lineSource } from "./line-source.ts";
import { damaged } from "./log-tail.ts";

const LF = 10;

export interface Chain {
  /**
   * Checks whole lines, each with its line feed, up to the first that does not follow; that one changes nothing here. Each
   * record that does is given to `found`.
   */
  take(lines: Buffer, found?: (event: StoredEvent) => void): Failure | undefined;
  /** Last sound record: its seq, its line's hash, and where it ends. */
  seq(): number;
  hash(): string;
  end(): number;
}

/** A chain that does not begin at the start of the file takes its first line as given. */
export function chainFrom(taskId: string, start: number, anchor?: { seq: number; hash?: string }): Chain {
  let end = start;
  let hash = FIRST_PREV;
  /** What the next line must be; reused, because a large log has millions of lines. */
  const place: LinePlace = start === 0 ? { taskId, seq: 1, prev: FIRST_PREV } : { taskId };
  let seq = 0;

  const next = (line: Buffer, isPlain: boolean, found?: (event: StoredEvent) => void): Failure | undefined => {
    const event = isPlain ? decodeText(line.toString("latin1"), place) : decodeLine(line, place);
    if (typeof event === "string") return damaged(`in record ${place.seq ?? "?"}: ${event}`, end);
    const lineHash = sha256(line);
    if (event.seq === anchor?.seq && anchor.hash !== undefined && lineHash !== anchor.hash) {
      return damaged(`record ${anchor.seq} is not the one that was written`, end);
    }
    seq = event.seq;
    hash = lineHash;
    end += line.length + 1;
    place.seq = seq + 1;
    place.prev = hash;
    found?.(event);
    return undefined;
  };

  return {
    take(lines, found) {
      /* Asked once for all of them: of plain ASCII nothing has to be decoded. */
      const isPlain = isAscii(lines);
      for (let from = 0; from < lines.length; ) {
        const feed = lines.indexOf(LF, from);
        const fault = next(lines.subarray(from, feed), isPlain, found);
        if (fault !== undefined) return fault;
        from = feed + 1;
      }
      return undefined;
    },
    seq: () => seq,
    hash: () => hash,
    end: () => end,
  };
}

/**
 * Reads on from the chain's end, and gives the records of each piece; with `forget` only failures, so that nothing has to
 * be held. `again` is asked at the end of the file: whether to look once more. A line that does not follow is read a
 * second time before it counts as damage: its writer may have cut off half a record and put another in its place between
 * two of our reads.
 */
export async function* checkedBatches(
  handle: FileHandle,
  chain: Chain,
  options: { again?: () => Promise<boolean>; forget?: boolean } = {},
): AsyncGenerator<{ ok: true; events: StoredEvent[] } | Failure, void> {
  const { again, forget = false } = options;
  const source = lineSource(handle, chain.end());
  let suspect = -1;
  for (;;) {
    const lines = await source.more();
    if (lines === "end") {
      if (again === undefined || !(await again())) return;
      source.seek(chain.end());
      continue;
    }
    if (!Buffer.isBuffer(lines)) return yield lines;
    const events: StoredEvent[] = [];
    const fault = chain.take(lines, forget ? undefined : (event) => void events.push(event));
    if (events.length > 0) yield { ok: true, events };
    if (fault === undefined) continue;
    if (suspect === chain.end()) return yield fault;
    suspect = chain.end();
    source.seek(suspect);
  }
}
