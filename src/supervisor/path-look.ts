/**
 * What one tool call sees of paths: each name is looked at once, and a folder's real path is found once. Nothing is kept
 * across calls, because the worker may exchange a link between two of them.
 *
 * An exception costs more than the system call that it reports (about 20 against 2 microseconds on Node 20), so that
 * what is not there is asked for in a way that does not throw. Memory: the names of one call, at most `MAX_NAMES` each.
 */
import { lstatSync, readlinkSync, realpathSync, type Stats, statSync } from "node:fs";
import { dirname, normalize, resolve, sep } from "node:path";
import { errnoOf } from "../platform/errno.ts";

/** `undefined`: it cannot be told. */
export type Look = Stats | "absent" | undefined;

const MAX_LINKS = 40;
/** A command of 10,000 characters cannot name many more. */
const MAX_NAMES = 4_000;
/** Where names can be spelled in several ways (macOS), only the system knows the one that is stored. */
const ONE_SPELLING = process.platform === "linux";

export class PathLook {
  readonly #names = new Map<string, Look>();
  readonly #reals = new Map<string, string | undefined>();

  forget(): void {
    if (this.#names.size > 0) this.#names.clear();
    if (this.#reals.size > 0) this.#reals.clear();
  }

  /** The name itself, a link not followed. */
  name(path: string): Look {
    if (this.#names.has(path)) return this.#names.get(path);
    const look = lookAt(path, lstatSync);
    if (this.#names.size < MAX_NAMES) this.#names.set(path, look);
    return look;
  }

  /** What the name leads to. */
  target(path: string): Look {
    const name = this.name(path);
    return typeof name === "object" && name.isSymbolicLink() ? lookAt(path, statSync) : name;
  }

  /**
   * Follows links by hand where realpath(3) would fail: a path that does not exist counts by its deepest real parent, a
   * dangling link by its target. `undefined` for a loop or what cannot be read.
   */
  real(path: string): string | undefined {
    return this.#real(path, 0);
  }

  #real(path: string, links: number): string | undefined {
    if (this.#reals.has(path)) return this.#reals.get(path);
    const real = this.#follow(path, links);
    if (this.#reals.size < MAX_NAMES) this.#reals.set(path, real);
    return real;
  }

  #follow(path: string, links: number): string | undefined {
    const parent = dirname(path);
    if (parent === path) return path;
    const name = this.name(path);
    if (name === undefined) return undefined;
    const isLink = name !== "absent" && name.isSymbolicLink();
    if (isLink || (name !== "absent" && !(ONE_SPELLING && isPlain(path)))) {
      const real = systemRealPath(path);
      if (real !== "absent") return real;
      const target = isLink ? linkTarget(path) : undefined;
      if (target !== undefined) return links >= MAX_LINKS ? undefined : this.#real(target, links + 1);
    }
    const folder = this.#folder(parent, links);
    if (folder === undefined) return undefined;
    const rest = path.slice(parent.length).replaceAll(sep, "/").replace(/^\/+/, "");
    return folder === "/" ? `/${rest}` : `${folder}/${rest}`;
  }

  /** Most folders are there, and then it is one call. */
  #folder(path: string, links: number): string | undefined {
    if (this.#reals.has(path)) return this.#reals.get(path);
    const real = systemRealPath(path);
    if (real === "absent") return this.#real(path, links);
    if (this.#reals.size < MAX_NAMES) this.#reals.set(path, real);
    return real;
  }
}

type StatCall = (path: string, options: { throwIfNoEntry: false }) => Stats | undefined;

function lookAt(path: string, call: StatCall): Look {
  try {
    return call(path, { throwIfNoEntry: false }) ?? "absent";
  } catch (error) {
    return isAbsence(error) ? "absent" : undefined;
  }
}

function systemRealPath(path: string): string | "absent" | undefined {
  try {
    return realpathSync.native(path);
  } catch (error) {
    return isAbsence(error) ? "absent" : undefined;
  }
}

function linkTarget(path: string): string | undefined {
  try {
    return normalize(resolve(dirname(path), readlinkSync(path)));
  } catch {
    return undefined;
  }
}

/** Ends in a name, so that its parent and that name are the path. */
function isPlain(path: string): boolean {
  return !path.endsWith("/") && !path.endsWith("/..") && !path.endsWith("/.");
}

function isAbsence(error: unknown): boolean {
  const code = errnoOf(error);
  return code === "ENOENT" || code === "ENOTDIR";
}
