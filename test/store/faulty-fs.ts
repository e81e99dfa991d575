/** A log's file system with limits: `space` bytes are left, and calls can be made to fail. */
import { type LogFs, nodeLogFs } from "../../src/store/log-fs.ts";

export interface FaultyFs extends LogFs {
  /** Bytes that writes may still take; a write that does not fit is cut short, the next one fails with `fullCode`. */
  space: number;
  fullCode: string;
  failTruncate: boolean;
  failSync: string | undefined;
  /** Calls of `datasync` so far. */
  syncs: number;
  writes: number;
  /** While set, `datasync` waits for it. */
  hold: Promise<void> | undefined;
}

export function faultyFs(): FaultyFs {
  const fs: FaultyFs = {
    ...nodeLogFs,
    space: Number.POSITIVE_INFINITY,
    fullCode: "ENOSPC",
    failTruncate: false,
    failSync: undefined,
    syncs: 0,
    writes: 0,
    hold: undefined,
    write(fd, bytes, offset, length) {
      fs.writes += 1;
      if (fs.space <= 0) throw systemError(fs.fullCode);
      const count = nodeLogFs.write(fd, bytes, offset, Math.min(length, fs.space));
      fs.space -= count;
      return count;
    },
    truncate(fd, size) {
      if (fs.failTruncate) throw systemError("EIO");
      fs.space += nodeLogFs.stat(fd).size - size;
      nodeLogFs.truncate(fd, size);
    },
    async datasync(fd) {
      fs.syncs += 1;
      await fs.hold;
      if (fs.failSync !== undefined) throw systemError(fs.failSync);
      await nodeLogFs.datasync(fd);
    },
  };
  return fs;
}

function systemError(code: string): Error {
  return Object.assign(new Error(code), { code });
}
