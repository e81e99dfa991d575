/**
 * A folder that only this account can read, change or swap: made with 0700, or judged. Every component counts: who
 * can rename a parent can put another folder in our place. A folder that we did not make is never chmodded.
 */
import { chmodSync, lstatSync, mkdirSync, readlinkSync, type Stats } from "node:fs";
import { dirname, isAbsolute, join, normalize, resolve } from "node:path";
import { type Failure, failure, type Result } from "../core/result.ts";
import { type Ownership, systemOwnership } from "./account.ts";
import { syncFolder } from "./durable-write.ts";
import { errnoOf, fileFailure } from "./errno.ts";

export interface PrivateDirOptions {
  /** Make it, and missing parents, with 0700. Default: true. */
  create?: boolean;
  /** What the folder is for, in messages. Default: `folder`. */
  what?: string;
  ownership?: Ownership;
}

export interface PrivateDir {
  /** The path with trusted links resolved; use this one from now on. */
  path: string;
  created: boolean;
  /** Device and inode, `dev:ino`: compare them later to see that nobody replaced the folder. */
  identity: string;
}

const MOST_LINKS = 40;
const STICKY = 0o1000;
/** `/home`, `/tmp`, `/bin`, `/var/run` and the like. */
const SYSTEM_LINK_FOLDERS = ["/", "/usr", "/var"];

/**
 * Reasons: `bad-path`, `symlink`, `wrong-owner`, `wrong-mode`, `unsafe-parent`, `not-a-directory`, `missing`, or a
 * disk fault. A link is followed only where its folder belongs to root and nobody else can write it (`/home`, macOS
 * `/var` and `/tmp`). A parent may be root's or ours; others may write it only with the sticky bit, a group only when
 * it is our private one.
 */
export function openPrivateDir(path: string, options: PrivateDirOptions = {}): Result<{ dir: PrivateDir }> {
  const { create = true, what = "folder", ownership = systemOwnership } = options;
  if (!isAbsolute(path) || path.includes("\0")) {
    return failure(
      "bad-path",
      `The ${what} ${JSON.stringify(path)} is not an absolute path. Give one that starts with /.`,
    );
  }
  const todo = partsOf(normalize(path));
  let at = "/";
  let links = 0;
  let created = false;
  let stats = lstatSync("/");

  while (todo.length > 0) {
    const parentFault = judgeParent(at, stats, path, what, ownership);
    if (parentFault !== undefined) return parentFault;
    const here = join(at, todo.shift() ?? "");
    const found = lookAt(here, create);
    if (!found.ok) return found;
    created = found.created;

    if (found.stats.isSymbolicLink()) {
      if (!isRootOnly(at, stats, ownership)) {
        return failure(
          "symlink",
          `The ${what} ${path} goes through the symbolic link ${here}. Give the real path, without links.`,
        );
      }
      links += 1;
      if (links > MOST_LINKS) return failure("symlink", `The ${what} ${path} goes through a loop of links at ${here}.`);
      const target = resolve(at, readlinkSync(here));
      todo.unshift(...partsOf(target));
      at = "/";
      stats = lstatSync("/");
      continue;
    }
    if (!found.stats.isDirectory()) {
      return failure("not-a-directory", `The ${what} ${path} cannot be used: ${here} is not a folder. Move it away.`);
    }
    at = here;
    stats = found.stats;
  }
  const fault = judgeLeaf(at, stats, what, ownership);
  if (fault !== undefined) return fault;
  return { ok: true, dir: { path: at, created, identity: `${stats.dev}:${stats.ino}` } };
}

function partsOf(path: string): string[] {
  return path.split("/").filter((part) => part !== "");
}

function lookAt(path: string, create: boolean): Result<{ stats: Stats; created: boolean }> {
  try {
    return { ok: true, stats: lstatSync(path), created: false };
  } catch (error) {
    if (errnoOf(error) !== "ENOENT" || !create) return fileFailure("use", path, error);
  }
  let created = true;
  try {
    mkdirSync(path, { mode: 0o700 });
    // A umask may have taken our own bits away; this one we made.
    chmodSync(path, 0o700);
  } catch (error) {
    if (errnoOf(error) !== "EEXIST") return fileFailure("make the folder", path, error);
    created = false;
  }
  if (created) {
    const synced = syncFolder(dirname(path));
    if (!synced.ok) return synced;
  }
  try {
    return { ok: true, stats: lstatSync(path), created };
  } catch (error) {
    return fileFailure("use", path, error);
  }
}

function judgeParent(at: string, stats: Stats, path: string, what: string, ownership: Ownership): Failure | undefined {
  const owner = ownership.ownerOf(at, stats);
  if (!isSystem(owner, ownership) && owner !== ownership.uid) {
    return failure(
      "unsafe-parent",
      `The ${what} ${path} is not safe: ${at} above it belongs to user ${owner}, who could replace it. Choose a folder below your own home.`,
    );
  }
  if ((stats.mode & STICKY) !== 0 || !othersCanWrite(stats, ownership)) return undefined;
  const mode = (stats.mode & 0o7777).toString(8).padStart(4, "0");
  return failure(
    "unsafe-parent",
    `The ${what} ${path} is not safe: other users can write ${at} above it (mode ${mode}) and could replace it. Remove their write permission or choose another folder.`,
  );
}

function judgeLeaf(at: string, stats: Stats, what: string, ownership: Ownership): Failure | undefined {
  const owner = ownership.ownerOf(at, stats);
  if (owner !== ownership.uid) {
    return failure(
      "wrong-owner",
      `The ${what} ${at} belongs to user ${owner}, not to you. Choose a folder of your own.`,
    );
  }
  const mode = stats.mode & 0o777;
  if ((mode & 0o077) !== 0) {
    return failure(
      "wrong-mode",
      `The ${what} ${at} is open to other users (mode ${mode.toString(8).padStart(4, "0")}). Check what is in it, then run: chmod 700 ${quote(at)}`,
    );
  }
  if (mode !== 0o700) {
    return failure(
      "wrong-mode",
      `The ${what} ${at} cannot be used with mode ${mode.toString(8).padStart(4, "0")}. Run: chmod 700 ${quote(at)}`,
    );
  }
  return undefined;
}

/** For root itself ownership tells nothing: there only the links that systems ship with count. */
function isRootOnly(at: string, stats: Stats, ownership: Ownership): boolean {
  if (ownership.uid === 0 && !SYSTEM_LINK_FOLDERS.includes(at)) return false;
  return isSystem(ownership.ownerOf(at, stats), ownership) && (stats.mode & 0o022) === 0;
}

function isSystem(owner: number, ownership: Ownership): boolean {
  return ownership.isSystem?.(owner) ?? owner === 0;
}

function othersCanWrite(stats: Stats, ownership: Ownership): boolean {
  if ((stats.mode & 0o002) !== 0) return true;
  return (stats.mode & 0o020) !== 0 && stats.gid !== 0 && !ownership.isPrivateGroup(stats.gid);
}

function quote(path: string): string {
  return /^[\w./-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`;
}
