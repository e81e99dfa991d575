/**
 * A kernel lock on a file, held by our descriptor: it ends when we close it or die, and never by age. Node has no
 * flock, so on Linux flock(1) takes it for us: the tool gets our descriptor as its stdio 3, and the lock stays on the
 * open file that we share (emergency-stop facts, measured on Linux 6, util-linux 2.38, Node 20). Node opens with
 * O_CLOEXEC, so no other child inherits it. macOS has no such tool; there open(2) locks by O_EXLOCK.
 *
 * Cost: one spawn of a tiny program, about 2 ms. On NFS the kernel emulates flock by byte-range locks.
 */
import { spawnSync } from "node:child_process";
import {
  accessSync,
  closeSync,
  constants,
  fstatSync,
  ftruncateSync,
  lstatSync,
  openSync,
  readFileSync,
  writeSync,
} from "node:fs";
import { delimiter, isAbsolute, join } from "node:path";
import { type Failure, failure, type Result } from "../core/result.ts";
import type { Ownership } from "./account.ts";
import { type Clock, systemClock } from "./clock.ts";
import { errnoOf, fileFailure } from "./errno.ts";
import { judgeDescriptor, readNoFollow } from "./no-follow.ts";

/** JSON that the holder writes for people and for `sessions`: pid, start ticks, boot id, host, since, … */
export type LockInfo = Readonly<Record<string, string | number | boolean | null>>;

export interface FileLock {
  readonly path: string;
  /** Replaces what others read about the holder. */
  describe(info: LockInfo): Result;
  /** Frees the lock. May be called again. The file stays: removing it would let two holders exist. */
  release(): void;
}

export interface LockHeld extends Failure {
  reason: "lock-held";
  /** What the holder wrote, when it can be read. */
  holder?: LockInfo;
}

export type LockOutcome = { ok: true; lock: FileLock } | LockHeld | Failure;

export interface LockOptions {
  info: LockInfo;
  /** What is locked, in messages: `task t-…`. Default: the path. */
  what?: string;
  ownership?: Ownership;
  platform?: NodeJS.Platform;
  /** Absolute path of flock(1); default: looked up once. */
  flock?: string;
}

/** macOS open(2) flags, sys/fcntl.h: O_EXLOCK 0x20, O_NONBLOCK 0x4. Node passes unknown flags through. */
const DARWIN_LOCK_FLAGS = 0x20 | 0x4;
const SPAWN_LIMIT_MS = 5_000;
/** Largest holder note that is read, bytes. */
const MOST_INFO = 4096;
/** Notes are padded to this, bytes. */
const NOTE_SIZE = 1024;

/**
 * Takes the lock or says who has it; never waits. Reasons: `lock-held` (see `isLockHeld`), `no-flock`,
 * `lock-unsupported`, `lock-failed`, or why the lock file itself is not acceptable.
 */
export function takeFileLock(path: string, options: LockOptions): LockOutcome {
  for (let attempt = 0; attempt < 4; attempt += 1) {
    const opened = openLockFile(path, options);
    if (!opened.ok) return opened;
    const outcome = lockDescriptor(opened.fd, path, options);
    if (outcome === "locked") {
      // The holder before us may have removed the name meanwhile: then ours is a lock on a file nobody else finds.
      if (isStillNamed(opened.fd, path)) return describedLock(opened.fd, path, options);
      closeSync(opened.fd);
      continue;
    }
    closeSync(opened.fd);
    if (outcome !== "held") return outcome;
    // A reader that probes holds the lock for a moment: ask once more before refusing.
    if (attempt > 0) return held(path, options);
  }
  return failure("lock-failed", `The lock file ${path} is replaced again and again. Find out what removes it.`);
}

export function isLockHeld(outcome: LockOutcome): outcome is LockHeld {
  return !outcome.ok && outcome.reason === "lock-held";
}

/** Like `takeFileLock`, but asks again until `waitMs` milliseconds are over. */
export async function waitForFileLock(
  path: string,
  options: LockOptions & { waitMs: number; clock?: Clock },
): Promise<LockOutcome> {
  const clock = options.clock ?? systemClock;
  const end = clock.mono() + options.waitMs;
  for (let pause = 5; ; pause = Math.min(pause * 2, 100)) {
    const outcome = takeFileLock(path, options);
    const left = end - clock.mono();
    if (!isLockHeld(outcome) || left <= 0) return outcome;
    await new Promise<void>((done) => clock.setTimer(Math.min(pause, left), done));
  }
}

/** What the last holder wrote; it may be gone. `undefined` when there is nothing (readable). */
export function readLockInfo(path: string, ownership?: Ownership): LockInfo | undefined {
  const read = readNoFollow(path, { maxBytes: MOST_INFO, ...(ownership ? { ownership } : {}) });
  if (!read.ok || read.bytes.length === 0) return undefined;
  let value: unknown;
  try {
    value = JSON.parse(read.bytes.toString("utf8"));
  } catch {
    return undefined;
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) return undefined;
  return Object.fromEntries(
    Object.entries(value).filter(
      (entry): entry is [string, string | number | boolean | null] => entry[1] === null || typeof entry[1] !== "object",
    ),
  );
}

/** Whether anybody holds it at this moment. Takes and frees it when nobody does; `undefined` when it cannot be told. */
export function probeFileLock(path: string, options: Omit<LockOptions, "info"> = {}): boolean | undefined {
  try {
    lstatSync(path);
  } catch (error) {
    return errnoOf(error) === "ENOENT" ? false : undefined;
  }
  const opened = openLockFile(path, options);
  if (!opened.ok) return opened.reason === "lock-held" ? true : undefined;
  const outcome = lockDescriptor(opened.fd, path, options);
  closeSync(opened.fd);
  return outcome === "locked" ? false : outcome === "held" ? true : undefined;
}

