/** The records of an open log, each checked against the one before. */
import type { FileHandle } from "node:fs/promises";
import type { Failure } from "../core/result.ts";
import { decodeLine, FIRST_PREV, type LinePlace, type StoredEvent, sha256 } from "./event-line.ts";
import { lineSource } from "./line-source.ts";
import { damaged } from "./log-tail.ts";

export interface Chain {
  /** The records of these lines up to the first that does not follow; that one changes nothing here. */
  take(lines: readonly Buffer[]): { events: StoredEvent[]; fault?: Failure };
  /** Last sound record: its seq, its line's hash, and where it ends. */
  seq(): number;
  hash(): string;
  end(): number;
}

/** A chain that does not begin at the start of the file takes its first line as given. */
export function chainFrom(taskId: string, start: number, anchor?: { seq: number; hash?: string }): Chain {
  let seq = 0;
  let end = start;
  let hash = FIRST_PREV;
  let place: LinePlace = start === 0 ? { taskId, seq: 1, prev: FIRST_PREV } : { taskId };

  const next = (line: Buffer): StoredEvent | Failure => {
    const event = decodeLine(line, place);
    if (typeof event === "string") return damaged(`in record ${place.seq ?? "?"}: ${event}`, end);
    const lineHash = sha256(line);
    if (event.seq === anchor?.seq && anchor.hash !== undefined && lineHash !== anchor.hash) {
      return damaged(`record ${anchor.seq} is not the one that was written`, end);
    }
    seq = event.seq;
    hash = lineHash;
    end += line.length + 1;
    place = { taskId, seq: seq + 1, prev: hash };
    return event;
  };

  return {
    take(lines) {
      const events: StoredEvent[] = [];
      for (const line of lines) {
        const found = next(line);
        if ("ok" in found) return { events, fault: found };
        events.push(found);
      }
      return { events };
    },
    seq: () => seq,
    hash: () => hash,
    end: () => end,
  };
}

/**
 * Reads on from the chain's end. `again` is asked at the end of the file: whether to look once more. A line that does
 * not follow is read a second time before it counts as damage: its writer may have cut off half a record and put
 * another in its place between two of our reads.
 */
export async function* checkedBatches(
  handle: FileHandle,
  chain: Chain,
  again: () => Promise<boolean> = async () => false,
): AsyncGenerator<{ ok: true; events: StoredEvent[] } | Failure, void> {
  const source = lineSource(handle, chain.end());
  let suspect = -1;
  for (;;) {
    const lines = await source.more();
    if (lines === "end") {
      if (!(await again())) return;
      source.seek(chain.end());
      continue;
    }
    if (!Array.isArray(lines)) return yield lines;
    const { events, fault } = chain.take(lines);
    if (events.length > 0) yield { ok: true, events };
    if (fault === undefined) continue;
    if (suspect === chain.end()) return yield fault;
    suspect = chain.end();
    source.seek(suspect);
  }
}
