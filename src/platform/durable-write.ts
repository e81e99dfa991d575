/**
 * Replaces a small file so that after any crash it holds the old bytes or the new ones, whole: an unpredictable
 * O_EXCL|O_NOFOLLOW temporary file in the same folder, all bytes, fsync, rename, fsync of the folder.
 */
import { randomBytes } from "node:crypto";
import { closeSync, constants, fsyncSync, openSync, renameSync, unlinkSync, writeSync } from "node:fs";
import { type FileHandle, open, rename, unlink } from "node:fs/promises";
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

const NEW_FILE = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;

/** Left-over temporary files of a crash look like this; only the holder of the folder's lock removes them. */
export const TEMPORARY_NAME = /^\..+\.[0-9a-f]{24}\.tmp$/;

/**
 * Blocks for two fsyncs (about 0.4 ms on an SSD). Reasons: those of `fileFailure`. On failure the old file stands,
 * unless it is the folder that could not be synced: then the new one may stand. Short writes are finished (the package
 * write-file-atomic 7.0.1 renames a truncated file into place on a full disk and reports success; seen on tmpfs).
 */
export function durableWrite(
  path: string,
  data: string | Uint8Array,
  options: DurableWriteOptions = {},
): Result<{ durability: Durability }> {
  const fs = options.fs ?? nodeDurableFs;
  const folder = dirname(path);
  const temporary = temporaryFor(path);
  const bytes = typeof data === "string" ? Buffer.from(data, "utf8") : data;

  let fd: number;
  try {
    fd = fs.openSync(temporary, NEW_FILE, options.mode ?? 0o600);
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
    ignoreSystemError(error);
  }
  return fault ?? { ok: true, durability: "full" };
}

/**
 * `durableWrite` off the main thread, for what is written often: a slow disk takes 50 ms for an fsync. Callers put
 * writes of one path one after the other; of two at once the later to finish stays.
 */
export async function durableWriteAsync(
  path: string,
  data: string | Uint8Array,
  options: { mode?: number } = {},
): Promise<Result<{ durability: Durability }>> {
  const folder = dirname(path);
  const temporary = temporaryFor(path);
  let handle: FileHandle | undefined;
  try {
    handle = await open(temporary, NEW_FILE, options.mode ?? 0o600);
    await handle.writeFile(data);
    await handle.sync();
    await handle.close();
    handle = undefined;
    await rename(temporary, path);
  } catch (error) {
    await handle?.close().catch(ignoreSystemError);
    await unlink(temporary).catch(ignoreSystemError);
    return fileFailure("write", path, error);
  }
  try {
    handle = await open(folder, constants.O_RDONLY | constants.O_DIRECTORY);
    await handle.sync();
    return { ok: true, durability: "full" };
  } catch (error) {
    return cannotSync(error) ? { ok: true, durability: "weak" } : fileFailure("sync", folder, error);
  } finally {
    await handle?.close();
  }
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
    return cannotSync(error) ? { ok: true, durability: "weak" } : fileFailure("sync", folder, error);
  } finally {
    fs.closeSync(fd);
  }
}

function writeAll(fs: DurableFs, fd: number, bytes: Uint8Array): void {
  let offset = 0;
  while (offset < bytes.length) offset += fs.writeSync(fd, bytes, offset, bytes.length - offset);
}

function temporaryFor(path: string): string {
  return join(dirname(path), `.${basename(path)}.${randomBytes(12).toString("hex")}.tmp`);
}

function cannotSync(error: unknown): boolean {
  return ["EINVAL", "ENOTSUP", "EBADF"].includes(errnoOf(error) ?? "");
}

/** For clean-up after a failure that is reported already. */
function ignoreSystemError(error: unknown): void {
  if (errnoOf(error) === undefined) throw error;
}
