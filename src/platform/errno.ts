/** File system errors as reasons that a program compares and words that a person understands. */
import { type Failure, failure } from "../core/result.ts";

/** `code` of a Node system error (`ENOSPC`, …), or `undefined` for anything else. */
export function errnoOf(error: unknown): string | undefined {
  if (typeof error !== "object" || error === null || !("code" in error)) return undefined;
  return typeof error.code === "string" ? error.code : undefined;
}

export type FileFault =
  | "disk-full"
  | "read-only-disk"
  | "io-error"
  | "no-access"
  | "missing"
  | "exists"
  | "symlink"
  | "not-a-directory"
  | "not-regular"
  | "too-many-files";

const FAULTS: Readonly<Record<string, readonly [FileFault, string, string]>> = {
  ENOSPC: ["disk-full", "the disk is full", "Free some space"],
  EDQUOT: ["disk-full", "the disk quota is used up", "Free some space or raise the quota"],
  EFBIG: ["disk-full", "the file would pass the size limit", "Raise the file size limit (ulimit -f)"],
  EROFS: ["read-only-disk", "the file system is read-only", "Mount it writable or choose another folder"],
  EIO: ["io-error", "the disk reported an error", "Check the disk"],
  ESTALE: ["io-error", "the network file system lost the file", "Check the mount"],
  ENXIO: ["not-regular", "it is a socket or a device", "Move it away"],
  EACCES: ["no-access", "access is denied", "Check its owner and mode"],
  EPERM: ["no-access", "the operation is not permitted", "Check its owner and mode"],
  ENOENT: ["missing", "it does not exist", "Check the path"],
  EEXIST: ["exists", "it exists already", "Choose another name"],
  ELOOP: ["symlink", "it is a symbolic link", "Replace the link by the real thing"],
  EMLINK: ["symlink", "it is a symbolic link", "Replace the link by the real thing"],
  ENOTDIR: ["not-a-directory", "part of the path is not a folder", "Check the path"],
  EISDIR: ["not-regular", "it is a folder", "Move it away"],
  EMFILE: ["too-many-files", "this process has too many open files", "Raise the limit (ulimit -n)"],
  ENFILE: ["too-many-files", "the machine has too many open files", "Close programs or raise the limit"],
};

/** The stable reason of an error; what is not listed is `io-error`. */
export function faultOf(error: unknown): FileFault {
  return FAULTS[errnoOf(error) ?? ""]?.[0] ?? "io-error";
}

/** `Cannot <what> <path>: <why>. <what to do>.` — `what` is a verb phrase such as `write`. */
export function fileFailure(what: string, path: string, error: unknown): Failure {
  const known = FAULTS[errnoOf(error) ?? ""];
  if (known !== undefined) return failure(known[0], `Cannot ${what} ${path}: ${known[1]}. ${known[2]}.`);
  const detail = errnoOf(error) ?? (error instanceof Error ? error.message : String(error));
  return failure("io-error", `Cannot ${what} ${path}: ${detail}. Check the path and the disk.`);
}
