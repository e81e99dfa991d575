/** Where a path really is, and whether one lies inside another: by its text and by what the disk says. */
import { lstatSync, readlinkSync, realpathSync, statSync } from "node:fs";
import { basename, dirname, join, relative, resolve, sep } from "node:path";
import type { Result } from "../core/result.ts";
import { errnoOf, fileFailure } from "./errno.ts";

/** Whether names that differ only in case (or in Unicode composition) are one file: macOS's and Windows' default. */
export const FOLDS_CASE = process.platform === "darwin" || process.platform === "win32";

/** The real path of something that exists, in its true case (the native call asks the file system, Node 20). */
export function realPath(path: string): Result<{ path: string }> {
  try {
    return { ok: true, path: realpathSync.native(path) };
  } catch (error) {
    return fileFailure("find", path, error);
  }
}

/**
 * The real path of something that may not exist yet: the real path of its deepest existing parent plus the rest. A
 * dangling link counts by its target. Reasons: `symlink` for a loop, `no-access`, `not-a-directory`.
 */
export function realPathOfDeepest(path: string, depth = 0): Result<{ path: string }> {
  const absolute = resolve(path);
  try {
    return { ok: true, path: realpathSync.native(absolute) };
  } catch (error) {
    if (errnoOf(error) !== "ENOENT" || depth > 40) return fileFailure("find", absolute, error);
  }
  const parent = dirname(absolute);
  if (parent === absolute) return { ok: true, path: absolute };
  const dangling = danglingTarget(absolute);
  if (dangling !== undefined) return realPathOfDeepest(dangling, depth + 1);
  const real = realPathOfDeepest(parent, depth);
  return real.ok ? { ok: true, path: join(real.path, basename(absolute)) } : real;
}

/** Whether `child` is `parent` or below it, judged by the text of two absolute, normalised paths. */
export function isInside(child: string, parent: string, foldsCase: boolean = FOLDS_CASE): boolean {
  const from = foldsCase ? foldName(parent) : parent;
  const to = foldsCase ? foldName(child) : child;
  const way = relative(from, to);
  return way === "" || (way !== ".." && !way.startsWith(`..${sep}`) && !way.startsWith(sep));
}

export type Overlap = "apart" | "equal" | "first-inside-second" | "second-inside-first";

/**
 * How two folders lie to each other: lexically, by real path, and by device and inode of every parent, so that bind
 * mounts and another spelling of the same name are found too. Paths need not exist.
 */
export function overlapOf(first: string, second: string): Result<{ overlap: Overlap }> {
  const a = realPathOfDeepest(first);
  if (!a.ok) return a;
  const b = realPathOfDeepest(second);
  if (!b.ok) return b;
  const aInB = isInside(resolve(first), resolve(second)) || isInside(a.path, b.path) || hasAncestor(a.path, b.path);
  const bInA = isInside(resolve(second), resolve(first)) || isInside(b.path, a.path) || hasAncestor(b.path, a.path);
  if (aInB && bInA) return { ok: true, overlap: "equal" };
  return { ok: true, overlap: aInB ? "first-inside-second" : bInA ? "second-inside-first" : "apart" };
}

function foldName(path: string): string {
  return path.normalize("NFC").toLowerCase();
}

function danglingTarget(path: string): string | undefined {
  try {
    if (!lstatSync(path).isSymbolicLink()) return undefined;
    return resolve(dirname(path), readlinkSync(path));
  } catch {
    return undefined;
  }
}

function hasAncestor(path: string, ancestor: string): boolean {
  const wanted = identityOf(ancestor);
  if (wanted === undefined) return false;
  for (let at = path; ; at = dirname(at)) {
    if (identityOf(at) === wanted) return true;
    if (at === dirname(at)) return false;
  }
}

function identityOf(path: string): string | undefined {
  try {
    const stats = statSync(path, { bigint: true });
    return `${stats.dev}:${stats.ino}`;
  } catch {
    return undefined;
  }
}
