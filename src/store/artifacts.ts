/**
 * Large payloads of one task beside its log: files named by the SHA-256 of their content, 0600, written once. What is
 * written has passed the redaction stream that the caller gives; nothing here ever sees the original twice.
 *
 * Bounds: 64 KiB of text in memory a writer, `mostBytes` a file (default 16 MiB, the rest is counted and named in the
 * file's last line), `mostTaskBytes` a task (default 512 MiB).
 */
import { createHash, randomBytes } from "node:crypto";
import {
  closeSync,
  constants,
  fsyncSync,
  lstatSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import type { RedactionStream } from "../core/contracts/redaction.ts";
import { type Failure, failure, type Result } from "../core/result.ts";
import { syncFolder } from "../platform/durable-write.ts";
import { fileFailure } from "../platform/errno.ts";
import { readNoFollow } from "../platform/no-follow.ts";
import { openPrivateDir } from "../platform/private-dir.ts";
import { sha256 } from "./event-line.ts";

export interface Artifact {
  /** Hex SHA-256 of the file's bytes: what a record's `artifact` holds. */
  name: string;
  bytes: number;
  /** Bytes of text that the bound kept out; 0 = complete. */
  cutBytes: number;
}

export interface ArtifactWriter {
  /** Takes the next piece of raw text. A disk fault is kept for `end`. */
  push(text: string): void;
  /** Publishes the file, synced with `durable`. Reasons: `artifacts-full`, or a disk fault; then nothing is left. */
  end(options?: { durable?: boolean }): Result<{ artifact: Artifact }>;
  /** Gives up; nothing is left. */
  abort(): void;
}

export interface Artifacts {
  /** Bytes on disk of this task's artifacts. */
  readonly total: number;
  writer(redaction: RedactionStream): ArtifactWriter;
  /** The first `maxBytes` of an artifact. Reasons: `no-artifact`, `artifact-damaged` when the content is not the named one. */
  read(name: string, maxBytes?: number): Result<{ bytes: Buffer }>;
}

export interface ArtifactBounds {
  mostBytes?: number;
  mostTaskBytes?: number;
}

const MIB = 1024 * 1024;
const FLUSH_BYTES = 64 * 1024;
const NAME = /^[0-9a-f]{64}$/;

/** Opens (makes) the artifact folder of a task. Only the owner of the task's lock writes into it. */
export function openArtifacts(folder: string, bounds: ArtifactBounds = {}): Result<{ artifacts: Artifacts }> {
  const { mostBytes = 16 * MIB, mostTaskBytes = 512 * MIB } = bounds;
  const opened = openPrivateDir(folder, { what: "artifact folder" });
  if (!opened.ok) return opened;
  const path = opened.dir.path;
  let total: number;
  try {
    total = sizeAfterSweep(path);
  } catch (error) {
    return fileFailure("list", path, error);
  }
  const artifacts: Artifacts = {
    get total() {
      return total;
    },
    writer: (redaction) =>
      artifactWriter(path, redaction, {
        mostBytes,
        left: () => mostTaskBytes - total,
        added: (bytes) => {
          total += bytes;
        },
      }),
    read: (name, maxBytes) => readArtifact(path, name, mostBytes, maxBytes),
  };
  return { ok: true, artifacts };
}

interface Room {
  mostBytes: number;
  left(): number;
  added(bytes: number): void;
}

function artifactWriter(folder: string, redaction: RedactionStream, room: Room): ArtifactWriter {
  const part = join(folder, `.part-${randomBytes(12).toString("hex")}`);
  const hash = createHash("sha256");
  let fd: number | undefined;
  let fault: Failure | undefined;
  let held: string[] = [];
  let heldLength = 0;
  let bytes = 0;
  let cutBytes = 0;
  let ended = false;

  const write = (data: Buffer): void => {
    if (fault !== undefined || data.length === 0) return;
    try {
      fd ??= openSync(part, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW, 0o600);
      for (let done = 0; done < data.length; ) done += writeSync(fd, data, done, data.length - done);
      hash.update(data);
      bytes += data.length;
    } catch (error) {
      fault = fileFailure("write an artifact in", folder, error);
    }
  };
  const flush = (): void => {
    const data = Buffer.from(held.join(""), "utf8");
    held = [];
    heldLength = 0;
    const space = Math.min(room.mostBytes, room.left()) - bytes;
    const fitting = cutBytes > 0 ? 0 : wholeCharacters(data, Math.max(0, space));
    cutBytes += data.length - fitting;
    write(data.subarray(0, fitting));
  };
  const take = (text: string): void => {
    held.push(text);
    heldLength += text.length;
    if (heldLength >= FLUSH_BYTES) flush();
  };
  const drop = (): void => {
    if (fd !== undefined) closeSync(fd);
    fd = undefined;
    rmSync(part, { force: true });
  };

  return {
    push(text) {
      if (!ended) take(redaction.push(text));
    },
    end({ durable = false } = {}) {
      if (ended) return failure("artifact-ended", "This artifact was ended before. This is a bug; please report it.");
      ended = true;
      take(redaction.end());
      flush();
      if (cutBytes > 0 && bytes === 0 && fault === undefined) {
        drop();
        return failure(
          "artifacts-full",
          `The artifacts of this task have reached their bound. Prune old tasks, or go on without.`,
        );
      }
      if (cutBytes > 0) write(Buffer.from(`\n[cut: ${cutBytes} more bytes were not kept]\n`, "utf8"));
      if (bytes === 0) write(Buffer.from("\n", "utf8"));
      if (fault !== undefined || fd === undefined) {
        drop();
        return fault ?? failure("io-error", `Nothing could be written in ${folder}.`);
      }
      const name = hash.digest("hex");
      try {
        if (durable) fsyncSync(fd);
        const isNew = !exists(join(folder, name));
        renameSync(part, join(folder, name));
        if (isNew) room.added(bytes);
      } catch (error) {
        fault = fileFailure("write an artifact in", folder, error);
      }
      drop();
      const synced = durable && fault === undefined ? syncFolder(folder) : undefined;
      if (synced?.ok === false) return synced;
      return fault ?? { ok: true, artifact: { name, bytes, cutBytes } };
    },
    abort() {
      ended = true;
      drop();
    },
  };
}

function readArtifact(folder: string, name: string, mostBytes: number, maxBytes?: number): Result<{ bytes: Buffer }> {
  if (!NAME.test(name))
    return failure("no-artifact", `${JSON.stringify(name.slice(0, 80))} is not the name of an artifact.`);
  const read = readNoFollow(join(folder, name), { maxBytes: mostBytes + 1024 });
  if (!read.ok) {
    return read.reason === "missing" ? failure("no-artifact", `There is no artifact ${name} any more.`) : read;
  }
  if (sha256(read.bytes) !== name) {
    return failure("artifact-damaged", `The artifact ${name} is not what was written. Do not rely on it.`);
  }
  return { ok: true, bytes: maxBytes === undefined ? read.bytes : read.bytes.subarray(0, maxBytes) };
}

/** Parts of a writer that died are of no use: only the owner of the task opens this folder. */
function sizeAfterSweep(folder: string): number {
  let total = 0;
  for (const name of readdirSync(folder)) {
    if (name.startsWith(".part-")) rmSync(join(folder, name), { force: true });
    else total += lstatSync(join(folder, name)).size;
  }
  return total;
}

function exists(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
}

/** The largest length <= `limit` that does not cut a UTF-8 character. */
function wholeCharacters(data: Buffer, limit: number): number {
  if (data.length <= limit) return data.length;
  let length = limit;
  while (length > 0 && ((data[length] ?? 0) & 0xc0) === 0x80) length -= 1;
  return length;
}
