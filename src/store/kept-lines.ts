/**
 * Records that a refusing disk left in memory: in order, and bounded (1,000 records, 8 Mi characters). They carry their
 * final seq and hash, so that later writing changes nothing of them.
 */
import type { Line } from "./event-line.ts";

const MOST = 1_000;
const MOST_CHARACTERS = 8 * 1024 * 1024;
/** Characters written at a time when there is space again. */
const PIECE = 64 * 1024;

export interface KeptLines {
  readonly count: number;
  /** False when they do not fit; then none is kept. */
  add(lines: readonly Line[]): boolean;
  /**
   * Hands over the lines piece by piece until `write` fails: a disk that is still full costs one small try, and a
   * little space already helps.
   */
  drain<F extends { ok: boolean }>(write: (piece: readonly Line[]) => F): F | { ok: true };
}

export function keptLines(): KeptLines {
  let kept: Line[] = [];
  let characters = 0;

  return {
    get count() {
      return kept.length;
    },
    add(lines) {
      const more = lengthOf(lines);
      if (kept.length + lines.length > MOST || characters + more > MOST_CHARACTERS) return false;
      kept.push(...lines);
      characters += more;
      return true;
    },
    drain(write) {
      while (kept.length > 0) {
        const piece = firstPiece(kept);
        const written = write(piece);
        if (!written.ok) return written;
        kept = kept.slice(piece.length);
        characters -= lengthOf(piece);
      }
      return { ok: true };
    },
  };
}

function lengthOf(lines: readonly Line[]): number {
  return lines.reduce((sum, line) => sum + line.text.length, 0);
}

function firstPiece(lines: readonly Line[]): readonly Line[] {
  let length = 0;
  const end = lines.findIndex((line, at) => {
    length += line.text.length;
    return at > 0 && length > PIECE;
  });
  return end < 0 ? lines : lines.slice(0, end);
}
