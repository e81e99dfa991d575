/**
 * Reading small files that someone else may have planted or swapped: links are not followed, nothing blocks (a FIFO
 * opens at once with O_NONBLOCK, measured on Linux 6 with Node 20), and the judgement is made on the open descriptor.
 */
import { closeSync, constants, fstatSync, lstatSync, openSync, readSync, type Stats } from "node:fs";
import { type Failure, failure, type Result } from "../core/result.ts";
import { type Ownership, systemOwnership } from "./account.ts";
import { fileFailure } from "./errno.ts";

export interface NoFollowOptions {
  /** Open for reading and writing. Default: reading. */
  write?: boolean;
  /** Uids that may own it. Default: ours. */
  owners?: readonly number[];
  /** Permission bits that must not be set. Default 0o077; a file that comes from another account gets 0o022. */
  forbiddenMode?: number;
  /** Largest size in bytes. Default: no bound here. */
  maxBytes?: number;
  ownership?: Ownership;
}

/**
 * Opens a regular file that is ours alone. Reasons: `missing`, `symlink`, `not-regular`, `wrong-owner`, `wrong-mode`,
 * `hard-linked`, `too-large`, or a disk fault. The caller closes `fd`.
 */
export function openNoFollow(path: string, options: NoFollowOptions = {}): Result<{ fd: number; stats: Stats }> {
  let fd: number;
  try {
    const before = lstatSync(path);
    if (!before.isFile()) return judgeKind(path, before);
    const access = options.write ? constants.O_RDWR : constants.O_RDONLY;
    fd = openSync(path, access | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (error) {
    return fileFailure("open", path, error);
  }
  const judged = judgeDescriptor(fd, path, options);
  if (!judged.ok) closeSync(fd);
  return judged.ok ? { ok: true, fd, stats: judged.stats } : judged;
}

/** Judges an open descriptor; never closes it. */
export function judgeDescriptor(fd: number, path: string, options: NoFollowOptions = {}): Result<{ stats: Stats }> {
  const ownership = options.ownership ?? systemOwnership;
  const forbidden = options.forbiddenMode ?? 0o077;
  const owners = options.owners ?? [ownership.uid];
  let stats: Stats;
  try {
    stats = fstatSync(fd);
  } catch (error) {
    return fileFailure("look at", path, error);
  }
  if (!stats.isFile()) return judgeKind(path, stats);
  const owner = ownership.ownerOf(path, stats);
  if (!owners.includes(owner)) {
    return failure("wrong-owner", `${path} belongs to user ${owner}, not to ${owners.join(" or ")}. Move it away.`);
  }
  if ((stats.mode & forbidden) !== 0) {
    const mode = (stats.mode & 0o7777).toString(8).padStart(4, "0");
    return failure(
      "wrong-mode",
      `${path} is open to other users (mode ${mode}). Check it, then run: chmod go-rwx on it.`,
    );
  }
  if (stats.nlink > 1) {
    return failure("hard-linked", `${path} has ${stats.nlink} names (hard links). Replace it by a copy of its own.`);
  }
  if (options.maxBytes !== undefined && stats.size > options.maxBytes) return tooLarge(path, options.maxBytes);
  return { ok: true, stats };
}

/** Reads a whole bounded file (`maxBytes`, default 64 KiB); a file that grows past the bound while it is read fails. */
export function readNoFollow(path: string, options: NoFollowOptions = {}): Result<{ bytes: Buffer; stats: Stats }> {
  const maxBytes = options.maxBytes ?? 64 * 1024;
  const opened = openNoFollow(path, { ...options, maxBytes });
  if (!opened.ok) return opened;
  try {
    const buffer = Buffer.allocUnsafe(Math.min(opened.stats.size, maxBytes) + 1);
    let length = 0;
    let bytes: Buffer = buffer;
    for (;;) {
      const count = readSync(opened.fd, bytes, length, bytes.length - length, length);
      length += count;
      if (count === 0) return { ok: true, bytes: bytes.subarray(0, length), stats: opened.stats };
      if (length > maxBytes) return tooLarge(path, maxBytes);
      if (length === bytes.length) bytes = Buffer.concat([bytes], Math.min(bytes.length * 2, maxBytes + 1));
    }
  } catch (error) {
    return fileFailure("read", path, error);
  } finally {
    closeSync(opened.fd);
  }
}

function judgeKind(path: string, stats: Stats): Failure {
  if (stats.isSymbolicLink()) {
    return failure(
      "symlink",
      `${path} is a symbolic link, and links are not followed here. Replace it by a real file.`,
    );
  }
  const kind = stats.isDirectory() ? "folder" : stats.isFIFO() ? "FIFO" : stats.isSocket() ? "socket" : "device";
  return failure("not-regular", `${path} is a ${kind}, not a regular file. Move it away.`);
}

function tooLarge(path: string, maxBytes: number): Failure {
  return failure("too-large", `${path} is larger than ${maxBytes} bytes. Move it away.`);
}
