/**
 * Is a folder fit to hold a stop that other accounts honour? It and every parent belong to root or the person, and where
 * others may write, only with the sticky bit, so that the system itself keeps them from removing the person's file.
 */
import { lstatSync, readlinkSync, type Stats } from "node:fs";
import { isAbsolute, join, normalize, resolve } from "node:path";
import { failure, type Result } from "../core/result.ts";
import type { Ownership } from "../platform/account.ts";
import { fileFailure } from "../platform/errno.ts";

export interface SharedFolder {
  /** Links that only root could make are resolved; use this path from now on. */
  path: string;
  /** Device and inode. */
  identity: string;
}

const STICKY = 0o1000;
const MOST_LINKS = 40;
const SYSTEM_LINK_FOLDERS = ["/", "/usr", "/var"];

/**
 * Reasons: `bad-path`, `symlink`, `not-a-directory`, `wrong-owner`, `wrong-mode`, `missing`, or a disk fault. `person` is
 * the uid whose stop it is.
 */
export function judgeSharedFolder(
  path: string,
  person: number,
  ownership: Ownership,
): Result<{ folder: SharedFolder }> {
  if (!isAbsolute(path) || path.includes("\0")) {
    return failure("bad-path", `The shared folder ${JSON.stringify(path)} is not an absolute path. Start it with /.`);
  }
  const todo = partsOf(normalize(path));
  let at = "/";
  let links = 0;
  try {
    let stats = lstatSync("/");
    for (;;) {
      const fault = judgeLevel(at, stats, path, person, ownership);
      if (fault !== undefined) return fault;
      const part = todo.shift();
      if (part === undefined) return { ok: true, folder: { path: at, identity: `${stats.dev}:${stats.ino}` } };
      const here = join(at, part);
      const found = lstatSync(here);
      if (found.isSymbolicLink()) {
        const isRoots = isSystem(ownership.ownerOf(at, stats), ownership) && (stats.mode & 0o022) === 0;
        // For root itself ownership tells nothing: there only the links that systems ship with count.
        const isTrusted = isRoots && (ownership.uid !== 0 || SYSTEM_LINK_FOLDERS.includes(at));
        links += 1;
        if (!isTrusted || links > MOST_LINKS) {
          return failure("symlink", `The shared folder ${path} goes through the link ${here}. Give its real path.`);
        }
        todo.unshift(...partsOf(resolve(at, readlinkSync(here))));
        at = "/";
        stats = lstatSync("/");
        continue;
      }
      if (!found.isDirectory()) {
        return failure("not-a-directory", `${here} is not a folder. Choose another shared folder.`);
      }
      at = here;
      stats = found;
    }
  } catch (error) {
    return fileFailure("use the shared folder", path, error);
  }
}

function judgeLevel(at: string, stats: Stats, path: string, person: number, ownership: Ownership) {
  const owner = ownership.ownerOf(at, stats);
  if (!isSystem(owner, ownership) && owner !== person) {
    return failure(
      "wrong-owner",
      `The shared folder ${path} is not safe: ${at} belongs to user ${owner}, who could take the stop away. Choose a folder of root or of the person.`,
    );
  }
  if ((stats.mode & 0o022) === 0 || (stats.mode & STICKY) !== 0) return undefined;
  const mode = (stats.mode & 0o7777).toString(8).padStart(4, "0");
  return failure(
    "wrong-mode",
    `The shared folder ${path} is not safe: others can write ${at} (mode ${mode}) and it has no sticky bit. Run: chmod +t on it, or choose another.`,
  );
}

function isSystem(owner: number, ownership: Ownership): boolean {
  return ownership.isSystem?.(owner) ?? owner === 0;
}

function partsOf(path: string): string[] {
  return path.split("/").filter((part) => part !== "");
}
