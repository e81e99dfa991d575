/**
 * Replaces a small file so that after any crash it holds the old bytes or the new ones, whole: an unpredictable
 * O_EXCL|O_NOFOLLOW temporary file in the same folder, all bytes, fsync, rename, fsync of the folder.
 */
import { randomBytes } from "node:crypto";
import { closeSync, constants, fsyncSync, openSync, renameSync, unlinkSync, writeSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import type { Failure, Result } from "../core/result.ts";
import { errnoOf, fileFailure } from "./errno.ts";

/** `weak`: the file system cannot fsync a folder, so that power loss may bring the old file back. */
export type Durability = "full" | "weak";

/** The calls that can fail, replaceable by tests. */
export interface DurableFs {
  openSync: typeof openSync;
  writeSync(fd: number, data: Uint8Array, offset: number, length: number): number;
  fsyncSync: typeof fsyncSync;
  renameSync: typeof renameSync;
  unlinkSync: typeof unlinkSync;
  closeSync: typeof closeSync;
}

export const nodeDurableFs: DurableFs = {
  openSync,
  writeSync: (fd, data, offset, length) => writeSync(fd, data, offset, length),
  fsyncSync,
  renameSync,
  unlinkSync,
  closeSync,
};

export interface DurableWriteOptions {
  /** Default 0o600. */
  mode?: number;
  fs?: DurableFs;
}

/** Left-over temporary files of a crash look like this; only the holder of the folder's lock removes them. */
export const TEMPORARY_NAME = /^\..+\.[0-9a-f]{24}\.tmp$/;

/** Blocks for two fsyncs (about 0.4 ms on an SSD). Reasons: those of `fileFailure`. On failure the old file stands. */
export function durableWrite(
  path: string,
  data: string | Uint8Array,
  options: DurableWriteOptions = {},
): Result<{ durability: Durability }> {
  const fs = options.fs ?? nodeDurableFs;
  const folder = dirname(path);
  const temporary = join(folder, `.${basename(path)}.${randomBytes(12).toString("hex")}.tmp`);
  const bytes = typeof data === "string" ? Buffer.from(data, "utf8") : data;

  let fd: number;
  try {
    const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
    fd = fs.openSync(temporary, flags, options.mode ?? 0o600);
  } catch (error) {
    return fileFailure("write", path, error);
  }
  let fault: Failure | undefined;
  try {
    writeAll(fs, fd, bytes);
    fs.fsyncSync(fd);
  } catch (error) {
    fault = fileFailure("write", path, error);
  }
  try {
    fs.closeSync(fd);
    if (fault === undefined) {
      fs.renameSync(temporary, path);
      return syncFolder(folder, fs);
    }
  } catch (error) {
    fault ??= fileFailure("write", path, error);
  }
  try {
    fs.unlinkSync(temporary);
  } catch (error) {
    if (errnoOf(error) === undefined) throw error;
  }
  return fault ?? { ok: true, durability: "full" };
}

/** Makes names in a folder durable: creations, renames and removals done before this call. */
export function syncFolder(folder: string, fs: DurableFs = nodeDurableFs): Result<{ durability: Durability }> {
  let fd: number;
  try {
    fd = fs.openSync(folder, constants.O_RDONLY | constants.O_DIRECTORY);
  } catch (error) {
    return fileFailure("sync", folder, error);
  }
  try {
    fs.fsyncSync(fd);
    return { ok: true, durability: "full" };
  } catch (error) {
    const code = errnoOf(error);
    if (code === "EINVAL" || code === "ENOTSUP" || code === "EBADF") return { ok: true, durability: "weak" };
    return fileFailure("sync", folder, error);
  } finally {
    fs.closeSync(fd);
  }
}

function writeAll(fs: DurableFs, fd: number, bytes: Uint8Array): void {
  let offset = 0;
  while (offset < bytes.length) offset += fs.writeSync(fd, bytes, offset, bytes.length - offset);
}