function openLockFile(path: string, options: Omit<LockOptions, "info">): Result<{ fd: number }> {
  const darwin = (options.platform ?? process.platform) === "darwin";
  const base = constants.O_RDWR | constants.O_CREAT | constants.O_NOFOLLOW | constants.O_NONBLOCK;
  let fd: number;
  try {
    fd = openSync(path, darwin ? base | DARWIN_LOCK_FLAGS : base, 0o600);
  } catch (error) {
    if (darwin && (errnoOf(error) === "EAGAIN" || errnoOf(error) === "EWOULDBLOCK")) return held(path, options);
    return fileFailure("open the lock file", path, error);
  }
  const judged = judgeDescriptor(fd, path, options.ownership ? { ownership: options.ownership } : {});
  if (judged.ok) return { ok: true, fd };
  closeSync(fd);
  return judged;
}

function lockDescriptor(fd: number, path: string, options: Omit<LockOptions, "info">): "locked" | "held" | Failure {
  const platform = options.platform ?? process.platform;
  if (platform === "darwin") return "locked";
  if (platform !== "linux") {
    return failure("lock-unsupported", `File locks are not supported on ${platform}. Use Linux or macOS.`);
  }
  const flock = options.flock ?? findFlock();
  if (flock === undefined) {
    return failure("no-flock", "The program flock is missing. Install it (package util-linux), then try again.");
  }
  const run = runFlock(flock, fd);
  if (run !== "locked") return run;
  return isConfirmed(flock, fd, path) ? "locked" : unconfirmed(flock, path);
}

function runFlock(flock: string, fd: number): "locked" | "held" | Failure {
  const run = spawnSync(flock, ["-n", "-x", "3"], {
    stdio: ["ignore", "ignore", "pipe", fd],
    timeout: SPAWN_LIMIT_MS,
    killSignal: "SIGKILL",
    env: {},
    cwd: "/",
  });
  if (run.status === 0) return "locked";
  // util-linux and busybox: 1 = somebody else has it; 64 and up = usage and system errors.
  if (run.status === 1) return "held";
  const detail = run.error?.message ?? (run.stderr.toString("utf8").trim().slice(0, 200) || `exit ${run.status}`);
  return failure("lock-failed", `${flock} could not lock: ${detail}. Check the program and the file system.`);
}

/** The kernel itself shows the lock on our descriptor; where it does not (gVisor), a second open must be refused. */
function isConfirmed(flock: string, fd: number, path: string): boolean {
  try {
    if (/^lock:.*FLOCK/m.test(readFileSync(`/proc/self/fdinfo/${fd}`, "latin1"))) return true;
  } catch (error) {
    if (errnoOf(error) === undefined) throw error;
  }
  let second: number;
  try {
    second = openSync(path, constants.O_RDWR | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch {
    return false;
  }
  const run = runFlock(flock, second);
  closeSync(second);
  return run === "held";
}

function unconfirmed(flock: string, path: string): Failure {
  return failure(
    "lock-failed",
    `${flock} reported success, but ${path} is not locked. Check the file system under it.`,
  );
}

function isStillNamed(fd: number, path: string): boolean {
  try {
    const ours = fstatSync(fd);
    const named = lstatSync(path);
    return ours.ino === named.ino && ours.dev === named.dev;
  } catch {
    return false;
  }
}

function describedLock(fd: number, path: string, options: LockOptions): LockOutcome {
  let open = true;
  const lock: FileLock = {
    path,
    describe(info) {
      if (!open) return failure("lock-released", `The lock ${path} was released before it was described.`);
      const bytes = Buffer.from(`${JSON.stringify(info).padEnd(NOTE_SIZE - 1)}\n`, "utf8");
      if (bytes.length > MOST_INFO)
        return failure("too-large", `The note for ${path} is larger than ${MOST_INFO} bytes.`);
      try {
        // One write of one size, so that a reader sees the old note or the new one.
        writeSync(fd, bytes, 0, bytes.length, 0);
        ftruncateSync(fd, bytes.length);
        return { ok: true };
      } catch (error) {
        return fileFailure("write", path, error);
      }
    },
    release() {
      if (!open) return;
      open = false;
      closeSync(fd);
    },
  };
  // The lock counts even where a full disk refuses the note.
  lock.describe(options.info);
  return { ok: true, lock };
}

function held(path: string, options: Omit<LockOptions, "info">): LockHeld {
  const holder = readLockInfo(path, options.ownership);
  const who = holder?.pid === undefined ? "another process" : `process ${holder.pid}`;
  const since = typeof holder?.since === "string" ? ` since ${holder.since}` : "";
  return {
    ok: false,
    reason: "lock-held",
    message: `The ${options.what ?? `lock ${path}`} is held by ${who}${since}. Use it there, or end that process first.`,
    ...(holder ? { holder } : {}),
  };
}

let foundFlock: string | undefined;

/** Absolute places first: a PATH that a project has changed must not choose the program. */
function findFlock(): string | undefined {
  if (foundFlock !== undefined) return foundFlock;
  const fixed = ["/usr/bin", "/bin", "/usr/local/bin", "/run/current-system/sw/bin"];
  const path = (process.env.PATH ?? "").split(delimiter).filter((folder) => isAbsolute(folder));
  for (const folder of [...fixed, ...path]) {
    const candidate = join(folder, "flock");
    try {
      accessSync(candidate, constants.X_OK);
      foundFlock = candidate;
      return candidate;
    } catch (error) {
      if (errnoOf(error) === undefined) throw error;
    }
  }
  return undefined;
}
